//! The doors of the console. They admit a request by its head: where a change comes from, whose
//! session the cookie names, and whether the page's own token is with it.

use std::sync::Arc;

use async_trait::async_trait;
use poem::Request;
use poem::http::{HeaderMap, HeaderName, Method, StatusCode};
use sms_console::way_back::SIGN_IN;
use sms_core::service::session::{OpenSession, SignedIn};
use sms_http::rate_limit::RateLimiter;
use sms_http::web::client_address::AddressBlock;
use sms_http::web::error::ApiError;
use sms_http::web::intake::door::{Admitted, Door, Owner};
use sms_http::web::openapi::error_code::{ErrorCode, no_details};

use super::origin::refused;
use super::pages::Visitor;
use super::path;
use super::people::{People, client};
use super::session_standing::OfSession;

const CSRF: HeaderName = HeaderName::from_static("x-csrf-token");

/// The code for a change without the page's own token.
pub(super) const WRONG_CSRF: ErrorCode = ErrorCode {
    code: "csrf_token_invalid",
    status: StatusCode::FORBIDDEN,
    meaning: "The request changes data with the console's cookie, but `X-CSRF-Token` is missing or \
              belongs to another session.",
    remedy: "Send the `csrf` of `GET /console/session`. In the console, reload the page.",
    message: "the X-CSRF-Token is missing or belongs to another session: reload the page",
    details: no_details,
};

/// The code for the operator where an account is wanted.
pub(super) const WRONG_SESSION: ErrorCode = ErrorCode {
    code: "wrong_session",
    status: StatusCode::FORBIDDEN,
    meaning: "The operator is signed in to the console and requested the data of an account.",
    remedy: "Sign in with an API key of the account.",
    message: "this session is the operator's: sign in with an API key of the account",
    details: no_details,
};

/// 401: nobody is signed in.
pub(super) fn signed_out() -> ApiError {
    let message = "you are not signed in, or your session has ended: sign in";
    ApiError::unauthorized().with_message(message)
}

/// Refuses a change that does not bring the token of its session.
pub(super) fn check_csrf(headers: &HeaderMap, session: &OpenSession) -> Result<(), ApiError> {
    let sent = headers.get(CSRF).and_then(|sent| sent.to_str().ok());
    let is_own = sent.is_some_and(|sent| session.token.csrf().is(sent));
    if is_own { Ok(()) } else { Err(refused(&WRONG_CSRF)) }
}

/// Whether requests with this method change anything.
fn changes(method: &Method) -> bool {
    *method != Method::GET && *method != Method::HEAD
}

impl People {
    /// The session of a request that may do what its method says.
    async fn admit(&self, request: &Request) -> Result<OpenSession, ApiError> {
        if changes(request.method()) {
            self.site.check(request.headers())?;
        }
        let session = self.session(request).await?.ok_or_else(signed_out)?;
        if changes(request.method()) {
            check_csrf(request.headers(), &session)?;
        }
        Ok(session)
    }
}

/// Before an account's API.
#[derive(Debug)]
pub(super) struct AccountDoor {
    people: Arc<People>,
    /// Apart from that of the key's programs, so that neither uses up what the other has.
    limiter: Arc<RateLimiter>,
}

impl AccountDoor {
    pub(super) fn new(people: Arc<People>, limiter: Arc<RateLimiter>) -> Self {
        Self { people, limiter }
    }
}

#[async_trait]
impl Door for AccountDoor {
    async fn admit(&self, request: &mut Request) -> Result<Admitted, ApiError> {
        let session = self.people.admit(request).await?;
        let SignedIn::Account { caller, .. } = session.who else {
            return Err(refused(&WRONG_SESSION));
        };
        let headers = self.limiter.judge(caller.key).await.headers()?;
        request.set_data(caller);
        let owner = Owner::Numbered(caller.account.as_u128());
        let standing = OfSession { people: Arc::clone(&self.people), session };
        Ok(Admitted { owner, headers, standing: Some(Arc::new(standing)) })
    }
}

/// Before the pages and their forms.
///
/// It finds out who is signed in. Pages that are for somebody lead others to the page for signing
/// in; what changes something is refused to them here.
#[derive(Debug)]
pub(super) struct PageDoor {
    people: Arc<People>,
    limiter: Arc<RateLimiter>,
}

impl PageDoor {
    pub(super) fn new(people: Arc<People>, limiter: Arc<RateLimiter>) -> Self {
        Self { people, limiter }
    }
}

#[async_trait]
impl Door for PageDoor {
    async fn admit(&self, request: &mut Request) -> Result<Admitted, ApiError> {
        let path = request.uri().path();
        let is_file = path.starts_with(path::FILES);
        let is_open = [SIGN_IN, path::SIGN_OUT, path::THEME].contains(&path);
        let (owner, headers) = (owner_of(client(request)), Vec::new());
        if is_file {
            return Ok(Admitted { owner, headers, standing: None });
        }
        if changes(request.method()) {
            self.people.site.check(request.headers())?;
        }
        let Some(session) = self.people.session(request).await? else {
            if changes(request.method()) && !is_open {
                return Err(signed_out());
            }
            return Ok(Admitted { owner, headers, standing: None });
        };
        let (owner, headers) = match &session.who {
            SignedIn::Account { caller, .. } => {
                let headers = self.limiter.judge(caller.key).await.headers()?;
                (Owner::Numbered(caller.account.as_u128()), headers)
            }
            SignedIn::Operator => (Owner::Only("operator"), headers),
        };
        request.set_data(Visitor(session.clone()));
        let standing = OfSession { people: Arc::clone(&self.people), session };
        Ok(Admitted { owner, headers, standing: Some(Arc::new(standing)) })
    }
}

/// Half-sent bodies of one address leave room for the others.
fn owner_of(from: Option<AddressBlock>) -> Owner {
    from.map_or(Owner::Only("nobody"), |from| Owner::Numbered(from.number()))
}

/// Before signing in and out.
#[derive(Debug)]
pub(super) struct SignInDoor {
    people: Arc<People>,
}

impl SignInDoor {
    pub(super) fn new(people: Arc<People>) -> Self {
        Self { people }
    }
}

#[async_trait]
impl Door for SignInDoor {
    async fn admit(&self, request: &mut Request) -> Result<Admitted, ApiError> {
        if changes(request.method()) {
            self.people.site.check(request.headers())?;
        }
        Ok(Admitted { owner: owner_of(client(request)), headers: Vec::new(), standing: None })
    }
}
