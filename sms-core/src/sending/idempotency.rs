//! Sends and their idempotency keys: the fingerprint of a send, and what is remembered of one.
//!
//! Requests are compared by meaning: the layout of the JSON, the format of numbers and their split
//! into strings do not matter. The kind of key (live or test) is part of the meaning.

use std::borrow::Cow;

use super::gaps::FieldGaps;
use super::recipients::Rejection;
use super::request::SendRequest;
use crate::credits::Credits;
use crate::idempotency::fingerprint::Fields;
pub use crate::idempotency::{Fingerprint, IdempotencyKey, KEPT_FOR, MAX_KEY, NotAnIdempotencyKey};
use crate::ids::BatchId;
use crate::lane::Lane;
use crate::mode::Mode;
use crate::phone::{PhoneRefused, parse_uk_mobile};
use crate::sender_name::folded;
use crate::time::Timestamp;

/// A send's claim on an idempotency key.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct IdempotencyClaim {
    /// The key, as the caller gave it.
    pub key: IdempotencyKey,
    /// The meaning of the request.
    pub fingerprint: Fingerprint,
}

/// An accepted send that is remembered under a key. Its messages are found by the batch. Their
/// state at acceptance follows from fields that cannot change.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct EarlierSend {
    /// The meaning of the request.
    pub fingerprint: Fingerprint,
    /// The batch that it created.
    pub batch: BatchId,
    /// The recipients that received no message, each with the reason.
    pub rejected: Vec<Rejection>,
    /// What the merge fields of its messages could not show.
    pub gaps: FieldGaps,
    /// What the send was charged; zero for a test.
    pub credits: Credits,
    /// The balance after the charge.
    pub balance: Credits,
    /// When it was accepted.
    pub accepted_at: Timestamp,
}

impl EarlierSend {
    /// Whether it is still remembered at `now`.
    pub fn is_kept(&self, now: Timestamp) -> bool {
        now.since(self.accepted_at) < KEPT_FOR
    }
}

/// What a send finds under its key.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum KeyUse {
    /// A send, which is a repetition if its fingerprint is the same.
    Send(EarlierSend),
    /// A request of another operation.
    Other {
        /// When it was accepted.
        accepted_at: Timestamp,
    },
}

impl KeyUse {
    /// Whether it is still remembered at `now`.
    pub fn is_kept(&self, now: Timestamp) -> bool {
        let accepted_at = match self {
            Self::Send(earlier) => earlier.accepted_at,
            Self::Other { accepted_at } => *accepted_at,
        };
        now.since(accepted_at) < KEPT_FOR
    }
}

impl Fingerprint {
    /// The fingerprint of a request made with this kind of key.
    pub fn of(request: &SendRequest, mode: Mode) -> Self {
        let SendRequest {
            to: _,
            contact_ids,
            list_id,
            body,
            template_id,
            sender,
            schedule_at,
            client_ref,
            append_opt_out,
            track_links,
            priority,
            idempotency_key: _,
        } = request;
        let mut fields = Fields::new();
        fields.add("mode", [mode.as_str()]);
        // Invalid numbers are compared by meaning as well.
        let meant = |text| match parse_uk_mobile(text).map_or_else(PhoneRefused::number, Some) {
            Some(number) => Cow::Owned(number.to_string()),
            None => Cow::Borrowed(text),
        };
        fields.add("to", request.numbers().map(meant));
        fields.add("contact_ids", contact_ids.iter().map(ToString::to_string));
        fields.add("list_id", list_id.map(|id| id.to_string()));
        fields.add("body", [body]);
        fields.add("template_id", template_id.map(|id| id.to_string()));
        // Sender names are compared without case, as everywhere.
        fields.add("sender", sender.as_deref().map(folded));
        fields.add("schedule_at", schedule_at.map(|at| at.to_string()));
        fields.add("client_ref", client_ref.as_deref());
        fields.add("append_opt_out", append_opt_out.then_some(""));
        fields.add("track_links", track_links.then_some(""));
        fields.add("priority", priority.map(Lane::as_str));
        fields.fingerprint()
    }
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use super::*;
    use crate::ids::{ContactId, ListId, TemplateId};

    fn fingerprint(request: &SendRequest) -> Fingerprint {
        Fingerprint::of(request, Mode::Live)
    }

    #[test]
    fn a_stored_fingerprint_is_still_that_of_its_request() {
        // Stores keep fingerprints for 7 days. A change of this value refuses repetitions of
        // requests that were accepted before the change.
        let hex =
            |fingerprint: Fingerprint| fingerprint.0.map(|byte| format!("{byte:02x}")).concat();
        let short = SendRequest::new("Your table is ready").to("07700 900123");
        assert_eq!(
            hex(fingerprint(&short)),
            "4cda43708617c588f2c37bddef900c3c7088ac03fed273943c9a5b5a2714abc3"
        );
        let long = SendRequest {
            contact_ids: vec![ContactId::from_u128(1), ContactId::from_u128(2)],
            list_id: Some(ListId::from_u128(3)),
            template_id: Some(TemplateId::from_u128(4)),
            sender: Some("Bistro".to_owned()),
            append_opt_out: true,
            track_links: true,
            ..short.schedule_at(Timestamp::from_millis(5)).client_ref("booking-42")
        };
        assert_eq!(
            hex(Fingerprint::of(&long, Mode::Test)),
            "32c6b95682f6fda8986e277856e32a581f6913c33cfc79acd8641ed23d4727e4"
        );
    }

