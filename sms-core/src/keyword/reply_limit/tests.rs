use proptest::prelude::*;

use super::*;
use crate::samples::{credits, millis};

fn rate(per_minute: u32, per_hour: u32) -> ReplyRate {
    let of = |count| NonZeroU32::new(count).unwrap();
    ReplyRate { per_minute: of(per_minute), per_hour: of(per_hour) }
}

/// An account with one keyword that is texted again and again.
struct Account {
    limits: ReplyLimits,
    replies: [RecentReplies; 2],
    balance: u64,
    /// When replies went out.
    sent: Vec<i64>,
    told: Vec<(i64, RepliesPaused)>,
}

const KEYWORD: KeywordId = KeywordId::from_u128(3);

impl Account {
    fn new(limits: ReplyLimits, balance: u64) -> Self {
        let (sent, told) = (Vec::new(), Vec::new());
        Self { limits, replies: Default::default(), balance, sent, told }
    }

    /// A person texts the keyword, whose reply costs this much. Returns whether it is answered.
    fn texted(&mut self, at: i64, cost: u64) -> bool {
        let ask = Ask {
            limits: &self.limits,
            keyword: (KEYWORD, "PIZZA"),
            account_replies: &self.replies[0],
            keyword_replies: &self.replies[1],
            balance: credits(self.balance),
            cost: credits(cost),
            at: millis(at),
        };
        match ask.verdict() {
            Verdict::Send([account, keyword]) => {
                assert_eq!((account.keyword, keyword.keyword), (None, Some(KEYWORD)));
                // As a store keeps them.
                let kept = |count: ReplyCount| {
                    RecentReplies::of_text(&count.replies.to_text()).expect("it was just written")
                };
                self.replies = [kept(account), kept(keyword)];
                self.balance -= cost;
                self.sent.push(at);
                true
            }
            Verdict::Pause(count, told) => {
                assert_eq!(count.keyword, told.keyword_id);
                self.replies[usize::from(count.keyword.is_some())] = count.replies;
                self.told.push((at, told));
                false
            }
            Verdict::Silent => false,
        }
    }
}

#[test]
fn by_default_an_account_sends_100_replies_a_minute_and_1000_an_hour() {
    let mut account = Account::new(ReplyLimits::default(), 1_000_000);
    let answered = (0..5_000).filter(|n| account.texted(*n / 10, 1)).count();
    assert_eq!((answered, account.balance), (100, 999_900));
    let [(_, told)] = &account.told[..] else { panic!("told {:?}", account.told) };
    assert_eq!((told.keyword_id, told.reason, told.limit), (None, PauseReason::PerMinute, 100));
    let until = told.paused_until.since(millis(0));
    assert!(until > Duration::from_mins(1) && until <= Duration::from_secs(62), "{until:?}");
    // An attack that lasts for the whole hour.
    for second in 1..3_600 {
        (0..50).filter(|n| account.texted(second * 1_000 + n, 1)).count();
    }
    assert_eq!(account.sent.len(), 1_000);
    let told = account.told.last().unwrap();
    assert_eq!((told.1.reason, told.1.limit), (PauseReason::PerHour, 1_000));
    assert!(account.told.len() <= 20, "once for each pause: {}", account.told.len());
}

#[test]
fn a_keyword_has_a_bound_of_its_own_and_the_event_names_it() {
    let limits = ReplyLimits { keyword: rate(2, 1_000), ..ReplyLimits::default() };
    let mut account = Account::new(limits, 1_000);
    assert_eq!([0, 1, 2, 3].map(|at| account.texted(at, 1)), [true, true, false, false]);
    let [(2, told)] = &account.told[..] else { panic!("told {:?}", account.told) };
    assert_eq!((told.keyword_id, told.keyword.as_deref()), (Some(KEYWORD), Some("PIZZA")));
    assert_eq!((told.reason, told.limit), (PauseReason::PerMinute, 2));
}

#[test]
fn replies_spend_at_most_a_fifth_of_the_balance_in_an_hour() {
    for (balance, spent) in [(0, 0), (1, 1), (4, 1), (5, 1), (6, 2), (100, 20), (4_000, 800)] {
        let limits = ReplyLimits { account: rate(5_000, 5_000), ..ReplyLimits::default() };
        let limits = ReplyLimits { keyword: limits.account, ..limits };
        let mut account = Account::new(limits, balance);
        let answered = (0..5_000).filter(|at| account.texted(*at, 1)).count();
        assert_eq!((answered as u64, account.balance), (spent, balance - spent), "{balance}");
        let [(_, told)] = &account.told[..] else { panic!("told {:?}", account.told) };
        assert_eq!((told.reason, told.limit), (PauseReason::Balance, spent));
        assert_eq!((told.keyword_id, told.keyword.as_deref()), (None, None));
        // Credits that are added help at once, and the pause is not reported again.
        account.balance += 100;
        assert!(account.texted(5_000, 1));
        while account.texted(5_001, 1) {}
        assert_eq!(account.told.len(), 1);
        let hour = 3_600_000;
        while account.texted(5_001 + hour, 1) {}
        assert_eq!(account.told.len(), 2, "another hour, another pause");
    }
}

