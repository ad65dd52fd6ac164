//! The sections of the operator API's OpenAPI document.

use poem_openapi::Tags;

/// The sections of the OpenAPI document.
#[derive(Debug, Clone, Copy, Tags)]
pub enum Tag {
    /// Accounts, their approval and their settings.
    Accounts,
    /// API keys.
    Keys,
    /// Balances and the ledger.
    Credits,
    /// The operator's numbers.
    Numbers,
    /// The review of sender names.
    SenderNames,
    /// Routes to networks, inbound messages and delivery receipts.
    Network,
    /// The clock of a sandbox.
    Sandbox,
    /// The OpenAPI document of this API.
    Document,
}
