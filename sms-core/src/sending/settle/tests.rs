use proptest::prelude::*;

use super::*;
use crate::dispatch::{Lease, LeaseToken};
use crate::ids::LedgerEntryId;
use crate::message::MessageStatus;
use crate::samples::{
    account_id, credits, message, message_id, millis, mobile, now, person, seconds,
};
use crate::sending::idempotency::Fingerprint;
use crate::sending::recipients::RejectionReason;

const MEANT: Fingerprint = Fingerprint([1; 32]);
const OTHER: Fingerprint = Fingerprint([2; 32]);

/// A plan of this many messages; a live one costs two credits for each.
fn plan(mode: Mode, messages: usize) -> SendPlan {
    let price = credits(2 * messages as u64);
    SendPlan {
        account: account_id(),
        mode,
        batch: BatchId::from_u128(9),
        idempotency: None,
        extent: Extent::Whole,
        messages: vec![message(MessageStatus::Queued); messages],
        links: Vec::new(),
        rejected: Vec::new(),
        gaps: FieldGaps::default(),
        price,
        charge: if mode.is_test() { Credits::ZERO } else { price },
        entry_id: LedgerEntryId::from_u128(10),
        lane: crate::dispatch::Lane::Normal,
        claimable_at: now(),
        expires_at: seconds(60),
        at: now(),
        held: None,
    }
}

fn claiming(plan: SendPlan) -> SendPlan {
    let key = "booking-42".parse().unwrap();
    let claim = IdempotencyClaim { key, fingerprint: MEANT };
    SendPlan { idempotency: Some(claim), ..plan }
}

fn earlier(fingerprint: Fingerprint) -> EarlierSend {
    EarlierSend {
        fingerprint,
        batch: BatchId::from_u128(4),
        rejected: Vec::new(),
        gaps: FieldGaps::default(),
        credits: credits(3),
        balance: credits(7),
        accepted_at: seconds(-60),
    }
}

/// Facts under which every send is accepted.
fn facts() -> SendFacts {
    SendFacts {
        status: AccountStatus::Active,
        balance: credits(100),
        earlier: None,
        opted_out: false,
        codes_taken: false,
        test_messages: Vec::new(),
        has_conversations: false,
        departure: None,
    }
}

/// Facts that break every rule: the account is suspended and has too few credits, a number has
/// since opted out, and the test messages are used up.
fn against() -> SendFacts {
    SendFacts {
        status: AccountStatus::Suspended,
        balance: Credits::ZERO,
        earlier: None,
        opted_out: true,
        codes_taken: true,
        test_messages: vec![(seconds(-600), TEST_MESSAGES_PER_HOUR)],
        has_conversations: true,
        departure: None,
    }
}

fn accepted(plan: &SendPlan, facts: &SendFacts) -> SendWrites {
    match plan.settle(facts) {
        Ok(SendVerdict::Accept(writes)) => writes,
        other => panic!("{other:?}"),
    }
}

/// What is written for a live send without a key, in an account without conversations.
fn booked(entry: Option<Entry>, balance: Credits) -> SendWrites {
    SendWrites { entry, balance, remembered: None, test_messages: None, conversations: Vec::new() }
}

/// The verdict in a few words.
fn verdict(plan: &SendPlan, facts: &SendFacts) -> &'static str {
    match plan.settle(facts) {
        Ok(SendVerdict::Accept(SendWrites { entry: Some(_), .. })) => "accepted and charged",
        Ok(SendVerdict::Accept(SendWrites { entry: None, .. })) => "accepted",
        Ok(SendVerdict::Replay(_)) => "replayed",
        Err(CommitError::Stale) => "stale",
        Err(CommitError::Store(_)) => "store error",
        Err(CommitError::Refused(refused)) => match refused {
            SendRefused::NoSuchAccount => "no such account",
            SendRefused::MayNotSend(MayNotSend::Pending) => "pending",
            SendRefused::MayNotSend(MayNotSend::Suspended) => "suspended",
            SendRefused::InsufficientCredit { .. } => "insufficient credit",
            SendRefused::IdempotencyConflict => "conflict",
            SendRefused::TestMessagesUsedUp { .. } => "test messages used up",
        },
    }
}

