//! What a store answers when it does not do what it was asked.

/// A store could not do what it was asked; nothing was half done.
#[derive(Debug, thiserror::Error)]
pub enum StoreError {
    /// It cannot be reached or is too busy just now; trying again later may work.
    #[error("the store is unavailable while {doing}")]
    Unavailable {
        /// What it was asked to do.
        doing: &'static str,
        /// The cause, for logs.
        #[source]
        source: Option<Box<dyn std::error::Error + Send + Sync>>,
    },
    /// Anything else: a bug, or data that should not be.
    #[error("the store failed while {doing}")]
    Internal {
        /// What it was asked to do.
        doing: &'static str,
        /// The cause, for logs.
        #[source]
        source: Option<Box<dyn std::error::Error + Send + Sync>>,
    },
}

/// Why a plan was not committed. `R` is the noun's own list of refusals.
#[derive(Debug, thiserror::Error)]
pub enum CommitError<R> {
    /// The rules refuse it; nothing was written.
    #[error("refused")]
    Refused(R),
    /// The world moved since it was planned; plan again. Nothing was written.
    #[error("the plan is out of date")]
    Stale,
    /// The store could not say.
    #[error(transparent)]
    Store(#[from] StoreError),
}
