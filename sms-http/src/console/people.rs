//! Who sent a request: the session that its cookie names.

use std::sync::Arc;

use poem::Request;
use sms_core::Sms;
use sms_core::account::api_key::{ApiKey, KeyHash};
use sms_core::clock::Clock;
use sms_core::service::Caller;
use sms_core::service::session::{OpenSession, SignedIn};
use sms_core::session::OperatorHash;

use super::cookie::SessionCookie;
use super::origin::Site;
use crate::admin::gate::OperatorToken;
use crate::api::unknown_key::KeyLookUps;
use crate::rate_limit::RateLimiter;
use crate::rate_limit::crowd::CrowdLimiter;
use crate::web::client_address::{AddressBlock, ClientAddress};
use crate::web::error::ApiError;

/// Signs people in, and knows them again.
#[derive(Debug)]
pub(super) struct People {
    pub sms: Sms,
    pub clock: Arc<dyn Clock>,
    /// The operator's token; `None` where the operator does not sign in.
    pub operator: Option<OperatorToken>,
    /// Whether the people of accounts sign in here.
    pub has_accounts: bool,
    pub site: Site,
    pub cookie: SessionCookie,
    /// Counts the requests of each session before anything is looked up for it.
    pub rate: CrowdLimiter<[u8; 32]>,
    /// Bounds how often an address comes with keys, tokens or cookies that nobody has.
    pub look_ups: Arc<KeyLookUps>,
    /// Counts how often each key signs in, because each time writes to the store.
    pub sign_ins: RateLimiter,
}

/// Whose key or token somebody signs in with.
enum Found {
    Operator,
    Caller(Caller),
}

impl People {
    /// The session of a request; `None` if it brings none, or one that is over.
    pub(super) async fn session(&self, request: &Request) -> Result<Option<OpenSession>, ApiError> {
        let Some(token) = self.cookie.token_in(request.headers()) else { return Ok(None) };
        self.rate.admit(token.hash().as_bytes()).map_err(ApiError::rate_limited)?;
        let hash = KeyHash::from_bytes(*token.hash().as_bytes());
        let operator = self.operator.as_ref().map(OperatorToken::hash);
        let looking_up = self.sms.session(token, operator, self.clock.now());
        let found = self.look_ups.look_up(hash, client(request), looking_up).await?;
        Ok(found.filter(|found| match found.who {
            SignedIn::Account { .. } => self.has_accounts,
            SignedIn::Operator => self.operator.is_some(),
        }))
    }

    /// Signs somebody in with an API key or the operator's token; `None` if it is neither.
    pub(super) async fn sign_in(
        &self,
        key: &str,
        from: Option<AddressBlock>,
    ) -> Result<Option<OpenSession>, ApiError> {
        let given = OperatorHash::of(key);
        let is_operator = self.operator.as_ref().is_some_and(|token| token.hash() == given);
        let api_key = ApiKey::parse(key).ok().filter(|_| self.has_accounts);
        let looking_up = async {
            match &api_key {
                _ if is_operator => Ok(Some(Found::Operator)),
                Some(key) => Ok(self.sms.caller_with(key.hash()).await?.map(Found::Caller)),
                None => Ok(None),
            }
        };
        // By the hash of the text, whatever it is: wrong tokens are counted like wrong keys.
        let hash = KeyHash::from_bytes(*given.as_bytes());
        let found = self.look_ups.look_up(hash, from, looking_up).await?;
        let now = self.clock.now();
        Ok(match (found, api_key) {
            (Some(Found::Operator), _) => Some(self.sms.sign_in_operator(given, now).await?),
            (Some(Found::Caller(caller)), Some(key)) => {
                self.sign_ins.judge(caller.key).await.headers()?;
                self.sms.sign_in(key.hash(), now).await?
            }
            (Some(Found::Caller(_)), None) | (None, _) => None,
        })
    }
}

/// The address that limits count a request by.
pub(super) fn client(request: &Request) -> Option<AddressBlock> {
    request.data::<ClientAddress>().map(|client| client.block())
}
