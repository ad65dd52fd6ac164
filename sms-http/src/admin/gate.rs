//! Checks the operator's token before the body is read, and again before every handler.

use async_trait::async_trait;
use poem::Request;
use sms_core::session::OperatorHash;

use crate::api::gate::bearer;
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
    pub(crate) fn hash(&self) -> OperatorHash {
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

#[async_trait]
impl Door for OperatorToken {
    async fn admit(&self, request: &mut Request) -> Result<Admitted, ApiError> {
        self.check(request)?;
        Ok(Admitted { owner: Owner::Only("operator"), headers: Vec::new() })
    }
}
