//! The simulation finds no violation, makes the same run for the same seed, and detects each defect
//! introduced on purpose.

use std::ops::Range;

use sms_tests::simulation::model::Tally;
use sms_tests::simulation::{Sabotage, Settings, Summary, Violation, run};

/// Enough steps to detect every sabotage below.
const STEPS: u64 = 4_000;
/// The seeds of which one detects a sabotage.
const SEEDS: Range<u64> = 31..41;
/// The same, if few runs see it, or see it in the way that it has to be seen.
const MORE_SEEDS: Range<u64> = 31..71;

#[test]
fn every_promise_is_kept_over_several_seeds() {
    sms_test_log::watch();
    for seed in 1..=8 {
        if let Err(violation) = run(&Settings::new(seed, 1_500)) {
            panic!("{violation}");
        }
    }
}

#[test]
fn the_same_seed_makes_the_same_run_and_another_seed_another() {
    let hash = |seed| {
        let result = run(&Settings::new(seed, 600));
        result.map(|summary| summary.hash).map_err(|violation| violation.step)
    };
    assert_eq!(hash(21), hash(21));
    assert_ne!(hash(21), hash(22));
}

#[test]
fn all_that_the_simulation_means_to_try_happens() {
    let mut total = Summary::default();
    // The last one has a message that loses its sender, which is rare.
    for seed in (41..=80).chain([121]) {
        match run(&Settings::new(seed, 5_000)) {
            Ok(summary) => total = total.plus(summary),
            Err(violation) => panic!("{violation}"),
        }
    }
    let Tally {
        sends,
        replays,
        launches,
        messages,
        claims,
        takeovers,
        refunds,
        doubtful,
        receipts,
        inbound,
        ..
    } = total.tally;
    let Tally { joined, given_up, matches, throttled, replies, links, hits, .. } = total.tally;
    let Tally { moved, senderless, late_answers, held, given_back, .. } = total.tally;
    let Tally { rents, deliveries, attempts, pauses, unanswered, used_up, .. } = total.tally;
    let Tally { reply_pauses, .. } = total.tally;
    let Tally { replays_begun, replays_cut, portions, portions_late, replayed, .. } = total.tally;
    let Tally { events, events_removed, followed, held_back, .. } = total.tally;
    for (count, what) in [
        (sends, "a send"),
        (replays, "a repeated request"),
        (launches, "a campaign"),
        (messages, "a text"),
        (claims, "a claim"),
        (held, "a hand-over without a claim"),
        (given_back, "a message that is given back"),
        (takeovers, "a claim after a lost lease"),
        (moved, "a message that gets another number"),
        (senderless, "a message without a sender"),
        (late_answers, "an answer to a released number"),
        (refunds, "a refund"),
        (doubtful, "an end of a text that left perhaps"),
        (receipts, "a receipt"),
        (inbound, "a text that comes in"),
        (joined, "a text joined from its parts"),
        (given_up, "a text of which parts are missing"),
        (matches, "a match of a keyword"),
        (throttled, "a keyword that answered too often"),
        (replies, "an answer of a keyword"),
        (reply_pauses, "a pause of answers"),
        (unanswered, "a keyword from one of our own numbers"),
        (used_up, "too many test messages"),
        (links, "a tracked link"),
        (hits, "a hit on a link"),
        (rents, "rent"),
        (events, "an event"),
        (events_removed, "a removal of an old event"),
        (followed, "an event that a follower sees"),
        (held_back, "a page without the events that are still hidden"),
        (deliveries, "a delivery"),
        (attempts, "an attempt"),
        (pauses, "a pause of an endpoint"),
        (replays_begun, "a replay to an endpoint"),
        (replays_cut, "a replay to an endpoint that fails for good"),
        (portions, "a portion of a replay"),
        (portions_late, "a portion that comes too late"),
        (replayed, "an event that is sent again"),
        (total.faults, "a failure of the store"),
        (total.kills, "a death"),
    ] {
        assert!(count > 0, "{what} never happens");
    }
}

/// The first violation in a run with this sabotage.
fn violation(sabotage: Sabotage) -> Violation {
    let first = violations(sabotage, SEEDS).next();
    first.unwrap_or_else(|| panic!("{sabotage:?} is not seen"))
}

