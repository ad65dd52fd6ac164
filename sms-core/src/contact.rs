//! Contacts: an account's address book.
//!
//! A contact is a number and what is known about the person. [`custom`] has the fields that an
//! account defines, [`book`] has what every change of the address book writes, [`import`] handles
//! many rows at once, and [`filter`] selects the contacts of a list.

pub mod book;
pub mod custom;
pub mod fields;
pub mod filter;
pub mod import;
pub mod import_kept;
pub mod import_portions;
pub mod input;
pub(crate) mod saved;
pub mod store;

pub use custom::{CustomFields, CustomValue};
pub use fields::{ContactFields, Detail};
pub use filter::ContactFilter;
pub use input::{ContactInput, ContactPatch};
pub use saved::{Contact, Details};
