//! The simulation with PostgreSQL or SQLite beside the memory store. Every call goes to both, one
//! after the other, and both must answer the same. At the end their full contents are compared.

use std::ops::RangeInclusive;

use sms_tests::simulation::beside::Beside;
use sms_tests::simulation::{Settings, Summary, Violation, run};

/// Where it was, the seed, and the steps.
const FAILED: &str = include_str!("seeds_that_failed.txt");

fn answers_agree(beside: &Beside, seeds: RangeInclusive<u64>, steps: u64) {
    for seed in seeds {
        if let Err(violation) = beside.run(&Settings::new(seed, steps)) {
            panic!("{violation}");
        }
    }
}

#[test]
fn postgres_answers_every_call_of_a_history_as_memory_does() {
    answers_agree(&Beside::postgres(), 61..=63, 400);
}

#[test]
fn sqlite_answers_every_call_of_a_history_as_memory_does_and_its_file_keeps_the_rules() {
    answers_agree(&Beside::sqlite(), 61..=66, 1_000);
}

/// Runs the seeds that failed on a store.
fn failed_seeds_pass(store: &str, run: impl Fn(&Settings) -> Result<Summary, Box<Violation>>) {
    let lines = FAILED.lines().filter(|line| !line.starts_with('#'));
    let mut count = 0;
    for line in lines {
        let words: Vec<&str> = line.split(' ').collect();
        let [of, seed, steps] = words[..] else { panic!("{line}: store, seed, steps") };
        if of != store {
            continue;
        }
        count += 1;
        let settings = Settings::new(seed.parse().unwrap(), steps.parse().unwrap());
        if let Err(violation) = run(&settings) {
            panic!("{violation}");
        }
    }
    assert!(count > 0, "the list has seeds of {store}");
}

#[test]
fn seeds_that_failed_on_postgres_pass() {
    let beside = Beside::postgres();
    failed_seeds_pass("postgres", |settings| beside.run(settings));
}

#[test]
fn seeds_that_failed_on_sqlite_pass() {
    let beside = Beside::sqlite();
    failed_seeds_pass("sqlite", |settings| beside.run(settings));
}

#[test]
fn seeds_that_failed_in_memory_alone_pass() {
    failed_seeds_pass("memory", run);
}
