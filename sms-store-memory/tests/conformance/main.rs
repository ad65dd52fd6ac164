//! Runs every scenario of the conformance suite on the memory store, each as a test of its own.
//!
//! `cargo test -p sms-store-memory --test conformance sending::` runs one noun's.

use std::process::ExitCode;
use std::sync::Arc;

use libtest_mimic::{Arguments, Trial};
use sms_core::conformance::{self, ThreadRunner};
use sms_store_memory::MemoryStore;

fn main() -> ExitCode {
    sms_test_log::watch();
    let trial = |scenario: conformance::Scenario| {
        Trial::test(scenario.to_string(), move || {
            scenario.run(Arc::new(MemoryStore::new()), Arc::new(ThreadRunner));
            Ok(())
        })
    };
    let trials = conformance::all().map(trial).collect();
    libtest_mimic::run(&Arguments::from_args(), trials).exit_code()
}
