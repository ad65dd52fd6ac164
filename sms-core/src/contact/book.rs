//! What all changes of an address book share: the question they ask, the facts they depend on, and
//! what they write. Changes of one account's book run one after another, so that a number belongs
//! to at most one contact and counts are exact.

use std::collections::BTreeSet;

use serde::{Deserialize, Serialize};

use super::custom::{CustomFields, FieldUses, NamesInUse};
use super::input::ContactChange;
use super::saved::{Contact, Details};
use crate::field_error::FieldError;
use crate::idempotency::Answer;
use crate::ids::{AccountId, ContactId, ListId};
use crate::phone::E164;
use crate::time::Timestamp;
use crate::version::{Changed, IfVersion};

/// What a plan needs to know about the address book.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct BookQuestion {
    /// Numbers: which contacts have them, and which of them have opted out.
    pub phones: Vec<E164>,
    /// Ids of the contacts to read.
    pub ids: Vec<ContactId>,
    /// A list: whether it exists, and which of those contacts are on it; `None` if the plan uses no
    /// list.
    pub list: Option<ListId>,
    /// Whether the plan may add custom names, and so has to know those in use.
    pub names_in_use: bool,
}

/// The facts on which the verdict depends.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct BookFacts {
    /// The contacts asked for, each once, in any order.
    pub contacts: Vec<Contact>,
    /// The numbers asked for that have opted out.
    pub opted_out: BTreeSet<E164>,
    /// Those of the contacts that are on the list asked for; `None` if there is no such list.
    pub members: Option<BTreeSet<ContactId>>,
    /// The custom names in use, if the plan asked for them.
    pub names_in_use: NamesInUse,
}

/// Everything that a store writes, in this order.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
#[must_use = "the store must write this change"]
pub struct BookChange {
    /// Contacts to remove, also from every list that they are on.
    pub removed: Vec<ContactId>,
    /// Changed contacts, as they are after the change.
    pub updated: Vec<Contact>,
    /// New contacts, in full.
    pub created: Vec<Contact>,
    /// A list, and the contacts to put on it that were not on it before.
    pub joined: Option<(ListId, Vec<ContactId>)>,
    /// How many more or fewer contacts use each custom name.
    pub uses: FieldUses,
}

impl BookChange {
    pub(super) fn create(&mut self, contact: Contact) {
        self.uses.count(&CustomFields::new(), &contact.details.custom);
        self.created.push(contact);
    }

    pub(super) fn update(&mut self, before: &Contact, after: Contact) {
        self.uses.count(&before.details.custom, &after.details.custom);
        self.updated.push(after);
    }
}

/// Why a change of the book was refused. Nothing was written.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum BookRefused {
    /// The account has no such contact.
    #[error("no such contact")]
    NoSuchContact,
    /// The account has no such list.
    #[error("no such list")]
    NoSuchList(ListId),
    /// Another contact, with this id, has the number.
    #[error("another contact already has this number")]
    ContactExists(ContactId),
    /// The contact would break rules after the change; each field error names one.
    #[error("the contact would be invalid after the change")]
    Invalid(Vec<FieldError>),
    /// The contact has another version than the change was made on.
    #[error(transparent)]
    Changed(#[from] Changed),
}

fn invalid(error: FieldError) -> BookRefused {
    BookRefused::Invalid(vec![error])
}

/// A change of one account's book, decided with the book locked.
pub trait BookPlan: Send + Sync {
    /// What the caller gets if the change is accepted.
    type Answer: Send;

    /// The account whose book changes.
    fn account(&self) -> AccountId;

    /// What the plan needs to know.
    fn asks(&self) -> BookQuestion;

    /// Decides. No other change of the book may run between reading the facts and writing the
    /// change.
    fn settle(&self, facts: &BookFacts) -> Result<(BookChange, Self::Answer), BookRefused>;
}

/// A plan to create a contact. It is refused if the account has a contact with the number.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct CreatePlan {
    /// The account that the contact will belong to.
    pub account: AccountId,
    /// The id of the new contact.
    pub id: ContactId,
    /// The number of the contact.
    pub phone: E164,
    /// What is known about the person.
    pub details: Details,
    /// When the contact is created.
    pub at: Timestamp,
}

