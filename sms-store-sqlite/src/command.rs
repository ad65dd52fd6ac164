//! How much work a command is.

/// Which commands go first.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Size {
    /// About so many messages' worth of work.
    Small(usize),
    /// A portion of long work: at most one in a commit, after the small commands.
    Portion,
}
