//! Deeds with contacts, lists and opt-outs.

use sms_core::account::Mode;
use sms_core::contact::{ContactInput, ContactPatch, CustomValue};
use sms_core::ids::{AccountId, ContactId, ListId};
use sms_core::list::join::JoinInput;
use sms_core::list::{ListChange, ListInput};
use sms_core::phone::E164;

use super::caller::Caller;
use crate::simulation::dice::Dice;
use crate::simulation::model::AccountModel;
use crate::simulation::wish::person;

/// Something done with an address book.
#[derive(Debug, Clone)]
pub enum BookDeed {
    /// Makes a contact, perhaps with a first name and a field.
    Create(E164, Option<&'static str>, Option<&'static str>),
    /// Changes a contact's number or first name.
    Update(ContactId, Option<E164>, Option<&'static str>),
    /// Removes a contact.
    Delete(ContactId),
    /// Makes a list.
    ListCreate,
    /// Renames a list.
    ListRename(ListId),
    /// Removes a list.
    ListDelete(ListId),
    /// Adds a contact and a number to a list.
    Join(ListId, ContactId, E164),
    /// Removes a contact from a list.
    Leave(ListId, ContactId),
    /// Opts a number out.
    OptOut(E164),
    /// Opts a number in.
    OptIn(E164),
}

impl BookDeed {
    /// A deed on what is in the address book, or sometimes on what is not.
    pub fn draw(dice: &mut Dice, own: &AccountModel) -> Self {
        let contacts: Vec<ContactId> = own.book.contacts.keys().copied().collect();
        let lists: Vec<ListId> = own.book.lists.keys().copied().collect();
        let contact = dice.pick(&contacts).unwrap_or(ContactId::from_u128(7));
        let list = dice.pick(&lists).unwrap_or(ListId::from_u128(7));
        let name = dice.pick(&["Ann", "Zo\u{eb}"]).filter(|_| dice.percent(60));
        match dice.below(20) {
            0..4 => Self::Create(person(dice), name, dice.percent(30).then_some("points")),
            4..7 => {
                let phone = dice.percent(40).then(|| person(dice));
                Self::Update(contact, phone, name)
            }
            7..9 => Self::Delete(contact),
            9 if lists.len() < 12 => Self::ListCreate,
            9 | 10 => Self::ListRename(list),
            11 => Self::ListDelete(list),
            12..15 => Self::Join(list, contact, person(dice)),
            15 | 16 => Self::Leave(list, contact),
            17 => Self::OptOut(person(dice)),
            _ => Self::OptIn(person(dice)),
        }
    }

    /// What it is called in a trace.
    pub fn name(&self) -> &'static str {
        match self {
            Self::Create(..) => "make a contact",
            Self::Update(..) => "change a contact",
            Self::Delete(_) => "remove a contact",
            Self::ListCreate => "make a list",
            Self::ListRename(_) => "rename a list",
            Self::ListDelete(_) => "remove a list",
            Self::Join(..) => "join a list",
            Self::Leave(..) => "leave a list",
            Self::OptOut(_) => "opt out",
            Self::OptIn(_) => "opt in",
        }
    }
}

impl Caller {
    pub(super) async fn book(&self, account: AccountId, deed: BookDeed) {
        let handle = self.sms.account(account, Mode::Live);
        let missing = ["not_found"];
        match deed {
            BookDeed::Create(phone, first_name, field) => {
                let value = Some(CustomValue::Boolean(true));
                let mut input = ContactInput::new(phone.to_string());
                input.first_name = first_name.map(str::to_owned);
                input.custom = field.map(|name| (name.to_owned(), value)).into_iter().collect();
                let answer = handle.contact_create(input).await;
                self.expect("making a contact", answer, &["contact_exists"]);
            }
            BookDeed::Update(id, phone, first_name) => {
                let mut patch = ContactPatch::default().first_name(first_name);
                patch.phone = phone.map(|phone| phone.to_string());
                let answer = handle.contact_update(id, patch).await;
                self.expect("changing a contact", answer, &["contact_exists", "not_found"]);
            }
            BookDeed::Delete(id) => {
                self.expect("removing a contact", handle.contact_delete(id).await, &missing);
            }
            BookDeed::ListCreate => {
                let input = ListInput::new("Guests");
                self.expect("making a list", handle.list_create(input).await, &[]);
            }
            BookDeed::ListRename(id) => {
                let name = Some("Friends".to_owned());
                let change = ListChange { name, ..ListChange::default() };
                self.expect("renaming a list", handle.list_update(id, change).await, &missing);
            }
            BookDeed::ListDelete(id) => {
                self.expect("removing a list", handle.list_delete(id).await, &missing);
            }
            BookDeed::Join(list, contact, phone) => {
                let (contact, phone) = ([contact.to_string()], [phone.to_string()]);
                let input = JoinInput::default().contact_ids(contact).phones(phone);
                let answer = handle.list_add(list, input).await;
                self.expect("joining a list", answer, &missing);
            }
            BookDeed::Leave(list, contact) => {
                let answer = handle.list_remove(list, contact).await;
                self.expect("leaving a list", answer, &missing);
            }
            BookDeed::OptOut(phone) => {
                let answer = handle.opt_out_create(&phone.to_string(), None).await;
                self.expect("opting out", answer, &[]);
            }
            BookDeed::OptIn(phone) => {
                self.expect("opting in", handle.opt_out_delete(phone).await, &missing);
            }
        }
    }
}
