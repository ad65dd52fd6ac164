//! How many automatic replies an account sends.
//!
//! A sender can choose the number that a message comes from, so a bound for each number stops no
//! attacker. Replies are also bounded for each account, for each keyword, and by a share of the
//! account's balance. At a bound they pause; everything else that a match does continues.
//!
//! Replies are counted by the second and by the minute. A bound counts those of the current second
//! or minute and of the 60 before it, so no minute and no hour has more than it allows, wherever it
//! begins.

use std::collections::VecDeque;
use std::num::NonZeroU32;
use std::time::Duration;

use serde::{Deserialize, Serialize};

use crate::credits::Credits;
use crate::ids::KeywordId;
use crate::time::Timestamp;

pub use crate::event::replies_paused::{PauseReason, RepliesPaused};

/// Milliseconds of a second, by which the bound of a minute counts.
const SECOND: i64 = 1_000;
/// Milliseconds of a minute, by which the bound of an hour counts.
const MINUTE: i64 = 60_000;
/// How many seconds or minutes count beside the current one.
const SPAN: i64 = 60;
/// How long one event stands for a lack of credits, unless a reply fits again before.
const SHORT: Duration = Duration::from_hours(1);

/// How many replies fit into a minute and into an hour.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct ReplyRate {
    /// The most replies in any minute.
    pub per_minute: NonZeroU32,
    /// The most replies in any hour.
    pub per_hour: NonZeroU32,
}

/// 100 a minute and 1,000 an hour.
impl Default for ReplyRate {
    fn default() -> Self {
        const MINUTE: NonZeroU32 = NonZeroU32::new(100).unwrap();
        const HOUR: NonZeroU32 = NonZeroU32::new(1_000).unwrap();
        Self { per_minute: MINUTE, per_hour: HOUR }
    }
}

/// The part of its balance that an account's replies may spend in an hour: 1 to 100 per cent, by
/// default 20.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct BalanceShare(u8);

/// The number is no share of a balance.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[error("a share of the balance is a whole number of per cent, from 1 to 100")]
pub struct NotABalanceShare;

impl BalanceShare {
    /// The whole balance: 100 per cent.
    pub const WHOLE: Self = Self(100);

    /// A share of 1 to 100 per cent.
    pub const fn new(percent: u8) -> Result<Self, NotABalanceShare> {
        if percent >= 1 && percent <= 100 { Ok(Self(percent)) } else { Err(NotABalanceShare) }
    }

    /// The share in per cent.
    pub const fn percent(self) -> u8 {
        self.0
    }

    /// This part of an amount, rounded up to a whole credit.
    fn of(self, amount: u64) -> u64 {
        let part = (u128::from(amount) * u128::from(self.0)).div_ceil(100);
        u64::try_from(part).unwrap_or(u64::MAX)
    }
}

impl Default for BalanceShare {
    fn default() -> Self {
        Self(20)
    }
}

/// The bounds on automatic replies.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct ReplyLimits {
    /// For all keywords of an account together.
    pub account: ReplyRate,
    /// For each keyword by itself.
    pub keyword: ReplyRate,
    /// What replies may spend in an hour: this part of the balance and what they spent together.
    pub balance: BalanceShare,
}

/// The replies of the last hour and a pause of them, of an account or of one keyword.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
pub struct RecentReplies {
    /// The seconds with replies, the oldest first: which, and how many.
    seconds: VecDeque<(i64, u32)>,
    /// The minutes with replies, the oldest first: which, how many, and what they cost.
    minutes: VecDeque<(i64, u32, u64)>,
    /// When replies go on that a rate paused.
    paused_until: Option<i64>,
    /// Until when no further event reports the lack of credits.
    short_until: Option<i64>,
}

/// The text is not what [`RecentReplies::to_text`] writes.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[error("the text does not say how many replies were sent")]
pub struct NotRecentReplies;

impl RecentReplies {
    /// What a store keeps.
    pub fn to_text(&self) -> String {
        // Numbers become JSON without fail.
        serde_json::to_string(self).unwrap_or_default()
    }

    /// Reads what a store kept.
    ///
    /// # Errors
    ///
    /// If it is something else.
    pub fn of_text(text: &str) -> Result<Self, NotRecentReplies> {
        serde_json::from_str(text).map_err(|_| NotRecentReplies)
    }

    fn is_paused(&self, at: Timestamp) -> bool {
        self.paused_until.is_some_and(|until| at.as_millis() < until)
    }

    /// What replies spent in the last hour.
    fn spent(&self, at: Timestamp) -> u64 {
        let now = place(at, MINUTE);
        let counts = self.minutes.iter().filter(|(minute, ..)| now - minute <= SPAN);
        counts.map(|(_, _, credits)| credits).fold(0, |sum, credits| sum.saturating_add(*credits))
    }

    /// The bound that one more reply at `at` would break, and when half of it is free again.
    fn broken(&self, rate: ReplyRate, at: Timestamp) -> Option<(PauseReason, u64, Timestamp)> {
        let minutes = self.minutes.iter().map(|(minute, replies, _)| (*minute, *replies));
        let seconds = self.seconds.iter().copied();
        let (hour, minute) = (rate.per_hour.get(), rate.per_minute.get());
        full(minutes, hour, at, MINUTE)
            .map(|until| (PauseReason::PerHour, u64::from(hour), until))
            .or_else(|| {
                let until = full(seconds, minute, at, SECOND)?;
                Some((PauseReason::PerMinute, u64::from(minute), until))
            })
    }

