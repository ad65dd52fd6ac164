//! Lists: named groups of contacts.

use crate::field_error::FieldError;
use crate::idempotency::fingerprint::Fields;
use crate::idempotency::{Answer, Born};
use crate::ids::{AccountId, ListId};
use crate::setters::setters;
use crate::text::blank::is_blank;
use crate::time::Timestamp;
use crate::version::{Changed, IfVersion, Version, Versioned};

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

/// Name and description, but neither the count nor the members.
impl Versioned for ContactList {
    const KIND: &'static str = "list";

    fn version(&self) -> Version {
        let Self { id, account: _, name, description, contact_count: _, .. } = self;
        Version::of(Self::KIND, id, |fields| {
            fields.add("name", [name]);
            fields.add("description", description.as_deref());
        })
    }
}

/// A new list as given in a request.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub struct ListInput {
    /// The name, 1 to 100 characters.
    pub name: String,
    /// What the list is for, at most 500 characters; `None` if not given.
    pub description: Option<String>,
}

impl ListInput {
    /// A list with this name.
    pub fn new(name: impl Into<String>) -> Self {
        Self { name: name.into(), description: None }
    }

    /// Every rule for single fields that it breaks.
    pub fn check(&self) -> Vec<FieldError> {
        check(Some(&self.name), self.description.as_deref())
    }

    /// Adds the meaning of the input to a fingerprint.
    pub fn meaning(&self, fields: &mut Fields) {
        let Self { name, description } = self;
        fields.add("name", [name]);
        fields.add("description", description.as_deref());
    }

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

setters! { ListInput {
    /// Says what the list is for.
    description(text: impl Into<String>) = Some(text.into());
} }

/// A repetition returns the list as it was created.
impl Answer for ContactList {
    type Kept = Born<ListId>;

    fn kept(&self) -> Self::Kept {
        Born { id: self.id, at: self.created_at }
    }
}

/// A change of a list. `None` keeps a value.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct ListChange {
    /// A new name, 1 to 100 characters.
    pub name: Option<String>,
    /// A new description, at most 500 characters; `Some(None)` removes it.
    pub description: Option<Option<String>>,
    /// The versions on which the change may be made.
    pub if_version: IfVersion,
}

impl ListChange {
    /// Every rule for single fields that it breaks.
    pub fn check(&self) -> Vec<FieldError> {
        check(self.name.as_deref(), self.description.as_ref().and_then(Option::as_deref))
    }

    /// The list after the change, given the list that the store found under its lock.
    ///
    /// # Errors
    ///
    /// The list has another version than the change was made on.
    pub fn apply(self, list: ContactList, at: Timestamp) -> Result<ContactList, Changed> {
        let Self { name, description, if_version } = self;
        if_version.check(&list)?;
        Ok(ContactList {
            name: name.unwrap_or(list.name),
            description: description.unwrap_or(list.description),
            updated_at: at,
            ..list
        })
    }
}

setters! { ListChange {
    /// Replaces the name: 1 to 100 characters. Several lists may have the same name.
    name(name: impl Into<String>) = Some(name.into());
    /// Replaces the description; `None` removes it.
    description(text: Option<&str>) = Some(text.map(str::to_owned));
    /// Makes the change on this version only.
    if_version(version: impl Into<IfVersion>) = version.into();
} }

/// The rules of a list's name and description, of those that are given.
fn check(name: Option<&str>, description: Option<&str>) -> Vec<FieldError> {
    let mut errors = Vec::new();
    if name.is_some_and(is_blank) {
        errors.push(FieldError::new("name", "empty", "name must not be empty"));
    }
    for (field, most, text) in
        [("name", MAX_NAME, name), ("description", MAX_DESCRIPTION, description)]
    {
        let Some(text) = text else { continue };
        if text.contains('\0') {
            let message = format!("{field} must not contain the character U+0000");
            errors.push(FieldError::new(field, "invalid_character", message));
        } else if text.chars().count() > most {
            let message = format!("{field} must have at most {most} characters");
            errors.push(FieldError::new(field, "too_long", message));
        }
    }
    errors
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
        let renamed = change.apply(list.clone(), seconds(5)).unwrap();
        let expected =
            ContactList { name: "VIP".to_owned(), updated_at: seconds(5), ..list.clone() };
        assert_eq!(renamed, expected);
        let cleared = ListChange::default().description(None).apply(list, seconds(5)).unwrap();
        assert_eq!((cleared.name.as_str(), cleared.description), ("Regulars", None));
    }

    #[test]
    fn the_name_and_the_description_of_a_list_have_limits() {
        let codes = |name: &str, description: &str| -> Vec<&str> {
            check(Some(name), Some(description)).into_iter().map(|error| error.code).collect()
        };
        assert_eq!(codes(&"é".repeat(100), &"é".repeat(500)), [""; 0]);
        assert_eq!(codes(&"é".repeat(101), &"é".repeat(501)), ["too_long", "too_long"]);
        assert_eq!(codes(" ", ""), ["empty"]);
        assert_eq!(codes("a\0b", "a\0b"), ["invalid_character", "invalid_character"]);
    }
}
