//! The suite itself: its scenarios, its nouns, and what runs their futures.

use std::collections::BTreeSet;
use std::panic::{AssertUnwindSafe, catch_unwind};

use futures_util::FutureExt;
use sms_conformance::{Noun, Runner, ThreadRunner, all};

#[test]
fn every_scenario_has_a_name_of_its_own_and_says_what_it_is_about() {
    let mut names = BTreeSet::new();
    for scenario in all() {
        assert!(names.insert(scenario.to_string()), "{scenario} is there twice");
        assert!(scenario.about().ends_with('.'), "{scenario} has no sentence");
    }
}

#[test]
fn every_noun_has_scenarios() {
    for noun in Noun::ALL {
        assert!(noun.scenarios().count() > 0, "{noun} has no scenarios");
    }
}

#[test]
fn the_scenarios_of_all_nouns_are_all_scenarios() {
    let of_nouns: usize = Noun::ALL.iter().map(|noun| noun.scenarios().count()).sum();
    assert_eq!(of_nouns, all().count());
}

#[test]
fn every_noun_is_found_by_its_name() {
    for noun in Noun::ALL {
        assert_eq!(noun.name().parse(), Ok(*noun));
    }
    let unknown = "text".parse::<Noun>().map_err(|error| error.to_string());
    assert_eq!(unknown, Err("\"text\" is not a noun of the conformance suite".to_owned()));
}

#[test]
fn a_panic_in_one_of_many_racing_futures_is_not_lost() {
    let futures = (0..4).map(|n| async move { assert_ne!(n, 2, "on purpose") }.boxed());
    let race = AssertUnwindSafe(|| ThreadRunner.race(futures.collect()));
    assert!(catch_unwind(race).is_err());
}
