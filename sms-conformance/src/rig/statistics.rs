//! Statistics, and the recount that they are held against.

use sms_core::credits::ledger::Kind;
use sms_core::ids::AccountId;
use sms_core::message::MessageFilter;
use sms_core::statistics::{Counted, Counts, Period};
use sms_core::time::Timestamp;
use sms_core::upkeep::Chore;

use super::{Rig, millis};

/// How many moments of an account's history periods begin and end at in an audit.
const MOST_ENDS: usize = 6;

impl Rig {
    /// What was counted of an account within these periods.
    pub async fn statistics(&self, account: AccountId, periods: &[Period]) -> Vec<Counts> {
        let counts = self.store().statistics_within(account, periods).await;
        counts.expect("statistics are read")
    }

    /// Adds up to `limit` differences to the totals; how many there were.
    pub async fn fold_statistics(&self, limit: usize) -> usize {
        let folded =
            self.store().tidy(Chore::Statistics, limit).await.expect("statistics are added up");
        assert!(folded <= limit, "more was added up than was asked for");
        folded
    }

    /// Compares statistics with a recount of the account's messages and ledger, over periods that
    /// begin and end at, and a millisecond after, moments at which something happened.
    pub async fn audit_statistics(&self, account: AccountId) {
        let things = self.recount(account).await;
        let mut moments: Vec<Timestamp> = things.iter().map(|(at, ..)| *at).collect();
        moments.sort_unstable();
        moments.dedup();
        let step = moments.len().div_ceil(MOST_ENDS).max(1);
        let last = moments.last().copied();
        let some = moments.into_iter().step_by(step).chain(last);
        let ends: Vec<Timestamp> = some.flat_map(|at| [at, at.plus(millis(1))]).collect();
        let from = |from: &Timestamp| {
            let from = *from;
            ends.iter().map(move |to| Period { from, to: *to })
        };
        let periods: Vec<Period> = ends.iter().flat_map(from).collect();
        let found = self.statistics(account, &periods).await;
        assert_eq!(found.len(), periods.len(), "each period has its answer");
        for (period, found) in periods.into_iter().zip(found) {
            let mut expected = Counts::default();
            for (at, counted, amount) in &things {
                if period.contains(*at) {
                    expected.add(*counted, *amount);
                }
            }
            assert_eq!(found, expected, "what was counted in {period:?} is what there is");
        }
    }

    /// Everything that counts, read from messages and ledger one by one.
    async fn recount(&self, account: AccountId) -> Vec<(Timestamp, Counted, i64)> {
        let mut things = Vec::new();
        for message in self.messages(account, &MessageFilter::default()).await {
            if message.mode.is_test() {
                continue;
            }
            let times = message.times;
            things.extend(times.sent_at.map(|at| (at, Counted::Sent, 1)));
            things.extend(times.delivered_at.map(|at| (at, Counted::Delivered, 1)));
            things.extend(times.failed_at.map(|at| (at, Counted::Failed, 1)));
            things.extend(times.received_at.map(|at| (at, Counted::Received, 1)));
        }
        for entry in self.ledger(account).await {
            if matches!(entry.cause.kind(), Kind::Send | Kind::Refund) {
                things.push((entry.created_at, Counted::Credits, -entry.amount.get()));
            }
        }
        things
    }
}
