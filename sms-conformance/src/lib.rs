#![doc = include_str!("../README.md")]
#![deny(missing_docs)]
#![expect(
    clippy::missing_panics_doc,
    reason = "everything here panics where a store misbehaves: that is its use"
)]
#![expect(
    clippy::unchecked_time_subtraction,
    reason = "scenarios take a millisecond from delays that are known to be longer"
)]

#[macro_use]
mod scenario;

mod account;
mod api_key;
mod audit;
mod campaign;
mod contact;
mod conversation;
mod credits;
mod dispatch;
mod event;
mod idempotency;
mod inbound;
mod keyword;
mod link;
mod list;
mod message;
mod noun;
mod number;
mod opt_out;
mod receipt;
pub mod rig;
pub mod runner;
mod sender_name;
mod sending;
mod session;
mod statistics;
mod template;
mod unwritten;
mod upkeep;
mod version;
mod webhook;

pub use noun::{Noun, UnknownNoun};
pub use rig::Rig;
pub use runner::{Runner, ThreadRunner};
pub use scenario::Scenario;
pub use unwritten::{Outcome, unwritten};

/// Every scenario, noun by noun.
pub fn all() -> impl Iterator<Item = Scenario> {
    let files = [
        account::SCENARIOS,
        api_key::SCENARIOS,
        campaign::cancel::SCENARIOS,
        campaign::counts::SCENARIOS,
        campaign::draft::SCENARIOS,
        campaign::launch::SCENARIOS,
        campaign::race::SCENARIOS,
        contact::book::SCENARIOS,
        contact::import::SCENARIOS,
        contact::page::SCENARIOS,
        conversation::SCENARIOS,
        credits::SCENARIOS,
        dispatch::claim::SCENARIOS,
        dispatch::held::SCENARIOS,
        dispatch::lane::SCENARIOS,
        dispatch::lease::SCENARIOS,
        dispatch::look::SCENARIOS,
        dispatch::outcome::SCENARIOS,
        dispatch::race::SCENARIOS,
        dispatch::retry::SCENARIOS,
        dispatch::sender::SCENARIOS,
        dispatch::unanswered::SCENARIOS,
        event::follow::SCENARIOS,
        event::every::SCENARIOS,
        idempotency::SCENARIOS,
        inbound::answer::SCENARIOS,
        inbound::opt_out::SCENARIOS,
        inbound::originator::SCENARIOS,
        inbound::release::SCENARIOS,
        inbound::segment::SCENARIOS,
        inbound::routing::SCENARIOS,
        link::click::SCENARIOS,
        link::keep::SCENARIOS,
        keyword::SCENARIOS,
        keyword::matching::SCENARIOS,
        keyword::reply_limit::SCENARIOS,
        list::SCENARIOS,
        message::cancel::SCENARIOS,
        message::filter::SCENARIOS,
        message::list::SCENARIOS,
        number::SCENARIOS,
        number::release::SCENARIOS,
        number::rent::SCENARIOS,
        opt_out::SCENARIOS,
        receipt::follow_up::SCENARIOS,
        receipt::late::SCENARIOS,
        receipt::record::SCENARIOS,
        receipt::report::SCENARIOS,
        receipt::reused::SCENARIOS,
        receipt::unmatched::SCENARIOS,
        sender_name::SCENARIOS,
        sending::accept::SCENARIOS,
        sending::idempotency::SCENARIOS,
        sending::race::SCENARIOS,
        sending::refusal::SCENARIOS,
        sending::remembered::SCENARIOS,
        sending::test_limit::SCENARIOS,
        session::SCENARIOS,
        statistics::SCENARIOS,
        template::SCENARIOS,
        upkeep::SCENARIOS,
        version::SCENARIOS,
        webhook::attempt::SCENARIOS,
        webhook::claim::SCENARIOS,
        webhook::delivery::SCENARIOS,
        webhook::endpoint::SCENARIOS,
        webhook::fan_out::SCENARIOS,
        webhook::replay::SCENARIOS,
        webhook::retry::SCENARIOS,
        webhook::pause::SCENARIOS,
        webhook::switch_off::SCENARIOS,
    ];
    files.into_iter().flatten().copied()
}

impl Noun {
    /// The scenarios of this noun.
    pub fn scenarios(self) -> impl Iterator<Item = Scenario> {
        all().filter(move |scenario| scenario.noun == self)
    }
}
