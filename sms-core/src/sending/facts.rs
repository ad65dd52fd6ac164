//! What planning a send depends on besides the request.

use std::collections::BTreeSet;
use std::sync::Arc;
use std::time::Duration;

use crate::account::settings::Settings;
use crate::ids::AccountId;
use crate::link::LinkBase;
use crate::mode::Mode;
use crate::phone::E164;
use crate::random::Random;
use crate::route_name::RouteName;
use crate::sender_name::SenderValue;
use crate::time::Timestamp;

/// What planning a send depends on besides the request.
#[derive(Debug, Clone, Copy)]
pub struct PlanFacts<'a> {
    /// The account that sends.
    pub account: AccountId,
    /// The account's settings, which hold the opt-out lines.
    pub settings: &'a Settings,
    /// The kind of key. In test mode nothing is charged.
    pub mode: Mode,
    /// The text to send, from the request or its template, before merging.
    pub body: &'a str,
    /// The number that the messages are sent from.
    pub from: E164,
    /// The approved sender name that recipients see instead; `None` if the request names none.
    pub sender: Option<&'a SenderValue>,
    /// The route that carries the messages.
    pub route: &'a RouteName,
    /// The custom fields in the body that contacts of the account use. Any other word in braces
    /// stays as typed.
    pub custom_names: &'a BTreeSet<String>,
    /// How links are shortened, if the request asks for it.
    pub shortening: Shortening<'a>,
    /// How long a message may wait for its route before it expires.
    pub validity: Duration,
    /// The time of the request.
    pub at: Timestamp,
}

/// How links are shortened.
#[derive(Debug, Clone, Copy)]
pub struct Shortening<'a> {
    /// The start of every short URL.
    pub base: &'a LinkBase,
    /// Where the codes come from.
    pub codes: Codes<'a>,
}

/// Where the codes of short URLs come from.
#[derive(Debug, Clone, Copy)]
pub enum Codes<'a> {
    /// Drawn at random, for messages that are to be sent.
    Drawn(&'a Arc<dyn Random>),
    /// A placeholder of the same width, for messages that are only shown.
    Placeholder,
}
