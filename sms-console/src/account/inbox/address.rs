//! The addresses of the inbox.

use sms_core::phone::E164;
use sms_core::time::{Timestamp, london};

use crate::query::Query;

const INBOX: &str = "/console/inbox";

/// The path of the conversation with a number.
pub(super) fn path_of(number: E164) -> String {
    format!("{INBOX}/{}", escaped(number))
}

/// The address of the conversation with a number, beside the list as it is filtered now.
pub(super) fn conversation(number: E164, query: &Query) -> String {
    query.address(&path_of(number), "said", None)
}

/// The address of the inbox without a conversation, filtered as it is now.
pub(super) fn all(query: &Query) -> String {
    query.address(INBOX, "said", None)
}

/// The address of the messages from and to a number until the end of this moment's day.
pub(super) fn messages_until(number: E164, at: Timestamp) -> String {
    let day = london::shown(at).date();
    format!("/console/messages?q={}&until={day}", escaped(number))
}

/// A number as a part of an address.
pub(super) fn escaped(number: E164) -> String {
    number.to_string().replace('+', "%2B")
}
