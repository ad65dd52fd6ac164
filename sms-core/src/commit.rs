//! What a commit writes, as one value.
//!
//! A store must not have to remember what follows from a command: which webhook deliveries it
//! raises, what it counts in statistics and campaigns, who was contacted. So each command that
//! changes messages ends in one value that lists every effect on rows, and a store only writes it.
//! Stores destructure these values without `..`: a new effect is one more field, and no store
//! compiles until it writes it.
//!
//! | what happens | the value |
//! |---|---|
//! | messages change: receipts, reports, cancels, sweeps | [`ChangeWrites`] from [`Changes`] |
//! | a worker claims due messages | [`ClaimWrites`] from [`Claim`] |
//! | outcomes of submits are recorded | [`OutcomeWrites`] from [`Outcomes`] |
//! | a send is accepted | [`NewMessages`] and [`SendWrites`] |
//! | a campaign is launched | [`NewMessages`], page by page, and [`LaunchWrites`] |
//! | an inbound message arrives | [`InboundWrites`] |
//! | ledger entries are booked, by any of these or alone | [`LedgerWrites`] |
//! | links are followed | [`ClickWrites`] from [`Clicks`] |
//!
//! Some effects are cheaper to compute while the store writes. The value holds them as instructions
//! instead of rows: refunds are drafts to post against the balance, because accounts are locked
//! last; [`Raised`] events become deliveries to the endpoints that the account has at that time; an
//! inbound message starts or moves the conversation with its number.

mod change;
mod click;
mod dispatch;
mod ledger;

pub use change::{ChangeWrites, Changes, MessageWrite};
pub use click::{ClickWrites, Clicks};
pub use dispatch::{Claim, ClaimWrites, OutcomeWrites, Outcomes};
pub use ledger::{Booked, LedgerWrites};

pub use crate::campaign::launch::LaunchWrites;
pub use crate::event::Raised;
pub use crate::inbound::InboundWrites;
pub use crate::sending::settle::SendWrites;
pub use crate::sending::writer::{NewMessage, NewMessages};
