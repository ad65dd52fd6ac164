//! The errors of stores.

/// A store could not execute a request. The request had no effect.
#[derive(Debug, thiserror::Error)]
pub enum StoreError {
    /// The store cannot be reached or is too busy; a retry may succeed.
    #[error("the store is unavailable while {doing}")]
    Unavailable {
        /// What the store was doing, for logs.
        doing: &'static str,
        /// The cause, for logs.
        #[source]
        source: Option<Box<dyn std::error::Error + Send + Sync>>,
    },
    /// Any other failure: a bug, or invalid data.
    #[error("the store failed while {doing}")]
    Internal {
        /// What the store was doing, for logs.
        doing: &'static str,
        /// The cause, for logs.
        #[source]
        source: Option<Box<dyn std::error::Error + Send + Sync>>,
    },
}

/// Why a plan was not committed. `R` lists the refusals of its noun.
#[derive(Debug, thiserror::Error)]
pub enum CommitError<R> {
    /// A rule refuses the plan; nothing was written.
    #[error("refused")]
    Refused(R),
    /// The facts have changed since the plan was made; plan again. Nothing was written.
    #[error("the plan is out of date")]
    Stale,
    /// The store failed; the request had no effect.
    #[error(transparent)]
    Store(#[from] StoreError),
}
