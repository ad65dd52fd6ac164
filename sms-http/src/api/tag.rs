//! The sections of the API's OpenAPI document.

use poem_openapi::Tags;

/// The sections of the OpenAPI document.
#[derive(Debug, Clone, Copy, Tags)]
pub enum Tag {
    /// Sending, quoting, reading and cancelling messages.
    Messages,
    /// Credits, account status and numbers.
    Account,
    /// Messages to a whole list: drafted, then launched.
    Campaigns,
    /// The address book.
    Contacts,
    /// The account's events, with or without webhooks.
    Events,
    /// Tracked links.
    Links,
    /// The inbox: messages grouped by the other party's number.
    Conversations,
    /// Words that trigger a reply when people send them.
    Keywords,
    /// Groups of contacts.
    Lists,
    /// Numbers that get no messages.
    OptOuts,
    /// Approved names that replace the sending number.
    SenderNames,
    /// Counts of messages and credits.
    Statistics,
    /// Message bodies saved under a name.
    Templates,
    /// Endpoints that receive events, and their deliveries.
    Webhooks,
}
