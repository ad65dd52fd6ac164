//! The guide for authors of stores (`sms-conformance/README.md`) is true: a store that is written
//! slice by slice, in the order of the guide, passes scenarios from the first slice on.

use std::collections::BTreeSet;
use std::sync::Arc;

use sms_conformance::{Noun, Outcome, Scenario, ThreadRunner};
use sms_store_memory::MemoryStore;
use sms_tests::layer::METHODS;
use sms_tests::unfinished_store::UnfinishedStore;

const GUIDE: &str = include_str!("../../sms-conformance/README.md");

/// The cells of the guide's tables, row by row.
fn rows() -> impl Iterator<Item = Vec<&'static str>> {
    let rows = GUIDE.lines().filter(|line| line.starts_with('|'));
    rows.map(|row| row.trim_matches('|').split('|').map(str::trim).collect())
}

/// What stands between backticks.
fn code(cell: &'static str) -> impl Iterator<Item = &'static str> {
    cell.split('`').skip(1).step_by(2)
}

/// The nouns of each slice.
fn slices() -> Vec<Vec<Noun>> {
    let slices = rows().filter(|row| row[0].parse::<usize>().is_ok());
    slices.map(|row| code(row[1]).map(|name| name.parse().unwrap()).collect()).collect()
}

/// The methods that answer that there is nothing until their noun is written, and those that every
/// scenario calls.
fn always_answered() -> BTreeSet<&'static str> {
    let empty = rows().filter(|row| row.len() == 2).flat_map(|row| code(row[0]));
    empty.chain(["account_create", "account_get", "ledger_list"]).collect()
}

fn methods_of(noun: Noun) -> &'static [&'static str] {
    let name = noun.name().trim_end_matches('s').replace('_', "");
    let named = |found: &str| {
        let found = found.trim_end_matches("Layer").to_lowercase();
        found.trim_end_matches('s') == name
    };
    METHODS.iter().find(|(found, _)| named(found)).unwrap_or_else(|| panic!("{noun}")).1
}

fn outcome(scenario: Scenario, written: &BTreeSet<&'static str>) -> Outcome {
    let store = UnfinishedStore::new(Arc::new(MemoryStore::new()), written.clone());
    scenario.try_run(Arc::new(store), Arc::new(ThreadRunner))
}

#[test]
fn every_slice_of_the_guide_makes_scenarios_of_its_nouns_pass_without_the_slices_after_it() {
    let slices = slices();
    assert_eq!(slices.concat(), Noun::ALL, "the guide names every noun, in the order of Noun::ALL");
    let mut written = always_answered();
    written.insert("health_check");
    for nouns in slices {
        written.extend(nouns.iter().flat_map(|noun| methods_of(*noun)));
        for noun in nouns {
            let outcomes: Vec<_> = noun.scenarios().map(|one| outcome(one, &written)).collect();
            assert!(
                outcomes.contains(&Outcome::Passed),
                "no scenario of {noun} passes before later slices are written: {outcomes:?}"
            );
        }
    }
    assert!(sms_conformance::all().all(|one| outcome(one, &written) == Outcome::Passed));
}

/// Whoever adds a method changes the number in the guide, and may see on the way that a chore of
/// `Upkeep` or one more thing that is wanted would do.
#[test]
fn the_guide_counts_the_methods_of_a_store() {
    let count: usize = METHODS.iter().map(|(_, methods)| methods.len()).sum();
    let (said, _) = GUIDE.split_once(" methods.").expect("the guide says how many there are");
    assert_eq!(said.rsplit(' ').next(), Some(count.to_string().as_str()));
}

#[test]
fn a_scenario_that_reaches_an_unwritten_method_names_it() {
    let store = UnfinishedStore::new(Arc::new(MemoryStore::new()), always_answered());
    let scenario = Noun::ApiKey.scenarios().next().unwrap();
    let outcome = scenario.try_run(Arc::new(store), Arc::new(ThreadRunner));
    assert_eq!(outcome, Outcome::Needs("api_key_create"));
}
