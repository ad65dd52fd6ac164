//! The account's API keys. The operator creates and revokes them.

use serde::{Deserialize, Serialize};

use crate::call::Call;
use crate::choice::open_choice;
use crate::client::Client;
use crate::ids::ApiKeyId;
use crate::timestamp::Timestamp;

open_choice! {
    /// What a key's messages are.
    KeyKind {
        /// They are sent and charged.
        Live = "live",
        /// They are simulated, free of charge.
        Test = "test",
    }
}

/// A key, without its secret part.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct ApiKeyRecord {
    /// Its id, which is not secret.
    pub id: ApiKeyId,
    /// Live or test.
    pub kind: KeyKind,
    /// What it is for.
    pub name: Option<String>,
    /// Its first characters, which say its kind.
    pub prefix: String,
    /// Its last four characters.
    pub last_four: String,
    /// When it was created.
    pub created_at: Timestamp,
    /// When it was last used, to the minute; `None` if never.
    pub last_used_at: Option<Timestamp>,
    /// When it was revoked; `None` while it is valid.
    pub revoked_at: Option<Timestamp>,
}

impl Client {
    /// Lists the account's keys, newest first, revoked ones included.
    pub fn api_key_list(&self) -> Call<Vec<ApiKeyRecord>> {
        self.get(&["api-keys"])
    }
}
