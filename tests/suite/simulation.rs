//! The simulation finds every promise kept, makes the same run of the same seed, and sees whatever
//! is broken on purpose.

use sms_tests::simulation::{Sabotage, Settings, Violation, run};

/// Enough for every sabotage below to show itself.
const STEPS: u64 = 4_000;

#[test]
fn every_promise_is_kept_over_several_seeds() {
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

/// What the checks say of a run with something broken.
fn violation(sabotage: Sabotage) -> Violation {
    for seed in 31..36 {
        let settings = Settings { sabotage: Some(sabotage), ..Settings::new(seed, STEPS) };
        if let Err(violation) = run(&settings) {
            assert_eq!((violation.seed, violation.steps), (seed, STEPS));
            assert!(violation.step > 0 && !violation.trace.is_empty());
            let told = violation.to_string();
            let command = format!("simulate -- --seed {seed} --steps {STEPS}");
            assert!(told.contains(&command) && told.contains(&violation.what), "{told}");
            return *violation;
        }
    }
    panic!("{sabotage:?} is not seen");
}

#[test]
fn a_network_that_is_handed_a_text_twice_under_one_lease_is_seen() {
    let what = violation(Sabotage::HandsOverTwice).what;
    assert!(what.ends_with("was handed over twice under one lease"), "{what}");
}

#[test]
fn a_text_to_a_number_that_opted_out_is_seen() {
    let what = violation(Sabotage::TextsOptedOut).what;
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
fn a_text_that_leaves_before_its_time_is_seen() {
    let what = violation(Sabotage::ClaimsEarly).what;
    assert!(what.contains("before its time") || what.contains("and can be at"), "{what}");
}

#[test]
fn a_delivery_that_is_never_given_out_is_seen() {
    let what = violation(Sabotage::LosesDeliveries).what;
    // Whichever is looked at first: the claim, or when the next one can be.
    let claim = what.contains("due deliveries were taken");
    assert!(claim || what.contains("the next delivery is due at"), "{what}");
}

#[test]
fn a_text_that_waits_for_ever_is_seen_at_the_end() {
    let violation = violation(Sabotage::LosesReceipts);
    assert!(violation.what.contains("is sent for ever"), "{}", violation.what);
    assert!(violation.step > STEPS);
}

#[test]
fn rent_that_is_taken_before_it_is_owed_is_seen() {
    let what = violation(Sabotage::TakesRentEarly).what;
    assert!(what.contains("credits and must have") || what.contains("rent"), "{what}");
}
