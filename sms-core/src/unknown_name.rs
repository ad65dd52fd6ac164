//! A name that none of a closed list has, such as a status that does not exist.

/// The text is not a name of this kind.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[error("unknown {kind}")]
pub struct UnknownName {
    /// What the text should have named, such as `message status`.
    pub kind: &'static str,
}

impl UnknownName {
    /// No such `kind` exists.
    pub(crate) const fn of(kind: &'static str) -> Self {
        Self { kind }
    }
}
