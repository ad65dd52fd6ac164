//! Who sent a request: the session that its cookie names.

use std::sync::Arc;

use poem::Request;
use sms_core::Sms;
use sms_core::account::api_key::{ApiKey, KeyHash};
use sms_core::clock::Clock;
use sms_core::service::Caller;
use sms_core::service::session::{OpenSession, SignedIn};
use sms_core::session::OperatorHash;
use sms_http::admin::gate::OperatorToken;
use sms_http::rate_limit::RateLimiter;
use sms_http::rate_limit::crowd::CrowdLimiter;
use sms_http::secret_door::{Entry, SecretDoor};
use sms_http::web::client_address::{AddressBlock, ClientAddress};
use sms_http::web::error::ApiError;

use super::cookie::SessionCookie;
use super::origin::Site;

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
    pub secrets: Arc<SecretDoor>,
    /// Counts how often each key signs in, because each time writes to the store.
    pub sign_ins: RateLimiter,
}

impl People {
    /// The session of a request; `None` if it brings none, or one that is over.
    pub(super) async fn session(&self, request: &Request) -> Result<Option<OpenSession>, ApiError> {
        let Some(token) = self.cookie.token_in(request.headers()) else { return Ok(None) };
        self.rate.admit(token.hash().as_bytes()).map_err(ApiError::rate_limited)?;
        let hash = KeyHash::from_bytes(*token.hash().as_bytes());
        let operator = self.operator.as_ref().map(OperatorToken::hash);
        let looking_up = self.sms.session(token, operator, self.clock.now());
        let from = client(request);
        let found = self.secrets.look_up(Entry::Session, hash, from, looking_up).await?;
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
        let operator = self.operator.as_ref().map(OperatorToken::hash);
        let is_key = self.has_accounts && operator != Some(given);
        let now = self.clock.now();
        let Some(api_key) = ApiKey::parse(key).ok().filter(|_| is_key) else {
            let is_operator = self.secrets.is_operator(Entry::SignIn, given, operator, from)?;
            return Ok(if is_operator {
                Some(self.sms.sign_in_operator(given, now).await?)
            } else {
                None
            });
        };
        let hash = api_key.hash();
        let looking_up = self.sms.caller_with(hash);
        let found = self.secrets.look_up(Entry::SignIn, hash, from, looking_up).await?;
        let Some(Caller { key, .. }) = found else { return Ok(None) };
        self.sign_ins.judge(key).await.headers()?;
        Ok(self.sms.sign_in(hash, now).await?)
    }
}

/// The address that limits count a request by.
pub(super) fn client(request: &Request) -> Option<AddressBlock> {
    request.data::<ClientAddress>().map(|client| client.block())
}
