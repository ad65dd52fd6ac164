//! `/accounts/{id}/keys`: creating, listing and revoking API keys.

use poem_openapi::{Object, OpenApi};
use sms_core::Sms;
use sms_core::account::Mode;
use sms_core::service::new_account::ApiKeyMade;
use sms_core::service::operator::{MAX_NAME, check_name};

use super::tag::Tag;
use crate::api::api_key::KeyShape;
use crate::api::idempotency::{KeyHeader, created};
use crate::api::path_id::path_id;
use crate::failure::Conflict;
use crate::request_body;
use crate::web::body::Body;
use crate::web::envelope::{Answer, CreatedOrNot, NoContent, ReplayMeta};
use crate::web::error::ApiError;
use crate::web::failing::Failing;
use crate::web::field_error::FieldErrors;
use crate::web::param::HeaderParam;
use crate::web::path_param::PathParam;

request_body! {
    /// A new key.
    struct KeyInput as "KeyInput" {
        /// Live or test.
        required kind: Mode = choice();
        /// The purpose.
        optional name: String = text().min(1).max(MAX_NAME);
    }
}

/// A new key.
#[derive(Debug, Object)]
#[oai(rename = "ApiKeyCreated")]
struct KeyCreatedShape {
    #[oai(flatten)]
    record: KeyShape,
    /// The key itself. It is shown only in the first answer; the server keeps only a hash. Null if
    /// this answer repeats the first one for the same `Idempotency-Key`: if the first was lost,
    /// revoke this key and create another.
    key: Option<String>,
}

impl From<ApiKeyMade> for KeyCreatedShape {
    fn from(made: ApiKeyMade) -> Self {
        match made {
            ApiKeyMade::Now(made) => {
                let key = Some(made.key.reveal().to_owned());
                Self { record: made.record.into(), key }
            }
            ApiKeyMade::Earlier(record) => Self { record: record.into(), key: None },
        }
    }
}

/// The handlers of `/accounts/{id}/keys`.
#[derive(Debug)]
pub struct ApiKeyApi {
    sms: Sms,
}

impl ApiKeyApi {
    pub(super) fn new(sms: Sms) -> Self {
        Self { sms }
    }
}

#[OpenApi(prefix_path = "/accounts", tag = "Tag::Keys")]
impl ApiKeyApi {
    /// Create a key
    ///
    /// The answer is the only one that shows the key.
    #[oai(path = "/:id/keys", method = "post", operation_id = "api_key_create")]
    async fn create(
        &self,
        /// The account's id.
        id: PathParam,
        /// Identifies retries of the same request, for 7 days.
        #[oai(name = "Idempotency-Key")]
        key: HeaderParam<KeyHeader>,
        body: Body<KeyInput>,
    ) -> Result<CreatedOrNot<KeyCreatedShape, Option<ReplayMeta>>, Failing<Conflict>> {
        let account = path_id(&id)?;
        let mut errors = FieldErrors::new();
        let KeyHeader(idempotency_key) = errors.take(key);
        let KeyInput { kind, name } = errors.take(body);
        errors.finish_with(|| name.as_deref().and_then(check_name).into_iter().collect())?;
        let operator = self.sms.operator().keyed(idempotency_key);
        Ok(created(operator.api_key_create(account, kind, name).await?))
    }

    /// List keys
    ///
    /// Newest first, revoked ones included. A key is shown by its last four characters.
    #[oai(path = "/:id/keys", method = "get", operation_id = "api_key_list")]
    async fn list(
        &self,
        /// The account's id.
        id: PathParam,
    ) -> Result<Answer<Vec<KeyShape>>, ApiError> {
        let keys = self.sms.operator().api_key_list(path_id(&id)?).await?;
        Ok(Answer::new(keys.into_iter().map(Into::into).collect()))
    }

    /// Revoke a key
    ///
    /// Requests with it are refused from now on.
    #[oai(path = "/:id/keys/:key_id", method = "delete", operation_id = "api_key_revoke")]
    async fn revoke(
        &self,
        /// The account's id.
        id: PathParam,
        /// The key's id.
        key_id: PathParam,
    ) -> Result<NoContent, ApiError> {
        self.sms.operator().api_key_revoke(path_id(&id)?, path_id(&key_id)?).await?;
        Ok(NoContent)
    }
}
