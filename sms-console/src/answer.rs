//! What goes to the browser for a handler's outcome.

use bytes::Bytes;
use futures_util::stream::iter;
use maud::{Markup, html};
use poem::http::header::{CONTENT_DISPOSITION, LOCATION};
use poem::http::{HeaderValue, Method, StatusCode};
use poem::{Body, Response};
use sms_core::Error;
use sms_core::error::causes;
use sms_core::store::StoreError;

use crate::form::sentence;
use crate::frame::document;
use crate::part::button::link;
use crate::part::notice::in_words;
use crate::part::state::state;
use crate::place::Place;
use crate::places::page_at;
use crate::reply::{Download, Page, Reply, Trouble};
use crate::visit::Visit;
use crate::way_back::address;

const HTML: &str = "text/html; charset=utf-8";

impl Place {
    /// Answers a request. `body` is what the browser sent with it.
    pub async fn answer(&self, visit: Visit, body: Bytes) -> Response {
        let mut visit = visit;
        visit.page = page_at(visit.uri.path()).to_owned();
        if *self.method() == Method::POST {
            visit.address = Some(address_after_form(&visit));
        }
        let mut shown = visit.clone();
        let outcome = self.outcome(visit, &body).await;
        if !matches!(outcome, Ok(Reply::Moved(_) | Reply::Fragment(_) | Reply::File(_))) {
            shown = shown.with_frame().await;
        }
        match outcome {
            Ok(reply) => replied(&shown, reply),
            Err(trouble) => troubled(&shown, &trouble),
        }
    }
}

/// The page that the form was on, with its filters, or the one above.
fn address_after_form(visit: &Visit) -> String {
    if visit.page == visit.uri.path() {
        visit.queries().address(&visit.page, "said", None)
    } else {
        visit.page.clone()
    }
}

fn replied(visit: &Visit, reply: Reply) -> Response {
    match reply {
        Reply::Page(page) => page_with(StatusCode::OK, visit, &page),
        Reply::Again(page) => page_with(StatusCode::UNPROCESSABLE_ENTITY, visit, &page),
        Reply::Moved(path) => moved(&path),
        Reply::Fragment(markup) => {
            Response::builder().content_type(HTML).body(markup.into_string())
        }
        Reply::File(Download { name, content_type, pieces }) => Response::builder()
            .content_type(content_type)
            .header(CONTENT_DISPOSITION, format!("attachment; filename=\"{}\"", plain(&name)))
            .body(Body::from_bytes_stream(iter(pieces))),
    }
}

/// The answer that says what went wrong.
pub(crate) fn troubled(visit: &Visit, trouble: &Trouble) -> Response {
    let (status, page) = match trouble {
        Trouble::SignedOut => return moved(&address(&visit.uri)),
        Trouble::OtherSession | Trouble::NotFound => (StatusCode::NOT_FOUND, nowhere()),
        Trouble::WrongCsrf => (StatusCode::FORBIDDEN, stale(visit)),
        Trouble::BadForm(lacks) => {
            let text = html! { "The form lacks " (lacks) ". Nothing was done." };
            (StatusCode::BAD_REQUEST, failed("This did not work", &text, visit))
        }
        Trouble::Core(error) => {
            log(error);
            let text = html! { (sentence(&in_words(error))) };
            (status_of(error), failed("This did not work", &text, visit))
        }
    };
    page_with(status, visit, &page)
}

/// A page of the server itself, such as that of a refusal.
pub(crate) fn page_with(status: StatusCode, visit: &Visit, page: &Page) -> Response {
    let body = document(visit, page).into_string();
    Response::builder().status(status).content_type(HTML).body(body)
}

/// 303 to a path of this server.
pub fn moved(path: &str) -> Response {
    let location =
        HeaderValue::from_str(path).unwrap_or_else(|_| HeaderValue::from_static("/console"));
    Response::builder().status(StatusCode::SEE_OTHER).header(LOCATION, location).finish()
}

pub(crate) fn nowhere() -> Page {
    let text = html! { "The address is wrong, or you may not see this page." };
    let action = link("Go to the first page", "/console");
    Page::new("No such page", state("No such page", &text, Some(&html! { (action) })))
}

fn stale(visit: &Visit) -> Page {
    let text = html! {
        "Somebody has signed in again since this page was loaded. Nothing was done."
    };
    failed("This page is out of date", &text, visit)
}

pub(crate) fn failed(title: &str, text: &Markup, visit: &Visit) -> Page {
    let action = link("Open the page again", page_at(visit.uri.path()));
    Page::new(title, state(title, text, Some(&html! { (action) })))
}

/// A name that no header can be broken with.
fn plain(name: &str) -> String {
    let is_plain = |letter: char| letter.is_ascii_alphanumeric() || "-_.".contains(letter);
    name.chars().map(|letter| if is_plain(letter) { letter } else { '_' }).collect()
}

fn log(error: &Error) {
    match error {
        Error::Store(store @ StoreError::Unavailable { .. }) => {
            tracing::warn!(error = %causes(store), "the store is unavailable");
        }
        Error::Store(StoreError::Internal { .. }) | Error::Seal(_) => {
            tracing::error!(error = %causes(error), "the service failed");
        }
        _ => {}
    }
}

fn status_of(error: &Error) -> StatusCode {
    match error.code() {
        "internal_error" => StatusCode::INTERNAL_SERVER_ERROR,
        "unavailable" => StatusCode::SERVICE_UNAVAILABLE,
        "rate_limited" => StatusCode::TOO_MANY_REQUESTS,
        "not_found" => StatusCode::NOT_FOUND,
        "validation_failed" => StatusCode::UNPROCESSABLE_ENTITY,
        _ => StatusCode::CONFLICT,
    }
}
