//! What a store does with campaigns.

use async_trait::async_trait;

use super::cancel::{CancelPlan, CancelRefused, SweepPlan, Swept};
use super::launch::{LaunchPlan, LaunchRefused};
use super::{Campaign, CampaignChange, EditRefused};
use crate::idempotency::{Claim, Once};
use crate::ids::{AccountId, CampaignId};
use crate::page::{Page, PageRequest};
use crate::store_error::{CommitError, StoreError};
use crate::time::Timestamp;
use crate::version::IfVersion;

/// Reads campaigns with the counts of their messages.
#[async_trait]
pub trait ReadsCampaigns: Send + Sync {
    /// One campaign; `None` if the account has no such campaign.
    async fn campaign_get(
        &self,
        account: AccountId,
        id: CampaignId,
    ) -> Result<Option<Campaign>, StoreError>;

    /// A page of the account's campaigns, newest first.
    async fn campaign_list(
        &self,
        account: AccountId,
        page: PageRequest,
    ) -> Result<Page<Campaign>, StoreError>;

    /// Up to `limit` campaigns cancelled before `before` whose sweep has not finished.
    async fn campaigns_unswept(
        &self,
        before: Timestamp,
        limit: usize,
    ) -> Result<Vec<(AccountId, CampaignId)>, StoreError>;
}

/// Keeps campaigns.
///
/// Every commit that changes messages of a campaign, whatever its command, also writes the deltas
/// in [`ChangeWrites`](crate::commit::ChangeWrites), so that the counts of a campaign always equal
/// a recount of its messages.
#[async_trait]
pub trait CampaignStore: ReadsCampaigns {
    /// Writes a new draft. Its account has to exist.
    /// A creation with a claim takes effect [once](crate::idempotency::store::IdempotencyStore).
    async fn campaign_create(
        &self,
        draft: Campaign,
        claim: Option<&Claim>,
    ) -> Result<Once<Campaign>, StoreError>;

    /// Applies [`CampaignChange::settle`] to the stored campaign. No other change of it may run in
    /// between.
    async fn campaign_update(
        &self,
        account: AccountId,
        id: CampaignId,
        change: CampaignChange,
        at: Timestamp,
    ) -> Result<Campaign, CommitError<EditRefused>>;

    /// Deletes a campaign if it is [`editable`](super::editable).
    async fn campaign_delete(
        &self,
        account: AccountId,
        id: CampaignId,
        if_version: IfVersion,
    ) -> Result<(), CommitError<EditRefused>>;

    /// Launches a campaign, whole or not at all: calls [`LaunchPlan::begin`]; plans every contact
    /// of the list with [`LaunchPlan::page`], the oldest first, from one snapshot of the list;
    /// writes the messages and their places in the queue; then writes the result of
    /// [`LaunchPlan::settle`]. Memory must not grow with the list, except in a store that keeps
    /// messages in memory.
    ///
    /// Between reading the campaign and the commit, nothing else may change the campaign. Between
    /// reading the account and the commit, which has to be short, no other commit of the account
    /// may run. Returns the campaign after the launch.
    ///
    /// A launch with a claim takes effect [once](crate::idempotency::store::IdempotencyStore).
    async fn campaign_launch(
        &self,
        plan: LaunchPlan,
        claim: Option<&Claim>,
    ) -> Result<Once<Campaign>, CommitError<LaunchRefused>>;

    /// Marks a campaign as cancelled, as [`CancelPlan::settle`] decides. From then on a claim
    /// [cancels](crate::dispatch::ClaimVerdict::Cancel) the due messages of the campaign that no
    /// worker has claimed. A sweep has to cancel the others.
    async fn campaign_cancel(
        &self,
        plan: CancelPlan,
    ) -> Result<Campaign, CommitError<CancelRefused>>;

    /// Cancels a portion of the messages of a cancelled campaign, the oldest first, each by
    /// [`SweepPlan::settle`]: status, timeline and refund in one commit, during which no worker may
    /// claim them.
    async fn campaign_sweep(&self, plan: SweepPlan) -> Result<Swept, StoreError>;
}