    /// With one more reply.
    fn with(&self, at: Timestamp, cost: Credits) -> Self {
        let mut after = self.clone();
        let (second, minute) = (place(at, SECOND), place(at, MINUTE));
        after.seconds.retain(|(one, _)| second - one <= SPAN);
        after.minutes.retain(|(one, ..)| minute - one <= SPAN);
        // A message that came earlier may be recorded later.
        if let Some((_, replies)) = after.seconds.iter_mut().find(|(one, _)| *one == second) {
            *replies = replies.saturating_add(1);
        } else {
            let place = after.seconds.partition_point(|(one, _)| *one < second);
            after.seconds.insert(place, (second, 1));
        }
        if let Some((_, replies, credits)) =
            after.minutes.iter_mut().find(|(one, ..)| *one == minute)
        {
            *replies = replies.saturating_add(1);
            *credits = credits.saturating_add(cost.get());
        } else {
            let place = after.minutes.partition_point(|(one, ..)| *one < minute);
            after.minutes.insert(place, (minute, 1, cost.get()));
        }
        after
    }
}

/// The second or minute of a time.
fn place(at: Timestamp, width: i64) -> i64 {
    at.as_millis().div_euclid(width)
}

/// If `limit` replies count at `at`: when no more than half of them do.
fn full(
    counts: impl Iterator<Item = (i64, u32)>,
    limit: u32,
    at: Timestamp,
    width: i64,
) -> Option<Timestamp> {
    let now = place(at, width);
    let counts: Vec<(i64, u32)> = counts.filter(|(one, _)| now - one <= SPAN).collect();
    let mut left = counts.iter().fold(0_u32, |sum, (_, replies)| sum.saturating_add(*replies));
    if left < limit {
        return None;
    }
    let mut last = now;
    for (one, replies) in counts {
        if left <= limit / 2 {
            break;
        }
        left = left.saturating_sub(replies);
        last = one;
    }
    Some(Timestamp::from_millis((last + SPAN + 1) * width))
}

/// A reply that is about to be sent, and what decides whether it may be.
#[derive(Debug, Clone, Copy)]
pub(super) struct Ask<'a> {
    pub(super) limits: &'a ReplyLimits,
    pub(super) keyword: (KeywordId, &'a str),
    pub(super) account_replies: &'a RecentReplies,
    pub(super) keyword_replies: &'a RecentReplies,
    pub(super) balance: Credits,
    pub(super) cost: Credits,
    pub(super) at: Timestamp,
}

/// What is kept of the replies of an account or a keyword.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ReplyCount {
    /// The keyword; `None` for the account.
    pub keyword: Option<KeywordId>,
    /// The replies of the last hour, and the pause if there is one.
    pub replies: RecentReplies,
}

/// The verdict on a reply.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum Verdict {
    /// It may be sent. Carries the counts with it.
    Send([ReplyCount; 2]),
    /// Replies pause from now on.
    Pause(ReplyCount, RepliesPaused),
    /// Replies are paused already.
    Silent,
}

impl Ask<'_> {
    pub(super) fn verdict(self) -> Verdict {
        let Self { limits, keyword, account_replies, keyword_replies, cost, at, .. } = self;
        if account_replies.is_paused(at) || keyword_replies.is_paused(at) {
            return Verdict::Silent;
        }
        if let Some(broken) = account_replies.broken(limits.account, at) {
            return pause(account_replies, None, broken);
        }
        if let Some(broken) = keyword_replies.broken(limits.keyword, at) {
            return pause(keyword_replies, Some(keyword), broken);
        }
        if let Some(verdict) = self.short() {
            return verdict;
        }
        let count = |keyword, replies: &RecentReplies| ReplyCount {
            keyword,
            replies: replies.with(at, cost),
        };
        Verdict::Send([count(None, account_replies), count(Some(keyword.0), keyword_replies)])
    }

    /// The verdict if the reply would cost more than the share of the balance that is left.
    fn short(self) -> Option<Verdict> {
        let Self { limits, account_replies, balance, cost, at, .. } = self;
        let spent = account_replies.spent(at);
        let limit = limits.balance.of(balance.get().saturating_add(spent));
        if spent.saturating_add(cost.get()) <= limit {
            return None;
        }
        if account_replies.short_until.is_some_and(|until| at.as_millis() < until) {
            return Some(Verdict::Silent);
        }
        let until = at.plus(SHORT);
        let replies = account_replies.clone();
        let replies = RecentReplies { short_until: Some(until.as_millis()), ..replies };
        let (keyword_id, keyword) = (None, None);
        let reason = PauseReason::Balance;
        let told = RepliesPaused { keyword_id, keyword, reason, limit, paused_until: until };
        Some(Verdict::Pause(ReplyCount { keyword: None, replies }, told))
    }
}

fn pause(
    replies: &RecentReplies,
    keyword: Option<(KeywordId, &str)>,
    (reason, limit, until): (PauseReason, u64, Timestamp),
) -> Verdict {
    let replies = RecentReplies { paused_until: Some(until.as_millis()), ..replies.clone() };
    let keyword_id = keyword.map(|(id, _)| id);
    let told = RepliesPaused {
        keyword_id,
        keyword: keyword.map(|(_, word)| word.to_owned()),
        reason,
        limit,
        paused_until: until,
    };
    Verdict::Pause(ReplyCount { keyword: keyword_id, replies }, told)
}

#[cfg(test)]
mod tests;
