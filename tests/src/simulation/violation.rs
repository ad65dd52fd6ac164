//! A broken promise, with what it takes to see it again.

use std::fmt;

use sms_core::time::Timestamp;

/// A run in which something happened that must never happen.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Violation {
    /// The seed of the run.
    pub seed: u64,
    /// How many steps the run was to have.
    pub steps: u64,
    /// The step in which it was seen.
    pub step: u64,
    /// What the clock showed.
    pub at: Timestamp,
    /// Which promise was broken, and how.
    pub what: String,
    /// What else the command of the run says.
    pub options: String,
    /// The last lines of the trace.
    pub trace: Vec<String>,
}

impl fmt::Display for Violation {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { seed, steps, step, at, what, options, trace } = self;
        for line in trace {
            writeln!(f, "{line}")?;
        }
        writeln!(f, "\nseed {seed}, step {step}, {at}: {what}")?;
        let command = "cargo run --release -p sms-tests --bin simulate --";
        write!(f, "replay: {command} --seed {seed} --steps {steps}{options}")
    }
}

impl std::error::Error for Violation {}