#[test]
fn an_accepted_live_send_books_one_entry_that_takes_its_charge() {
    let plan = plan(Mode::Live, 3);
    let entry = Entry {
        id: plan.entry_id,
        cause: Cause::Send { batch: plan.batch, campaign: None },
        amount: credits(6).loss(),
        balance_after: credits(94),
        note: None,
        created_at: now(),
    };
    assert_eq!(accepted(&plan, &facts()), booked(Some(entry), credits(94)));
}

#[test]
fn a_free_send_books_nothing() {
    for plan in [plan(Mode::Test, 3), plan(Mode::Live, 0), plan(Mode::Test, 0)] {
        let SendWrites { entry, balance, .. } = accepted(&plan, &facts());
        assert_eq!((entry, balance), (None, credits(100)));
    }
    let poor = SendFacts { balance: Credits::ZERO, ..facts() };
    for plan in [plan(Mode::Test, 3), plan(Mode::Live, 0)] {
        assert_eq!(verdict(&plan, &poor), "accepted");
    }
}

#[test]
fn an_accepted_send_writes_all_that_follows_from_it() {
    let rejected = vec![Rejection::of(mobile(9), RejectionReason::OptedOut)];
    let gaps = FieldGaps { unknown: vec!["nosuch".to_owned()], ..FieldGaps::default() };
    let earlier = |charge: u64, balance: u64| EarlierSend {
        fingerprint: MEANT,
        batch: BatchId::from_u128(9),
        rejected: rejected.clone(),
        gaps: gaps.clone(),
        credits: credits(charge),
        balance: credits(balance),
        accepted_at: now(),
    };
    let messages =
        TestMessages { account: account_id(), batch: BatchId::from_u128(9), at: now(), count: 2 };
    let texted = |count| vec![(person(), message_id()); count];
    for (mode, count, has_conversations, took, test_messages, conversations) in [
        (Mode::Live, 2, false, 4, None, texted(0)),
        (Mode::Live, 2, true, 4, None, texted(2)),
        (Mode::Test, 2, true, 0, Some(messages), texted(2)),
        (Mode::Test, 0, true, 0, None, texted(0)),
    ] {
        let told = (rejected.clone(), gaps.clone());
        let plan = SendPlan { rejected: told.0, gaps: told.1, ..claiming(plan(mode, count)) };
        let facts = SendFacts { has_conversations, ..facts() };
        let writes = accepted(&plan, &facts);
        assert_eq!(
            writes.entry.map(|entry| entry.amount),
            (took > 0).then(|| credits(took).loss())
        );
        assert_eq!(writes.balance, credits(100 - took));
        let key = "booking-42".parse().unwrap();
        assert_eq!(writes.remembered, Some((key, earlier(took, 100 - took))));
        assert_eq!((writes.test_messages, writes.conversations), (test_messages, conversations));
    }
}

#[test]
fn the_answer_has_the_balance_after_the_send_and_a_replay_the_messages_as_accepted() {
    let plan = claiming(plan(Mode::Live, 2));
    let SendWrites { balance, remembered, .. } = accepted(&plan, &facts());
    let first = plan.clone().sent(balance);
    assert_eq!(
        (first.credits, first.balance, first.replay),
        (credits(4), credits(96), Replay::First)
    );
    assert_eq!(first.messages, plan.messages);
    let (_, earlier) = remembered.unwrap();
    let since = plan.messages.iter().map(delivered);
    let repeated = earlier.sent(since);
    assert_eq!(repeated, Sent { replay: Replay::Repeated, ..first });
}

fn delivered(text: &Message) -> Message {
    let Message { status, times, .. } = message(MessageStatus::Delivered);
    Message { status, times, ..text.clone() }
}

