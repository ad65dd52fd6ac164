//! Statistics: how many messages of an account were sent, delivered, failed and received, and what
//! they cost, in any period.
//!
//! Each thing counts at its own time: `sent` at a message's `sent_at`, `delivered` at its
//! `delivered_at`, `failed` at its `failed_at`, `received` at its `received_at`, and `credits` at
//! the time of the ledger entry (sends less refunds). When a message loses one of these times, it
//! no longer counts: a message that is delivered after all has not failed. Messages of test keys
//! are not counted.
//!
//! No query reads messages. Each commit that changes something gives its store a [`Tally`] of the
//! differences, which only this module computes. Stores add them to totals of several
//! [spans](span), of which a [`Period`] needs few, wherever it starts and ends.

use std::collections::BTreeMap;
use std::fmt;
use std::ops::AddAssign;

use crate::credits::ledger::{Entry, Kind};
use crate::ids::AccountId;
use crate::message::record::{Message, Times};
use crate::time::Timestamp;
use crate::unknown_name::UnknownName;

pub mod span;
pub mod store;
pub mod summary;

/// What can be counted in a period. Only live messages count.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Counted {
    /// Outbound messages that were sent.
    Sent,
    /// Messages that were delivered.
    Delivered,
    /// Messages that failed before they were sent, and messages that the network could not deliver.
    Failed,
    /// Inbound messages, at their `received_at`.
    Received,
    /// Credits taken by sends, less refunds.
    Credits,
}

impl Counted {
    /// All of them, in the order of the API.
    pub const ALL: [Self; 5] =
        [Self::Sent, Self::Delivered, Self::Failed, Self::Received, Self::Credits];

    /// The name used in the API and by stores.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Sent => "sent",
            Self::Delivered => "delivered",
            Self::Failed => "failed",
            Self::Received => "received",
            Self::Credits => "credits",
        }
    }
}

impl fmt::Display for Counted {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.as_str())
    }
}

impl std::str::FromStr for Counted {
    type Err = UnknownName;

    fn from_str(text: &str) -> Result<Self, UnknownName> {
        Self::ALL
            .into_iter()
            .find(|counted| counted.as_str() == text)
            .ok_or(UnknownName::of("kind of count"))
    }
}

/// The count of each thing. Credits are negative if more were refunded than taken. In a difference,
/// any count may be negative.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
#[non_exhaustive]
pub struct Counts {
    /// Live messages whose `sent_at` is in the period: see [`Counted::Sent`].
    pub sent: i64,
    /// Live messages whose `delivered_at` is in the period: see [`Counted::Delivered`].
    pub delivered: i64,
    /// Live messages whose `failed_at` is in the period: see [`Counted::Failed`].
    pub failed: i64,
    /// Live messages whose `received_at` is in the period: see [`Counted::Received`].
    pub received: i64,
    /// Credits charged in the period, less refunds: see [`Counted::Credits`].
    pub credits: i64,
}

impl Counts {
    /// The count of one thing.
    pub fn of(&self, counted: Counted) -> i64 {
        let Self { sent, delivered, failed, received, credits } = *self;
        match counted {
            Counted::Sent => sent,
            Counted::Delivered => delivered,
            Counted::Failed => failed,
            Counted::Received => received,
            Counted::Credits => credits,
        }
    }

    /// Adds `amount` to the count of one thing.
    pub fn add(&mut self, counted: Counted, amount: i64) {
        let Self { sent, delivered, failed, received, credits } = self;
        *match counted {
            Counted::Sent => sent,
            Counted::Delivered => delivered,
            Counted::Failed => failed,
            Counted::Received => received,
            Counted::Credits => credits,
        } += amount;
    }
}

impl AddAssign for Counts {
    fn add_assign(&mut self, other: Self) {
        for counted in Counted::ALL {
            self.add(counted, other.of(counted));
        }
    }
}

