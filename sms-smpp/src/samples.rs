//! A message for the tests of this crate.

use sms_core::account::Mode;
use sms_core::ids::MessageId;
use sms_core::message::Body;
use sms_core::phone::parse_any;
use sms_core::route::{Look, OutboundMessage, RouteName};
use sms_core::text::measure;
use sms_core::time::Timestamp;

/// A message from 07700 900001 to 07700 900123.
pub(crate) fn outbound(body: &str, number: u128, expires_at: Timestamp) -> OutboundMessage {
    let measured = measure(body);
    OutboundMessage {
        message: MessageId::from_u128(number),
        to: parse_any("07700 900123").unwrap(),
        from: parse_any("07700 900001").unwrap(),
        sender: None,
        body: Body::new(body),
        encoding: measured.encoding,
        segments: measured.segments,
        route: RouteName::new("main"),
        mode: Mode::Live,
        lane: sms_core::dispatch::Lane::Normal,
        attempt: 0,
        expires_at,
        look: Look::at(expires_at),
    }
}
