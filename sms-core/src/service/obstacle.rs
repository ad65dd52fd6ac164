//! Changes that may stand in the way of messages that this program has in hand: an opt-out, a
//! suspension, a rejected sender name, a released number, a cancelled campaign.
//!
//! They are made nowhere else. Once such a change is committed, and before it is acknowledged, the
//! messages that it may concern are [recalled](Recall): they are checked again before they are
//! submitted.

use std::collections::BTreeSet;

use super::sms::Sms;
use crate::account::{Account, AccountChange};
use crate::campaign::Campaign;
use crate::campaign::cancel::{CancelPlan, CancelRefused};
use crate::hand_over::look::Recall;
use crate::idempotency::{Claim, Once};
use crate::ids::{AccountId, NumberId};
use crate::inbound::segment::{GaveUp, GiveUpPlan, SegmentPlan, SegmentTaken};
use crate::inbound::{InboundPlan, TakenIn};
use crate::opt_out::{Added, OptOut};
use crate::phone::E164;
use crate::sender_name::SenderName;
use crate::sender_name::review::{ReviewPlan, ReviewRefused};
use crate::store_error::{CommitError, StoreError};
use crate::version::Changed;

impl Sms {
    /// Makes a change, then recalls what it may stand in the way of.
    async fn in_the_way<T, E>(
        &self,
        change: impl Future<Output = Result<T, E>> + Send,
        recall: impl FnOnce(&T) -> Option<Recall> + Send,
    ) -> Result<T, E> {
        let made = change.await?;
        if let Some(recall) = recall(&made) {
            self.inner.recalls.note(recall);
        }
        Ok(made)
    }

    pub(super) async fn opt_out(
        &self,
        account: AccountId,
        opt_out: OptOut,
        claim: Option<&Claim>,
    ) -> Result<Once<Added>, StoreError> {
        let recall = Recall::Recipient(account, opt_out.phone);
        let change = self.store().opt_out_create(account, opt_out, claim);
        self.in_the_way(change, |_| Some(recall)).await
    }

    pub(super) async fn opt_out_many(
        &self,
        account: AccountId,
        opt_outs: Vec<OptOut>,
    ) -> Result<BTreeSet<E164>, StoreError> {
        let change = self.store().opt_outs_add(account, opt_outs);
        self.in_the_way(change, |_| Some(Recall::Account(account))).await
    }

    pub(super) async fn take_message(
        &self,
        plan: InboundPlan,
        claim: Option<&Claim>,
    ) -> Result<Once<TakenIn>, StoreError> {
        let recall = |taken: &Once<TakenIn>| match taken {
            Once::Done(taken) => perhaps_stop(taken),
            Once::Earlier(_) => None,
        };
        self.in_the_way(self.store().inbound_take(plan, claim), recall).await
    }

    pub(super) async fn take_segment(&self, plan: SegmentPlan) -> Result<SegmentTaken, StoreError> {
        let recall = |taken: &SegmentTaken| match taken {
            SegmentTaken::Joined(taken) => perhaps_stop(taken),
            SegmentTaken::Waiting | SegmentTaken::Repeat => None,
        };
        self.in_the_way(self.store().inbound_segment_take(plan), recall).await
    }

    pub(super) async fn give_up_segment(&self, plan: GiveUpPlan) -> Result<GaveUp, StoreError> {
        let recall = |gave_up: &GaveUp| match gave_up {
            GaveUp::TakenIn(taken) => perhaps_stop(taken),
            GaveUp::Nothing | GaveUp::Forgotten => None,
        };
        self.in_the_way(self.store().inbound_segment_give_up(plan), recall).await
    }

    pub(super) async fn change_account(
        &self,
        id: AccountId,
        change: AccountChange,
    ) -> Result<Option<Account>, CommitError<Changed>> {
        let change = self.store().account_update(id, change, self.now());
        self.in_the_way(change, |_| Some(Recall::Account(id))).await
    }

    pub(super) async fn review(
        &self,
        plan: ReviewPlan,
    ) -> Result<SenderName, CommitError<ReviewRefused>> {
        let recall = |name: &SenderName| Some(Recall::Account(name.account));
        self.in_the_way(self.store().sender_name_review(plan), recall).await
    }

    /// Recalls all messages, because accounts may share the number.
    pub(super) async fn delete_number(&self, id: NumberId) -> Result<bool, StoreError> {
        let change = self.store().number_delete(id, self.now());
        self.in_the_way(change, |_| Some(Recall::All)).await
    }

    pub(super) async fn call_off(
        &self,
        plan: CancelPlan,
    ) -> Result<Campaign, CommitError<CancelRefused>> {
        let recall = Recall::Account(plan.account);
        self.in_the_way(self.store().campaign_cancel(plan), |_| Some(recall)).await
    }
}

/// What an inbound message recalls, which may be a STOP.
fn perhaps_stop(taken: &TakenIn) -> Option<Recall> {
    match taken {
        TakenIn::Routed(message) | TakenIn::Answered(message, _) => {
            Some(Recall::Recipient(message.account, message.from))
        }
        TakenIn::Unrouted(_) | TakenIn::AlreadyDone => None,
    }
}
