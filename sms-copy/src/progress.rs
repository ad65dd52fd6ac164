//! How far a copy has come, for a program or a person that watches it.

/// What a copy is doing.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Phase {
    /// Writing the rows to the target.
    Copying,
    /// Comparing the rows of both stores.
    Comparing,
    /// Reading all lists through both stores.
    Reading,
}

/// How far a copy has come.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Progress {
    /// What it is doing.
    pub phase: Phase,
    /// The table or list.
    pub what: &'static str,
    /// Rows or items done in this phase, also by earlier runs.
    pub done: u64,
    /// Rows or items in all.
    pub total: u64,
}

/// Sees how far a copy has come.
pub trait Watch: Send {
    /// Called after every portion.
    fn moved(&mut self, progress: Progress);
}
