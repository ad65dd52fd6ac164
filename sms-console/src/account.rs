//! The pages of an account.

pub(crate) mod campaign;
pub(crate) mod campaign_draft;
pub(crate) mod campaign_launch;
mod campaign_words;
pub(crate) mod campaigns;
mod choices;
pub(crate) mod compose;
pub(crate) mod contact;
mod contact_form;
mod contact_table;
pub(crate) mod contacts;
pub(crate) mod import;
pub(crate) mod inbox;
mod keyword_form;
pub(crate) mod keywords;
pub(crate) mod links;
pub(crate) mod list;
mod list_choice;
mod list_form;
pub(crate) mod list_people;
pub(crate) mod lists;
pub(crate) mod message;
pub(crate) mod messages;
pub(crate) mod opt_outs;
pub(crate) mod senders;
pub(crate) mod templates;
