//! Contacts: the people that an account knows.

use std::collections::BTreeMap;
use std::fmt;

use serde::{Deserialize, Serialize};
use serde_json::Value;

use crate::call::{Call, KeyedCall};
use crate::choice::open_choice;
use crate::client::Client;
use crate::ids::{ContactId, ListId};
use crate::listing::Listing;
use crate::patch::Patch;
use crate::private_text::{Phone, Words};
use crate::timestamp::Timestamp;

/// Fields of your own: text, numbers or booleans by name.
#[derive(Clone, PartialEq, Default, Serialize, Deserialize)]
#[serde(transparent)]
pub struct CustomFields(pub BTreeMap<String, Value>);

impl CustomFields {
    fn is_empty(&self) -> bool {
        self.0.is_empty()
    }
}

/// Shows no values.
impl fmt::Debug for CustomFields {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_set().entries(self.0.keys()).finish()
    }
}

/// A person with a number.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Contact {
    /// Its id.
    pub id: ContactId,
    /// The number, in E.164.
    pub phone: Phone,
    /// The first name.
    pub first_name: Option<Words>,
    /// The last name.
    pub last_name: Option<Words>,
    /// The email address.
    pub email: Option<Words>,
    /// What somebody noted.
    pub notes: Option<Words>,
    /// Fields of your own.
    pub custom: CustomFields,
    /// Whether the person has opted out.
    pub opted_out: bool,
    /// When it was made.
    pub created_at: Timestamp,
    /// When it changed last.
    pub updated_at: Timestamp,
}

/// A contact and its lists.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct ContactWithLists {
    /// The contact.
    #[serde(flatten)]
    pub contact: Contact,
    /// The lists that it is on.
    pub list_ids: Vec<ListId>,
}

/// A new contact, or a row of an import.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct ContactInput {
    /// The number, in any common form.
    pub phone: Phone,
    /// The first name.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub first_name: Option<Words>,
    /// The last name.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub last_name: Option<Words>,
    /// The email address.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub email: Option<Words>,
    /// What somebody noted.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub notes: Option<Words>,
    /// Fields of your own.
    #[serde(skip_serializing_if = "CustomFields::is_empty")]
    pub custom: CustomFields,
}

impl ContactInput {
    /// A person of whom only the number is known.
    pub fn new(phone: impl Into<Phone>) -> Self {
        Self {
            phone: phone.into(),
            first_name: None,
            last_name: None,
            email: None,
            notes: None,
            custom: CustomFields::default(),
        }
    }
}

/// Changes to a contact.
#[derive(Debug, Clone, PartialEq, Default, Serialize)]
pub struct ContactPatch {
    /// A new number.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub phone: Option<Phone>,
    /// The first name.
    #[serde(skip_serializing_if = "Patch::is_keep")]
    pub first_name: Patch<Words>,
    /// The last name.
    #[serde(skip_serializing_if = "Patch::is_keep")]
    pub last_name: Patch<Words>,
    /// The email address.
    #[serde(skip_serializing_if = "Patch::is_keep")]
    pub email: Patch<Words>,
    /// What somebody noted.
    #[serde(skip_serializing_if = "Patch::is_keep")]
    pub notes: Patch<Words>,
    /// Fields of your own; a null value removes a field.
    #[serde(skip_serializing_if = "CustomFields::is_empty")]
    pub custom: CustomFields,
}

/// Which contacts a list has.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize)]
pub struct ContactFilter {
    /// A number or part of one, or text to find in names and email addresses.
    pub q: Option<Words>,
    /// Only those on this list.
    pub list_id: Option<ListId>,
}

/// Contacts to create or update, up to 20,000.
#[derive(Debug, Clone, PartialEq, Default, Serialize)]
pub struct ContactImport {
    /// The contacts. Blank values do not change stored ones.
    pub rows: Vec<ContactInput>,
    /// A list to add them to.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub list_id: Option<ListId>,
}

open_choice! {
    /// What a row of an import did.
    ImportOutcome {
        /// It made a contact.
        Created = "created",
        /// It changed the contact with its number.
        Updated = "updated",
        /// The contact had these values already.
        Unchanged = "unchanged",
        /// It breaks a rule.
        Invalid = "invalid",
        /// A later row has the same number.
        Duplicate = "duplicate",
    }
}

/// What an import did.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct ImportResult {
    /// How many contacts were made.
    pub created: u64,
    /// How many contacts were changed.
    pub updated: u64,
    /// How many contacts had these values already.
    pub unchanged: u64,
    /// How many rows break a rule.
    pub invalid: u64,
    /// How many contacts were added to the list.
    pub added_to_list: u64,
    /// What each row did, in the order given.
    pub rows: Vec<ImportRow>,
}

/// What one row of an import did.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct ImportRow {
    /// The row, counted from 0.
    pub row: u64,
    /// The number: E.164 if it is valid, else as given.
    pub phone: Phone,
    /// What it did.
    pub outcome: ImportOutcome,
    /// The contact with this number.
    pub contact_id: Option<ContactId>,
    /// What is wrong with an invalid row.
    pub error: Option<String>,
}

impl Client {
    /// Lists contacts, newest first.
    pub fn contact_list(&self, filter: &ContactFilter) -> Listing<Contact> {
        self.list(&["contacts"], filter)
    }

    /// Makes a contact.
    pub fn contact_create(&self, input: &ContactInput) -> KeyedCall<Contact> {
        self.post_json(&["contacts"], input).keyed()
    }

    /// Reads a contact and its lists.
    pub fn contact_get(&self, id: &ContactId) -> Call<ContactWithLists> {
        self.get(&["contacts", id.as_str()])
    }

    /// Changes a contact.
    pub fn contact_update(&self, id: &ContactId, patch: &ContactPatch) -> Call<Contact> {
        self.patch_json(&["contacts", id.as_str()], patch)
    }

    /// Deletes a contact.
    pub fn contact_delete(&self, id: &ContactId) -> Call<()> {
        self.delete(&["contacts", id.as_str()])
    }

    /// Creates or updates up to 20,000 contacts in up to 8 MB.
    pub fn contact_import(&self, import: &ContactImport) -> KeyedCall<ImportResult> {
        self.post_json(&["contacts", "import"], import).keyed()
    }

    /// Lists the names of fields of your own that are in use.
    pub fn contact_fields(&self) -> Call<Vec<String>> {
        self.get(&["contacts", "fields"])
    }
}
