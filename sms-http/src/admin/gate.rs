//! Checks the operator's token before the body is read, and again before every handler. Wrong
//! tokens are counted.

use std::sync::Arc;

use async_trait::async_trait;
use poem::Request;
use sms_core::account::api_key::ApiKey;
use sms_core::session::OperatorHash;

use crate::api::gate::bearer;
use crate::secret_door::{Entry, SecretDoor};
use crate::web::client_address::ClientAddress;
use crate::web::error::ApiError;
use crate::web::intake::door::{Admitted, Door, Owner};
use crate::web::operation::{Operation, guarded};

/// The operator's token. `Debug` does not show it.
#[derive(Clone)]
pub struct OperatorToken {
    hash: OperatorHash,
}

impl OperatorToken {
    /// Keeps a hash of this token.
    pub fn new(token: &str) -> Self {
        Self { hash: OperatorHash::of(token) }
    }

    /// The hash of the token.
    pub fn hash(&self) -> OperatorHash {
        self.hash
    }

    /// Whether the tokens are equal. It compares hashes, so that the time taken reveals nothing.
    fn is(&self, token: &str) -> bool {
        OperatorHash::of(token) == self.hash
    }

    /// Refuses others, in case a request reaches the operation without passing the door.
    pub fn guard(&self, operation: Operation) -> Operation {
        let token = self.clone();
        guarded(operation, move |request| token.check(request))
    }

    fn check(&self, request: &Request) -> Result<(), ApiError> {
        let token = bearer(request).ok_or_else(ApiError::unauthorized)?;
        if self.is(token) { Ok(()) } else { Err(ApiError::unauthorized()) }
    }
}

impl std::fmt::Debug for OperatorToken {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("OperatorToken(…)")
    }
}

/// The door before what only the operator may do.
#[derive(Debug, Clone)]
pub struct OperatorDoor {
    /// The token that it admits.
    pub token: OperatorToken,
    /// Counts wrong tokens.
    pub secrets: Arc<SecretDoor>,
    /// Where the token is taken: a name for the log and the metrics.
    pub entry: Entry,
}

#[async_trait]
impl Door for OperatorDoor {
    async fn admit(&self, request: &mut Request) -> Result<Admitted, ApiError> {
        let text = bearer(request).ok_or_else(ApiError::unauthorized)?;
        if ApiKey::parse(text).is_ok() && !self.token.is(text) {
            // Somebody took the wrong address. Such a key is no guess: were it the token, nobody
            // would find it.
            return Err(ApiError::unauthorized());
        }
        let given = OperatorHash::of(text);
        let from = request.data::<ClientAddress>().map(|client| client.block());
        if !self.secrets.is_operator(self.entry, given, Some(self.token.hash()), from)? {
            return Err(ApiError::unauthorized());
        }
        // The token is the same as long as the server runs.
        Ok(Admitted { owner: Owner::Only("operator"), headers: Vec::new(), standing: None })
    }
}
