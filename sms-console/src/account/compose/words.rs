//! The words for a send and its price.

use sms_core::account::Mode;
use sms_core::sending::Quote;

use super::draft::Draft;
use crate::format::{counted, counted_as, credits};

/// What a button says that sends a draft: how many messages, and for how much.
pub(super) fn send_words(draft: &Draft, quote: Option<&Quote>, mode: Mode) -> String {
    let verb = if draft.when.is_empty() { "Send" } else { "Schedule" };
    let Some(quote) = quote.filter(|quote| quote.recipients > 0) else { return verb.to_owned() };
    let messages = counted(quote.recipients as u64, "message");
    if mode.is_test() {
        format!("{verb} {messages}")
    } else {
        format!("{verb} {messages} for {}", credits(quote.credits))
    }
}

/// A number of people.
pub(super) fn people(count: usize) -> String {
    counted_as(count as u64, "person", "people")
}
