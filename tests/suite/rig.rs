//! Short runs of the rig: real servers, a real PostgreSQL or a file, each fault once, one failover.

use std::process::Command;

/// Runs the rig, which must find no violation. Returns its report.
fn rig(arguments: &[&str]) -> String {
    // The servers log at TRACE, and the rig searches their logs for leaks.
    let mut command = Command::new(env!("CARGO_BIN_EXE_rig"));
    let output = command.args(arguments).env("SMS_LOG", "trace").output().unwrap();
    let told = String::from_utf8_lossy(&output.stdout).into_owned();
    let said = String::from_utf8_lossy(&output.stderr);
    assert!(output.status.success(), "{}\n{told}\n{said}", output.status);
    told
}

/// A figure of a report.
fn figure(told: &str, name: &str) -> u64 {
    let line = told.lines().find(|line| line.starts_with(name));
    let line = line.unwrap_or_else(|| panic!("no {name} in\n{told}"));
    line[name.len()..].trim().parse().unwrap_or_else(|_| panic!("{line} is no figure"))
}

#[test]
fn nothing_is_lost_or_charged_twice_by_kills_crashes_cuts_and_pauses() {
    let told = rig(&["--rounds", "6", "--lease", "5", "--rate", "20", "--clients", "8"]);
    assert_eq!(figure(&told, "rounds"), 6, "every fault came once");
    assert!(figure(&told, "messages accepted") > 0, "{told}");
    assert!(figure(&told, "requests cut off") >= 100, "{told}");
    assert_eq!(figure(&told, "lost or unasked for"), 0);
}

#[test]
fn a_file_keeps_everything_through_kills_pauses_and_cuts() {
    let load = ["--lease", "5", "--rate", "20", "--clients", "8"];
    let told = rig(&[&["--on", "file", "--rounds", "6"], &load[..]].concat());
    assert_eq!(figure(&told, "rounds"), 6, "every fault came twice");
    assert_eq!(figure(&told, "servers killed"), 2);
    assert!(figure(&told, "messages accepted") > 0, "{told}");
    assert_eq!(figure(&told, "lost or unasked for"), 0);
}

#[test]
fn a_failover_to_a_synchronous_standby_loses_nothing_and_servers_follow_by_themselves() {
    let arguments = ["drill", "--rounds", "1", "--lease", "5", "--rate", "20", "--clients", "8"];
    let told = rig(&arguments);
    assert_eq!(figure(&told, "failovers"), 1, "{told}");
    assert!(figure(&told, "messages accepted") > 0, "{told}");
    assert_eq!(figure(&told, "lost or unasked for"), 0);
}

#[test]
fn while_the_databases_disks_are_full_nothing_is_lost_and_servers_go_on_afterwards() {
    if sms_test_postgres::Disk::mount(1).is_err() {
        // Without the right to mount, triggers raise the same error: see `server_no_writes.rs`.
        let mut command = Command::new(env!("CARGO_BIN_EXE_rig"));
        let output = command.arg("disk-full").output().unwrap();
        let said = String::from_utf8_lossy(&output.stderr);
        assert_eq!(output.status.code(), Some(2), "{said}");
        assert!(said.contains("may not mount a file system"), "{said}");
        return;
    }
    let load = ["--lease", "5", "--rate", "20", "--clients", "8"];
    for store in ["postgres", "file"] {
        let full = ["disk-full", "--on", store, "--hold", "1"];
        let told = rig(&[&full, &load[..]].concat());
        assert!(figure(&told, "messages accepted") > 0, "{told}");
        assert_eq!(figure(&told, "lost or unasked for"), 0);
    }
}

#[test]
fn a_killed_server_sends_no_more_twice_than_its_windows_hold_and_names_them() {
    let sizes = ["--rounds", "2", "--requests", "2", "--window", "10", "--binds", "2"];
    for journal in [&[][..], &["--journal"]] {
        let told = rig(&[&["window"][..], &sizes, journal].concat());
        assert_eq!(figure(&told, "rounds"), 2);
        assert_eq!(figure(&told, "lost"), 0);
        assert!(figure(&told, "sent twice, most") <= 20, "{told}");
        assert_eq!(figure(&told, "sent twice and not named"), 0);
    }
}

#[test]
fn a_server_that_slept_over_its_lease_changes_nothing() {
    let told = rig(&["sleeper", "--lease", "3"]);
    let messages = figure(&told, "messages");
    assert_eq!(figure(&told, "outcomes refused"), messages, "it tried to record all of them");
    assert_eq!(figure(&told, "handed over twice"), messages, "both had all of them");
}

#[test]
fn clients_that_hang_up_leave_no_transaction_open_and_a_true_ledger() {
    for store in ["postgres", "file"] {
        let told = rig(&["cut-off", "--on", store, "--requests", "300", "--clients", "16"]);
        assert_eq!(figure(&told, "requests cut off"), 300);
        assert!(figure(&told, "messages in the database") > 0, "some were whole: {told}");
    }
}
