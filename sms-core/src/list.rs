//! Lists: groups of contacts under a name.

use crate::ids::{AccountId, ListId};
use crate::time::Timestamp;

pub mod join;
pub mod store;

/// How many characters a name may have.
pub const MAX_NAME: usize = 100;
/// How many characters a description may have.
pub const MAX_DESCRIPTION: usize = 500;

/// A list of contacts.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ContactList {
    /// Its id.
    pub id: ListId,
    /// Whose it is.
    pub account: AccountId,
    /// What it is called; two lists may be called the same.
    pub name: String,
    /// What it is for.
    pub description: Option<String>,
    /// How many contacts are on it, exactly.
    pub contact_count: u64,
    /// When it was made.
    pub created_at: Timestamp,
    /// When its name or description last changed.
    pub updated_at: Timestamp,
}

/// What a new list shall be.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ListInput {
    /// What it is called, 1 to 100 characters.
    pub name: String,
    /// What it is for, at most 500 characters.
    pub description: Option<String>,
}

impl ListInput {
    /// The list as it is made: without contacts.
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

/// What shall change of a list; what is `None` stays.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct ListChange {
    /// Another name.
    pub name: Option<String>,
    /// Another description, or none.
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
    fn a_change_of_a_list_leaves_alone_what_it_does_not_name() {
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