/// Asserts that some run with this sabotage sees it in this way.
fn assert_seen_as(sabotage: Sabotage, is_so: impl Fn(&str) -> bool) {
    let mut others = Vec::new();
    for violation in violations(sabotage, MORE_SEEDS) {
        if is_so(&violation.what) {
            return;
        }
        others.push(violation.what);
    }
    panic!("{sabotage:?} is only seen as {others:#?}");
}

/// The violations in runs with this sabotage.
fn violations(sabotage: Sabotage, seeds: Range<u64>) -> impl Iterator<Item = Violation> {
    sms_test_log::watch();
    seeds.filter_map(move |seed| {
        let settings = Settings { sabotage: Some(sabotage), ..Settings::new(seed, STEPS) };
        let violation = run(&settings).err()?;
        assert_eq!((violation.seed, violation.steps), (seed, STEPS));
        assert!(violation.step > 0 && !violation.trace.is_empty());
        let told = violation.to_string();
        let command = format!("simulate -- --seed {seed} --steps {STEPS} --sabotage ");
        assert!(told.contains(&command) && told.contains(&violation.what), "{told}");
        Some(*violation)
    })
}

#[test]
fn a_network_that_is_handed_a_message_twice_under_one_lease_is_seen() {
    let what = violation(Sabotage::HandsOverTwice).what;
    assert!(what.ends_with("was handed over twice under one lease"), "{what}");
}

#[test]
fn a_message_that_is_submitted_long_after_a_look_at_it_is_seen() {
    let what = violation(Sabotage::SubmitsLate).what;
    assert!(what.contains("was handed over") && what.ends_with("after it was looked at"), "{what}");
}

#[test]
fn a_message_to_a_number_that_opted_out_is_seen() {
    let what = violation(Sabotage::MessagesOptedOut).what;
    let (_, reasons) = what.split_once("was taken in spite of ").expect("a claim is blamed");
    assert!(reasons.contains("OptedOut"), "{what}");
}

#[test]
fn another_answer_to_a_repeated_request_is_seen() {
    let what = violation(Sabotage::MixesUpReplays).what;
    assert!(what.starts_with("a repeated request answers"), "{what}");
}

#[test]
fn a_second_refund_is_seen() {
    let what = violation(Sabotage::RefundsTwice).what;
    assert!(what.contains("credits and must have"), "{what}");
}

#[test]
fn a_message_that_leaves_before_its_time_is_seen() {
    // A claim whose messages are all due shows first in their timelines, which have its time.
    assert_seen_as(Sabotage::ClaimsEarly, |what| {
        what.contains("was taken at")
            && (what.contains("before its time") || what.contains("and can be at"))
    });
}

#[test]
fn an_account_that_waits_behind_another_is_seen() {
    let what = violation(Sabotage::ClaimsByTimeAlone).what;
    assert!(what.contains("and its turn were") || what.contains("it is not the turn"), "{what}");
}

#[test]
fn a_delivery_that_is_never_given_out_is_seen() {
    let what = violation(Sabotage::LosesDeliveries).what;
    // Depends on which is checked first: the claim, or the time of the next one.
    let claim = what.contains("due deliveries were taken");
    assert!(claim || what.contains("the next delivery is due at"), "{what}");
}

#[test]
fn a_message_that_waits_for_ever_is_seen_at_the_end() {
    let violation = violation(Sabotage::LosesReceipts);
    assert!(violation.what.contains("is sent for ever"), "{}", violation.what);
    assert!(violation.step > STEPS);
}

#[test]
fn rent_that_is_taken_before_it_is_owed_is_seen() {
    let what = violation(Sabotage::TakesRentEarly).what;
    assert!(what.contains("credits and must have") || what.contains("rent"), "{what}");
}

#[test]
fn an_event_that_is_dropped_is_seen() {
    let what = violation(Sabotage::DropsEvents).what;
    assert!(what.contains("events made"), "{what}");
}

#[test]
fn a_keyword_that_answers_twice_is_seen() {
    let what = violation(Sabotage::AnswersTwice).what;
    assert!(
        what.contains("credits and must have") || what.contains("is kept and must be"),
        "{what}"
    );
}

#[test]
fn a_hit_that_is_counted_twice_is_seen() {
    let what = violation(Sabotage::CountsHitsTwice).what;
    assert!(what.starts_with("a hit answers"), "{what}");
}

#[test]
fn an_unread_message_that_is_taken_for_read_is_seen() {
    let what = violation(Sabotage::LosesUnread).what;
    assert!(what.contains("is kept for"), "{what}");
}

