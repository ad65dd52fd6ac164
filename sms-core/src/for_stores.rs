//! Everything that only authors of stores need, in one place, by noun.
//!
//! A program that sends messages needs nothing from here. A store imports its traits, the plans
//! that they take, the facts that it reads, the verdicts that plans settle on, and the values that
//! list [what a commit writes](crate::commit). The guide of the crate `sms-conformance` says in
//! which order to implement the traits and how to test each noun.
//!
//! ```
//! use sms_core::for_stores::credits::{CreditStore, LedgerWrites, post};
//! use sms_core::for_stores::{CommitError, StoreError};
//! ```

pub use crate::ids::Ids;
pub use crate::store::{CommitError, Health, IntoStore, Reads, Store, StoreError};

/// Accounts and API keys.
pub mod account {
    pub use crate::account::store::{AccountStore, ApiKeyStore, ReadsAccounts, ReadsApiKeys};
}

/// Values kept in memory because requests read them often.
pub mod cache {
    pub use crate::store::cache::{Cache, Ticket};
}

/// Campaigns: launches, cancels and counts.
pub mod campaign {
    pub use crate::campaign::cancel::{CancelPlan, CancelRefused, SweepPlan};
    pub use crate::campaign::counts::CountChanges;
    pub use crate::campaign::launch::{LaunchFacts, LaunchPlan, LaunchRefused, LaunchWrites};
    pub use crate::campaign::store::{CampaignStore, ReadsCampaigns};
}

/// Contacts: changes to an address book.
pub mod contact {
    pub use crate::contact::book::{
        BookChange, BookFacts, BookPlan, BookRefused, CreatePlan, RemovePlan, UpdatePlan,
    };
    pub use crate::contact::import::ImportPlan;
    pub use crate::contact::import_portions::{ImportPortions, Portion};
    pub use crate::contact::store::{
        ContactStore, ContactsWanted, CustomNamesWanted, ReadsContacts,
    };
}

/// Conversations, which are listed by their newest message.
pub mod conversation {
    pub use crate::conversation::store::{ConversationStore, ReadsConversations};
}

/// Credits and the ledger.
pub mod credits {
    pub use crate::commit::{Booked, LedgerWrites};
    pub use crate::credits::adjust::{AdjustPlan, AdjustRefused};
    pub use crate::credits::ledger::{Draft, Entry, post};
    pub use crate::credits::store::{CreditStore, ReadsCredits};
}

/// The queue: claims, leases and outcomes.
pub mod dispatch {
    pub use crate::commit::{Claim, ClaimWrites, OutcomeWrites, Outcomes};
    pub use crate::dispatch::store::DispatchStore;
    pub use crate::dispatch::{
        ClaimFacts, ClaimPlan, ClaimVerdict, HeldMessage, NameStanding, NewSender, OutcomePlan,
        OutcomeVerdict, QueueEntry, keeps_number, names_beside,
    };
}

/// The event log: rows of events, positions in it, and readings of pages.
pub mod event {
    pub use crate::event::kept::Kept;
    pub use crate::event::log::{
        EventPage, EventRequest, LoggedEvent, NotARow, ReadFrom, Reading, Seen, StoredRow,
    };
    pub use crate::event::position::Position;
    pub use crate::event::row::{EventRow, ROW_EVENTS, ROW_MILLIS, rows};
    pub use crate::event::store::ReadsEvents;
}

/// Idempotency keys, and what is remembered under them.
pub mod idempotency {
    pub use crate::idempotency::store::IdempotencyStore;
    pub use crate::idempotency::{Answer, Claim, Earlier, Kept, Once, Owner};
}

/// Inbound messages and their segments.
pub mod inbound {
    pub use crate::inbound::segment::{GiveUpPlan, SegmentKey, SegmentPlan, SegmentVerdict};
    pub use crate::inbound::store::{InboundStore, ReadsInbound};
    pub use crate::inbound::{InboundFacts, InboundPlan, InboundWrites, RoutingFacts};
}