#[test]
fn a_send_may_take_the_whole_balance_and_not_one_credit_more() {
    let plan = plan(Mode::Live, 3);
    let facts = |balance| SendFacts { balance: credits(balance), ..facts() };
    match plan.settle(&facts(6)).unwrap() {
        SendVerdict::Accept(SendWrites { entry: Some(entry), balance, .. }) => {
            assert_eq!((entry.balance_after, balance), (Credits::ZERO, Credits::ZERO));
        }
        other => panic!("{other:?}"),
    }
    for balance in [5, 0] {
        match plan.settle(&facts(balance)) {
            Err(CommitError::Refused(SendRefused::InsufficientCredit {
                needed,
                balance: told,
            })) => assert_eq!((needed, told), (credits(6), credits(balance))),
            other => panic!("{other:?}"),
        }
    }
}

#[test]
fn a_plan_with_only_a_price_is_refused_as_the_whole_one_and_stale_once_the_account_can_pay() {
    let whole = claiming(plan(Mode::Live, 3));
    let price_only = SendPlan { extent: Extent::PriceOnly, messages: Vec::new(), ..whole.clone() };
    let known =
        |fingerprint| SendFacts { earlier: Some(KeyUse::Send(earlier(fingerprint))), ..facts() };
    let poor = SendFacts { balance: credits(5), ..facts() };
    for facts in [poor, against(), known(MEANT), known(OTHER)] {
        assert_eq!(verdict(&price_only, &facts), verdict(&whole, &facts));
    }
    assert_eq!(verdict(&price_only, &SendFacts { balance: credits(6), ..facts() }), "stale");
}

#[test]
fn checks_come_in_this_order_key_then_status_then_opt_outs_then_test_messages_then_credit() {
    let known =
        |fingerprint| SendFacts { earlier: Some(KeyUse::Send(earlier(fingerprint))), ..against() };
    let active = SendFacts { status: AccountStatus::Active, ..against() };
    let pending = SendFacts { status: AccountStatus::Pending, ..against() };
    let nobody_opted_out = SendFacts { opted_out: false, codes_taken: false, ..active.clone() };
    let (live, test) = (plan(Mode::Live, 1), plan(Mode::Test, 1));
    for (facts, for_live, for_test) in [
        (known(MEANT), "replayed", "replayed"),
        (known(OTHER), "conflict", "conflict"),
        (against(), "suspended", "suspended"),
        (pending, "pending", "stale"),
        (active, "stale", "stale"),
        (nobody_opted_out, "insufficient credit", "test messages used up"),
        (facts(), "accepted and charged", "accepted"),
    ] {
        assert_eq!(verdict(&claiming(live.clone()), &facts), for_live, "{facts:?}");
        assert_eq!(verdict(&claiming(test.clone()), &facts), for_test, "{facts:?}");
    }
}

#[test]
fn a_replay_is_the_first_answer_unchanged() {
    let facts = SendFacts { earlier: Some(KeyUse::Send(earlier(MEANT))), ..against() };
    let replayed = claiming(plan(Mode::Live, 1)).settle(&facts).unwrap();
    assert_eq!(replayed, SendVerdict::Replay(earlier(MEANT)));
}

#[test]
fn a_send_without_a_key_repeats_nothing() {
    let facts = SendFacts { earlier: Some(KeyUse::Send(earlier(MEANT))), ..facts() };
    assert_eq!(verdict(&plan(Mode::Live, 1), &facts), "accepted and charged");
}

#[test]
fn a_pending_account_sends_only_with_a_test_key() {
    let facts = SendFacts { status: AccountStatus::Pending, ..facts() };
    assert_eq!(verdict(&plan(Mode::Live, 1), &facts), "pending");
    assert_eq!(verdict(&plan(Mode::Test, 1), &facts), "accepted");
}

#[test]
fn a_send_with_a_code_in_use_is_planned_again() {
    for (opted_out, codes_taken, expected) in [
        (false, false, "accepted and charged"),
        (true, false, "stale"),
        (false, true, "stale"),
        (true, true, "stale"),
    ] {
        let facts = SendFacts { opted_out, codes_taken, ..facts() };
        assert_eq!(verdict(&plan(Mode::Live, 1), &facts), expected);
    }
}

