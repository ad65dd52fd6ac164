//! Lists of contacts.

use serde::{Deserialize, Serialize};

use crate::call::{Call, KeyedCall};
use crate::client::Client;
use crate::contact::Contact;
use crate::ids::{ContactId, ListId};
use crate::listing::Listing;
use crate::patch::Patch;
use crate::private_text::Phone;
use crate::timestamp::Timestamp;

/// A list of contacts.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct ContactList {
    /// Its id.
    pub id: ListId,
    /// Its name.
    pub name: String,
    /// What it is for.
    pub description: Option<String>,
    /// How many contacts it has.
    pub contact_count: u64,
    /// When it was made.
    pub created_at: Timestamp,
    /// When it changed last.
    pub updated_at: Timestamp,
}

/// A new list.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize)]
pub struct ListInput {
    /// Its name.
    pub name: String,
    /// What it is for.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub description: Option<String>,
}

/// Changes to a list.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize)]
pub struct ListPatch {
    /// A new name.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub name: Option<String>,
    /// What it is for.
    #[serde(skip_serializing_if = "Patch::is_keep")]
    pub description: Patch<String>,
}

/// Contacts to put on a list.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize)]
pub struct ListContactsInput {
    /// Contacts by id.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub contact_ids: Vec<ContactId>,
    /// Numbers; new ones become contacts.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub phones: Vec<Phone>,
}

/// What was put on a list.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct ListContactsAdded {
    /// How many contacts were added.
    pub added: u64,
    /// What is neither a contact nor a number.
    pub invalid: Vec<Phone>,
}

impl Client {
    /// Lists the lists, newest first.
    pub fn list_list(&self) -> Listing<ContactList> {
        self.list(&["lists"], &())
    }

    /// Makes a list.
    pub fn list_create(&self, input: &ListInput) -> KeyedCall<ContactList> {
        self.post_json(&["lists"], input).keyed()
    }

    /// Reads a list.
    pub fn list_get(&self, id: &ListId) -> Call<ContactList> {
        self.get(&["lists", id.as_str()])
    }

    /// Changes a list.
    pub fn list_update(&self, id: &ListId, patch: &ListPatch) -> Call<ContactList> {
        self.patch_json(&["lists", id.as_str()], patch)
    }

    /// Deletes a list. Its contacts stay.
    pub fn list_delete(&self, id: &ListId) -> Call<()> {
        self.delete(&["lists", id.as_str()])
    }

    /// Lists the contacts of a list.
    pub fn list_contacts(&self, id: &ListId) -> Listing<Contact> {
        self.list(&["lists", id.as_str(), "contacts"], &())
    }

    /// Puts contacts on a list.
    pub fn list_add(&self, id: &ListId, input: &ListContactsInput) -> Call<ListContactsAdded> {
        self.post_json(&["lists", id.as_str(), "contacts"], input).repeatable()
    }

    /// Takes a contact off a list.
    pub fn list_remove(&self, id: &ListId, contact: &ContactId) -> Call<()> {
        self.delete(&["lists", id.as_str(), "contacts", contact.as_str()])
    }
}