impl BookPlan for CreatePlan {
    type Answer = Contact;

    fn account(&self) -> AccountId {
        self.account
    }

    fn asks(&self) -> BookQuestion {
        let names_in_use = !self.details.custom.is_empty();
        BookQuestion { phones: vec![self.phone], names_in_use, ..BookQuestion::default() }
    }

    fn settle(&self, facts: &BookFacts) -> Result<(BookChange, Contact), BookRefused> {
        if let Some(existing) = facts.contacts.iter().find(|found| found.phone == self.phone) {
            return Err(BookRefused::ContactExists(existing.id));
        }
        let mut names = facts.names_in_use.clone();
        names.count(&CustomFields::new(), &self.details.custom).map_err(invalid)?;
        let contact = Contact {
            id: self.id,
            account: self.account,
            phone: self.phone,
            details: self.details.clone(),
            opted_out: facts.opted_out.contains(&self.phone),
            created_at: self.at,
            updated_at: self.at,
        };
        let mut change = BookChange::default();
        change.create(contact.clone());
        Ok((change, contact))
    }
}

/// A repetition returns the contact as it was created.
impl Answer for Contact {
    type Kept = KeptContact;

    fn kept(&self) -> KeptContact {
        KeptContact { id: self.id, at: self.created_at, opted_out: self.opted_out }
    }
}

/// What is kept of a new contact besides its number and details.
#[derive(Debug, Clone, Copy, Serialize, Deserialize)]
pub struct KeptContact {
    id: ContactId,
    at: Timestamp,
    opted_out: bool,
}

impl KeptContact {
    /// The contact that the request made.
    pub fn contact(self, account: AccountId, phone: E164, details: Details) -> Contact {
        let Self { id, at, opted_out } = self;
        Contact { id, account, phone, details, opted_out, created_at: at, updated_at: at }
    }
}

/// A plan to change a contact. It is refused if another contact has the new number.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct UpdatePlan {
    /// The account that the contact belongs to.
    pub account: AccountId,
    /// The contact to change.
    pub id: ContactId,
    /// The changes to its fields.
    pub change: ContactChange,
    /// When the contact changes.
    pub at: Timestamp,
}

impl BookPlan for UpdatePlan {
    type Answer = Contact;

    fn account(&self) -> AccountId {
        self.account
    }

    fn asks(&self) -> BookQuestion {
        let phones = self.change.phone.into_iter().collect();
        let names_in_use = self.change.custom.may_add();
        BookQuestion { phones, ids: vec![self.id], list: None, names_in_use }
    }

    fn settle(&self, facts: &BookFacts) -> Result<(BookChange, Contact), BookRefused> {
        let before = facts.contacts.iter().find(|found| found.id == self.id);
        let before = before.ok_or(BookRefused::NoSuchContact)?;
        self.change.if_version.check(before)?;
        let mut after = self.change.apply(before, self.at).map_err(BookRefused::Invalid)?;
        let holds = |found: &&Contact| found.phone == after.phone && found.id != self.id;
        if let Some(other) = facts.contacts.iter().find(holds) {
            return Err(BookRefused::ContactExists(other.id));
        }
        let mut names = facts.names_in_use.clone();
        names.count(&before.details.custom, &after.details.custom).map_err(invalid)?;
        if after.phone != before.phone {
            after.opted_out = facts.opted_out.contains(&after.phone);
        }
        let mut change = BookChange::default();
        change.update(before, after.clone());
        Ok((change, after))
    }
}

/// Removes a contact, also from every list.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct RemovePlan {
    /// The account that the contact belongs to.
    pub account: AccountId,
    /// The contact to remove.
    pub id: ContactId,
    /// The versions that may be removed.
    pub if_version: IfVersion,
}

impl BookPlan for RemovePlan {
    type Answer = ();

    fn account(&self) -> AccountId {
        self.account
    }

    fn asks(&self) -> BookQuestion {
        BookQuestion { ids: vec![self.id], ..BookQuestion::default() }
    }

