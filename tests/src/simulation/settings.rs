//! The settings of a run.

use super::sabotage::Sabotage;
use super::trace::Voice;

/// Settings of a run.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Settings {
    /// The seed of all choices.
    pub seed: u64,
    /// Number of steps with faults. The steps until all work is done are added to it.
    pub steps: u64,
    /// Number of steps between two full audits.
    pub audit_every: u64,
    /// Whether each line of the trace is printed.
    pub voice: Voice,
    /// The defect to introduce on purpose, if any.
    pub sabotage: Option<Sabotage>,
}

impl Settings {
    /// A run of `steps` steps from this seed.
    pub fn new(seed: u64, steps: u64) -> Self {
        Self { seed, steps, audit_every: 1_000, voice: Voice::Silent, sabotage: None }
    }
}
