//! The tables that are copied, with their columns, as all stores understand them.
//!
//! A store names its own tables and columns, and may keep more than these: sums and marks that
//! follow from the rest. A test compares the schema of each store with this catalogue, and a copy
//! refuses a schema that has anything else.

use crate::value::Kind;

/// A column of a table.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Column {
    /// Its name in the catalogue.
    pub name: &'static str,
    /// The kind of all its values that are not null.
    pub kind: Kind,
}

/// A table that every store has, under this name or its own.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Table {
    /// Its name in the catalogue.
    pub name: &'static str,
    /// Its columns, in the order of the values of its rows.
    pub columns: &'static [Column],
}

impl Table {
    /// The place of a column in its rows; `None` if there is no such column.
    pub fn place(&self, column: &str) -> Option<usize> {
        self.columns.iter().position(|one| one.name == column)
    }
}

macro_rules! tables {
    ($($table:ident { $($kind:ident: $($column:ident)+;)+ })+) => {
        [$(Table {
            name: stringify!($table),
            columns: &[$($(Column { name: stringify!($column), kind: Kind::$kind }),+),+],
        }),+]
    };
}

/// All tables, in the order in which they are copied: what others refer to comes first.
pub const TABLES: [Table; 31] = tables! {
    account {
        Id: id;
        Text: name status;
        Whole: balance ledger_seq quiet_start quiet_end share;
        Flag: track_links;
        Text: opt_out_line opt_out_line_sender;
        Time: created_at updated_at;
    }
    api_key {
        Id: account id;
        Bytes: hash;
        Text: mode name last_four;
        Time: created_at last_used_at revoked_at;
    }
    ledger_entry {
        Id: account id;
        Whole: seq amount balance_after;
        Text: kind note;
        Id: batch_id message_id campaign_id number_id;
        Time: rent_due_at created_at;
    }
    idempotency_key {
        // The operator's keys have the account 0.
        Id: account;
        Text: key;
        Bytes: fingerprint answer;
        Time: accepted_at;
        Id: batch_id;
        Json: rejected gaps;
        Whole: credits balance;
    }
    message {
        Id: id account;
        Text: direction status;
        Whole: to_number from_number contact_number;
        Text: body encoding;
        Whole: segments credits;
        Text: route sender client_ref;
        Id: batch_id campaign_id contact_id;
        Text: error mode;
        Time: scheduled_at sent_at delivered_at failed_at cancelled_at received_at read_at;
        Timeline: timeline;
    }
    queue {
        Id: id account;
        Text: route lane;
        Time: claimable_at expires_at;
        Whole: attempt unanswered;
        Id: lease;
    }
    follow_up {
        Id: id message_id;
        Whole: number person;
        Text: route;
        Time: due_at;
        Text: receipt reply;
    }
    sent_segment {
        Text: route network_id;
        Id: message_id;
        Whole: total;
        Text: report;
        Time: at;
        Text: numbers;
    }
    last_contacted {
        Whole: number person;
        Id: account;
        Time: at;
    }
    statistic {
        Id: account;
        Text: span;
        Time: at;
        Whole: sent delivered failed received credits;
    }
    test_send {
        Id: account;
        Time: at;
        Whole: count;
    }
    conversation {
        Id: account;
        Whole: number;
        Id: last_id;
        Whole: unread;
        Json: replied;
    }
    contact {
        Id: account id;
        Whole: phone;
        Text: first_name last_name email notes;
        Json: custom;
        Time: created_at updated_at;
    }
    custom_name {
        Id: account;
        Text: name;
        Whole: uses;
    }
    contact_list {
        Id: account id;
        Text: name description;
        Whole: contact_count;
        Time: created_at updated_at;
    }
    list_member {
        Id: account list_id contact_id;
    }
    opt_out {
        Id: account;
        Whole: phone;
        Text: source note;
        Time: created_at;
    }
    template {
        Id: account id;
        Text: name body;
        Time: created_at updated_at;
    }
    keyword {
        Id: account id;
        Text: word reply;
        Id: list_id;
        Flag: listening;
        Whole: match_count;
        Time: last_matched_at created_at updated_at;
    }
    reply_count {
        // The counts of all keywords of an account have the keyword 0.
        Id: account keyword;
        Text: replies;
    }
    sender_name {
        Id: id account;
        Text: value folded purpose status reason;
        Time: created_at reviewed_at;
    }
    number {
        Id: id;
        Whole: phone;
        Id: account;
        Text: route;
        Whole: rental_credits monthly_credits;
        Time: rental_charged_at next_rent_at assigned_at checked_in_at;
    }
    number_release {
        Whole: phone;
        Id: account;
        Time: at;
    }
    inbound_segment {
        Whole: to_number from_number reference total nth;
        Flag: is_joined;
        Json: parts;
        Text: route;
        Time: first_at;
        Text: from_name;
    }
    unrouted {
        Id: id;
        Whole: from_number to_number;
        Text: body encoding;
        Whole: segments;
        Time: received_at;
        Text: from_name;
    }
    link {
        Id: account id;
        Text: code url;
        Id: message_id campaign_id;
        Whole: contact_number clicks;
        Time: first_clicked_at last_clicked_at;
    }
    campaign {
        Id: account id;
        Text: name body;
        Id: list_id;
        Text: sender;
        Flag: append_opt_out track_links ignore_quiet_hours;
        Whole: links clicks unique_clicked;
        Time: created_at updated_at launched_at scheduled_at cancelled_at;
        Id: batch_id;
        Whole: recipients rejected credits;
        Json: counts;
        Time: last_settled_at;
        Flag: is_unswept;
    }
    endpoint {
        Id: account id;
        Text: url events description off secret old_secret;
        Time: old_secret_until;
        Whole: consecutive_failures;
        Time: paused_since paused_until last_delivered_at created_at updated_at replay_at;
        Text: replay;
    }
    delivery {
        Id: id account endpoint_id event_id;
        Text: event_type body status;
        Whole: attempts last_status_code;
        Text: last_error;
        Time: last_attempt_at next_attempt_at delivered_at;
        Id: lease;
        Time: leased_until created_at claimable_at;
        Flag: replayed;
    }
    event {
        Id: account;
        Whole: seq place kinds;
        Id: last_id;
        Bytes: events;
    }
    message_span {
        Id: account first_id last_id;
        Bytes: signature;
    }
};
