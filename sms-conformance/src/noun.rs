//! The nouns that scenarios are about, in the order in which a store is best written.

use std::fmt;
use std::str::FromStr;

/// Writes the enum and its names, so that no noun has one without the other.
macro_rules! nouns {
    ($($(#[doc = $about:literal])+ $noun:ident = $name:literal,)+) => {
        /// What a scenario is about: one for each noun of [`Store`](sms_core::store::Store), except
        /// `Health`.
        ///
        /// A noun is less than another when a store implements it earlier: see the order in the
        /// crate's documentation.
        #[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
        #[non_exhaustive]
        pub enum Noun {
            $($(#[doc = $about])+ $noun,)+
        }

        impl Noun {
            /// Every noun, in the order in which to implement them.
            pub const ALL: &[Self] = &[$(Self::$noun),+];

            /// The name of the noun, as the modules of `sms-core` have it: `sender_name`.
            pub const fn name(self) -> &'static str {
                match self {
                    $(Self::$noun => $name,)+
                }
            }
        }
    };
}

nouns! {
    /// Accounts, their status and their settings.
    Account = "account",
    /// API keys, by hash.
    ApiKey = "api_key",
    /// Sessions of the console.
    Session = "session",
    /// Idempotency keys of all commands but sends.
    Idempotency = "idempotency",
    /// Balances and the ledger.
    Credits = "credits",
    /// Our numbers, and their rent.
    Number = "number",
    /// Numbers that must not be sent messages.
    OptOut = "opt_out",
    /// Sender names and their review.
    SenderName = "sender_name",
    /// Templates: created, searched and changed.
    Template = "template",
    /// Accepted sends and idempotency keys.
    Sending = "sending",
    /// Messages: read, listed, cancelled.
    Message = "message",
    /// The queue: claimed, leased, recorded.
    Dispatch = "dispatch",
    /// Totals that answer for any period.
    Statistics = "statistics",
    /// The event log: its order, its rows and its pages.
    Event = "event",
    /// Delivery receipts, by message and by network id.
    Receipt = "receipt",
    /// Endpoints, deliveries and attempts.
    Webhook = "webhook",
    /// Contacts, and their import.
    Contact = "contact",
    /// Lists of contacts, and who is on them.
    List = "list",
    /// Messages that come in, and their segments.
    Inbound = "inbound",
    /// Conversations and what is unread in them.
    Conversation = "conversation",
    /// Keywords and their replies.
    Keyword = "keyword",
    /// Tracked links and their clicks.
    Link = "link",
    /// Campaigns: launched, counted, cancelled.
    Campaign = "campaign",
    /// Chores, and when work falls due.
    Upkeep = "upkeep",
}

impl fmt::Display for Noun {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}

/// No noun has this name.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct UnknownNoun(String);

impl fmt::Display for UnknownNoun {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{:?} is not a noun of the conformance suite", self.0)
    }
}

impl std::error::Error for UnknownNoun {}

impl FromStr for Noun {
    type Err = UnknownNoun;

    fn from_str(name: &str) -> Result<Self, Self::Err> {
        let found = Self::ALL.iter().find(|noun| noun.name() == name);
        found.copied().ok_or_else(|| UnknownNoun(name.to_owned()))
    }
}
