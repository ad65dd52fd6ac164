//! What tasks read before a commit. It must be correct, and the commit must follow from it.

use std::collections::{BTreeMap, BTreeSet};

use sms_core::contact::Contact;
use sms_core::ids::{AccountId, NumberId};
use sms_core::number::{Holder, Number};
use sms_core::phone::E164;
use sms_core::time::Timestamp;

use super::{Check, Model, Moment};
use crate::simulation::executor::TaskId;

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
        let opted_out = must.iter().filter(|contact| contact.opted_out);
        let shown_opted_out = opted_out.map(|contact| contact.phone).collect();
        let reading = self.readings.entry(moment.task).or_default();
        reading.contacts = contacts;
        reading.shown_opted_out = shown_opted_out;
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
