//! `GET /api-keys`: the keys of an account and their last use. The operator creates and revokes
//! them.

use poem::web::Data;
use poem_openapi::{Object, OpenApi};
use sms_core::Sms;
use sms_core::account::Mode;
use sms_core::account::api_key::{KeyRecord, prefix};
use sms_core::service::Caller;

use super::tag::Tag;
use crate::web::choice::Named;
use crate::web::envelope::Answer;
use crate::web::error::ApiError;
use crate::web::moment::Moment;

/// An API key, without its secret part.
#[derive(Debug, Object)]
#[oai(rename = "ApiKey")]
pub(crate) struct KeyShape {
    /// `key_` and 26 characters.
    id: String,
    /// Live or test.
    kind: Named<Mode>,
    /// What the key is for; null if it was not given.
    name: Option<String>,
    /// The first characters.
    prefix: String,
    /// Its last four characters.
    last_four: String,
    /// When it was created.
    created_at: Moment,
    /// When the key was last used, to the minute; null if it was not.
    last_used_at: Option<Moment>,
    /// When the key was revoked; null if it was not.
    revoked_at: Option<Moment>,
}

impl From<KeyRecord> for KeyShape {
    fn from(record: KeyRecord) -> Self {
        Self {
            id: record.id.to_string(),
            kind: Named(record.mode),
            name: record.name,
            prefix: prefix(record.mode).to_owned(),
            last_four: record.last_four,
            created_at: record.created_at.into(),
            last_used_at: record.last_used_at.map(Into::into),
            revoked_at: record.revoked_at.map(Into::into),
        }
    }
}

/// The handler of `/api-keys`.
#[derive(Debug)]
pub struct ApiKeyApi {
    sms: Sms,
}

impl ApiKeyApi {
    pub(super) fn new(sms: Sms) -> Self {
        Self { sms }
    }
}

#[OpenApi(tag = "Tag::Account")]
impl ApiKeyApi {
    /// List API keys
    ///
    /// The account's keys, newest first, revoked ones included. A key is shown by its last four
    /// characters. Ask the operator to create or revoke a key.
    #[oai(path = "/api-keys", method = "get", operation_id = "api_key_list")]
    async fn list(&self, caller: Data<&Caller>) -> Result<Answer<Vec<KeyShape>>, ApiError> {
        let keys = self.sms.account(caller.account, caller.mode).api_key_list().await?;
        Ok(Answer::new(keys.into_iter().map(Into::into).collect()))
    }
}
