//! Classifies a `deliver_sm` (4.6): a delivery receipt, a message, or a segment of one.

use sms_core::inbound::segment::SegmentText;
use sms_core::originator::Originator;
use sms_core::phone::E164;

use crate::coding::{self, Coding, Septets};
use crate::joining::{Place, user_data};
use crate::pdu::{Kind, ShortMessage};
use crate::report::Report;

/// What a `deliver_sm` carries.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Incoming {
    /// A delivery receipt for a message that was submitted.
    Receipt(Report),
    /// An inbound message, or a segment of one.
    Text(MessageFor),
    /// A notification that is neither a person's message nor says what became of one. It is
    /// acknowledged.
    Notification,
    /// Something that cannot be stored, and why. It is acknowledged all the same, because sending
    /// it again would not help.
    Useless(Useless),
}

/// An inbound message, or a segment of one.
#[derive(Clone, PartialEq, Eq)]
pub struct MessageFor {
    /// The source address: a number, a short code or a name.
    pub from: Originator,
    /// The number that it was sent to.
    pub to: E164,
    /// Its text, which a character at either end may be cut off from while it is a segment.
    pub text: SegmentText,
    /// Its place among the segments of a long message; `None` when the message is complete.
    pub place: Option<Place>,
}

impl std::fmt::Debug for MessageFor {
    /// Leaves out the numbers and the text.
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("MessageFor").field("place", &self.place).finish_non_exhaustive()
    }
}

/// Why a `deliver_sm` cannot be stored.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub enum Useless {
    /// It is marked as a receipt, but lacks a message id or a state.
    #[error("a receipt without a message id or a state")]
    Receipt,
    /// Its sender is neither a number nor a short code or a name.
    #[error("a message from an address that is neither a phone number nor a name")]
    Sender,
    /// Its destination is not a phone number.
    #[error("a message to an address that is not a phone number")]
    Recipient,
    /// Its `data_coding` is not one of text.
    #[error("binary content")]
    Binary,
}

impl Incoming {
    /// Classifies a `deliver_sm` or `data_sm`. `septets` says how the SMSC sends GSM-7.
    pub fn read(message: &ShortMessage, septets: Septets) -> Self {
        if let Some(report) = Report::read(message) {
            return Self::Receipt(report);
        }
        match message.kind() {
            Kind::Message => {}
            Kind::Receipt => return Self::Useless(Useless::Receipt),
            Kind::Intermediate | Kind::Other => return Self::Notification,
        }
        match text(message, septets) {
            Ok(text) => Self::Text(text),
            Err(useless) => Self::Useless(useless),
        }
    }
}

fn text(message: &ShortMessage, septets: Septets) -> Result<MessageFor, Useless> {
    let from = message.source.to_originator().ok_or(Useless::Sender)?;
    let to = message.destination.to_number().ok_or(Useless::Recipient)?;
    let data = user_data(message);
    let coding = Coding::of(message.data_coding);
    let text = coding::text(&data.words, coding, septets, data.header).ok_or(Useless::Binary)?;
    Ok(MessageFor { from, to, text, place: data.place })
}

#[cfg(test)]
mod tests {
    use bytes::Bytes;
    use sms_core::phone::parse_any;

    use super::*;
    use crate::address::Address;

    fn deliver(octets: &[u8]) -> ShortMessage {
        let number = |text| Address::number(parse_any(text).unwrap());
        let between = ShortMessage::between(number("07700 900123"), number("07700 900001"));
        ShortMessage { short_message: Bytes::copy_from_slice(octets), ..between }
    }

    #[test]
    fn a_message_has_its_text_its_sender_and_its_destination() {
        let Incoming::Text(text) = Incoming::read(&deliver(b"Hello \x00"), Septets::Unpacked)
        else {
            panic!("not a message")
        };
        assert_eq!(text.from.to_string(), "+447700900123");
        assert_eq!(text.to.to_string(), "+447700900001");
        assert_eq!((text.text.decode().as_str(), text.place), ("Hello @", None));
    }

    #[test]
    fn a_message_from_a_short_code_or_a_name_keeps_it() {
        for name in ["60123", "ACME", "Café"] {
            let mut message = deliver(b"Hello");
            message.source = Address::name(name);
            let Incoming::Text(text) = Incoming::read(&message, Septets::Unpacked) else {
                panic!("not a message: {name}")
            };
            assert_eq!(text.from.name(), Some(name));
        }
    }

    #[test]
    fn a_segment_has_its_place() {
        let mut part = deliver(&[5, 0, 3, 9, 2, 1, 0x04, 0x34]);
        (part.esm_class, part.data_coding) = (0x40, 8);
        let Incoming::Text(text) = Incoming::read(&part, Septets::Unpacked) else {
            panic!("not a message")
        };
        assert_eq!(text.text.decode(), "д");
        assert_eq!(text.place, Some(Place { reference: 9, total: 2, number: 1 }));
    }

    #[test]
    fn only_a_message_of_a_person_is_stored_as_one() {
        for kind in 0..16_u8 {
            let mut message = deliver(b"Hello");
            message.esm_class = kind << 2;
            let is_text = matches!(Incoming::read(&message, Septets::Unpacked), Incoming::Text(_));
            assert_eq!(is_text, kind == 0, "{:#04x}", message.esm_class);
        }
        let mut intermediate = deliver(b"id:7 stat:ENROUTE");
        intermediate.esm_class = 0x20;
        let read = Incoming::read(&intermediate, Septets::Unpacked);
        assert_eq!(read, Incoming::Notification);
    }

    #[test]
    fn what_cannot_be_stored_says_why() {
        let mut binary = deliver(&[1, 2]);
        binary.data_coding = 4;
        let mut named = deliver(b"x");
        named.source = Address::name("Ba\nnk");
        let mut astray = deliver(b"x");
        astray.destination = Address::name("60300x");
        let mut receipt = deliver(b"nothing of use");
        receipt.esm_class = 0x04;
        for (message, why) in [
            (binary, Useless::Binary),
            (named, Useless::Sender),
            (astray, Useless::Recipient),
            (receipt, Useless::Receipt),
        ] {
            assert_eq!(Incoming::read(&message, Septets::Unpacked), Incoming::Useless(why));
        }
    }

    #[test]
    fn debug_output_of_a_message_shows_no_text_and_no_number() {
        let text = Incoming::read(&deliver(b"secret"), Septets::Unpacked);
        let shown = format!("{text:?}{:?}", deliver(b"secret"));
        assert!(!shown.contains("secret") && !shown.contains("900123"), "{shown}");
    }
}