#[test]
fn a_live_send_has_no_limit_of_test_messages() {
    let facts = SendFacts { test_messages: against().test_messages, ..facts() };
    assert_eq!(verdict(&plan(Mode::Live, 50), &facts), "accepted and charged");
}

/// How long a test send of this many messages has to wait after messages created this many seconds
/// ago.
fn wait(made: &[(i64, u32)], wanted: usize) -> Option<Duration> {
    let test_messages = made.iter().map(|(ago, count)| (seconds(-ago), *count)).collect();
    let facts = SendFacts { test_messages, ..facts() };
    match plan(Mode::Test, wanted).settle(&facts) {
        Ok(SendVerdict::Accept(_)) => None,
        Err(CommitError::Refused(SendRefused::TestMessagesUsedUp { retry_after })) => {
            Some(retry_after)
        }
        other => panic!("{other:?}"),
    }
}

#[test]
fn an_account_makes_300_test_messages_an_hour_and_the_301st_waits_for_the_oldest_to_pass() {
    let after = |seconds| Some(Duration::from_secs(seconds));
    for (made, wanted, expected) in [
        (&[][..], 50, None),
        (&[(600, 250)], 50, None),
        (&[(600, 299)], 1, None),
        (&[(600, 251)], 50, after(3_000)),
        (&[(600, 300)], 1, after(3_000)),
        (&[(600, 300)], 0, None),
        // Room enough, once the first no longer counts.
        (&[(3_000, 1), (600, 299)], 1, after(600)),
        // Room for one once the first no longer counts, but two are wanted.
        (&[(3_000, 1), (1_200, 1), (600, 298)], 2, after(2_400)),
        // Two sends may be committed in another order than they were planned.
        (&[(600, 200), (3_000, 100)], 50, after(600)),
        // At least a second, though there is room sooner.
        (&[(3_599, 300)], 1, after(1)),
        // Messages from an hour ago no longer count.
        (&[(3_600, 300)], 50, None),
        (&[(3_600, 300), (600, 300)], 1, after(3_000)),
    ] {
        assert_eq!(wait(made, wanted), expected, "{made:?} and {wanted} more");
    }
}

#[test]
fn a_wait_is_never_shorter_than_a_second() {
    let facts = SendFacts { test_messages: vec![(millis(-3_599_999), 300)], ..facts() };
    match plan(Mode::Test, 1).settle(&facts) {
        Err(CommitError::Refused(SendRefused::TestMessagesUsedUp { retry_after })) => {
            assert_eq!(retry_after, Duration::from_secs(1));
        }
        other => panic!("{other:?}"),
    }
}

/// Test messages as an account can have created them: never more than 300 in any hour.
fn any_test_messages() -> impl Strategy<Value = Vec<(Timestamp, u32)>> {
    prop::collection::vec((0i64..3_700_000, 1u32..=50), 0..12).prop_map(|mut made| {
        made.sort_unstable_by_key(|(ago, _)| -ago);
        let mut rest = TEST_MESSAGES_PER_HOUR;
        let counted = made.into_iter().map_while(|(ago, count)| {
            rest = rest.checked_sub(count)?;
            Some((millis(-ago), count))
        });
        counted.collect()
    })
}

