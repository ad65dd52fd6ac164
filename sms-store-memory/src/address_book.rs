//! One account's contacts and lists.

use std::collections::{BTreeMap, BTreeSet};
use std::ops::Bound;

use sms_core::contact::book::{BookChange, BookFacts, BookQuestion};
use sms_core::contact::custom::{FieldUses, NamesInUse};
use sms_core::contact::filter::ContactSearch;
use sms_core::contact::{Contact, ContactFilter};
use sms_core::ids::{ContactId, ListId};
use sms_core::list::ContactList;
use sms_core::opt_out::OptOut;
use sms_core::phone::E164;
use sms_core::store::StoreError;

type OptOuts = BTreeMap<E164, OptOut>;

/// Contacts and lists of one account.
#[derive(Default)]
pub(crate) struct AddressBook {
    /// Without `opted_out`, which [`read`] fills in.
    pub(crate) contacts: BTreeMap<ContactId, Contact>,
    pub(crate) by_phone: BTreeMap<E164, ContactId>,
    pub(crate) lists: BTreeMap<ListId, ContactList>,
    members: BTreeSet<(ListId, ContactId)>,
    lists_of: BTreeSet<(ContactId, ListId)>,
    /// How many contacts use each custom field name. Never 0.
    pub(crate) uses: BTreeMap<String, i64>,
}

impl AddressBook {
    /// The contacts of a list with ids below `before`, oldest first; all of them for `None`.
    fn on_list_before(
        &self,
        list: ListId,
        before: Option<ContactId>,
    ) -> impl DoubleEndedIterator<Item = &Contact> {
        let end = before.unwrap_or(ContactId::from_u128(u128::MAX));
        let range = self.members.range((list, ContactId::from_u128(0))..(list, end));
        range.filter_map(|(_, id)| self.contacts.get(id))
    }

    /// The contacts of a list with ids above `after`, oldest first; all of them for `None`.
    pub(crate) fn on_list_after(
        &self,
        list: ListId,
        after: Option<ContactId>,
    ) -> impl Iterator<Item = &Contact> {
        let start = (list, after.unwrap_or(ContactId::from_u128(0)));
        let end = (list, ContactId::from_u128(u128::MAX));
        let range = self.members.range((Bound::Excluded(start), Bound::Included(end)));
        range.filter_map(|(_, id)| self.contacts.get(id))
    }

    /// The contact that has this number.
    pub(crate) fn of_number(&self, number: E164) -> Option<&Contact> {
        self.contacts.get(self.by_phone.get(&number)?)
    }

    /// The lists of a contact, newest first.
    pub(crate) fn lists_of(&self, contact: ContactId) -> Vec<ListId> {
        let all = (contact, ListId::from_u128(0))..=(contact, ListId::from_u128(u128::MAX));
        self.lists_of.range(all).rev().map(|(_, list)| *list).collect()
    }

    /// The contacts among which those that the filter accepts are found.
    pub(crate) fn newest_first<'a>(
        &'a self,
        filter: &'a ContactFilter,
        before: Option<ContactId>,
    ) -> Box<dyn Iterator<Item = &'a Contact> + 'a> {
        let end = before.unwrap_or(ContactId::from_u128(u128::MAX));
        if let Some(ContactSearch::Number(number)) = filter.search {
            let is_member = move |contact: &&Contact| {
                filter.list_id.is_none_or(|list| self.members.contains(&(list, contact.id)))
            };
            let found = self.of_number(number).filter(move |contact| contact.id < end);
            return Box::new(found.filter(is_member).into_iter());
        }
        if let Some(list) = filter.list_id {
            return Box::new(self.on_list_before(list, before).rev());
        }
        Box::new(self.contacts.range(..end).rev().map(|(_, contact)| contact))
    }

    pub(crate) fn facts(&self, question: &BookQuestion, opt_outs: &OptOuts) -> BookFacts {
        let BookQuestion { phones, ids, list, names_in_use } = question;
        let by_phone = phones.iter().filter_map(|phone| self.by_phone.get(phone));
        let found: BTreeSet<ContactId> = ids.iter().chain(by_phone).copied().collect();
        let contacts = found.iter().filter_map(|id| self.contacts.get(id));
        let is_member = |list: &ListId| {
            found.iter().filter(|id| self.members.contains(&(*list, **id))).copied().collect()
        };
        BookFacts {
            contacts: contacts.map(|contact| read(contact, opt_outs)).collect(),
            opted_out: phones
                .iter()
                .filter(|phone| opt_outs.contains_key(phone))
                .copied()
                .collect(),
            names_in_use: NamesInUse::new(self.uses.clone().into_iter().filter(|_| *names_in_use)),
            members: list.filter(|list| self.lists.contains_key(list)).as_ref().map(is_member),
        }
    }

    pub(crate) fn write(&mut self, change: BookChange) {
        let BookChange { removed, updated, created, joined, uses } = change;
        for id in removed {
            for list in self.lists_of(id) {
                self.leave(list, id);
            }
            if let Some(contact) = self.contacts.remove(&id) {
                self.by_phone.remove(&contact.phone);
            }
        }
        for contact in updated.into_iter().chain(created) {
            if let Some(before) = self.contacts.get(&contact.id) {
                self.by_phone.remove(&before.phone);
            }
            self.by_phone.insert(contact.phone, contact.id);
            self.contacts.insert(contact.id, contact);
        }
        for (list, contact) in joined
            .into_iter()
            .flat_map(|(list, contacts)| contacts.into_iter().map(move |contact| (list, contact)))
        {
            self.join(list, contact);
        }
        self.count(&uses);
    }

    fn count(&mut self, uses: &FieldUses) {
        for (name, by) in uses.changes() {
            let count = self.uses.entry(name.to_owned()).or_default();
            *count += by;
            if *count == 0 {
                self.uses.remove(name);
            }
        }
    }

    fn join(&mut self, list: ListId, contact: ContactId) {
        if self.members.insert((list, contact)) {
            self.lists_of.insert((contact, list));
            if let Some(list) = self.lists.get_mut(&list) {
                list.contact_count += 1;
            }
        }
    }

    /// Removes a contact from a list. Returns false if it was not on the list.
    pub(crate) fn leave(&mut self, list: ListId, contact: ContactId) -> bool {
        let was_there = self.members.remove(&(list, contact));
        if was_there {
            self.lists_of.remove(&(contact, list));
            if let Some(list) = self.lists.get_mut(&list) {
                list.contact_count -= 1;
            }
        }
        was_there
    }

    pub(crate) fn remove_list(&mut self, list: ListId) -> bool {
        let members: Vec<ContactId> =
            self.on_list_before(list, None).map(|contact| contact.id).collect();
        for contact in members {
            self.leave(list, contact);
        }
        self.lists.remove(&list).is_some()
    }
}

/// A contact with `opted_out` filled in.
pub(crate) fn read(contact: &Contact, opt_outs: &OptOuts) -> Contact {
    Contact { opted_out: opt_outs.contains_key(&contact.phone), ..contact.clone() }
}

pub(crate) fn no_account() -> StoreError {
    StoreError::Internal {
        doing: "changing the contacts of an account that does not exist",
        source: None,
    }
}
