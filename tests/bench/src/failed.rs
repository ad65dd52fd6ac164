//! Why a measurement ended early.

/// Why a measurement ended early.
pub(crate) type Failed = Box<dyn std::error::Error + Send + Sync>;
