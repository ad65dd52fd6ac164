//! Signing in: the page. The server exchanges the key, and keeps it out of the browser.

use maud::{Markup, html};
use poem::Response;
use poem::http::StatusCode;

use crate::answer::page_with;
use crate::part::button::{Kind, submit};
use crate::part::field::Field;
use crate::part::notice::{Notice, notice};
use crate::part::theme::theme_form;
use crate::reply::Page;
use crate::visit::Visit;
use crate::way_back::SIGN_IN;

/// What the page says besides its form.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Why {
    /// Nothing: the person has not tried yet.
    Asked,
    /// The key was wrong.
    WrongKey,
    /// The service said why not.
    Refused(String),
}

/// The page, with its status.
pub fn page(visit: &Visit, next: &str, status: StatusCode, why: &Why) -> Response {
    page_with(status, visit, &Page::new("Sign in", view(visit, next, why)))
}

fn view(visit: &Visit, next: &str, why: &Why) -> Markup {
    let wrong =
        (*why == Why::WrongKey).then_some("This key is not valid. Check it, or ask for a new one.");
    html! {
        div.sign-in.stack {
            div.card.stack {
                h1 tabindex="-1" { "SMS console" }
                @if visit.query("expired").is_some() {
                    (notice(Notice::Warn, &html! {
                        p { "Your session has ended. Sign in again." }
                    }))
                }
                @if let Why::Refused(words) = why {
                    (notice(Notice::Bad, &html! { p { (words) } }))
                }
                form.form method="post" action=(SIGN_IN) aria-label="Sign in" {
                    input type="hidden" name="next" value=(next);
                    (Field::password("key", "API key or operator’s token")
                        .hint("A live key, a test key, or the operator’s token.")
                        .required()
                        .focused()
                        .trouble(wrong))
                    div.actions { (submit("Sign in").kind(Kind::Main)) }
                }
                p.small.faint {
                    "The key goes to the server once and is not kept in the browser. You are "
                    "signed out after 12 hours."
                }
            }
            (theme_form(visit, SIGN_IN))
        }
    }
}
