//! Signing in, asking who is signed in, and signing out: `/console/session`.

use std::sync::Arc;

use chrono::SecondsFormat;
use poem::endpoint::make;
use poem::http::header::SET_COOKIE;
use poem::http::{HeaderValue, Method, StatusCode};
use poem::{Request, Response};
use poem_openapi::{ApiExtractor, ExtractParamOptions};
use serde_json::{Value, json};
use sms_core::service::session::{OpenSession, SignedIn};
use sms_http::request_body;
use sms_http::web::body::Body;
use sms_http::web::error::ApiError;
use sms_http::web::field_error::checked;
use sms_http::web::operation::operation;
use sms_http::web::path_pattern::PathTable;

use super::people::{People, client};
use super::{door, path};

/// The most bytes of a request to sign in.
pub(super) const MOST_BYTES: usize = 4_096;

request_body! {
    /// With what somebody signs in.
    struct SignIn as "SignIn" {
        /// An API key of the account, or the operator's token.
        required key: String = text().min(1).max(1_000);
    }
}

/// Adds the three operations.
pub(super) fn add_to(table: PathTable, people: &Arc<People>) -> PathTable {
    let [signing_in, asking, signing_out] = [(); 3].map(|()| Arc::clone(people));
    let sign_in = make(move |request| {
        let people = Arc::clone(&signing_in);
        async move { sign_in(&people, request).await }
    });
    let who = make(move |request| {
        let people = Arc::clone(&asking);
        async move { who(&people, &request).await }
    });
    let sign_out = make(move |request| {
        let people = Arc::clone(&signing_out);
        async move { sign_out(&people, &request).await }
    });
    table
        .with(path::SESSION, Method::POST, operation(sign_in))
        .with(path::SESSION, Method::GET, operation(who))
        .with(path::SESSION, Method::DELETE, operation(sign_out))
}

async fn sign_in(people: &People, request: Request) -> poem::Result<Response> {
    let (request, mut body) = request.split();
    let options = ExtractParamOptions::default();
    let body = Body::<SignIn>::from_request(&request, &mut body, options).await?;
    let SignIn { key } = checked(body).map_err(ApiError::from)?;
    let opened = people.sign_in(key.trim(), client(&request)).await?;
    let session = opened.ok_or_else(|| {
        ApiError::unauthorized().with_message("this is no valid API key, nor the operator's token")
    })?;
    // A browser has one session: the one before is over.
    if let Some(earlier) = people.cookie.token_in(request.headers()) {
        people.sms.sign_out(&earlier).await.map_err(ApiError::from)?;
    }
    let set = people.cookie.set(&session.token, people.site.over(request.headers()));
    Ok(with_cookie(json_answer(&shown(&session)), set))
}

async fn who(people: &People, request: &Request) -> poem::Result<Response> {
    let session = people.session(request).await?.ok_or_else(door::signed_out)?;
    Ok(json_answer(&shown(&session)))
}

async fn sign_out(people: &People, request: &Request) -> poem::Result<Response> {
    if let Some(session) = people.session(request).await? {
        door::check_csrf(request.headers(), &session)?;
        people.sms.sign_out(&session.token).await.map_err(ApiError::from)?;
    }
    let done = Response::builder().status(StatusCode::NO_CONTENT).finish();
    Ok(with_cookie(done, people.cookie.removed(people.site.over(request.headers()))))
}

/// What the page may know of its session: neither the key nor the cookie.
fn shown(session: &OpenSession) -> Value {
    let (kind, mode, account) = match &session.who {
        SignedIn::Account { account, caller } => {
            let shown = json!({ "id": account.id.to_string(), "name": account.name });
            ("account", json!(caller.mode.as_str()), shown)
        }
        SignedIn::Operator => ("operator", Value::Null, Value::Null),
    };
    let expires_at = session.expires_at.to_chrono().to_rfc3339_opts(SecondsFormat::Millis, true);
    json!({
        "kind": kind,
        "mode": mode,
        "account": account,
        "csrf": session.token.csrf().as_str(),
        "expires_at": expires_at,
    })
}

fn json_answer(body: &Value) -> Response {
    Response::builder().content_type("application/json").body(body.to_string())
}

fn with_cookie(mut response: Response, cookie: Option<HeaderValue>) -> Response {
    if let Some(cookie) = cookie {
        response.headers_mut().insert(SET_COOKIE, cookie);
    }
    response
}