    fn settle(&self, facts: &BookFacts) -> Result<(BookChange, ()), BookRefused> {
        let contact = facts.contacts.iter().find(|found| found.id == self.id);
        let contact = contact.ok_or(BookRefused::NoSuchContact)?;
        self.if_version.check(contact)?;
        let mut change = BookChange { removed: vec![contact.id], ..BookChange::default() };
        change.uses.count(&contact.details.custom, &CustomFields::new());
        Ok((change, ()))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::contact::CustomValue;
    use crate::samples::{account_id, contact, mobile, seconds};

    fn fields(names: &[&str]) -> CustomFields {
        names.iter().map(|name| ((*name).to_owned(), CustomValue::Boolean(true))).collect()
    }

    fn with_fields(names: &[&str]) -> Details {
        Details { custom: fields(names), ..Details::default() }
    }

    fn uses(change: &BookChange) -> Vec<(&str, i64)> {
        change.uses.changes().collect()
    }

    fn create() -> CreatePlan {
        CreatePlan {
            account: account_id(),
            id: ContactId::from_u128(9),
            phone: mobile(123),
            details: with_fields(&["a", "b"]),
            at: seconds(5),
        }
    }

    fn facts(contacts: Vec<Contact>) -> BookFacts {
        BookFacts { contacts, ..BookFacts::default() }
    }

    #[test]
    fn a_number_becomes_a_contact_once() {
        let (change, made) = create().settle(&facts(vec![])).unwrap();
        assert_eq!((made.id, made.phone, made.opted_out), (create().id, mobile(123), false));
        assert_eq!((made.created_at, made.updated_at), (seconds(5), seconds(5)));
        assert_eq!(change.created, [made]);
        assert_eq!(uses(&change), [("a", 1), ("b", 1)]);
        let refused = create().settle(&facts(vec![contact()]));
        assert_eq!(refused, Err(BookRefused::ContactExists(contact().id)));
    }

    #[test]
    fn a_new_contact_shows_whether_its_number_has_opted_out() {
        let facts = BookFacts { opted_out: [mobile(123)].into(), ..BookFacts::default() };
        assert!(create().settle(&facts).unwrap().1.opted_out);
    }

    fn update(change: ContactChange) -> UpdatePlan {
        UpdatePlan { account: account_id(), id: contact().id, change, at: seconds(5) }
    }

    #[test]
    fn a_contact_may_take_another_number_unless_another_contact_has_it() {
        let change = ContactChange { phone: Some(mobile(124)), ..ContactChange::default() };
        let plan = update(change);
        assert_eq!(plan.asks().phones, [mobile(124)]);
        let told = BookFacts { opted_out: [mobile(124)].into(), ..facts(vec![contact()]) };
        let (written, after) = plan.settle(&told).unwrap();
        assert_eq!((after.phone, after.opted_out), (mobile(124), true));
        assert_eq!(written.updated, [after]);
        let other = Contact { id: ContactId::from_u128(77), phone: mobile(124), ..contact() };
        let refused = plan.settle(&facts(vec![contact(), other]));
        assert_eq!(refused, Err(BookRefused::ContactExists(ContactId::from_u128(77))));
        assert_eq!(plan.settle(&facts(vec![])), Err(BookRefused::NoSuchContact));
        let same = ContactChange { phone: Some(contact().phone), ..ContactChange::default() };
        assert!(update(same).settle(&facts(vec![contact()])).is_ok());
    }

    #[test]
    fn changes_and_removals_count_the_names_in_use() {
        use crate::contact::custom::CustomPatch;
        let before = Contact { details: with_fields(&["a", "b"]), ..contact() };
        let given = [("b".to_owned(), None), ("c".to_owned(), Some(CustomValue::Boolean(false)))];
        let custom = CustomPatch::Merge(given.into());
        let plan = update(ContactChange { custom, ..ContactChange::default() });
        let (change, _) = plan.settle(&facts(vec![before.clone()])).unwrap();
        assert_eq!(uses(&change), [("b", -1), ("c", 1)]);
        let if_version = IfVersion::Any;
        let plan = RemovePlan { account: account_id(), id: before.id, if_version };
        let (change, ()) = plan.settle(&facts(vec![before.clone()])).unwrap();
        assert_eq!(
            (uses(&change), &change.removed[..]),
            (vec![("a", -1), ("b", -1)], &[before.id][..])
        );
        assert_eq!(plan.settle(&facts(vec![])), Err(BookRefused::NoSuchContact));
    }
}
