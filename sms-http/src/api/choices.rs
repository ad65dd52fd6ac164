//! The enums of the core in requests and answers. Names and values are the core's.

use sms_core::account::{AccountStatus, Mode};
use sms_core::campaign::CampaignStatus;
use sms_core::contact::import::RowOutcome;
use sms_core::credits::ledger;
use sms_core::event::EventType;
use sms_core::message::{Direction, ErrorCode, MessageStatus};
use sms_core::opt_out::OptOutSource;
use sms_core::route::Fitness;
use sms_core::sender_name::ReviewStatus;
use sms_core::sending::RejectionReason;
use sms_core::text::Encoding;
use sms_core::webhook::delivery::DeliveryStatus;
use sms_core::webhook::endpoint::DisabledReason;

use crate::web::choice::Choices;

/// For each enum the name of its schema, its values, and what it says.
macro_rules! choices {
    ($($enum:ty: $name:literal, $all:expr, $description:literal;)*) => {$(
        impl Choices for $enum {
            const NAME: &'static str = $name;
            const DESCRIPTION: &'static str = $description;
            const ALL: &'static [Self] = &$all;

            fn name(self) -> &'static str {
                self.as_str()
            }
        }
    )*};
}

choices! {
    AccountStatus: "AccountStatus", Self::ALL, "Whether an account may send.";
    CampaignStatus: "CampaignStatus", Self::ALL, "Where a campaign stands.";
    DeliveryStatus: "DeliveryStatus", Self::ALL, "Where a delivery stands.";
    Direction: "Direction", Self::ALL, "Whether a text left or came in.";
    DisabledReason: "DisabledReason", Self::ALL, "Why an endpoint is off.";
    Encoding: "Encoding", Self::ALL, "How a text is coded.";
    ErrorCode: "ReceiptErrorCode", OF_RECEIPTS, "Why a text was not delivered.";
    EventType: "EventType", Self::SUBSCRIBABLE, "A kind of event.";
    Fitness: "RouteState", Self::ALL, "Whether a route carries texts.";
    MessageStatus: "MessageStatus", Self::ALL, "Where a text stands.";
    Mode: "KeyKind", Self::ALL, "Live or test.";
    OptOutSource: "OptOutSource", Self::ALL, "How a number came to be opted out.";
    RejectionReason: "RejectionReason", Self::ALL, "Why a recipient gets no text.";
    ReviewStatus: "SenderStatus", Self::ALL, "What the operator decided.";
    RowOutcome: "ImportOutcome", Self::ALL, "What became of a row.";
    ledger::Kind: "LedgerKind", Self::ALL, "What kind of change an entry is.";
}

/// The reasons that a receipt may give.
const OF_RECEIPTS: [ErrorCode; 5] = [
    ErrorCode::Expired,
    ErrorCode::RejectedByNetwork,
    ErrorCode::UnknownSubscriber,
    ErrorCode::AbsentSubscriber,
    ErrorCode::NetworkError,
];