#[test]
fn a_reply_that_costs_more_than_the_share_waits_for_more_credits() {
    let mut account = Account::new(ReplyLimits::default(), 20);
    assert!(!account.texted(0, 5) && account.texted(1, 4) && !account.texted(2, 1));
    assert_eq!(account.told.len(), 1);
}

#[test]
fn the_pause_ends_when_half_of_the_bound_is_free() {
    let limits = ReplyLimits { account: rate(4, 1_000), ..ReplyLimits::default() };
    let mut account = Account::new(limits, 1_000);
    for at in [0, 10_000, 20_000, 30_000] {
        assert!(account.texted(at, 1), "{at}");
    }
    assert!(!account.texted(31_000, 1));
    let until = account.told[0].1.paused_until.since(millis(0));
    // The samples' time has 123 ms, so the second of the reply at 10 s begins 123 ms before it.
    assert_eq!(until, Duration::from_millis(71_000 - 123));
    assert!(!account.texted(70_876, 1) && account.texted(70_877, 1));
}

#[test]
fn what_is_kept_is_small_and_reads_the_same() {
    let limits = ReplyLimits { account: rate(1_000_000, 1_000_000), ..ReplyLimits::default() };
    let limits = ReplyLimits { keyword: limits.account, ..limits };
    let mut account = Account::new(limits, u64::from(u32::MAX));
    for at in 0..20_000 {
        assert!(account.texted(at * 500, 1));
    }
    let text = account.replies[0].to_text();
    assert!(text.len() < 4_096, "{} bytes", text.len());
    assert_eq!(RecentReplies::of_text(&text).as_ref(), Ok(&account.replies[0]));
    assert_eq!(RecentReplies::of_text("nothing"), Err(NotRecentReplies));
}

#[test]
fn a_share_is_from_1_to_100_per_cent() {
    for percent in [1, 20, 100] {
        assert_eq!(BalanceShare::new(percent).map(BalanceShare::percent), Ok(percent));
    }
    assert_eq!([0, 101].map(BalanceShare::new), [Err(NotABalanceShare); 2]);
    assert_eq!(BalanceShare::WHOLE.of(u64::MAX), u64::MAX);
    assert_eq!(BalanceShare::new(50).unwrap().of(3), 2);
}

proptest! {
    #[test]
    fn no_minute_and_no_hour_has_more_than_its_bound(
        gaps in prop::collection::vec(prop_oneof![0i64..500, 0i64..90_000], 1..300),
        (per_minute, per_hour) in (1u32..8, 1u32..30),
        late in prop::collection::vec(any::<bool>(), 300),
    ) {
        let limits = ReplyLimits { account: rate(per_minute, per_hour), ..ReplyLimits::default() };
        let mut account = Account::new(limits, 100_000);
        let mut at = 0;
        for (gap, is_late) in gaps.iter().zip(late) {
            at += gap;
            // A message that came a moment before may be recorded after.
            account.texted(if is_late { at - 700 } else { at }, 1);
        }
        account.sent.sort_unstable();
        for (most, width) in [(per_minute, 60_000), (per_hour, 3_600_000)] {
            let most = usize::try_from(most).unwrap();
            for window in account.sent.windows(most + 1) {
                prop_assert!(window[most] - window[0] >= width, "{window:?}");
            }
        }
    }

    #[test]
    fn no_hour_spends_more_than_the_share(
        texts in prop::collection::vec((0i64..600_000, 1u64..12), 1..200),
        balance in 0u64..2_000,
        percent in 1u8..=100,
    ) {
        let share = BalanceShare::new(percent).unwrap();
        let limits = ReplyLimits { balance: share, ..ReplyLimits::default() };
        let mut account = Account::new(limits, balance);
        let (mut at, mut paid) = (0, Vec::<(i64, u64)>::new());
        for (gap, cost) in texts {
            at += gap;
            if account.texted(at, cost) {
                paid.push((at, cost));
                let recent = paid.iter().filter(|(then, _)| at - then < 3_600_000);
                let spent: u64 = recent.map(|(_, cost)| cost).sum();
                prop_assert!(spent <= share.of(account.balance + spent));
            }
        }
    }
}
