//! An address book, without opt-outs.

use std::collections::{BTreeMap, BTreeSet};

use sms_core::contact::Contact;
use sms_core::contact::book::BookRefused;
use sms_core::ids::{ContactId, ListId};
use sms_core::list::ContactList;
use sms_core::phone::E164;

/// The expected address book of an account, without opt-outs.
#[derive(Debug, Default)]
pub struct BookModel {
    /// Contacts.
    pub contacts: BTreeMap<ContactId, Contact>,
    /// Lists and their contacts. The list's own count is not used.
    pub lists: BTreeMap<ListId, (ContactList, BTreeSet<ContactId>)>,
}

impl BookModel {
    /// The contact with a number.
    pub fn of_number(&self, phone: E164) -> Option<&Contact> {
        self.contacts.values().find(|contact| contact.phone == phone)
    }

    /// The list as the API must show it.
    pub fn list(&self, id: ListId) -> Option<ContactList> {
        let (list, members) = self.lists.get(&id)?;
        Some(ContactList { contact_count: members.len() as u64, ..list.clone() })
    }

    /// Why a contact must not have this number, if so.
    pub(crate) fn refuses(&self, id: ContactId, phone: Option<E164>) -> Option<BookRefused> {
        let holder = phone.and_then(|phone| self.of_number(phone));
        let holder = holder.filter(|holder| holder.id != id);
        holder.map(|holder| BookRefused::ContactExists(holder.id))
    }
}
