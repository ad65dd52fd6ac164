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

use std::fmt;
use std::sync::Arc;

use futures_util::future::BoxFuture;
use sms_core::store::Store;

/// Defines scenarios of one noun and lists them as `SCENARIOS`, so that none can be written and
/// forgotten.
macro_rules! scenarios {
    ($noun:ident; $(
        $(#[doc = $about:literal])+
        async fn $name:ident($rig:ident: &Rig) $body:block
    )+) => {
        /// The scenarios of this file.
        pub(crate) const SCENARIOS: &[$crate::Scenario] = &[$(
            $crate::Scenario {
                noun: $crate::Noun::$noun,
                name: stringify!($name),
                about: concat!($($about),+),
                act: |rig| Box::pin($name(rig)),
            }
        ),+];
        $(
            $(#[doc = $about])+
            async fn $name($rig: &Rig) $body
        )+
    };
}

mod account;
mod api_key;
mod audit;
mod campaign;
mod contact;
mod conversation;
mod credits;
mod dispatch;
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
mod statistics;
mod template;
mod unwritten;
mod webhook;

pub use noun::{Noun, UnknownNoun};
pub use rig::Rig;
pub use runner::{Runner, ThreadRunner};
pub use unwritten::{Outcome, unwritten};

/// One behaviour that every store must show. Displays as `noun::name`.
#[derive(Debug, Clone, Copy)]
pub struct Scenario {
    /// The noun that it is about.
    pub noun: Noun,
    /// A sentence about behaviour, in snake case.
    pub name: &'static str,
    about: &'static str,
    act: for<'a> fn(&'a Rig) -> BoxFuture<'a, ()>,
}

impl Scenario {
    /// The behaviour in plain words.
    pub fn about(&self) -> &'static str {
        self.about.trim()
    }

    /// Runs it, and checks the invariants of every account it made.
    ///
    /// The store must hold nothing yet.
    ///
    /// # Panics
    ///
    /// When the store does not behave as the scenario says, or an invariant does not hold.
    pub fn run(&self, store: Arc<dyn Store>, runner: Arc<dyn Runner>) {
        let rig = Rig::new(store, runner);
        let act = self.act;
        let runner = rig.runner();
        runner.block_on(Box::pin(async {
            act(&rig).await;
            rig.audit().await;
        }));
    }
}

impl fmt::Display for Scenario {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}::{}", self.noun, self.name)
    }
}

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
        dispatch::lease::SCENARIOS,
        dispatch::outcome::SCENARIOS,
        dispatch::race::SCENARIOS,
        dispatch::retry::SCENARIOS,
        dispatch::unanswered::SCENARIOS,
        inbound::answer::SCENARIOS,
        inbound::opt_out::SCENARIOS,
        inbound::part::SCENARIOS,
        inbound::routing::SCENARIOS,
        link::click::SCENARIOS,
        link::keep::SCENARIOS,
        keyword::SCENARIOS,
        keyword::matching::SCENARIOS,
        list::SCENARIOS,
        message::cancel::SCENARIOS,
        message::filter::SCENARIOS,
        message::list::SCENARIOS,
        number::SCENARIOS,
        number::rent::SCENARIOS,
        opt_out::SCENARIOS,
        receipt::follow_up::SCENARIOS,
        receipt::late::SCENARIOS,
        receipt::record::SCENARIOS,
        receipt::report::SCENARIOS,
        sender_name::SCENARIOS,
        sending::accept::SCENARIOS,
        sending::idempotency::SCENARIOS,
        sending::race::SCENARIOS,
        sending::refusal::SCENARIOS,
        sending::test_limit::SCENARIOS,
        statistics::SCENARIOS,
        template::SCENARIOS,
        webhook::attempt::SCENARIOS,
        webhook::claim::SCENARIOS,
        webhook::delivery::SCENARIOS,
        webhook::endpoint::SCENARIOS,
        webhook::fan_out::SCENARIOS,
        webhook::retry::SCENARIOS,
        webhook::switch_off::SCENARIOS,
    ];
    files.into_iter().flatten().copied()
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use super::*;

    #[test]
    fn every_scenario_has_a_name_of_its_own_and_says_what_it_is_about() {
        let mut names = BTreeSet::new();
        for scenario in all() {
            assert!(names.insert(scenario.to_string()), "{scenario} is there twice");
            assert!(scenario.about().ends_with('.'), "{scenario} has no sentence");
        }
    }
}
