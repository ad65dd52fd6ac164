//! The pages of an account.

pub(crate) mod links;
