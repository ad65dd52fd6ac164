//! What planning a send depends on besides the request.

use std::collections::BTreeSet;
use std::sync::Arc;
use std::time::Duration;

use crate::account::{Mode, Settings};
use crate::ids::AccountId;
use crate::link::LinkBase;
use crate::phone::E164;
use crate::random::Random;
use crate::route::RouteName;
use crate::sender_name::SenderValue;
use crate::time::Timestamp;

/// What planning depends on besides the request.
#[derive(Debug, Clone, Copy)]
pub struct PlanFacts<'a> {
    /// The account that sends.
    pub account: AccountId,
    /// Its settings.
    pub settings: &'a Settings,
    /// Live or test.
    pub mode: Mode,
    /// The words to send: the request's own, or its template's.
    pub body: &'a str,
    /// The number the texts come from.
    pub from: E164,
    /// The approved name that is shown in its place, if the request asks for one.
    pub sender: Option<&'a SenderValue>,
    /// The route that carries them.
    pub route: &'a RouteName,
    /// Those of the recipients that must not be texted.
    pub opted_out: &'a BTreeSet<E164>,
    /// Those custom names in the body that contacts of the account use; any other word in braces
    /// stays as typed.
    pub custom_names: &'a BTreeSet<String>,
    /// How links are shortened, where the request asks for it.
    pub shortening: Shortening<'a>,
    /// How long a text may wait for a route.
    pub validity: Duration,
    /// When.
    pub at: Timestamp,
}

/// How links are shortened.
#[derive(Debug, Clone, Copy)]
pub struct Shortening<'a> {
    /// What short URLs begin with.
    pub base: &'a LinkBase,
    /// Where their codes come from.
    pub codes: Codes<'a>,
}

/// Where the codes of short URLs come from.
#[derive(Debug, Clone, Copy)]
pub enum Codes<'a> {
    /// They are drawn: the texts are to be sent.
    Drawn(&'a Arc<dyn Random>),
    /// The texts are only shown, with a placeholder of the same width.
    Placeholder,
}
