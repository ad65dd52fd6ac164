//! Short attacks on a server of the build under test, on both stores.

#![expect(clippy::unwrap_used, reason = "a test fails by panicking")]

use std::process::Command;

/// Runs attacks, which must not be noticed by others.
fn held(arguments: &[&str]) {
    let mut command = Command::new(env!("CARGO_BIN_EXE_hostile"));
    let short = ["--quiet", "1", "--lasts", "4", "--rows", "2000"];
    let output = command.args(arguments).args(short).output().unwrap();
    let told = String::from_utf8_lossy(&output.stdout);
    let said = String::from_utf8_lossy(&output.stderr);
    assert!(output.status.success(), "{}\n{told}\n{said}", output.status);
}

#[test]
fn half_sent_imports_of_one_key_turn_nobody_else_away() {
    held(&["--attack", "bodies"]);
}

#[test]
fn an_account_keeps_at_most_a_thousand_names_of_custom_fields() {
    held(&["--attack", "fields"]);
}

#[test]
fn silent_connections_leave_handles_for_others_and_for_webhooks() {
    held(&["--attack", "handles"]);
}

#[test]
fn guessing_keys_is_slowed_down() {
    held(&["--attack", "keys"]);
}

#[test]
fn name_servers_that_never_answer_delay_nobody_else() {
    held(&["--attack", "names"]);
}

#[test]
fn the_worst_plans_of_ten_accounts_turn_nobody_else_away() {
    held(&["--attack", "plans"]);
}
