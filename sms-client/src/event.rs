//! Events: what happened to an account.

use crate::choice::open_choice;

open_choice! {
    /// What happened.
    EventType {
        /// A message was handed over to the network.
        MessageSent = "message.sent",
        /// The handset received a message.
        MessageDelivered = "message.delivered",
        /// A message failed or could not be delivered.
        MessageFailed = "message.failed",
        /// Somebody texted one of the account's numbers.
        MessageReceived = "message.received",
        /// Somebody opted out.
        OptOutCreated = "opt_out.created",
        /// Somebody followed a tracked link.
        LinkClicked = "link.clicked",
    }
}
