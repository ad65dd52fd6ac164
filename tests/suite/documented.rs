//! Every command that the pages show is run by a test, or stands here with the reason why not.

use std::collections::BTreeSet;
use std::fs;

use crate::pages::{Page, Shown, pages, root};

/// How a command is known to work.
enum Known {
    /// A test of this name runs every such command.
    Run(&'static str),
    /// No test runs it.
    NotRun(&'static str),
}

/// What a command begins with, and how it is known to work. The first that fits counts.
const COMMANDS: [(&str, Known); 13] = [
    ("sms ", Known::Run("every_command_of_the_pages_runs")),
    ("sms-server", Known::Run("every_command_of_the_server_in_the_pages_is_understood")),
    ("curl -s http://127.0.0.1:8080/", Known::Run("every_request_of_the_pages_is_answered")),
    ("cargo run --release -p sms-tests --bin rig", Known::NotRun("it takes minutes to days")),
    ("cargo run --release -p sms-tests --bin simulate", Known::NotRun("it takes minutes to hours")),
    ("cargo run", Known::Run("every_command_of_the_server_in_the_pages_is_understood")),
    ("cargo install", Known::NotRun("it builds and installs; the tests run what it builds")),
    ("cargo test", Known::NotRun("it runs inside the crate of a store")),
    ("scripts/test", Known::NotRun("it runs this test")),
    ("scripts/nightly", Known::NotRun("it takes a night")),
    ("scripts/fuzz", Known::NotRun("it needs nightly Rust and hours")),
    ("python3 receiver.py", Known::NotRun("scripts/check-clients runs it")),
    ("", Known::NotRun("it only sets variables")),
];

fn known(line: &str) -> Option<usize> {
    let fits =
        |prefix: &str| if prefix.is_empty() { line.is_empty() } else { line.starts_with(prefix) };
    COMMANDS.iter().position(|(prefix, _)| fits(prefix))
}

fn commands() -> Vec<Shown> {
    let found: Vec<Shown> = pages().iter().flat_map(Page::commands).collect();
    assert!(found.len() > 40, "the commands are found");
    found
}

#[test]
fn every_command_of_the_pages_is_run_or_says_why_not() {
    let mut used = BTreeSet::new();
    for command in commands() {
        let known = known(&command.line());
        assert!(known.is_some(), "no test runs {command:?}, and no reason is given");
        used.extend(known);
    }
    for (place, (prefix, _)) in COMMANDS.iter().enumerate() {
        assert!(used.contains(&place), "no page shows a command that begins with {prefix:?}");
    }
}

#[test]
fn the_tests_that_run_commands_of_the_pages_exist() {
    let files = ["sms-cli/tests/cli/documented.rs", "sms-server/tests/http/documented.rs"];
    let tests = files.map(|file| fs::read_to_string(root().join(file)).unwrap()).concat();
    for (prefix, known) in &COMMANDS {
        match known {
            Known::Run(name) => assert!(tests.contains(&format!("fn {name}(")), "{name}"),
            Known::NotRun(reason) => assert!(!reason.is_empty(), "{prefix}"),
        }
    }
}

#[test]
fn every_script_crate_and_program_that_a_command_names_exists() {
    for command in commands() {
        let words: Vec<&str> = command.words.iter().map(String::as_str).collect();
        let after = |flag| words.iter().skip_while(|word| **word != flag).nth(1);
        if let Some(script) = words.first().filter(|word| word.starts_with("scripts/")) {
            assert!(root().join(script).is_file(), "{command:?}");
        }
        if words.first().is_none_or(|word| *word != "cargo") {
            continue;
        }
        let folder = if words.contains(&"install") {
            assert!(
                words.contains(&"--locked"),
                "{command:?}: with other versions than are tested"
            );
            after("--path").copied()
        } else {
            after("-p").map(|name| if *name == "sms-tests" { "tests" } else { name })
        };
        let Some(folder) = folder else { continue };
        let manifest = fs::read_to_string(root().join(folder).join("Cargo.toml"));
        let manifest = manifest.unwrap_or_else(|error| panic!("{command:?}: {error}"));
        if let Some(program) = after("--bin") {
            assert!(manifest.contains(&format!("name = \"{program}\"")), "{command:?}");
        }
    }
}
