//! Contacts.

pub(crate) mod book;
pub(crate) mod import;
pub(crate) mod page;
