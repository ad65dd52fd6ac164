//! Badges: a state in a word, with a colour that the word does not depend on.

use maud::{Markup, html};

use crate::format::worded;

/// The colour of a badge.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Tone {
    /// It is as it should be.
    Good,
    /// It is not final, or needs attention.
    Warn,
    /// It failed, or is not available.
    Bad,
    /// Neither good nor bad.
    Plain,
    /// It belongs to the product.
    Accent,
}

impl Tone {
    fn class(self) -> &'static str {
        match self {
            Self::Good => "badge badge-good",
            Self::Warn => "badge badge-warn",
            Self::Bad => "badge badge-bad",
            Self::Plain => "badge badge-plain",
            Self::Accent => "badge badge-accent",
        }
    }
}

/// A word in this colour.
pub fn badge(text: &str, tone: Tone) -> Markup {
    html! { span class=(tone.class()) { (text) } }
}

/// The state of a message, a campaign, an account, as the API calls it.
pub fn status_badge(status: &str) -> Markup {
    let tone = match status {
        "delivered" | "active" | "approved" | "ready" => Tone::Good,
        "scheduled" | "draft" | "pending" | "full" => Tone::Warn,
        "failed" | "undelivered" | "suspended" | "rejected" | "given_up" | "down" => Tone::Bad,
        _ => Tone::Plain,
    };
    badge(&worded(status), tone)
}

/// Why something failed or was refused, in words.
pub fn reason(code: &str) -> String {
    let words = match code {
        "opted_out" => "The person has opted out.",
        "expired" => "The network did not accept it in time.",
        "rejected_by_network" => "The network refused it.",
        "unknown_subscriber" => "The number is not in use.",
        "absent_subscriber" => "The phone was switched off or out of reach.",
        "network_error" => "The network reported an error.",
        "account_suspended" => "The account was suspended.",
        "no_number" => "The account had no number to send from.",
        "sender_not_approved" => "The sender name is no longer approved.",
        "invalid_number" => "This is not a phone number.",
        "unsupported_destination" => "Only UK numbers can be texted.",
        "not_mobile" => "This is not a mobile number.",
        "duplicate" => "It is in the list more than once, and gets one message.",
        "too_long" => "The text is too long for this person.",
        "empty_body" => "The text is empty for this person.",
        other => return worded(other),
    };
    words.to_owned()
}
