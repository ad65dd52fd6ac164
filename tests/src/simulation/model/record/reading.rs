//! What a task read since it began to plan.

use std::collections::{BTreeMap, BTreeSet};
use std::time::Duration;

use sms_core::ids::ContactId;
use sms_core::number::Number;
use sms_core::phone::E164;
use sms_core::route::RouteName;
use sms_core::time::Timestamp;

/// A number is online this long after its gateway checked in.
pub(crate) const ONLINE: Duration = Duration::from_mins(5);
/// The route of numbers that name none.
pub(crate) const FIRST_ROUTE: &str = "network";

/// What a task read since it began to plan.
#[derive(Debug, Clone, Default)]
pub struct Reading {
    /// The opted-out numbers among those it asked about; `None` if it did not ask.
    pub opted_out: Option<BTreeSet<E164>>,
    /// The contacts that were shown as opted out.
    pub shown_opted_out: BTreeSet<E164>,
    /// Contacts by their number.
    pub contacts: BTreeMap<E164, ContactId>,
    /// The numbers it could send from, for each time that it asked.
    pub(crate) numbers: Vec<Vec<Number>>,
    /// The sender names that it could use.
    pub(crate) names: Vec<String>,
}

impl Reading {
    /// A sender name that it could use, as approved.
    pub fn approved(&self, wanted: &str) -> Option<String> {
        self.names.iter().find(|name| name.eq_ignore_ascii_case(wanted)).cloned()
    }

    /// The numbers, each with its route, from which messages planned at `at` may be sent: one for
    /// each time that it asked.
    pub fn senders(&self, at: Timestamp) -> impl Iterator<Item = (E164, RouteName)> {
        self.numbers.iter().filter_map(move |numbers| sender(numbers, at))
    }
}

/// Whether the rent of a number has been owed for seven days.
fn is_stopped(number: &Number, at: Timestamp) -> bool {
    let rented = number.holder.account().is_some() && number.rental_credits.get() > 0;
    let day = Duration::from_hours(24);
    let due = number.rental_charged_at.map_or(number.assigned_at, |last| last.plus(day * 30));
    rented && at >= due.plus(day * 7)
}

/// The account's newest online number, else the oldest shared one, else its newest one. `numbers`
/// holds the account's numbers and the shared ones.
fn sender(numbers: &[Number], at: Timestamp) -> Option<(E164, RouteName)> {
    let usable = || numbers.iter().filter(|number| !is_stopped(number, at));
    let own = || usable().filter(|number| number.holder.account().is_some());
    let is_online = |number: &&Number| {
        number.checked_in_at.is_some_and(|checked_in_at| at.since(checked_in_at) <= ONLINE)
    };
    let shared = || usable().filter(|number| number.holder.account().is_none());
    let number = own().filter(is_online).max_by_key(|number| number.id);
    let number = number.or_else(|| shared().min_by_key(|number| number.id));
    let number = number.or_else(|| own().max_by_key(|number| number.id))?;
    let route = number.route.clone().unwrap_or_else(|| RouteName::new(FIRST_ROUTE));
    Some((number.phone, route))
}
