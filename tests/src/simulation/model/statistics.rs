//! Statistics: a recount of the account's messages and ledger.

use std::time::Duration;

use sms_core::credits::ledger::Entry;
use sms_core::ids::AccountId;
use sms_core::statistics::{Counts, Period};
use sms_core::time::Timestamp;

use super::{AccountModel, Check, Model, Moment, read};

impl Model {
    /// Compares statistics over a few periods with a recount.
    pub(super) fn audit_statistics(
        &self,
        moment: &Moment<'_>,
        id: AccountId,
        own: &AccountModel,
        ledger: &[Entry],
    ) -> Check {
        let back = |hours: u64| moment.now.minus(Duration::from_hours(hours));
        let later = moment.now.plus(Duration::from_millis(1));
        let minute = Duration::from_mins(1);
        let periods = [
            Period { from: Timestamp::from_millis(0), to: later },
            Period { from: moment.now, to: later },
            Period { from: back(1), to: moment.now },
            Period { from: back(49), to: back(1).plus(minute) },
            Period { from: back(2_000), to: back(3) },
        ];
        let found = read(moment.books.statistics_within(id, &periods))?;
        let recounts = periods.map(|period| self.recount(own, ledger, period));
        for ((period, found), recount) in periods.iter().zip(&found).zip(&recounts) {
            ensure!(found == recount, "{id}: {found:?} in {period:?}, where {recount:?} was");
        }
        ensure!(found.len() == periods.len(), "{id}: {} answers of statistics", found.len());
        Ok(())
    }

    fn recount(&self, own: &AccountModel, ledger: &[Entry], period: Period) -> Counts {
        let within = |at: &Timestamp| period.from <= *at && *at < period.to;
        let one = |at: Option<Timestamp>| i64::from(at.as_ref().is_some_and(within));
        let mut counts = Counts::default();
        let messages =
            own.messages.iter().filter_map(|id| self.messages.get(id)).map(|text| &text.last);
        for text in messages.filter(|text| !text.mode.is_test()) {
            counts.sent += one(text.times.sent_at);
            counts.delivered += one(text.times.delivered_at);
            counts.failed += one(text.times.failed_at);
            counts.received += one(text.times.received_at);
        }
        let of_texts = |entry: &&Entry| matches!(entry.cause.kind().as_str(), "send" | "refund");
        let spent = ledger.iter().filter(of_texts).filter(|entry| within(&entry.created_at));
        counts.credits = -spent.map(|entry| entry.amount.get()).sum::<i64>();
        counts
    }
}
