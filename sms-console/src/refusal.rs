//! What people see where a request is refused before it reaches a page.

use maud::html;
use poem::Response;
use poem::http::StatusCode;

use crate::answer::{failed, nowhere, page_with, troubled};
use crate::reply::Trouble;
use crate::visit::{Session, Visit};

pub use crate::answer::moved;
pub use crate::form::sentence;

/// A page that says in the words of the server why there is no other.
pub fn page(visit: &Visit, status: StatusCode, words: &str) -> Response {
    let page = match status {
        StatusCode::NOT_FOUND | StatusCode::METHOD_NOT_ALLOWED => nowhere(),
        _ => failed("This did not work", &html! { (sentence(words)) }, visit),
    };
    page_with(status, visit, &page)
}

/// The answer for an address without a page. A trailing slash is removed by a redirect; visitors
/// without a session are sent to the sign-in page.
pub async fn no_page(visit: Visit) -> Response {
    if let Some(path) = visit.uri.path().strip_suffix('/') {
        return match visit.uri.query() {
            Some(query) => moved(&format!("{path}?{query}")),
            None => moved(path),
        };
    }
    let trouble = match visit.session {
        Session::Nobody => Trouble::SignedOut,
        Session::Account(_) | Session::Operator(_) => Trouble::NotFound,
    };
    troubled(&visit.with_frame().await, &trouble)
}

/// The page for a form that was made for another session.
pub fn stale(visit: &Visit) -> Response {
    troubled(visit, &Trouble::WrongCsrf)
}
