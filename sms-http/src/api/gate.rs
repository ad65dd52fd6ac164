//! The gate: checks the bearer key of a request and its rate limit.
//!
//! A request without a valid key gets a 401, whatever its path. The OpenAPI document is served
//! without the gate. The answer is the same for a missing, malformed, unknown and revoked key. The
//! intake asks the gate before it reads a body. A client that keeps coming with keys that
//! no account has gets a 429 instead.

use std::sync::Arc;

use async_trait::async_trait;
use poem::Request;
use poem::http::header::AUTHORIZATION;
use sms_core::Sms;
use sms_core::account::api_key::ApiKey;
use sms_core::service::Caller;

use super::key_standing::OfKey;
use crate::rate_limit::{RateLimiter, Stopwatch};
use crate::secret_door::{Entry, SecretDoor};
use crate::web::client_address::ClientAddress;
use crate::web::error::ApiError;
use crate::web::intake::door::{Admitted, Door, Owner};
use crate::web::operation::{Operation, guarded};

/// The gate before the API's handlers. It stores the [`Caller`] in the request's
/// data.
#[derive(Debug, Clone)]
pub struct Gate {
    sms: Sms,
    limiter: Arc<RateLimiter>,
    secrets: Arc<SecretDoor>,
}

impl Gate {
    /// A gate that counts the requests of each key with `limiter`, and the keys that an address
    /// makes up by `stopwatch`.
    pub fn new(sms: Sms, limiter: RateLimiter, stopwatch: Stopwatch) -> Self {
        Self::counting_with(sms, limiter, Arc::new(SecretDoor::new(stopwatch)))
    }

    /// A gate that counts the keys that an address makes up together with others.
    pub(crate) fn counting_with(sms: Sms, limiter: RateLimiter, secrets: Arc<SecretDoor>) -> Self {
        Self { sms, limiter: Arc::new(limiter), secrets }
    }
}

#[async_trait]
impl Door for Gate {
    async fn admit(&self, request: &mut Request) -> Result<Admitted, ApiError> {
        let token = bearer(request).ok_or_else(ApiError::unauthorized)?;
        let key = ApiKey::parse(token).map_err(|_| ApiError::unauthorized())?;
        let from = request.data::<ClientAddress>().map(|client| client.block());
        let hash = key.hash();
        let looking_up = self.sms.caller_with(hash);
        let caller = self.secrets.look_up(Entry::Api, hash, from, looking_up).await?;
        let caller = caller.ok_or_else(ApiError::unauthorized)?;
        let headers = self.limiter.judge(caller.key).await.headers()?;
        request.set_data(caller);
        let owner = Owner::Numbered(caller.account.as_u128());
        let standing = OfKey { sms: self.sms.clone(), caller };
        Ok(Admitted { owner, headers, standing: Some(Arc::new(standing)) })
    }
}

/// Refuses callers that no gate has admitted, in case a request reaches an operation in another
/// way.
pub fn callers_only(operation: Operation) -> Operation {
    guarded(operation, |request| match request.data::<Caller>() {
        Some(_) => Ok(()),
        None => Err(ApiError::unauthorized()),
    })
}

/// The token of `Authorization: Bearer <token>`; the scheme's case does not matter.
pub(crate) fn bearer(request: &Request) -> Option<&str> {
    let mut values = request.headers().get_all(AUTHORIZATION).iter();
    let (value, None) = (values.next()?, values.next()) else { return None };
    let (scheme, token) = value.to_str().ok()?.split_once(' ')?;
    scheme.eq_ignore_ascii_case("bearer").then(|| token.trim())
}
