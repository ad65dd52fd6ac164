//! Which error a text becomes that could not be parsed: one of a field that is named after what the
//! text should have been. So `?` works on every `parse` in a function that returns
//! [`Error`](super::Error).

use std::fmt;

use super::Error;
use crate::account::NotAShare;
use crate::account::api_key::NotAKey;
use crate::account::settings::NotALocalTime;
use crate::credits::TooManyCredits;
use crate::event::position::NotAPosition;
use crate::idempotency::NotAnIdempotencyKey;
use crate::ids::NotAnId;
use crate::keyword::NotAWord;
use crate::keyword::reply_limit::NotABalanceShare;
use crate::link::{NotALinkBase, NotALinkCode};
use crate::originator::NotAnOriginator;
use crate::page::NotACursor;
use crate::phone::{ParseE164Error, PhoneRefused};
use crate::sender_name::NotASenderName;
use crate::text::UnknownEncoding;
use crate::time::NotATimestamp;
use crate::unknown_name::UnknownName;
use crate::version::NotAVersion;

const BAD_FORM: &str = "invalid_format";

/// An error of the field that is called as its noun is, such as `message_status`.
fn of_noun(noun: &str, reason: &impl fmt::Display) -> Error {
    let field = noun.to_lowercase().replace([' ', '-'], "_");
    Error::invalid(&field, BAD_FORM, reason.to_string())
}

impl From<NotAnId> for Error {
    fn from(reason: NotAnId) -> Self {
        of_noun(&format!("{} id", reason.noun), &reason)
    }
}

impl From<UnknownName> for Error {
    fn from(reason: UnknownName) -> Self {
        of_noun(reason.kind, &reason)
    }
}

impl From<NotASenderName> for Error {
    fn from(reason: NotASenderName) -> Self {
        Self::invalid("sender_name", reason.code(), reason.to_string())
    }
}

macro_rules! parsed {
    ($($reason:ty: $noun:literal;)+) => { $(
        impl From<$reason> for Error {
            fn from(reason: $reason) -> Self {
                of_noun($noun, &reason)
            }
        }
    )+ };
}

parsed! {
    NotABalanceShare: "balance share";
    NotACursor: "cursor";
    NotAKey: "api key";
    NotALinkBase: "link base";
    NotALinkCode: "link code";
    NotALocalTime: "time";
    NotAPosition: "position";
    NotAShare: "share";
    NotATimestamp: "timestamp";
    NotAVersion: "version";
    NotAWord: "keyword";
    NotAnIdempotencyKey: "idempotency key";
    NotAnOriginator: "originator";
    ParseE164Error: "phone";
    PhoneRefused: "phone";
    TooManyCredits: "credits";
    UnknownEncoding: "encoding";
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::account::api_key::ApiKey;
    use crate::account::settings::LocalTime;
    use crate::account::{AccountStatus, Share};
    use crate::credits::Credits;
    use crate::dispatch::Lane;
    use crate::event::EventType;
    use crate::event::position::Position;
    use crate::idempotency::IdempotencyKey;
    use crate::ids::{ApiKeyId, ListId, MessageId};
    use crate::keyword::Word;
    use crate::keyword::reply_limit::BalanceShare;
    use crate::link::{LinkBase, LinkCode};
    use crate::message::{Direction, ErrorCode, MessageStatus};
    use crate::opt_out::OptOutSource;
    use crate::originator::Originator;
    use crate::page::Cursor;
    use crate::phone::{E164, parse_any, parse_uk_mobile};
    use crate::sender_name::{ReviewStatus, SenderValue};
    use crate::sending::RejectionReason;
    use crate::statistics::Counted;
    use crate::text::Encoding;
    use crate::time::Timestamp;
    use crate::version::Version;

    fn of<T, E: Into<Error>>(parsed: Result<T, E>) -> Error {
        parsed.err().expect("the text is refused").into()
    }

    /// What each type makes of a text that it refuses: the field, and words of the message.
    fn table() -> Vec<(Error, &'static str, &'static str)> {
        let bad = "?";
        vec![
            (of(bad.parse::<ListId>()), "list_id", "list id: expected lst_"),
            (of("lst_1".parse::<MessageId>()), "message_id", "message id: expected msg_"),
            (of(bad.parse::<ApiKeyId>()), "api_key_id", "API key id: expected key_"),
            (of(bad.parse::<AccountStatus>()), "account_status", "account status"),
            (of(bad.parse::<Counted>()), "kind_of_count", "kind of count"),
            (of(bad.parse::<Direction>()), "message_direction", "message direction"),
            (of(bad.parse::<ErrorCode>()), "error_code", "error code"),
            (of(bad.parse::<EventType>()), "event_type", "event type"),
            (of(bad.parse::<Lane>()), "priority", "priority"),
            (of(bad.parse::<MessageStatus>()), "message_status", "message status"),
            (of(bad.parse::<OptOutSource>()), "opt_out_source", "opt-out source"),
            (of(bad.parse::<RejectionReason>()), "rejection_reason", "rejection reason"),
            (of(bad.parse::<ReviewStatus>()), "review_status", "review status"),
            (of(bad.parse::<SenderValue>()), "sender_name", "a sender name"),
            (of(bad.parse::<Cursor>()), "cursor", "cursor"),
            (of(bad.parse::<E164>()), "phone", "phone number"),
            (of(parse_any(bad)), "phone", "phone number"),
            (of(parse_uk_mobile("020 7946 0123")), "phone", "not a mobile number"),
            (of(bad.parse::<Encoding>()), "encoding", "encoding"),
            (of("".parse::<IdempotencyKey>()), "idempotency_key", "an idempotency key"),
            (of(bad.parse::<LinkCode>()), "link_code", "the code of a tracked link"),
            (of(LinkBase::new(bad)), "link_base", "the base of tracked links"),
            (of(bad.parse::<LocalTime>()), "time", "time of day"),
            (of(bad.parse::<Position>()), "position", "position"),
            (of(bad.parse::<Timestamp>()), "timestamp", "date-time"),
            (of(bad.parse::<Version>()), "version", "version"),
            (of(bad.parse::<Word>()), "keyword", "a keyword"),
            (of(ApiKey::parse(bad)), "api_key", "API key"),
            (of(BalanceShare::new(101)), "balance_share", "share of the balance"),
            (of(Credits::try_from(u64::MAX)), "credits", "credits"),
            (of(Originator::parse("")), "originator", "phone number, nor a short code"),
            (of(Share::new(101)), "share", "a share"),
        ]
    }

    #[test]
    fn a_text_that_is_refused_becomes_an_error_that_names_what_it_should_have_been() {
        for (error, field, said) in table() {
            assert_eq!(error.code(), "validation_failed", "{error:?}");
            let shown = error.to_string();
            let Error::Invalid(fields) = error else { panic!("{shown}") };
            let [only] = &fields[..] else { panic!("one field, not {fields:?}") };
            assert_eq!(only.field, field, "{fields:?}");
            assert!(only.message.contains(said), "{field}: {}", only.message);
            assert!(shown.contains(field) && shown.contains(said), "{shown}");
        }
    }
}
