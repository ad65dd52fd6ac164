//! Single messages: reading, listing, cancelling.

pub(crate) mod cancel;
pub(crate) mod filter;
pub(crate) mod list;
