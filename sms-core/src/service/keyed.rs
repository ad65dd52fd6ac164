//! Calls with an idempotency key: each takes effect once, and a repetition gets the first answer.

use super::account::AccountHandle;
use super::operator::Operator;
use super::sms::Sms;
use crate::error::Error;
use crate::idempotency::fingerprint::{Fields, Fingerprint};
use crate::idempotency::key::IdempotencyKey;
use crate::idempotency::{Answer, Claim, Earlier, Made, Once, Owner};
use crate::mode::Mode;

/// A handle whose calls make something once for their idempotency key. Without a key, every call
/// makes something.
///
/// A repetition of a request returns what the first one returned, for 7 days, and changes nothing.
/// It is recognised before anything else is checked, because what was valid then may not be now.
/// All calls of this handle fail with [`Error::IdempotencyConflict`] if the key was used for
/// another request. The keys of an account, and of the operator, are one space for all calls.
///
/// ```
/// # use sms_core::prelude::*;
/// # use sms_core::credits::Change;
/// # async fn example(sms: Sms, id: sms_core::ids::AccountId) -> Result<(), Error> {
/// let key: IdempotencyKey = "invoice 7".parse().expect("a key");
/// let operator = sms.operator().keyed(Some(key));
/// let amount = Change::new(500).expect("an account can hold this much");
/// let first = operator.credits_adjust(id, amount, None).await?;
/// let again = operator.credits_adjust(id, amount, None).await?;
/// assert_eq!(first.value, again.value);
/// # Ok(())
/// # }
/// ```
#[derive(Debug, Clone)]
pub struct Keyed<H> {
    pub(super) handle: H,
    sms: Sms,
    owner: Owner,
    mode: Option<Mode>,
    key: Option<IdempotencyKey>,
}

impl AccountHandle {
    /// The same handle, for calls that make something once for this key.
    pub fn keyed(&self, key: Option<IdempotencyKey>) -> Keyed<Self> {
        let (owner, mode) = (Owner::Account(self.id), Some(self.mode));
        Keyed { handle: self.clone(), sms: self.sms.clone(), owner, mode, key }
    }
}

impl Operator {
    /// The same handle, for calls that make something once for this key.
    pub fn keyed(&self, key: Option<IdempotencyKey>) -> Keyed<Self> {
        let (owner, mode) = (Owner::Operator, None);
        Keyed { handle: self.clone(), sms: self.sms.clone(), owner, mode, key }
    }
}

impl<H> Keyed<H> {
    /// The claim of a call on the key; `None` without a key. `write` adds the fields of the
    /// request.
    pub(super) fn claim(&self, operation: &str, write: impl FnOnce(&mut Fields)) -> Option<Claim> {
        let key = self.key.clone()?;
        let fingerprint = Fingerprint::of_call(operation, self.mode, write);
        Some(Claim { owner: self.owner, key, fingerprint, at: self.sms.now() })
    }

    /// What is remembered under the key, of this request or of another.
    pub(super) async fn found(&self, claim: &Claim) -> Result<Option<Earlier>, Error> {
        Ok(self.sms.store().idempotency_find(claim.owner, &claim.key, claim.at).await?)
    }

    /// What was kept of the first answer, if the request is a repetition. The commit finds a key
    /// that was used for another request, once the request is known to be valid.
    pub(super) async fn earlier<T: Answer>(
        &self,
        claim: Option<&Claim>,
    ) -> Result<Option<T::Kept>, Error> {
        let Some(claim) = claim else { return Ok(None) };
        let same =
            self.found(claim).await?.filter(|earlier| earlier.fingerprint == claim.fingerprint);
        Ok(same.map(|earlier| claim.answer::<T>(&earlier)).transpose()?)
    }
}

/// The result of a call: its first answer, or that answer made again by `rebuild`.
pub(super) fn made<T: Answer>(
    once: Once<T>,
    claim: Option<&Claim>,
    rebuild: impl FnOnce(T::Kept) -> T,
) -> Result<Made<T>, Error> {
    Ok(once.settle(claim)?.made(rebuild))
}
