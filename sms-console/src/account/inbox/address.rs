//! The addresses of the inbox.

use form_urlencoded::byte_serialize;
use sms_core::originator::Originator;
use sms_core::time::{Timestamp, london};

use crate::query::Query;

const INBOX: &str = "/console/inbox";

/// The path of the conversation with a number, a short code or a name.
pub(crate) fn path_of(party: &Originator) -> String {
    format!("{INBOX}/{}", escaped(party))
}

/// The address of the conversation with a number, a short code or a name, beside the list as it is
/// filtered now.
pub(super) fn conversation(party: &Originator, query: &Query) -> String {
    query.address(&path_of(party), "said", None)
}

/// The address of the inbox without a conversation, filtered as it is now.
pub(super) fn all(query: &Query) -> String {
    query.address(INBOX, "said", None)
}

/// The address of the messages from and to a number, a short code or a name until the end of this
/// moment's day.
pub(super) fn messages_until(party: &Originator, at: Timestamp) -> String {
    let day = london::shown(at).date();
    format!("/console/messages?q={}&until={day}", escaped(party))
}

/// A number, a short code or a name as a part of an address.
pub(super) fn escaped(party: &Originator) -> String {
    let encoded: String = byte_serialize(party.to_string().as_bytes()).collect();
    // In a path, a plus is no space.
    encoded.replace('+', "%20")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_party_of_any_characters_is_one_part_of_an_address() {
        for (party, expected) in [
            ("+447700900123", "%2B447700900123"),
            ("ACME", "ACME"),
            ("60123", "60123"),
            ("A/C & Co?", "A%2FC%20%26%20Co%3F"),
            ("50%+é", "50%25%2B%C3%A9"),
        ] {
            assert_eq!(escaped(&Originator::parse(party).unwrap()), expected);
        }
    }
}