/// A period of time that includes its start and excludes its end.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Period {
    /// The first moment of the period.
    pub from: Timestamp,
    /// The first moment after the period.
    pub to: Timestamp,
}

impl Period {
    /// Whether a moment is in the period.
    pub fn contains(&self, at: Timestamp) -> bool {
        self.from <= at && at < self.to
    }
}

/// One difference that a commit makes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Count {
    /// The account to which it counts.
    pub account: AccountId,
    /// The time at which it counts.
    pub at: Timestamp,
    /// Which of the counts changes.
    pub counted: Counted,
    /// How many more there are; negative if there are fewer.
    pub amount: i64,
}

/// All differences that one commit makes, added up: a thousand messages of an account that were
/// sent in the same millisecond are one difference.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Tally(BTreeMap<(AccountId, Timestamp, Counted), i64>);

impl Tally {
    /// Counts the difference between a message's times and `before`, its times before the change. A
    /// new message has no times before.
    pub fn text(&mut self, before: &Times, message: &Message) {
        if message.mode.is_test() {
            return;
        }
        for (counted, was, is) in [
            (Counted::Sent, before.sent_at, message.times.sent_at),
            (Counted::Delivered, before.delivered_at, message.times.delivered_at),
            (Counted::Failed, before.failed_at, message.times.failed_at),
            (Counted::Received, before.received_at, message.times.received_at),
        ] {
            if was != is {
                for (at, amount) in was.map(|at| (at, -1)).into_iter().chain(is.map(|at| (at, 1))) {
                    self.add(Count { account: message.account, at, counted, amount });
                }
            }
        }
    }

    /// Counts an entry of the account's ledger. Only sends and refunds count.
    pub fn entry(&mut self, account: AccountId, entry: &Entry) {
        match entry.cause.kind() {
            Kind::Send | Kind::Refund => {
                let (at, amount) = (entry.created_at, -entry.amount.get());
                self.add(Count { account, at, counted: Counted::Credits, amount });
            }
            Kind::Rent | Kind::TopUp | Kind::Adjustment => {}
        }
    }

    fn add(&mut self, count: Count) {
        let Count { account, at, counted, amount } = count;
        *self.0.entry((account, at, counted)).or_default() += amount;
    }

    /// Whether all differences are zero.
    pub fn is_empty(&self) -> bool {
        self.counts().next().is_none()
    }

