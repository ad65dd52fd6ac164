//! How the tables of the copy's catalogue are kept here. They and their columns have the
//! catalogue's names; this lists what differs.

use sms_core::account::{AccountStatus, Mode};
use sms_core::credits::ledger;
use sms_core::message::{Direction, MessageStatus};
use sms_core::sender_name::ReviewStatus;
use sms_core::statistics::span::Span;
use sms_core::text::Encoding;
use sms_core::webhook::delivery::{DeliveryError, DeliveryStatus};
use sms_core::webhook::endpoint::DisabledReason;

use crate::delivery::ERRORS;

/// A column that is kept in another form. Accounts are always kept as the numbers of their rows.
#[derive(Clone, Copy)]
pub(super) enum Form {
    /// The place of the name among these.
    Place(fn() -> Vec<&'static str>),
    /// Null is kept as 0.
    Zero,
    /// Not kept: the list of `list_id` says it.
    OfList,
}

/// A table.
pub(super) struct Kept {
    pub(super) table: &'static str,
    pub(super) key: &'static [&'static str],
    pub(super) forms: &'static [(&'static str, Form)],
    /// Columns that the catalogue does not have, which follow from others.
    pub(super) own: &'static [&'static str],
}

const fn kept(table: &'static str, key: &'static [&'static str]) -> Kept {
    Kept { table, key, forms: &[], own: &[] }
}

const MODE: Form = Form::Place(|| Mode::ALL.map(Mode::as_str).to_vec());
const ENCODING: Form = Form::Place(|| Encoding::ALL.map(Encoding::as_str).to_vec());

pub(super) const TABLES: [Kept; 31] = [
    Kept {
        forms: &[(
            "status",
            Form::Place(|| AccountStatus::ALL.map(AccountStatus::as_str).to_vec()),
        )],
        own: &["no", "unread"],
        ..kept("account", &["no"])
    },
    Kept { forms: &[("mode", MODE)], ..kept("api_key", &["hash"]) },
    Kept {
        forms: &[("kind", Form::Place(|| ledger::Kind::ALL.map(ledger::Kind::as_str).to_vec()))],
        ..kept("ledger_entry", &["account", "seq"])
    },
    kept("idempotency_key", &["account", "key"]),
    Kept {
        forms: &[
            ("direction", Form::Place(|| Direction::ALL.map(Direction::as_str).to_vec())),
            ("status", Form::Place(|| MessageStatus::ALL.map(MessageStatus::as_str).to_vec())),
            ("encoding", ENCODING),
            ("mode", MODE),
        ],
        own: &["no"],
        ..kept("message", &["no"])
    },
    Kept { own: &["turn", "was_held"], ..kept("queue", &["id"]) },
    kept("follow_up", &["id"]),
    Kept { forms: &[("total", Form::Zero)], ..kept("sent_segment", &["route", "network_id"]) },
    kept("last_contacted", &["number", "person"]),
    Kept {
        forms: &[("span", Form::Place(|| Span::ALL.map(Span::as_str).to_vec()))],
        ..kept("statistic", &["account", "span", "at"])
    },
    Kept { own: &["no"], ..kept("test_send", &["no"]) },
    kept("conversation", &["account", "number"]),
    kept("contact", &["account", "id"]),
    kept("custom_name", &["account", "name"]),
    kept("contact_list", &["account", "id"]),
    Kept { forms: &[("account", Form::OfList)], ..kept("list_member", &["list_id", "contact_id"]) },
    kept("opt_out", &["account", "phone"]),
    kept("template", &["account", "id"]),
    kept("keyword", &["account", "id"]),
    kept("reply_count", &["account", "keyword"]),
    Kept {
        forms: &[("status", Form::Place(|| ReviewStatus::ALL.map(ReviewStatus::as_str).to_vec()))],
        ..kept("sender_name", &["id"])
    },
    kept("number", &["id"]),
    kept("number_release", &["phone"]),
    kept("inbound_segment", &["to_number", "from_number", "reference", "total", "nth"]),
    Kept { forms: &[("encoding", ENCODING)], ..kept("unrouted", &["id"]) },
    kept("link", &["account", "id"]),
    kept("campaign", &["account", "id"]),
    Kept {
        forms: &[("off", Form::Place(|| DisabledReason::ALL.map(DisabledReason::as_str).to_vec()))],
        ..kept("endpoint", &["account", "id"])
    },
    Kept {
        forms: &[
            ("status", Form::Place(|| DeliveryStatus::ALL.map(DeliveryStatus::as_str).to_vec())),
            ("last_error", Form::Place(|| ERRORS.map(DeliveryError::as_str).to_vec())),
        ],
        own: &["no"],
        ..kept("delivery", &["no"])
    },
    Kept { own: &["no"], ..kept("event", &["no"]) },
    Kept { own: &["no"], ..kept("message_span", &["no"]) },
];

/// Tables that are not copied, each with the reason.
pub(super) const NOT_COPIED: [(&str, &str); 9] = [
    ("copy_journal", "it says how far a copy into this file has come"),
    ("giving_up", "empty once the copy has given up what was left for later"),
    ("event_count", "the number of the last copied event"),
    ("gone", "empty once the copy has done what deletions left for later"),
    ("health", "it only shows that the file can be written"),
    ("launching", "empty once the copy has done what launches left for later"),
    ("message_span_round", "a place in a round through accounts, which may begin again"),
    ("session", "who is signed in to the console of this server; people sign in again"),
    ("stretch", "it follows from the messages, and is made with them"),
];
