//! The simulation with PostgreSQL or SQLite beside the memory store. Every call goes to both, one
//! after the other, and both must answer the same. At the end their full contents are compared.

use std::ops::RangeInclusive;

use sms_tests::simulation::Settings;
use sms_tests::simulation::beside::Beside;

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
