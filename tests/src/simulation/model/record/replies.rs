//! The automatic replies of an account, and whether one more may be sent.

use std::collections::BTreeMap;
use std::time::Duration;

use sms_core::ids::KeywordId;
use sms_core::keyword::Keyword;
use sms_core::keyword::reply_limit::{PauseReason, RepliesPaused, ReplyLimits, ReplyRate};
use sms_core::time::Timestamp;

/// Milliseconds of a second and of a minute, by which the bounds count.
const SECOND: i64 = 1_000;
const MINUTE: i64 = 60_000;

/// The expected replies of an account.
#[derive(Debug, Default)]
pub struct RepliesModel {
    /// By keyword, and under `None` of all.
    of: BTreeMap<Option<KeywordId>, Times>,
    /// Until when it has been told that the balance is short.
    short_until: Option<Timestamp>,
}

#[derive(Debug, Default)]
struct Times {
    /// The second of each reply.
    seconds: Vec<i64>,
    /// The minute of each reply, and its price.
    minutes: Vec<(i64, i64)>,
    paused_until: Option<Timestamp>,
}

/// What becomes of a reply.
#[derive(Debug)]
pub enum Allowed {
    /// It may be sent.
    Yes,
    /// Not, and the account is told.
    NoAndTold(RepliesPaused),
    /// Not.
    No,
}

impl RepliesModel {
    /// Whether a reply of this price may be sent from this balance.
    pub fn judge(
        &mut self,
        limits: &ReplyLimits,
        keyword: &Keyword,
        (balance, price): (i64, i64),
        at: Timestamp,
    ) -> Allowed {
        let both = [(None, limits.account), (Some(keyword.id), limits.keyword)];
        for (of, _) in both {
            let until = self.of.get(&of).and_then(|times| times.paused_until);
            if until.is_some_and(|until| at < until) {
                return Allowed::No;
            }
        }
        for (of, rate) in both {
            let times = self.of.entry(of).or_default();
            if let Some((reason, limit, until)) = times.full(rate, at) {
                times.paused_until = Some(until);
                let word = of.map(|_| keyword.word.as_str().to_owned());
                return Allowed::NoAndTold(RepliesPaused {
                    keyword_id: of,
                    keyword: word,
                    reason,
                    limit: u64::from(limit),
                    paused_until: until,
                });
            }
        }
        self.judge_price(limits, (balance, price), at)
    }

    fn judge_price(
        &mut self,
        limits: &ReplyLimits,
        (balance, price): (i64, i64),
        at: Timestamp,
    ) -> Allowed {
        let minute = at.as_millis().div_euclid(MINUTE);
        let all = self.of.entry(None).or_default();
        let recent = all.minutes.iter().filter(|(one, _)| one + 60 >= minute);
        let spent: i64 = recent.map(|(_, price)| price).sum();
        let share = (balance + spent) * i64::from(limits.balance.percent());
        let share = share.div_euclid(100) + i64::from(share % 100 > 0);
        if spent + price <= share {
            return Allowed::Yes;
        }
        if self.short_until.is_some_and(|until| at < until) {
            return Allowed::No;
        }
        let until = at.plus(Duration::from_hours(1));
        self.short_until = Some(until);
        Allowed::NoAndTold(RepliesPaused {
            keyword_id: None,
            keyword: None,
            reason: PauseReason::Balance,
            limit: share.unsigned_abs(),
            paused_until: until,
        })
    }

    /// A reply was sent.
    pub fn sent(&mut self, keyword: KeywordId, price: i64, at: Timestamp) {
        let (second, minute) =
            (at.as_millis().div_euclid(SECOND), at.as_millis().div_euclid(MINUTE));
        for of in [None, Some(keyword)] {
            let times = self.of.entry(of).or_default();
            // What is too old by then is forgotten, also for a text that came before this one and
            // is taken in after it.
            times.seconds.retain(|one| one + 60 >= second);
            times.minutes.retain(|(one, _)| one + 60 >= minute);
            times.seconds.push(second);
            times.minutes.push((minute, price));
        }
    }
}

impl Times {
    /// The bound that is reached, and when half of it is free.
    fn full(&self, rate: ReplyRate, at: Timestamp) -> Option<(PauseReason, u32, Timestamp)> {
        let minutes: Vec<i64> = self.minutes.iter().map(|(minute, _)| *minute).collect();
        for (reason, times, limit, width) in [
            (PauseReason::PerHour, &minutes, rate.per_hour.get(), MINUTE),
            (PauseReason::PerMinute, &self.seconds, rate.per_minute.get(), SECOND),
        ] {
            let count = |now: i64| times.iter().filter(|one| *one + 60 >= now).count() as u64;
            let mut now = at.as_millis().div_euclid(width);
            if count(now) < u64::from(limit) {
                continue;
            }
            while count(now) > u64::from(limit / 2) {
                now += 1;
            }
            return Some((reason, limit, Timestamp::from_millis(now * width)));
        }
        None
    }
}
