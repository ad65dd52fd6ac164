//! What tasks read before a commit. It must be correct, and the commit must follow from it.

use std::collections::{BTreeMap, BTreeSet};
use std::time::Duration;

use sms_core::contact::Contact;
use sms_core::ids::{AccountId, ContactId, NumberId};
use sms_core::number::{Holder, Number};
use sms_core::phone::E164;
use sms_core::route::RouteName;
use sms_core::time::Timestamp;

use super::{Check, Model, Moment};
use crate::simulation::executor::TaskId;

/// A number is online this long after its gateway checked in.
const ONLINE: Duration = Duration::from_mins(5);
/// The route of numbers that name none.
const FIRST_ROUTE: &str = "network";

/// What a task read since it began to plan.
#[derive(Debug, Clone, Default)]
pub struct Reading {
    /// The opted-out numbers among those it asked about; `None` if it did not ask.
    pub opted_out: Option<BTreeSet<E164>>,
    /// Contacts by their number.
    pub contacts: BTreeMap<E164, ContactId>,
    /// The numbers it could send from, for each time that it asked.
    numbers: Vec<Vec<Number>>,
    /// The sender names that it could use.
    pub(super) names: Vec<String>,
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

/// The account's newest online number, else the oldest shared one, else its newest one. `numbers`
/// holds the account's numbers and the shared ones.
fn sender(numbers: &[Number], at: Timestamp) -> Option<(E164, RouteName)> {
    let own = || numbers.iter().filter(|number| number.holder.account().is_some());
    let is_online = |number: &&Number| {
        number.checked_in_at.is_some_and(|checked_in_at| at.since(checked_in_at) <= ONLINE)
    };
    let shared = || numbers.iter().filter(|number| number.holder.account().is_none());
    let number = own().filter(is_online).max_by_key(|number| number.id);
    let number = number.or_else(|| shared().min_by_key(|number| number.id));
    let number = number.or_else(|| own().max_by_key(|number| number.id))?;
    let route = number.route.clone().unwrap_or_else(|| RouteName::new(FIRST_ROUTE));
    Some((number.phone, route))
}

impl Model {
    /// A task begins to plan.
    pub fn begins_to_plan(&mut self, task: TaskId) {
        self.readings.remove(&task);
    }

    /// A task asked which of these numbers have opted out.
    pub fn saw_opt_outs(
        &mut self,
        moment: &Moment<'_>,
        account: AccountId,
        numbers: &[E164],
        answer: &BTreeSet<E164>,
    ) -> Check {
        let own = self.accounts.get(&account).ok_or_else(|| format!("no account {account}"))?;
        let asked = numbers.iter().filter(|number| own.opt_outs.contains_key(*number));
        let must: BTreeSet<E164> = asked.copied().collect();
        ensure!(*answer == must, "{account} must not text {answer:?}, and truly {must:?}");
        self.readings.entry(moment.task).or_default().opted_out = Some(must);
        Ok(())
    }

    /// A task asked which of these numbers are contacts.
    pub fn saw_contacts_of(
        &mut self,
        moment: &Moment<'_>,
        account: AccountId,
        numbers: &[E164],
        answer: &[Contact],
    ) -> Check {
        let own = self.accounts.get(&account).ok_or_else(|| format!("no account {account}"))?;
        let wanted: BTreeSet<E164> = numbers.iter().copied().collect();
        let known = own.book.contacts.values().filter(|contact| wanted.contains(&contact.phone));
        let must: Vec<Contact> = known.map(|contact| own.shown(contact)).collect();
        let mut told = answer.to_vec();
        told.sort_by_key(|contact| contact.id);
        ensure!(told == must, "{account} has the contacts {told:?}, and truly {must:?}");
        let contacts = must.iter().map(|contact| (contact.phone, contact.id)).collect();
        self.readings.entry(moment.task).or_default().contacts = contacts;
        Ok(())
    }

    /// A task asked from which numbers an account may send.
    pub fn saw_numbers(
        &mut self,
        moment: &Moment<'_>,
        account: AccountId,
        answer: &[Number],
    ) -> Check {
        let is_usable = |holder: Holder| holder.account().is_none_or(|holder| holder == account);
        let own = self.numbers.iter().filter(|(_, own)| is_usable(own.holder));
        let known =
            |own: &super::OwnNumber| (own.phone, own.holder, own.route.clone(), own.checked_in_at);
        let must: BTreeMap<NumberId, _> = own.map(|(id, own)| (*id, known(own))).collect();
        let told = answer.iter().map(|number| {
            let Number { phone, holder, route, checked_in_at, .. } = number;
            (number.id, (*phone, *holder, route.clone(), *checked_in_at))
        });
        let told: BTreeMap<NumberId, _> = told.collect();
        ensure!(told == must, "{account} may send from {told:?}, and truly from {must:?}");
        let reading = self.readings.entry(moment.task).or_default();
        reading.numbers.push(answer.to_vec());
        Ok(())
    }

    /// A number's gateway checked in.
    pub fn saw_check_in(&mut self, id: NumberId, at: Timestamp, answer: bool) -> Check {
        let own = self.numbers.get_mut(&id);
        ensure!(own.is_some() == answer, "checking {id} in answers {answer}");
        if let Some(own) = own {
            own.checked_in_at = Some(at);
        }
        Ok(())
    }
}
