//! The core's enums in requests and answers, with the core's names and values.

use sms_core::account::{AccountStatus, Mode};
use sms_core::campaign::CampaignStatus;
use sms_core::contact::import::RowOutcome;
use sms_core::credits::ledger;
use sms_core::dispatch::Lane;
use sms_core::event::EventType;
use sms_core::message::{Direction, ErrorCode, MessageStatus};
use sms_core::opt_out::OptOutSource;
use sms_core::opt_out::import::OptOutOutcome;
use sms_core::route::Fitness;
use sms_core::sender_name::ReviewStatus;
use sms_core::sending::RejectionReason;
use sms_core::text::Encoding;
use sms_core::webhook::delivery::DeliveryStatus;
use sms_core::webhook::endpoint::DisabledReason;

use crate::web::choice::Choices;

/// For each enum: the name of its schema, its values, and its description.
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
    CampaignStatus: "CampaignStatus", Self::ALL, "The status of a campaign.";
    DeliveryStatus: "DeliveryStatus", Self::ALL, "The status of a delivery.";
    Direction: "Direction", Self::ALL, "Whether a message was sent or received.";
    DisabledReason: "DisabledReason", Self::ALL, "Why an endpoint is disabled.";
    Encoding: "Encoding", Self::ALL, "How a text is encoded.";
    ErrorCode: "ReceiptErrorCode", OF_RECEIPTS, "Why a message was not delivered.";
    EventType: "EventType", Self::SUBSCRIBABLE, "A kind of event.";
    Fitness: "RouteState", Self::ALL, "Whether a route accepts messages.";
    Lane: "Priority", Self::ALL, "Whether a person waits for the message.";
    MessageStatus: "MessageStatus", Self::ALL, "The status of a message.";
    Mode: "KeyKind", Self::ALL, "What a key sends: real messages, or simulated ones.";
    OptOutOutcome: "OptOutImportOutcome", Self::ALL, "The result of a row.";
    OptOutSource: "OptOutSource", Self::ALL, "How a number was opted out.";
    RejectionReason: "RejectionReason", Self::ALL, "Why a recipient gets no message.";
    ReviewStatus: "SenderStatus", Self::ALL, "The status of the review.";
    RowOutcome: "ImportOutcome", Self::ALL, "The result of a row.";
    ledger::Kind: "LedgerKind", Self::ALL, "The kind of change.";
}

/// The error codes that a receipt may carry.
const OF_RECEIPTS: [ErrorCode; 5] = [
    ErrorCode::Expired,
    ErrorCode::RejectedByNetwork,
    ErrorCode::UnknownSubscriber,
    ErrorCode::AbsentSubscriber,
    ErrorCode::NetworkError,
];
