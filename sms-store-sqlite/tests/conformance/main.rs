//! Runs every scenario of the conformance suite on the SQLite store, each as a separate test on a
//! file of its own. In the end the plans of all statements that ran are judged.
//!
//! `cargo test -p sms-store-sqlite --test conformance sending::` runs the scenarios of one noun.

mod plans;

use std::path::{Path, PathBuf};
use std::process::ExitCode;
use std::sync::Arc;
use std::sync::atomic::{AtomicU32, Ordering};

use libtest_mimic::{Arguments, Trial};
use sms_conformance::{Noun, Scenario, ThreadRunner};
use sms_store_sqlite::{SqliteSettings, SqliteStore};

static FILES: AtomicU32 = AtomicU32::new(0);

/// Where the files are. What a disk keeps is not tested here, so on Linux they are in memory.
fn folder_of_files() -> PathBuf {
    let memory = Path::new("/dev/shm");
    let is_chosen = std::env::var_os("TMPDIR").is_some();
    if memory.is_dir() && !is_chosen { memory.into() } else { std::env::temp_dir() }
}

fn main() -> ExitCode {
    let base = folder_of_files().join(format!("sms-sqlite-{}", std::process::id()));
    let folder = base.clone();
    let trial = |name: String, scenario: Scenario, settings: SqliteSettings| {
        let folder = folder.clone();
        Trial::test(name, move || {
            let number = FILES.fetch_add(1, Ordering::Relaxed);
            let own = folder.join(number.to_string());
            let store = SqliteStore::open_with(own.join("sms.db"), settings)?;
            scenario.run(Arc::new(store), Arc::new(ThreadRunner));
            std::fs::remove_dir_all(own)?;
            Ok(())
        })
    };
    let all = sms_conformance::all();
    let all = all.map(|scenario| trial(scenario.to_string(), scenario, SqliteSettings::default()));
    // Once more with every launch in stages, as for long lists.
    let staged = Noun::Campaign.scenarios().chain(Noun::Link.scenarios()).map(|scenario| {
        let mut settings = SqliteSettings::default();
        settings.launch_at_once = 0;
        trial(format!("staged::{scenario}"), scenario, settings)
    });
    // And with every import in portions.
    let in_portions = Noun::Contact.scenarios().map(|scenario| {
        let mut settings = SqliteSettings::default();
        settings.import_at_once = 0;
        trial(format!("in_portions::{scenario}"), scenario, settings)
    });
    let trials = all.chain(staged).chain(in_portions).collect();
    let arguments = Arguments::from_args();
    plans::watch();
    let run = libtest_mimic::run(&arguments, trials);
    let wrong = if run.num_passed > 0 { plans::wrong(&base) } else { Vec::new() };
    for plan in &wrong {
        println!("wrong plan: {plan}");
    }
    if !wrong.is_empty() {
        // In the form of a failed test: reports of test runs list these.
        println!("test plans_of_all_statements ... FAILED");
    }
    // What failed scenarios left.
    let _ = std::fs::remove_dir_all(base);
    if wrong.is_empty() { run.exit_code() } else { ExitCode::FAILURE }
}
