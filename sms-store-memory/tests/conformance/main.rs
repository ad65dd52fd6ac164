//! Runs every scenario of the conformance suite on the memory store, each as a separate test.
//!
//! `cargo test -p sms-store-memory --test conformance sending::` runs the scenarios of one noun.

use std::process::ExitCode;
use std::sync::Arc;

use libtest_mimic::{Arguments, Trial};
use sms_conformance::{Scenario, ThreadRunner};
use sms_store_memory::MemoryStore;

fn main() -> ExitCode {
    sms_test_log::watch();
    let trial = |scenario: Scenario| {
        Trial::test(scenario.to_string(), move || {
            scenario.run(Arc::new(MemoryStore::new()), Arc::new(ThreadRunner));
            Ok(())
        })
    };
    let trials = sms_conformance::all().map(trial).collect();
    libtest_mimic::run(&Arguments::from_args(), trials).exit_code()
}
