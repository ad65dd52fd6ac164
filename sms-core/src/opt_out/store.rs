//! What a store does with opt-outs.

use std::collections::BTreeSet;

use async_trait::async_trait;

use super::{Added, OptOut};
use crate::idempotency::{Claim, Once};
use crate::ids::AccountId;
use crate::message::filter::Search;
use crate::page::{OffsetPage, OffsetRequest};
use crate::phone::E164;
use crate::store_error::StoreError;

/// Reads whom accounts must not text, and since when.
#[async_trait]
pub trait ReadsOptOuts: Send + Sync {
    /// Those of `numbers` that the account must not text.
    async fn opt_outs_among(
        &self,
        account: AccountId,
        numbers: &[E164],
    ) -> Result<BTreeSet<E164>, StoreError>;

    /// The account's opt-outs, newest first, and those of the same moment by descending number: all
    /// of them, or those that [`OptOut::is_found_by`] selects. Includes their total number.
    async fn opt_out_list(
        &self,
        account: AccountId,
        search: Option<&Search>,
        wanted: OffsetRequest,
    ) -> Result<OffsetPage<OptOut>, StoreError>;
}

/// Keeps opt-outs. Those that arrive as messages are written by
/// [`InboundStore`](crate::inbound::store::InboundStore).
#[async_trait]
pub trait OptOutStore: ReadsOptOuts {
    /// Writes what [`OptOut::settle`](super::OptOut::settle) says. Between reading and writing, no
    /// send of the account may be accepted and no inbound message taken in. The account must exist.
    /// A creation with a claim takes effect [once](crate::idempotency::store::IdempotencyStore).
    async fn opt_out_create(
        &self,
        account: AccountId,
        opt_out: OptOut,
        claim: Option<&Claim>,
    ) -> Result<Once<Added>, StoreError>;

    /// Adds those of the opt-outs whose numbers have none, as
    /// [`opt_out_create`](Self::opt_out_create) adds one, and returns their numbers. Each number
    /// comes at most once.
    async fn opt_outs_add(
        &self,
        account: AccountId,
        opt_outs: Vec<OptOut>,
    ) -> Result<BTreeSet<E164>, StoreError>;

    /// Removes an opt-out; false if the number has not opted out.
    async fn opt_out_delete(&self, account: AccountId, phone: E164) -> Result<bool, StoreError>;
}
