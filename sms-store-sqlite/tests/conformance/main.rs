//! Runs every scenario of the conformance suite on the SQLite store, each as a separate test on a
//! file of its own.
//!
//! `cargo test -p sms-store-sqlite --test conformance sending::` runs the scenarios of one noun.

use std::process::ExitCode;
use std::sync::Arc;
use std::sync::atomic::{AtomicU32, Ordering};

use libtest_mimic::{Arguments, Trial};
use sms_conformance::{Scenario, ThreadRunner};
use sms_store_sqlite::SqliteStore;

static FILES: AtomicU32 = AtomicU32::new(0);

fn main() -> ExitCode {
    let base = std::env::temp_dir().join(format!("sms-sqlite-{}", std::process::id()));
    let folder = base.clone();
    let trial = |scenario: Scenario| {
        let folder = folder.clone();
        Trial::test(scenario.to_string(), move || {
            let number = FILES.fetch_add(1, Ordering::Relaxed);
            let own = folder.join(number.to_string());
            let store = SqliteStore::open(own.join("sms.db"))?;
            scenario.run(Arc::new(store), Arc::new(ThreadRunner));
            std::fs::remove_dir_all(own)?;
            Ok(())
        })
    };
    let trials = sms_conformance::all().map(trial).collect();
    let code = libtest_mimic::run(&Arguments::from_args(), trials).exit_code();
    // What failed scenarios left.
    let _ = std::fs::remove_dir_all(base);
    code
}
