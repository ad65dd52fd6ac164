//! How often wrong operator's tokens are tried in an hour.
//!
//! A program that goes on with a token of yesterday tries the same one again and again. It learns
//! nothing by that, so a wrong token counts only when it is new.

use sms_core::session::OperatorHash;

use super::known::Known;
use super::total::Total;
use crate::rate_limit::crowd::{Charge, CrowdLimiter};
use crate::rate_limit::{Gcra, Stopwatch};
use crate::web::client_address::AddressBlock;

/// How many wrong tokens an address may try in an hour.
const PER_HOUR: u32 = 100;
/// The same while all addresses together have tried too many.
const FEW_PER_HOUR: u32 = 5;
/// How many wrong tokens all addresses may try in an hour.
const OF_ALL_PER_HOUR: u32 = 1_000;

/// Counts wrong tokens.
#[derive(Debug)]
pub(super) struct TokenGuesses {
    each: CrowdLimiter<AddressBlock>,
    few: CrowdLimiter<AddressBlock>,
    all: Total,
    wrong: Known,
}

/// A token that may be looked at.
#[derive(Debug)]
pub(super) enum Guess {
    /// It is known to be wrong.
    Again,
    /// It counts until it proves right.
    New(Charge, Option<Charge>),
}

impl TokenGuesses {
    pub(super) fn new(stopwatch: &Stopwatch) -> Self {
        let hourly = |count| Gcra::per_hour(count, count);
        Self {
            each: CrowdLimiter::new(hourly(PER_HOUR), stopwatch.clone()),
            few: CrowdLimiter::new(hourly(FEW_PER_HOUR), stopwatch.clone()),
            all: Total::new(hourly(OF_ALL_PER_HOUR), stopwatch.clone()),
            wrong: Known::new(),
        }
    }

    /// Lets a token be looked at, or says how many seconds to wait.
    pub(super) fn admit(&self, token: OperatorHash, from: AddressBlock) -> Result<Guess, u64> {
        if self.wrong.has(token.as_bytes()) {
            return Ok(Guess::Again);
        }
        let each = self.each.admit(&from)?;
        // Always counted, so that it is known how many there were once all have tried too many.
        let few = match (self.few.admit(&from), self.all.has_room()) {
            (Ok(few), _) => Some(few),
            (Err(_), Ok(())) => None,
            (Err(seconds), Err(of_all)) => {
                self.each.refund(each);
                return Err(seconds.min(of_all));
            }
        };
        Ok(Guess::New(each, few))
    }

    pub(super) fn was_right(&self, guess: Guess) {
        if let Guess::New(each, few) = guess {
            self.each.refund(each);
            if let Some(few) = few {
                self.few.refund(few);
            }
        }
    }

    pub(super) fn was_wrong(&self, token: OperatorHash, guess: &Guess) {
        if let Guess::New(..) = guess {
            self.wrong.add(token.as_bytes());
            let _ = self.all.spend();
        }
    }
}