    #[test]
    fn a_key_is_kept_as_it_was_given() {
        assert_eq!("Order 7é".parse::<IdempotencyKey>().unwrap().as_str(), "Order 7é");
    }

    #[test]
    fn requests_with_the_same_meaning_have_the_same_fingerprint() {
        let one = SendRequest::new("hello").to("07700 900123, +447700900124");
        let other = SendRequest::new("hello").to("447700900123").to("(07700) 900124");
        assert_eq!(fingerprint(&one), fingerprint(&other));
    }

    #[test]
    fn invalid_numbers_are_compared_by_meaning_too() {
        let to = |number| fingerprint(&SendRequest::new("hello").to(number));
        assert_eq!(to("+33 6 12 34 56 78"), to("0033612345678"));
        assert_eq!(to("020 7946 0000"), to("+442079460000"));
        assert_ne!(to("nobody"), to("nobody else"));
    }

    #[test]
    fn a_sender_name_means_the_same_in_any_case() {
        let from = |name: &str| {
            let sender = Some(name.to_owned());
            fingerprint(&SendRequest { sender, ..SendRequest::new("hello").to("07700 900123") })
        };
        assert_eq!(from("Bistro"), from("BISTRO"));
        assert_ne!(from("Bistro"), from("Bistr"));
    }

    #[test]
    fn neighbouring_fields_and_lists_do_not_run_into_each_other() {
        let base = || SendRequest::new("hello").to("07700 900123");
        // Written one after the other without their lengths, these two would be the same bytes.
        let sender = |name: &str| SendRequest { sender: Some(name.to_owned()), ..base() };
        let in_one = sender("x\0\u{1}y");
        let in_two = sender("x").client_ref("y\0\0");
        assert_ne!(fingerprint(&in_one), fingerprint(&in_two));
        let empty_reference = base().client_ref("");
        assert_ne!(fingerprint(&empty_reference), fingerprint(&base()));
        let order = |numbers| fingerprint(&SendRequest::new("hello").to(numbers));
        assert_ne!(order("07700 900123,07700 900124"), order("07700 900124,07700 900123"));
    }

    #[test]
    fn the_key_is_not_part_of_the_meaning_of_a_request() {
        let base = || SendRequest::new("hello").to("07700 900123");
        let with_key = base().idempotency_key("booking-42".parse().unwrap());
        assert_eq!(fingerprint(&with_key), fingerprint(&base()));
    }

    #[test]
    fn a_change_of_any_field_changes_the_fingerprint() {
        let base = || SendRequest::new("hello").to("07700 900123");
        let at = Timestamp::from_millis(5);
        let others = [
            base().to("07700 900124"),
            SendRequest::new("hello!").to("07700 900123"),
            base().schedule_at(at),
            base().client_ref("a"),
            base().append_opt_out(),
            SendRequest { track_links: true, ..base() },
            SendRequest { sender: Some("a".to_owned()), ..base() },
            SendRequest { list_id: Some(ListId::from_u128(1)), ..base() },
            SendRequest { template_id: Some(TemplateId::from_u128(1)), ..base() },
            SendRequest { contact_ids: vec![ContactId::from_u128(1)], ..base() },
        ];
        let mut seen = vec![fingerprint(&base()), Fingerprint::of(&base(), Mode::Test)];
        for other in others {
            let fingerprint = fingerprint(&other);
            assert!(!seen.contains(&fingerprint), "{other:?}");
            seen.push(fingerprint);
        }
    }

    #[test]
    fn a_send_is_remembered_for_seven_days() {
        let accepted_at = Timestamp::from_millis(5);
        let earlier = EarlierSend {
            fingerprint: fingerprint(&SendRequest::default()),
            batch: BatchId::from_u128(1),
            rejected: Vec::new(),
            gaps: FieldGaps::default(),
            credits: Credits::ZERO,
            balance: Credits::ZERO,
            accepted_at,
        };
        let last = accepted_at.plus(KEPT_FOR).minus(Duration::from_millis(1));
        assert_eq!(KEPT_FOR, Duration::from_hours(7 * 24));
        assert!(earlier.is_kept(accepted_at) && earlier.is_kept(last));
        assert!(!earlier.is_kept(accepted_at.plus(KEPT_FOR)));
    }

    #[test]
    fn a_key_is_1_to_200_printable_characters() {
        for (text, is_key) in [
            (String::new(), false),
            ("x".to_owned(), true),
            ("é".repeat(200), true),
            ("x".repeat(201), false),
            ("a\u{7}b".to_owned(), false),
        ] {
            assert_eq!(text.parse::<IdempotencyKey>().is_ok(), is_key, "{text:?}");
        }
    }
}
