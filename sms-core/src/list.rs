//! Lists: named groups of contacts.

use crate::ids::{AccountId, ListId};
use crate::time::Timestamp;

pub mod join;
pub mod store;

/// The maximum length of a name, in characters.
pub const MAX_NAME: usize = 100;
/// The maximum length of a description, in characters.
pub const MAX_DESCRIPTION: usize = 500;

/// A list of contacts.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ContactList {
    /// The id of the list.
    pub id: ListId,
    /// The account that the list belongs to.
    pub account: AccountId,
    /// The name, 1 to 100 characters. Several lists may have the same name.
    pub name: String,
    /// What the list is for, at most 500 characters; `None` if not given.
    pub description: Option<String>,
    /// The exact number of contacts on the list.
    pub contact_count: u64,
    /// When the list was created.
    pub created_at: Timestamp,
    /// When its name or description last changed.
    pub updated_at: Timestamp,
}

/// A new list as given in a request.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ListInput {
    /// The name, 1 to 100 characters.
    pub name: String,
    /// What the list is for, at most 500 characters; `None` if not given.
    pub description: Option<String>,
}

impl ListInput {
    /// The new list, without contacts.
    pub fn into_list(self, id: ListId, account: AccountId, at: Timestamp) -> ContactList {
        let Self { name, description } = self;
        ContactList {
            id,
            account,
            name,
            description,
            contact_count: 0,
            created_at: at,
            updated_at: at,
        }
    }
}

/// A change of a list. `None` keeps a value.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct ListChange {
    /// A new name, 1 to 100 characters.
    pub name: Option<String>,
    /// A new description, at most 500 characters; `Some(None)` removes it.
    pub description: Option<Option<String>>,
}

impl ListChange {
    /// The list after the change.
    #[must_use]
    pub fn apply(self, list: ContactList, at: Timestamp) -> ContactList {
        let Self { name, description } = self;
        ContactList {
            name: name.unwrap_or(list.name),
            description: description.unwrap_or(list.description),
            updated_at: at,
            ..list
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::samples::{account_id, seconds};

    #[test]
    fn a_change_of_a_list_keeps_the_values_it_does_not_name() {
        let input = ListInput { name: "Regulars".to_owned(), description: Some("x".to_owned()) };
        let list = input.into_list(ListId::from_u128(1), account_id(), seconds(0));
        assert_eq!((list.contact_count, list.created_at), (0, list.updated_at));
        let change = ListChange { name: Some("VIP".to_owned()), ..ListChange::default() };
        let renamed = change.apply(list.clone(), seconds(5));
        let expected =
            ContactList { name: "VIP".to_owned(), updated_at: seconds(5), ..list.clone() };
        assert_eq!(renamed, expected);
        let cleared = ListChange { name: None, description: Some(None) }.apply(list, seconds(5));
        assert_eq!((cleared.name.as_str(), cleared.description), ("Regulars", None));
    }
}
