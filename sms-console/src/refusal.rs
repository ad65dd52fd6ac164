//! What people see where a request is refused before it reaches a page.

use maud::html;
use poem::Response;
use poem::http::StatusCode;

use crate::answer::{failed, nowhere, page_with, troubled};
use crate::reply::Trouble;
use crate::visit::Visit;

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

/// The page for a form that was made for another session.
pub fn stale(visit: &Visit) -> Response {
    troubled(visit, &Trouble::WrongCsrf)
}
