//! What a store does with campaigns.

use async_trait::async_trait;

use super::cancel::{CancelPlan, CancelRefused, SweepPlan, Swept};
use super::launch::{LaunchPlan, LaunchRefused};
use super::{Campaign, CampaignChange, EditRefused};
use crate::ids::{AccountId, CampaignId};
use crate::page::{Page, PageRequest};
use crate::store::{CommitError, StoreError};
use crate::time::Timestamp;

/// Keeps campaigns.
///
/// Every commit that changes texts of a campaign, whichever command makes it, also writes what
/// [`ChangeWrites`](crate::commit::ChangeWrites) says of it, so that a campaign that is read shows
/// counts that are a recount of its texts.
#[async_trait]
pub trait CampaignStore: Send + Sync {
    /// Writes a new draft. Its account has to exist.
    async fn campaign_create(&self, draft: Campaign) -> Result<(), StoreError>;

    /// One campaign of the account.
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

    /// Applies [`CampaignChange::settle`] to the campaign as it is, with no other change of it in
    /// between.
    async fn campaign_update(
        &self,
        account: AccountId,
        id: CampaignId,
        change: CampaignChange,
        at: Timestamp,
    ) -> Result<Campaign, CommitError<EditRefused>>;

    /// Removes a campaign, if it is [`editable`](super::editable).
    async fn campaign_delete(
        &self,
        account: AccountId,
        id: CampaignId,
    ) -> Result<(), CommitError<EditRefused>>;

    /// Launches a campaign, whole or not at all: asks [`LaunchPlan::begin`], plans every contact of
    /// the list with [`LaunchPlan::page`], the oldest first and as the list was at one moment,
    /// writes the texts and their places in the queue, and then what [`LaunchPlan::settle`] says.
    /// Memory must not grow with the list, where texts are not kept in memory.
    ///
    /// Between reading the campaign and the commit, nothing else may change the campaign; between
    /// reading the account and the commit, which has to be brief, no other commit of the account
    /// may run. Answers the campaign as it is then.
    async fn campaign_launch(
        &self,
        plan: LaunchPlan,
    ) -> Result<Campaign, CommitError<LaunchRefused>>;

    /// Marks a campaign as cancelled, as [`CancelPlan::settle`] says. From then on a claim
    /// [cancels](crate::dispatch::ClaimVerdict::Cancel) those of its texts that it finds due and
    /// that no worker had taken; the others are still to be swept.
    async fn campaign_cancel(
        &self,
        plan: CancelPlan,
    ) -> Result<Campaign, CommitError<CancelRefused>>;

    /// Cancels a portion of the texts of a cancelled campaign, the oldest first, each by
    /// [`SweepPlan::settle`]: texts, timelines and refunds in one commit, during which no worker
    /// may take them.
    async fn campaign_sweep(&self, plan: SweepPlan) -> Result<Swept, StoreError>;

    /// Up to `limit` campaigns cancelled before `before` that were not swept to the end.
    async fn campaigns_unswept(
        &self,
        before: Timestamp,
        limit: usize,
    ) -> Result<Vec<(AccountId, CampaignId)>, StoreError>;

    /// Folds up to `limit` deltas of counts into the campaigns they belong to, which changes no
    /// answer. Returns how many; a store that keeps none returns 0.
    async fn campaign_counts_tidy(&self, limit: usize) -> Result<usize, StoreError>;
}