proptest! {
    #[test]
    fn a_retry_after_exactly_the_reported_wait_is_accepted_and_an_earlier_one_is_not(
        test_messages in any_test_messages(),
        wanted in 1usize..=TEST_NUMBERS_PER_REQUEST,
    ) {
        let facts = SendFacts { test_messages, ..facts() };
        let first = plan(Mode::Test, wanted);
        if let Err(CommitError::Refused(refused)) = first.settle(&facts) {
            let SendRefused::TestMessagesUsedUp { retry_after } = refused else {
                panic!("{refused:?}")
            };
            prop_assert!(retry_after <= TEST_WINDOW);
            let again = SendPlan { at: now().plus(retry_after), ..first.clone() };
            prop_assert_eq!(verdict(&again, &facts), "accepted");
            // A wait below a second is reported as a second.
            if retry_after > Duration::from_secs(1) {
                let early = now().plus(retry_after).minus(Duration::from_millis(1));
                let sooner = SendPlan { at: early, ..first };
                prop_assert_eq!(verdict(&sooner, &facts), "test messages used up");
            }
        }
    }

    #[test]
    fn accepted_sends_never_exceed_300_test_messages_an_hour(
        test_messages in any_test_messages(),
        wanted in 1usize..=TEST_NUMBERS_PER_REQUEST,
    ) {
        let within = |(at, _): &&(Timestamp, u32)| now().since(*at) < TEST_WINDOW;
        let used: u32 = test_messages.iter().filter(within).map(|(_, count)| count).sum();
        let fits = used as usize + wanted <= TEST_MESSAGES_PER_HOUR as usize;
        let facts = SendFacts { test_messages, ..facts() };
        let expected = if fits { "accepted" } else { "test messages used up" };
        prop_assert_eq!(verdict(&plan(Mode::Test, wanted), &facts), expected);
    }

    #[test]
    fn a_balance_is_never_below_zero_and_the_entry_says_what_is_left(
        balance in 0u64..40,
        messages in 0usize..25,
    ) {
        let plan = plan(Mode::Live, messages);
        let facts = SendFacts { balance: credits(balance), ..facts() };
        match plan.settle(&facts) {
            Ok(SendVerdict::Accept(SendWrites { entry, balance: left, .. })) => {
                prop_assert_eq!(left.get() + plan.charge.get(), balance);
                prop_assert_eq!(entry.map_or(left, |entry| entry.balance_after), left);
            }
            Err(CommitError::Refused(refused)) => {
                let (needed, balance) = (plan.charge, facts.balance);
                prop_assert_eq!(refused, SendRefused::InsufficientCredit { needed, balance });
                prop_assert!(needed > balance);
            }
            other => prop_assert!(false, "{:?}", other),
        }
    }
}

#[test]
fn only_a_plain_live_send_that_is_accepted_may_be_written_under_a_guard() {
    let plain = plan(Mode::Live, 2);
    let guarded = plain.settle_guarded(&facts()).unwrap();
    assert_eq!(guarded.at_least, credits(4));
    assert_eq!(guarded.entry, accepted(&plain, &facts()).entry);
    let with = |change: fn(&mut SendFacts)| {
        let mut facts = facts();
        change(&mut facts);
        facts
    };
    for (remembered, what) in [
        (with(|facts| facts.status = AccountStatus::Suspended), "suspended"),
        (with(|facts| facts.balance = credits(3)), "too few credits"),
        (with(|facts| facts.opted_out = true), "opted out"),
    ] {
        assert_eq!(plain.settle_guarded(&remembered), None, "{what}");
    }
    let talking = with(|facts| facts.has_conversations = true);
    let moved = plain.settle_guarded(&talking).unwrap().conversations;
    assert_eq!(moved, accepted(&plain, &talking).conversations);
    assert!(!moved.is_empty() && guarded.conversations.is_empty());
    let mut held = plain.clone();
    held.hold(Lease { token: LeaseToken(1), until: seconds(30) });
    assert_eq!(held.settle_guarded(&facts()), None, "nothing is known of the number");
    let keyed = claiming(plain);
    let guarded = keyed.settle_guarded(&facts()).unwrap();
    assert!(guarded.remembered.is_some());
    assert_eq!(guarded.remembered, accepted(&keyed, &facts()).remembered);
    let other = KeyUse::Other { accepted_at: now() };
    let used = SendFacts { earlier: Some(other), ..facts() };
    assert_eq!(keyed.settle_guarded(&used), None, "the key was used before");
    assert_eq!(plan(Mode::Test, 1).settle_guarded(&facts()), None, "a test");
}
