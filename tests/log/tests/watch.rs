//! A leak aborts the process that logged it, wherever and however it was logged.
//!
//! Each test runs this program again, as the process to abort.

use std::process::{Command, Output};

use sms_test_log::{secret, watch};

/// Names what the child process logs.
const LEAKS: &str = "SMS_TEST_LEAKS";

/// Runs only the last test of this file.
fn run(leaks: &str) -> Output {
    let program = std::env::current_exe().expect("this program has a path");
    let mut command = Command::new(program);
    command.args(["--exact", "what_is_logged_is_read"]).env(LEAKS, leaks);
    command.output().expect("this program runs")
}

fn told(output: &Output) -> String {
    String::from_utf8_lossy(&output.stderr).into_owned()
}

#[test]
fn a_leak_ends_the_tests_and_is_told() {
    for (leaks, what) in [
        ("message", "a phone number (+447700900123)"),
        ("field", "a phone number (07700 900123)"),
        ("span", "an API key"),
        ("later field of a span", "a webhook's secret"),
        ("cause of an error", "\"a goose in the oven\""),
        ("old way", "an Authorization header"),
        ("caught", "a phone number (447700900123)"),
    ] {
        let output = run(leaks);
        assert!(!output.status.success(), "{leaks} passes");
        let told = told(&output);
        assert!(told.contains("A LEAK: ") && told.contains(what), "{leaks}: {told}");
    }
}

#[test]
fn what_is_no_leak_ends_nothing() {
    let output = run("nothing");
    assert!(output.status.success(), "{}", told(&output));
}

#[derive(Debug)]
struct Outer;

impl std::fmt::Display for Outer {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("outer")
    }
}

impl std::error::Error for Outer {
    fn source(&self) -> Option<&(dyn std::error::Error + 'static)> {
        Some(&Inner)
    }
}

#[derive(Debug)]
struct Inner;

impl std::fmt::Display for Inner {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("no room for a goose in the oven")
    }
}

impl std::error::Error for Inner {}

/// Logs what the variable names.
#[test]
fn what_is_logged_is_read() {
    let Ok(leaks) = std::env::var(LEAKS) else { return };
    watch();
    watch();
    secret("a goose in the oven");
    match leaks.as_str() {
        "message" => tracing::trace!("sent to +447700900123"),
        "field" => tracing::debug!(to = ?"07700 900123", "sent"),
        "span" => drop(tracing::trace_span!("request", key = "cc_live_a1B2c3D4e5")),
        "later field of a span" => {
            let span = tracing::trace_span!("request", secret = tracing::field::Empty);
            span.record("secret", "whsec_MDEyMzQ1Njc4OTAx");
        }
        "cause of an error" => {
            let error: &(dyn std::error::Error + 'static) = &Outer;
            tracing::info!(error, "failed");
        }
        "old way" => log::trace!("authorization: Bearer a1b2c3d4e5"),
        "caught" => {
            let logged = std::thread::spawn(|| tracing::trace!(to = 447_700_900_123_u64));
            let _ = logged.join();
        }
        "nothing" => tracing::info!(id = "req_1", status = 200, "GET /messages/{{id}} 200 in 3 ms"),
        other => panic!("{other} is not known"),
    }
}
