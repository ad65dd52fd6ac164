//! What a page says to people, in its place.

use maud::{Markup, html};
use sms_core::Error;

use crate::format::credits;

/// The colour of a notice.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Notice {
    /// Something to know; nothing has happened.
    Info,
    /// What was asked for was done.
    Good,
    /// Something that people should look at.
    Warn,
    /// Something failed; a screen reader says it at once.
    Bad,
}

/// A notice in its place, which can take the focus.
pub fn notice(tone: Notice, content: &Markup) -> Markup {
    let (class, role) = match tone {
        Notice::Info => ("notice notice-info", "note"),
        Notice::Good => ("notice notice-good", "note"),
        Notice::Warn => ("notice notice-warn", "note"),
        Notice::Bad => ("notice notice-bad", "alert"),
    };
    html! { div class=(class) role=(role) tabindex="-1" { (content) } }
}

/// An error of the service for people.
pub fn in_words(error: &Error) -> String {
    match error {
        Error::InsufficientCredit { needed, balance } => format!(
            "Not enough credit: this needs {} and the balance is {}. Nothing was sent.",
            credits(*needed),
            credits(*balance)
        ),
        Error::IdempotencyConflict => "You have sent something else from this form already, and \
                                       this was not done. Send again to do this too."
            .to_owned(),
        Error::Store(_) | Error::Seal(_) => {
            "the server could not do this just now; try again in a moment".to_owned()
        }
        other => other.to_string(),
    }
}