/// Keywords, and the facts on which their replies depend.
pub mod keyword {
    pub use crate::keyword::reply::MatchFacts;
    pub use crate::keyword::reply_limit::{RecentReplies, ReplyCount};
    pub use crate::keyword::save::{KeywordRefused, SaveFacts, SavePlan};
    pub use crate::keyword::store::{KeywordStore, ReadsKeywords};
}

/// Tracked links and clicks.
pub mod link {
    pub use crate::commit::{ClickWrites, Clicks};
    pub use crate::link::click::{CampaignClicks, ClickPlan};
    pub use crate::link::store::{LinkStore, LinkWanted, ReadsLinks};
}

/// Lists of contacts, and the contacts on them.
pub mod list {
    pub use crate::list::join::JoinPlan;
    pub use crate::list::store::{ListStore, ReadsLists};
}

/// Messages: changes and cancels.
pub mod message {
    pub use crate::change::cancel::{CancelPlan, CancelRefused};
    pub use crate::change::store::{MessageStore, ReadsMessages};
    pub use crate::commit::{ChangeWrites, Changes, MessageWrite};
}

/// Numbers and their rent.
pub mod number {
    pub use crate::number::release::{AddPlan, Release};
    pub use crate::number::rent::{RentPlan, RentVerdict};
    pub use crate::number::store::{CheckedIn, NumberStore, NumbersWanted, ReadsNumbers};
}

/// Opt-outs, by account and number.
pub mod opt_out {
    pub use crate::opt_out::store::{OptOutStore, ReadsOptOuts};
}

/// Delivery receipts and reports of segments.
pub mod receipt {
    pub use crate::receipt::ReceiptPlan;
    pub use crate::receipt::report::{
        Beside, Known, Place, ReportPlan, ReportVerdict, SentSegment,
    };
    pub use crate::receipt::store::ReceiptStore;
    pub use crate::receipt::unmatched::{UNMATCHED_MOST, Unmatched, UnmatchedReport};
}

/// Sender names and their review.
pub mod sender_name {
    pub use crate::sender_name::review::{ReviewPlan, ReviewRefused};
    pub use crate::sender_name::store::{NamesWanted, ReadsSenderNames, SenderNameStore};
}

/// Sends: acceptance and replays.
pub mod sending {
    pub use crate::commit::{NewMessage, NewMessages, SendWrites};
    pub use crate::sending::guard::Guarded;
    pub use crate::sending::idempotency::{EarlierSend, IdempotencyClaim, KeyUse};
    pub use crate::sending::plan::{Extent, SendPlan, new_messages};
    pub use crate::sending::settle::{DepartureFacts, SendFacts, SendRefused, SendVerdict};
    pub use crate::sending::store::SendingStore;
}

/// Sessions of the console.
pub mod session {
    pub use crate::session::store::SessionStore;
    pub use crate::session::{Holder, OperatorSeal, Session, SessionHash};
}

/// Statistics: exact totals of any period.
pub mod statistics {
    pub use crate::statistics::store::ReadsStatistics;
}

/// Templates: texts that an account has saved.
pub mod template {
    pub use crate::template::store::{ReadsTemplates, TemplateStore};
}

/// Chores, and when work falls due.
pub mod upkeep {
    pub use crate::upkeep::store::Upkeep;
    pub use crate::upkeep::{Chore, Due};
}

/// Versions: changes and removals that are made on a version only.
pub mod version {
    pub use crate::version::{Changed, IfVersion, Versioned};
}

/// Webhook endpoints, deliveries and attempts.
pub mod webhook {
    pub use crate::event::Raised;
    pub use crate::webhook::attempt::{
        AttemptPlan, AttemptVerdict, DeliveryClaim, DeliveryClaimPlan, RetryPlan, RetryVerdict,
    };
    pub use crate::webhook::replay::plan::{PortionPlan, PortionWrites, ReplayPlan, ReplayRefused};
    pub use crate::webhook::replay::{Replay, ReplayBegun};
    pub use crate::webhook::reseal::{EndpointSecrets, ResealPlan};
    pub use crate::webhook::sealing::{SecretPlace, StoredSecret};
    pub use crate::webhook::store::{EndpointsWanted, ReadsWebhooks, WebhookStore};
}
