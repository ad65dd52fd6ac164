//! What a store does with opt-outs.

use std::collections::BTreeSet;

use async_trait::async_trait;

use crate::ids::AccountId;
use crate::phone::E164;
use crate::store::StoreError;

/// Keeps opt-outs. Those that come by text are written by
/// [`InboundStore`](crate::inbound::store::InboundStore).
#[async_trait]
pub trait OptOutStore: Send + Sync {
    /// Those of `numbers` that the account must not text.
    async fn opt_outs_among(
        &self,
        account: AccountId,
        numbers: &[E164],
    ) -> Result<BTreeSet<E164>, StoreError>;
}
