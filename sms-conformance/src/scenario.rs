//! A scenario, and the macro that defines those of one noun.

use std::fmt;
use std::sync::Arc;

use futures_util::future::BoxFuture;
use sms_core::store::Store;

use crate::noun::Noun;
use crate::rig::Rig;
use crate::runner::Runner;

/// One behaviour that every store must show. Displays as `noun::name`.
#[derive(Debug, Clone, Copy)]
pub struct Scenario {
    /// The noun that it is about.
    pub noun: Noun,
    /// A sentence about behaviour, in snake case.
    pub name: &'static str,
    pub(crate) about: &'static str,
    pub(crate) act: for<'a> fn(&'a Rig) -> BoxFuture<'a, ()>,
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

/// Defines scenarios of one noun and lists them as `SCENARIOS`, so that none can be written and
/// forgotten.
macro_rules! scenarios {
    ($noun:ident; $(
        $(#[doc = $about:literal])+
        async fn $name:ident($rig:ident: &Rig) $body:block
    )+) => {
        /// The scenarios of this file.
        pub(crate) const SCENARIOS: &[$crate::scenario::Scenario] = &[$(
            $crate::scenario::Scenario {
                noun: $crate::noun::Noun::$noun,
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
