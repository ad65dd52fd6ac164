//! The pages of an account.

mod keyword_form;
pub(crate) mod keywords;
pub(crate) mod links;
mod list_choice;
pub(crate) mod opt_outs;
pub(crate) mod senders;
pub(crate) mod templates;
