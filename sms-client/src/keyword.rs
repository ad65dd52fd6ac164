//! Keywords: words that set off a reply when people text them.

use serde::{Deserialize, Serialize};

use crate::call::{Call, KeyedCall};
use crate::client::Client;
use crate::ids::{KeywordId, ListId};
use crate::listing::Listing;
use crate::patch::Patch;
use crate::private_text::Words;
use crate::timestamp::Timestamp;

/// A keyword.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Keyword {
    /// Its id.
    pub id: KeywordId,
    /// The word, in upper case.
    pub keyword: String,
    /// What is replied.
    pub reply: Option<Words>,
    /// The list that the sender is added to.
    pub add_to_list_id: Option<ListId>,
    /// Whether it works.
    pub enabled: bool,
    /// How often it matched.
    pub match_count: u64,
    /// When it matched last.
    pub last_matched_at: Option<Timestamp>,
    /// When it was made.
    pub created_at: Timestamp,
    /// When it changed last.
    pub updated_at: Timestamp,
}

/// A new keyword.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize)]
pub struct KeywordInput {
    /// The word: letters and digits.
    pub keyword: String,
    /// What to reply.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub reply: Option<Words>,
    /// A list to add the sender to.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub add_to_list_id: Option<ListId>,
    /// Whether it works from the start; true by default.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub enabled: Option<bool>,
}

/// Changes to a keyword.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize)]
pub struct KeywordPatch {
    /// Another word.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub keyword: Option<String>,
    /// What to reply.
    #[serde(skip_serializing_if = "Patch::is_keep")]
    pub reply: Patch<Words>,
    /// A list to add the sender to.
    #[serde(skip_serializing_if = "Patch::is_keep")]
    pub add_to_list_id: Patch<ListId>,
    /// Whether it works.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub enabled: Option<bool>,
}

impl Client {
    /// Lists keywords, newest first.
    pub fn keyword_list(&self) -> Listing<Keyword> {
        self.list(&["keywords"], &())
    }

    /// Makes a keyword.
    pub fn keyword_create(&self, input: &KeywordInput) -> KeyedCall<Keyword> {
        self.post_json(&["keywords"], input).keyed()
    }

    /// Reads a keyword.
    pub fn keyword_get(&self, id: &KeywordId) -> Call<Keyword> {
        self.get(&["keywords", id.as_str()])
    }

    /// Changes a keyword.
    pub fn keyword_update(&self, id: &KeywordId, patch: &KeywordPatch) -> Call<Keyword> {
        self.patch_json(&["keywords", id.as_str()], patch)
    }

    /// Deletes a keyword.
    pub fn keyword_delete(&self, id: &KeywordId) -> Call<()> {
        self.delete(&["keywords", id.as_str()])
    }
}
