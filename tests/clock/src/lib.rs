//! The clock of the machine that tests run on. `scripts/nightly` shifts it with libfaketime, to
//! days and hours at which a test might fail. Tests start programs with an environment of their
//! own, and those need the same clock.

use std::env;
use std::ffi::OsString;
use std::process::Command;

/// Prints where the library is.
const LIBRARY: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/library");

/// What shifts the clock of a program. The memory that libfaketime shares is not among it: each
/// program makes its own.
const VARIABLES: [&str; 4] =
    ["LD_PRELOAD", "FAKETIME", "FAKETIME_DONT_FAKE_MONOTONIC", "DONT_FAKE_MONOTONIC"];

/// The part of this program's environment that gives a program the clock of this one. Empty on a
/// machine whose clock is right.
pub fn variables() -> impl Iterator<Item = (&'static str, OsString)> {
    let is_shifted = env::var_os("FAKETIME").is_some();
    let names = VARIABLES.into_iter().filter(move |_| is_shifted);
    names.filter_map(|name| Some((name, env::var_os(name)?)))
}

/// How many seconds this program's clock is ahead of the machine's.
///
/// # Panics
///
/// If the clock is shifted in another way than by a number of seconds.
pub fn seconds_ahead() -> i64 {
    let Ok(distance) = env::var("FAKETIME") else { return 0 };
    let seconds = distance.parse();
    seconds.unwrap_or_else(|_| panic!("FAKETIME={distance} is no number of seconds, as in +3600"))
}

/// The library that shifts clocks.
///
/// # Panics
///
/// If it is not installed.
pub fn library() -> String {
    let told = Command::new(LIBRARY).output().unwrap_or_else(|error| panic!("{LIBRARY}: {error}"));
    assert!(told.status.success(), "{}", String::from_utf8_lossy(&told.stderr));
    String::from_utf8_lossy(&told.stdout).trim_end().to_owned()
}