#[test]
fn a_message_that_is_joined_twice_is_seen() {
    let what = violation(Sabotage::JoinsTwice).what;
    let place = what.contains("is kept and must be") || what.contains("messages came or went");
    let event = what.contains("must tell") || what.contains("events made");
    assert!(place || event || what.contains("the next delivery"), "{what}");
}

#[test]
fn a_message_that_lost_its_callers_reference_is_seen() {
    let what = violation(Sabotage::LosesReferences).what;
    assert!(what.contains("was made, and must be") && what.contains("order"), "{what}");
}

#[test]
fn a_campaign_that_leaves_somebody_out_is_seen() {
    let what = violation(Sabotage::LeavesSomebodyOut).what;
    assert!(what.contains("people and had to go to") || what.contains("NoRecipients"), "{what}");
}

#[test]
fn a_message_that_came_by_another_route_than_is_kept_is_seen() {
    let what = violation(Sabotage::MixesUpRoutes).what;
    assert!(what.starts_with("an inbound text became") && what.contains("another"), "{what}");
}

#[test]
fn a_held_message_that_others_claim_is_seen() {
    let what = violation(Sabotage::LetsGoOfHeld).what;
    let early = what.contains("and can be at") || what.contains("where");
    assert!(early || what.contains("is due at"), "{what}");
}

#[test]
fn a_held_message_that_nobody_claims_when_its_worker_died_is_seen() {
    assert_seen_as(Sabotage::KeepsHeldForEver, |what| {
        let is_missed = what.starts_with("a claim took ");
        is_missed || what.contains("where") || what.contains("is due at")
    });
}

#[test]
fn a_send_that_is_accepted_on_old_facts_is_seen() {
    let what = violation(Sabotage::AcceptsOnOldFacts).what;
    assert!(what.contains("must meet Some(Stale)"), "{what}");
}

#[test]
fn an_event_that_is_not_in_the_log_is_seen() {
    let what = violation(Sabotage::OmitsFromLog).what;
    assert!(what.contains("events made") && what.contains("entries in the log"), "{what}");
}

#[test]
fn an_event_that_is_in_the_log_twice_is_seen() {
    let what = violation(Sabotage::LogsTwice).what;
    assert!(what.contains("events made") && what.contains("entries in the log"), "{what}");
}

#[test]
fn an_event_whose_position_changes_is_seen() {
    let what = violation(Sabotage::MovesEvents).what;
    let moved = what.contains("and must be") || what.contains("is shown for");
    let found = what.contains("the log of") || what.contains("were logged that nothing raised");
    let read = what.contains("has another log when read backwards");
    let by_kind = what.contains("has other events when read by");
    assert!(moved || found || read || by_kind, "{what}");
}

#[test]
fn an_event_in_the_log_of_another_account_is_seen() {
    let what = violation(Sabotage::LeaksEvents).what;
    let leaked = what.contains("were logged that nothing raised");
    assert!(leaked || what.contains("entries in the log"), "{what}");
}

#[test]
fn an_event_that_is_shown_before_an_earlier_one_is_seen_by_a_follower() {
    // In some runs, a replay that counts too few events sees it first.
    assert_seen_as(Sabotage::SkipsHorizon, |what| {
        what.starts_with("a follower of") && what.contains("missed Some(")
    });
}

#[test]
fn an_event_that_is_removed_before_its_time_is_seen() {
    let what = violation(Sabotage::TidiesEarly).what;
    assert!(what.contains("was removed: it was raised at"), "{what}");
}

#[test]
fn a_replay_that_sends_again_what_it_sent_before_a_crash_is_seen() {
    let what = violation(Sabotage::ForgetsReplayPosition).what;
    assert!(what.contains("replay: Some(Replay") && what.contains("is kept for"), "{what}");
}

#[test]
fn a_replay_without_an_event_whose_commit_came_late_is_seen() {
    let what = violation(Sabotage::SkipsLateInReplay).what;
    assert!(what.contains("a replay to") && what.contains("leaves event"), "{what}");
}

#[test]
fn a_replay_of_types_that_were_not_asked_for_is_seen() {
    let what = violation(Sabotage::ReplaysAllTypes).what;
    assert!(what.contains("kinds: ") && what.contains("is kept for"), "{what}");
}

#[test]
fn a_replay_that_goes_on_too_early_is_seen() {
    let what = violation(Sabotage::HurriesReplays).what;
    assert!(what.starts_with("replays of") && what.contains("go on at"), "{what}");
}
