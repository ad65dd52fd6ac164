//! Puts contacts on a list: existing ones by id, and numbers, which become contacts if they are
//! not.

use std::collections::{BTreeMap, BTreeSet};

use crate::contact::book::{BookChange, BookFacts, BookPlan, BookQuestion, BookRefused};
use crate::contact::saved::{Contact, Details};
use crate::ids::{AccountId, ContactId, Ids, ListId};
use crate::phone::E164;
use crate::setters::setters;
use crate::time::Timestamp;

/// The contacts to put on a list, as given in a request.
///
/// ```
/// use sms_core::list::join::JoinInput;
///
/// let input = JoinInput::default().phones(["07700 900123", "07700 900124"]);
/// assert_eq!(input.phones.len(), 2);
/// ```
#[derive(Clone, PartialEq, Eq, Default)]
#[non_exhaustive]
pub struct JoinInput {
    /// Ids of saved contacts. Those of no contact of the account are reported.
    pub contact_ids: Vec<String>,
    /// UK mobile numbers in any common format.
    pub phones: Vec<String>,
}

setters! { JoinInput {
    /// Puts the contacts with these ids on the list.
    contact_ids(ids: impl IntoIterator<Item: Into<String>>) =
        ids.into_iter().map(Into::into).collect();
    /// Puts the contacts with these numbers on the list, and creates those that do not exist.
    phones(numbers: impl IntoIterator<Item: Into<String>>) =
        numbers.into_iter().map(Into::into).collect();
} }

/// Shows the counts, never the ids or numbers.
impl std::fmt::Debug for JoinInput {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("JoinInput")
            .field("contact_ids", &self.contact_ids.len())
            .field("phones", &self.phones.len())
            .finish()
    }
}

/// Puts contacts on a list.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct JoinPlan {
    /// The account that the list belongs to.
    pub account: AccountId,
    /// The list to put the contacts on.
    pub list: ListId,
    /// Contacts by id; [`Joined::unknown`] reports those that do not exist.
    pub contacts: Vec<ContactId>,
    /// Contacts by number, existing or new.
    pub phones: Vec<E164>,
    /// Ids for new contacts.
    pub ids: Ids,
    /// When the contacts join the list.
    pub at: Timestamp,
}

/// The result of putting contacts on a list.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub struct Joined {
    /// The number of contacts that were not on the list before.
    pub added: usize,
    /// The ids given that belong to no contact of the account.
    pub unknown: BTreeSet<ContactId>,
}

impl BookPlan for JoinPlan {
    type Answer = Joined;

    fn account(&self) -> AccountId {
        self.account
    }

    fn asks(&self) -> BookQuestion {
        BookQuestion {
            phones: self.phones.clone(),
            ids: self.contacts.clone(),
            list: Some(self.list),
            // New contacts of a list have no custom fields.
            names_in_use: false,
        }
    }

    fn settle(&self, facts: &BookFacts) -> Result<(BookChange, Joined), BookRefused> {
        let members = facts.members.as_ref().ok_or(BookRefused::NoSuchList(self.list))?;
        let by_phone: BTreeMap<E164, ContactId> =
            facts.contacts.iter().map(|contact| (contact.phone, contact.id)).collect();
        let known: BTreeSet<ContactId> = by_phone.values().copied().collect();
        let mut ids = self.ids.clone();
        let mut change = BookChange::default();
        let mut wanted: Vec<ContactId> =
            self.contacts.iter().copied().filter(|id| known.contains(id)).collect();
        let mut numbers = BTreeSet::new();
        for phone in self.phones.iter().copied().filter(|phone| numbers.insert(*phone)) {
            let found = by_phone.get(&phone).copied();
            let id = found.unwrap_or_else(|| {
                let id = ids.next();
                change.created.push(Contact {
                    id,
                    account: self.account,
                    phone,
                    details: Details::default(),
                    opted_out: facts.opted_out.contains(&phone),
                    created_at: self.at,
                    updated_at: self.at,
                });
                id
            });
            wanted.push(id);
        }
        let mut seen = BTreeSet::new();
        wanted.retain(|id| !members.contains(id) && seen.insert(*id));
        let unknown = self.contacts.iter().copied().filter(|id| !known.contains(id)).collect();
        let joined = Joined { added: wanted.len(), unknown };
        change.joined = Some((self.list, wanted));
        Ok((change, joined))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::samples::{account_id, contact, ids, mobile, seconds};

    #[test]
    fn contacts_and_numbers_join_a_list_once_and_unknown_ids_are_reported() {
        let list = ListId::from_u128(5);
        let other = Contact { id: ContactId::from_u128(77), phone: mobile(124), ..contact() };
        let nobody = ContactId::from_u128(99);
        let plan = JoinPlan {
            account: account_id(),
            list,
            contacts: vec![contact().id, nobody, contact().id],
            phones: vec![mobile(123), mobile(124), mobile(125), mobile(125)],
            ids: ids(),
            at: seconds(5),
        };
        let facts = BookFacts {
            contacts: vec![contact(), other.clone()],
            opted_out: [mobile(125)].into(),
            members: None,
            ..BookFacts::default()
        };
        assert_eq!(plan.settle(&facts), Err(BookRefused::NoSuchList(list)));
        let facts = BookFacts { members: Some(BTreeSet::new()), ..facts };
        let (change, joined) = plan.settle(&facts).unwrap();
        assert_eq!(joined, Joined { added: 3, unknown: [nobody].into() });
        let made = &change.created[0];
        assert_eq!((made.phone, made.opted_out, change.created.len()), (mobile(125), true, 1));
        assert_eq!(change.joined, Some((list, vec![contact().id, other.id, made.id])));
        let facts = BookFacts { members: Some([other.id, contact().id].into()), ..facts };
        assert_eq!(plan.settle(&facts).unwrap().1.added, 1);
    }
}