    /// The differences that are not zero, by account and time.
    pub fn counts(&self) -> impl Iterator<Item = Count> {
        let all = self.0.iter().filter(|(_, amount)| **amount != 0);
        all.map(|((account, at, counted), amount)| {
            let (account, at, counted, amount) = (*account, *at, *counted, *amount);
            Count { account, at, counted, amount }
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::account::Mode;
    use crate::change::{News, change};
    use crate::credits::Credits;
    use crate::credits::ledger::{Cause, Draft, post};
    use crate::ids::{BatchId, NumberId};
    use crate::message::status::Trigger;
    use crate::message::{ErrorCode, MessageStatus};
    use crate::samples::{account_id, credits, ids, message, millis, now, seconds};

    fn lines(tally: &Tally) -> Vec<(Counted, Timestamp, i64)> {
        tally.counts().map(|count| (count.counted, count.at, count.amount)).collect()
    }

    /// Applies these triggers to a message in order, and returns the tally of all of them.
    fn history(text: &Message, news: &[News]) -> Tally {
        let (mut text, mut tally) = (text.clone(), Tally::default());
        for news in news {
            if let Some(changed) = change(&text, news, &mut ids()) {
                tally.text(&changed.was.times, &changed.message);
                text = changed.message;
            }
        }
        tally
    }

    #[test]
    fn each_thing_counts_at_its_own_time() {
        let text = message(MessageStatus::Sending);
        let news = [News::new(Trigger::Leave, seconds(1)), News::new(Trigger::Deliver, seconds(9))];
        let tally = history(&text, &news);
        let expected = [(Counted::Sent, seconds(1), 1), (Counted::Delivered, seconds(9), 1)];
        assert_eq!(lines(&tally), expected);
        assert!(tally.counts().all(|count| count.account == account_id()));
        assert!(!tally.is_empty());
        let failed = [News::failed(ErrorCode::Expired, seconds(2))];
        assert_eq!(lines(&history(&text, &failed)), [(Counted::Failed, seconds(2), 1)]);
        let cancelled = [News::new(Trigger::Cancel, seconds(2))];
        assert!(history(&message(MessageStatus::Queued), &cancelled).is_empty());
    }

    #[test]
    fn a_receipt_before_its_message_is_sent_counts_as_sent_and_delivered() {
        let news = [News::new(Trigger::Deliver, seconds(3))];
        let tally = history(&message(MessageStatus::Sending), &news);
        let expected = [(Counted::Sent, seconds(3), 1), (Counted::Delivered, seconds(3), 1)];
        assert_eq!(lines(&tally), expected);
    }

    #[test]
    fn a_message_that_was_delivered_after_all_has_not_failed() {
        let undelivered = News::undelivered(ErrorCode::AbsentSubscriber, seconds(5));
        let news = [
            News::new(Trigger::Leave, seconds(1)),
            undelivered.clone(),
            News::new(Trigger::Deliver, seconds(9)),
            undelivered,
        ];
        let text = message(MessageStatus::Sending);
        let failed = [(Counted::Sent, seconds(1), 1), (Counted::Failed, seconds(5), 1)];
        assert_eq!(lines(&history(&text, &news[..2])), failed);
        let delivered = [(Counted::Sent, seconds(1), 1), (Counted::Delivered, seconds(9), 1)];
        assert_eq!(lines(&history(&text, &news)), delivered);
    }

    #[test]
    fn messages_of_test_keys_are_not_counted() {
        let text = Message { mode: Mode::Test, ..message(MessageStatus::Sending) };
        let news = [News::new(Trigger::Leave, seconds(1)), News::new(Trigger::Deliver, seconds(9))];
        assert!(history(&text, &news).is_empty());
    }

    #[test]
    fn credits_are_what_sends_took_less_refunds() {
        let batch = BatchId::from_u128(1);
        let message = message(MessageStatus::Failed).id;
        let refund = Cause::Refund { message, batch: Some(batch), campaign: None };
        let rent = Cause::Rent { number: NumberId::from_u128(1), due_at: now() };
        let drafts = [
            (Cause::TopUp, credits(50).gain(), 0),
            (Cause::Send { batch, campaign: None }, credits(7).loss(), 1),
            (rent, credits(9).loss(), 1),
            (refund, credits(2).gain(), 1),
            (refund, credits(1).gain(), 2),
            (Cause::Adjustment, credits(4).loss(), 3),
        ];
        let draft = |(cause, amount, at)| {
            let at = millis(at);
            Draft { id: ids().next(), cause, amount, note: None, at }
        };
        let (entries, _) = post(Credits::ZERO, drafts.map(draft).into()).unwrap();
        let mut tally = Tally::default();
        for entry in &entries {
            tally.entry(account_id(), entry);
        }
        let expected = [(Counted::Credits, millis(1), 5), (Counted::Credits, millis(2), -1)];
        assert_eq!(lines(&tally), expected);
    }

    #[test]
    fn every_counted_thing_has_a_name_that_parses_back() {
        for counted in Counted::ALL {
            assert_eq!(counted.to_string().parse(), Ok(counted));
            let mut counts = Counts::default();
            counts.add(counted, 3);
            counts += counts;
            assert_eq!(counts.of(counted), 6);
            let others = Counted::ALL.into_iter().filter(|other| *other != counted);
            assert_eq!(others.map(|other| counts.of(other)).sum::<i64>(), 0);
        }
        assert_eq!("texts".parse::<Counted>(), Err(UnknownName::of("kind of count")));
    }
}
