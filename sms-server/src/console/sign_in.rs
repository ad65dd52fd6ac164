//! Signing in and out by the forms of the console, and the choice of colours.

use std::sync::Arc;

use poem::endpoint::make;
use poem::http::header::SET_COOKIE;
use poem::http::{HeaderValue, Method, StatusCode};
use poem::{Request, Response};
use sms_console::form::Form;
use sms_console::refusal;
use sms_console::said::Said;
use sms_console::sign_in::{Why, page};
use sms_console::visit::{Desk, Theme};
use sms_console::way_back::{SIGN_IN, next};
use sms_http::web::error::ApiError;
use sms_http::web::operation::operation;
use sms_http::web::path_pattern::PathTable;

use super::pages::{THEME, Visitor, visit};
use super::path;
use super::people::{People, client};

/// The longest key or token that is looked up.
const LONGEST_KEY: usize = 1_000;

/// Adds the page, and what its forms do.
pub(super) fn add_to(table: PathTable, people: &Arc<People>, desk: &Desk) -> PathTable {
    let [signing_in, signing_out] = [(); 2].map(|()| (Arc::clone(people), desk.clone()));
    let desk = desk.clone();
    let show = make(move |request: Request| {
        let visit = visit(&desk, &request);
        let then = next(visit.query("next")).to_owned();
        async move { Ok::<_, ApiError>(page(&visit, &then, StatusCode::OK, &Why::Asked)) }
    });
    let sign_in = make(move |request| {
        let (people, desk) = signing_in.clone();
        async move { sign_in(&people, &desk, request).await }
    });
    let sign_out = make(move |request| {
        let (people, desk) = signing_out.clone();
        async move { sign_out(&people, &desk, request).await }
    });
    table
        .with(SIGN_IN, Method::GET, operation(show))
        .with(SIGN_IN, Method::POST, operation(sign_in))
        .with(path::SIGN_OUT, Method::POST, operation(sign_out))
        .with(path::THEME, Method::POST, operation(make(choose_theme)))
}

async fn form_of(request: &mut Request) -> poem::Result<Form> {
    let body = request.take_body().into_bytes().await?;
    Ok(Form::read(&body).unwrap_or_default())
}

async fn sign_in(people: &People, desk: &Desk, mut request: Request) -> poem::Result<Response> {
    let form = form_of(&mut request).await?;
    let (key, then) = (form.text("key"), next(form.optional("next")));
    let again = |status, why| page(&visit(desk, &request), then, status, &why);
    if key.is_empty() || key.len() > LONGEST_KEY {
        return Ok(again(StatusCode::UNPROCESSABLE_ENTITY, Why::WrongKey));
    }
    let session = match people.sign_in(key, client(&request)).await {
        Ok(Some(session)) => session,
        Ok(None) => return Ok(again(StatusCode::UNPROCESSABLE_ENTITY, Why::WrongKey)),
        Err(refused) => {
            let words = refusal::sentence(refused.message());
            let mut response = again(refused.status(), Why::Refused(words));
            response.headers_mut().extend(refused.headers().iter().cloned());
            return Ok(response);
        }
    };
    // A browser has one session: the one before is over.
    if let Some(earlier) = people.cookie.token_in(request.headers()) {
        people.sms.sign_out(&earlier).await.map_err(ApiError::from)?;
    }
    let set = people.cookie.set(&session.token, people.site.over(request.headers()));
    Ok(with_cookie(refusal::moved(then), set))
}

async fn sign_out(people: &People, desk: &Desk, mut request: Request) -> poem::Result<Response> {
    let form = form_of(&mut request).await?;
    if let Some(Visitor(session)) = request.data::<Visitor>() {
        if !session.token.csrf().is(form.text("csrf")) {
            return Ok(refusal::stale(&visit(desk, &request)));
        }
        people.sms.sign_out(&session.token).await.map_err(ApiError::from)?;
    }
    let to = format!("{SIGN_IN}?said={}", Said::SignedOut.key());
    let removed = people.cookie.removed(people.site.over(request.headers()));
    Ok(with_cookie(refusal::moved(&to), removed))
}

async fn choose_theme(mut request: Request) -> poem::Result<Response> {
    let form = form_of(&mut request).await?;
    let theme = Theme::of(form.text("theme"));
    let seconds = if theme == Theme::System { 0 } else { 365 * 24 * 60 * 60 };
    let word = theme.as_str();
    let cookie =
        format!("{THEME}={word}; Path={}; Max-Age={seconds}; SameSite=Strict", path::PREFIX);
    let to = match form.text("next") {
        SIGN_IN => SIGN_IN,
        other => next(Some(other)),
    };
    Ok(with_cookie(refusal::moved(to), HeaderValue::from_str(&cookie).ok()))
}

fn with_cookie(mut response: Response, cookie: Option<HeaderValue>) -> Response {
    if let Some(cookie) = cookie {
        response.headers_mut().insert(SET_COOKIE, cookie);
    }
    response
}
