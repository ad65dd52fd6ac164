//! What a deed works with.

use std::sync::Arc;

use sms_core::{Error, Sms};

use crate::simulation::world::World;

/// What a deed works with.
#[derive(Debug, Clone)]
pub struct Caller {
    /// The world.
    pub world: Arc<World>,
    /// The replica that serves it.
    pub sms: Sms,
}

impl Caller {
    /// The answer, if there is one. An error must be an expected one, or say that the store failed.
    pub(super) fn expect<T>(
        &self,
        call: &str,
        answer: Result<T, Error>,
        codes: &[&str],
    ) -> Option<T> {
        match answer {
            Ok(answer) => Some(answer),
            Err(error) => {
                let failed = error.code() == "unavailable" && self.world.is_shaken();
                if !failed && !codes.contains(&error.code()) {
                    self.world.check(Err(format!("{call} failed: {}: {error}", error.code())));
                }
                None
            }
        }
    }

    /// Checks a condition on an answer, unless the store failed on the way to it.
    pub(super) fn must(&self, holds: bool, words: impl FnOnce() -> String) {
        if !holds && !self.world.is_shaken() {
            self.world.check(Err(words()));
        }
    }
}
