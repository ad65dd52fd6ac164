//! The invariants that hold whatever happened: every scenario ends with them.

use std::collections::BTreeMap;

use sms_core::credits::ledger::{Cause, Entry};
use sms_core::ids::{AccountId, BatchId, MessageId};
use sms_core::message::{Direction, Message, MessageFilter, MessageStatus, TimelineEntry, Times};
use sms_core::number::rent::PERIOD;

use super::Rig;

impl Rig {
    /// Checks the invariants of every account that the scenario made:
    ///
    /// - The balance is the sum of the ledger, whose entries follow from each other.
    /// - Every send took exactly the credits of its messages.
    /// - A message is refunded once if it failed before leaving or was cancelled, and else not at
    ///   all.
    /// - A period of a number is taken once, and in order.
    /// - Status, times, error and timeline of every message agree.
    /// - Each list has as many contacts as it says, and the custom names in use are those of the
    ///   contacts.
    /// - Each number that sent the account a message has a conversation in its place, and what is
    ///   unread is counted exactly.
    /// - The counts of each campaign are a recount of its messages, and it took what they cost.
    /// - Statistics are what a recount of messages and ledger finds, before and after they are
    ///   added up.
    /// - The log has the events of each message that its times imply, each once, and reads the same
    ///   in both directions.
    /// - Every delivery carries an event of the log, byte for byte as the log shows it.
    /// - The queue is empty when no message waits for anything.
    pub async fn audit(&self) {
        let mut waiting = 0;
        for account in self.accounts() {
            let entries = self.ledger(account).await;
            let balance = self.account_now(account).await.balance.get();
            check_ledger(&entries, balance);
            let messages = self.messages(account, &MessageFilter::default()).await;
            check_newest_first(&messages);
            check_sends(&entries, &messages);
            check_refunds(&entries, &messages);
            check_rents(&entries);
            for message in &messages {
                let (same, timeline) = self.message_and_timeline(account, message.id).await;
                assert_eq!(same, *message, "a text read by itself is the one in the list");
                check_text(account, message, &timeline);
                waiting += usize::from(MessageStatus::CLAIMABLE.contains(&message.status));
            }
            self.audit_events(account, &messages).await;
            self.audit_address_book(account).await;
            self.audit_conversations(account, &messages).await;
            self.audit_campaigns(account, &messages).await;
            self.audit_statistics(account).await;
        }
        while self.fold_statistics(1_000).await > 0 {}
        for account in self.accounts() {
            self.audit_statistics(account).await;
        }
        let next = self.next_dispatch().await;
        assert_eq!(
            next.is_some(),
            waiting > 0,
            "the queue holds the messages that wait, no others"
        );
    }
}

/// Newest first, each entry's balance follows from the one before it, from zero to the balance.
fn check_ledger(entries: &[Entry], balance: u64) {
    let mut running = 0;
    for entry in entries.iter().rev() {
        running += entry.amount.get();
        let after = i64::try_from(entry.balance_after.get()).expect("a balance fits");
        assert_eq!(after, running, "the balance after an entry follows from the one before it");
        assert!(running >= 0, "a balance is never below zero");
    }
    assert_eq!(i64::try_from(balance), Ok(running), "the balance is the sum of the ledger");
}

fn check_newest_first(messages: &[Message]) {
    let falling = messages.is_sorted_by(|newer, older| newer.id > older.id);
    assert!(falling, "messages are listed newest first, each once");
}

/// Every batch that cost something has one entry, which took the credits of its messages.
fn check_sends(entries: &[Entry], messages: &[Message]) {
    let mut taken: BTreeMap<BatchId, i64> = BTreeMap::new();
    for entry in entries {
        if let Cause::Send { batch, campaign: _ } = entry.cause {
            let before = taken.insert(batch, entry.amount.get());
            assert_eq!(before, None, "a send takes its credits once");
        }
    }
    let mut owed: BTreeMap<BatchId, i64> = BTreeMap::new();
    for message in messages {
        if let Some(batch) = message.batch_id {
            *owed.entry(batch).or_default() += message.credits.loss().get();
        }
    }
    owed.retain(|_, amount| *amount != 0);
    assert_eq!(taken, owed, "every send took the credits of its messages");
}

/// Exactly the messages that failed before leaving or were cancelled have a refund, of all they
/// cost.
fn check_refunds(entries: &[Entry], messages: &[Message]) {
    let mut given: BTreeMap<MessageId, (i64, Option<BatchId>)> = BTreeMap::new();
    for entry in entries {
        if let Cause::Refund { message, batch, campaign: _ } = entry.cause {
            let before = given.insert(message, (entry.amount.get(), batch));
            assert_eq!(before, None, "a text is refunded once");
        }
    }
    let due = |message: &&Message| {
        let gone = matches!(message.status, MessageStatus::Failed | MessageStatus::Cancelled);
        gone && message.credits.get() > 0
    };
    let owed: BTreeMap<_, _> = messages
        .iter()
        .filter(due)
        .map(|message| (message.id, (message.credits.gain().get(), message.batch_id)))
        .collect();
    assert_eq!(given, owed, "refunds are for what failed or was cancelled");
}

/// Newest first, each number's periods follow each other.
fn check_rents(entries: &[Entry]) {
    let mut last = BTreeMap::new();
    for entry in entries.iter().rev() {
        if let Cause::Rent { number, due_at } = entry.cause {
            let follows = last.insert(number, due_at).is_none_or(|at| at.plus(PERIOD) == due_at);
            assert!(follows, "periods of a number are taken once, and in order");
        }
    }
}

/// Status, times, error and timeline of one message agree.
fn check_text(account: AccountId, message: &Message, timeline: &[TimelineEntry]) {
    assert_eq!(message.account, account);
    check_times(message);
    let last = timeline.last().expect("a text has a timeline");
    assert_eq!(last.status, message.status, "the timeline ends where the text stands");
    let first = timeline.first().expect("a text has a timeline");
    let begin = match message.direction {
        Direction::Inbound => MessageStatus::Received,
        Direction::Outbound => MessageStatus::on_acceptance(message.scheduled_at),
    };
    assert_eq!(first.status, begin, "the timeline begins with the acceptance");
    assert!(timeline.is_sorted_by_key(|line| line.at), "the timeline is oldest first");
}

fn check_times(message: &Message) {
    let Times { sent_at, delivered_at, failed_at, cancelled_at, received_at, read_at: _ } =
        message.times;
    let set = [
        sent_at.is_some(),
        delivered_at.is_some(),
        failed_at.is_some(),
        cancelled_at.is_some(),
        received_at.is_some(),
        message.error.is_some(),
    ];
    let bits = match message.status {
        MessageStatus::Scheduled | MessageStatus::Queued | MessageStatus::Sending => [0; 6],
        MessageStatus::Sent => [1, 0, 0, 0, 0, 0],
        MessageStatus::Delivered => [1, 1, 0, 0, 0, 0],
        MessageStatus::Undelivered => [1, 0, 1, 0, 0, 1],
        MessageStatus::Failed => [0, 0, 1, 0, 0, 1],
        MessageStatus::Cancelled => [0, 0, 0, 1, 0, 0],
        MessageStatus::Received => [0, 0, 0, 0, 1, 0],
    };
    let expected = bits.map(|bit| bit == 1);
    let names = "sent_at, delivered_at, failed_at, cancelled_at, received_at, error";
    assert_eq!(set, expected, "which of {names} a text has that is {}", message.status);
}
