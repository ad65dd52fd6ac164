//! A violation, with what it takes to reproduce it.

use std::fmt;

use sms_core::time::Timestamp;

/// A run that broke an invariant.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Violation {
    /// The seed of the run.
    pub seed: u64,
    /// The number of steps requested.
    pub steps: u64,
    /// The step that detected the violation.
    pub step: u64,
    /// The virtual time.
    pub at: Timestamp,
    /// Which invariant was violated, and how.
    pub what: String,
    /// Further options of the run's command.
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
