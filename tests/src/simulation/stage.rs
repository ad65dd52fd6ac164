//! The store as the service under test sees it. Every call waits for its turn, and every commit is
//! compared with the model.
//!
//! A task waits before each call, so that other tasks run in between, and sometimes after a commit,
//! so that it can die between the commit and the answer. Commit and comparison happen in one poll.
//! The stage wraps any other store, such as one that fails or has a defect.

use std::fmt;
use std::sync::Arc;

use super::model::{CancelSeen, Check, ClaimSeen, Model, Moment, SendSeen};
use super::trace::Detail;
use super::world::{Weather, World};
use crate::layer::prelude::*;
use crate::layer::{
    AccountLayer, ApiKeyLayer, CreditLayer, DispatchLayer, Layer, MessageLayer, NumberLayer, Pass,
    ReceiptLayer, SendingLayer, call, passes_on,
};

mod campaign;
mod contact;
mod conversation;
mod event;
mod inbound;
mod keyword;
mod link;
mod sender_name;
mod upkeep;
mod webhook;

/// A store whose calls take turns and are compared with the model.
pub struct Stage {
    world: Arc<World>,
    inner: Arc<dyn Store>,
}

impl fmt::Debug for Stage {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_tuple("Stage").field(&self.inner).finish()
    }
}

impl Stage {
    /// Wraps `inner`.
    pub fn new(world: Arc<World>, inner: Arc<dyn Store>) -> Self {
        Self { world, inner }
    }

    /// Compares a commit with the model, and sometimes delays its answer by a turn.
    async fn after(&self, act: impl FnOnce(&mut Model, &Moment<'_>) -> Check) {
        self.world.judge(act);
        let late =
            self.world.with(|state| state.weather == Weather::Stormy && state.dice.percent(20));
        if late {
            self.world.turn().await;
        }
    }
}

impl Layer for Stage {
    fn below(&self) -> &dyn Store {
        &*self.inner
    }

    /// Waits for the turn of a call.
    async fn before(&self, call: &'static str) -> Pass {
        self.world.turn().await;
        self.world.note("calls", Detail::Name(call));
        Pass::Through
    }
}

passes_on! { Stage: HealthLayer IdempotencyLayer SessionLayer StatisticsLayer TemplateLayer }

/// The answer of a command that took effect or failed, apart from that to a repetition, which
/// changed nothing.
fn first<T, E>(answer: Result<Once<T>, E>) -> Result<Result<T, E>, Earlier> {
    match answer {
        Ok(Once::Done(done)) => Ok(Ok(done)),
        Ok(Once::Earlier(earlier)) => Err(earlier),
        Err(error) => Ok(Err(error)),
    }
}

impl AccountLayer for Stage {
    async fn account_create(
        &self,
        new: NewAccount,
        claim: Option<&Claim>,
    ) -> Result<Once<Account>, StoreError> {
        self.before("account_create").await;
        let account = new.account.clone();
        let answer = self.inner.account_create(new, claim).await;
        self.after(|model, moment| model.saw_account(moment, &account)).await;
        answer
    }

    async fn account_update(
        &self,
        id: AccountId,
        change: AccountChange,
        at: Timestamp,
    ) -> Result<Option<Account>, CommitError<Changed>> {
        self.before("account_update").await;
        let asked = change.clone();
        let answer = self.inner.account_update(id, change, at).await?;
        self.after(|model, moment| {
            model.saw_account_update(moment, id, asked, at, answer.as_ref())
        })
        .await;
        Ok(answer)
    }
}

impl ApiKeyLayer for Stage {
    async fn api_key_create(
        &self,
        key: KeyRecord,
        claim: Option<&Claim>,
    ) -> Result<Once<KeyCreated>, StoreError> {
        self.before("api_key_create").await;
        let made = key.clone();
        let answer = self.inner.api_key_create(key, claim).await?;
        if let Once::Done(created) = answer {
            self.after(|model, _| model.saw_key(&made, created)).await;
        }
        Ok(answer)
    }

    async fn api_key_find(&self, hash: KeyHash) -> Result<Option<KeyRecord>, StoreError> {
        self.before("api_key_find").await;
        let answer = self.inner.api_key_find(hash).await?;
        self.world.judge(|model, _| model.saw_key_found(hash, answer.as_ref()));
        Ok(answer)
    }

    async fn api_key_revoke(
        &self,
        account: AccountId,
        id: ApiKeyId,
        at: Timestamp,
    ) -> Result<Option<KeyRecord>, StoreError> {
        self.before("api_key_revoke").await;
        let answer = self.inner.api_key_revoke(account, id, at).await?;
        self.after(|model, _| model.saw_key_revoked(account, id, answer.as_ref())).await;
        Ok(answer)
    }
}

impl CreditLayer for Stage {
    async fn credits_adjust(
        &self,
        plan: AdjustPlan,
        claim: Option<&Claim>,
    ) -> Result<Once<Adjusted>, CommitError<AdjustRefused>> {
        self.before("credits_adjust").await;
        let (account, change) = (plan.account, plan.draft.amount.get());
        let answer = self.inner.credits_adjust(plan, claim).await;
        let left = match &answer {
            Ok(Once::Done(adjusted)) => Some(adjusted.balance.get()),
            // Nothing was written now.
            Ok(Once::Earlier(_)) => return answer,
            Err(_) => None,
        };
        self.after(|model, moment| model.saw_adjustment(moment, account, change, left)).await;
        answer
    }
}

impl DispatchLayer for Stage {
    async fn dispatch_claim(&self, plan: ClaimPlan) -> Result<Claimed, StoreError> {
        self.before("dispatch_claim").await;
        let seen = ClaimSeen {
            at: plan.at,
            limit: plan.limit,
            wanted: plan.wanted.clone(),
            turns: plan.turns.clone(),
            token: plan.lease.token,
            until: plan.lease.until,
            ids: plan.ids.clone(),
        };
        let answer = self.inner.dispatch_claim(plan).await?;
        self.world.note("claims", Detail::Count(answer.messages.len()));
        self.after(|model, moment| model.saw_claim(moment, &seen, &answer)).await;
        Ok(answer)
    }

    async fn dispatch_record(
        &self,
        plans: Vec<OutcomePlan>,
    ) -> Result<Vec<OutcomeRecorded>, StoreError> {
        self.before("dispatch_record").await;
        let seen = plans.clone();
        let answer = self.inner.dispatch_record(plans).await?;
        self.after(|model, moment| model.saw_outcomes(moment, seen, &answer)).await;
        Ok(answer)
    }

    async fn dispatch_renew(
        &self,
        token: LeaseToken,
        until: Timestamp,
    ) -> Result<usize, StoreError> {
        self.before("dispatch_renew").await;
        let answer = self.inner.dispatch_renew(token, until).await?;
        self.after(|model, moment| model.saw_renewal(moment, token, until, answer)).await;
        Ok(answer)
    }
}

impl MessageLayer for Stage {
    async fn message_get(
        &self,
        account: AccountId,
        id: MessageId,
    ) -> Result<Option<(Message, Vec<TimelineEntry>)>, StoreError> {
        self.before("message_get").await;
        let answer = self.inner.message_get(account, id).await?;
        self.world.judge(|model, _| {
            model.saw_message_read(account, id, answer.as_ref().map(|(message, _)| message))
        });
        Ok(answer)
    }

    async fn message_cancel(
        &self,
        plan: CancelPlan,
    ) -> Result<Message, CommitError<CancelRefused>> {
        self.before("message_cancel").await;
        let CancelPlan { account, message, at, ref ids } = plan;
        let seen = CancelSeen { account, message, at, ids: ids.clone() };
        let answer = self.inner.message_cancel(plan).await;
        let verdict = match &answer {
            Ok(message) => Ok(message),
            Err(CommitError::Refused(refused)) => Err(*refused),
            Err(CommitError::Stale | CommitError::Store(_)) => return answer,
        };
        self.after(|model, moment| model.saw_cancel(moment, &seen, verdict)).await;
        answer
    }
}

impl NumberLayer for Stage {
    async fn number_create(
        &self,
        plan: AddPlan,
        claim: Option<&Claim>,
    ) -> Result<Once<NumberCreated>, StoreError> {
        self.before("number_create").await;
        let made = plan.clone();
        let answer = self.inner.number_create(plan, claim).await?;
        if let Once::Done(created) = answer {
            self.after(|model, _| model.saw_number(&made, created)).await;
        }
        Ok(answer)
    }

    async fn number_list(&self, wanted: NumbersWanted) -> Result<Vec<Number>, StoreError> {
        self.before(call::of_numbers(wanted)).await;
        let answer = self.inner.number_list(wanted).await?;
        if let NumbersWanted::UsableBy(account) = wanted {
            self.world.judge(|model, moment| model.saw_numbers(moment, account, &answer));
        }
        Ok(answer)
    }

    async fn number_check_in(&self, who: CheckedIn, at: Timestamp) -> Result<usize, StoreError> {
        self.before("number_check_in").await;
        let seen = who.clone();
        let answer = self.inner.number_check_in(who, at).await?;
        if let CheckedIn::Number(id) = seen {
            self.after(|model, _| model.saw_check_in(id, at, answer == 1)).await;
        }
        Ok(answer)
    }

    async fn number_delete(&self, id: NumberId, at: Timestamp) -> Result<bool, StoreError> {
        self.before("number_delete").await;
        let answer = self.inner.number_delete(id, at).await?;
        self.after(|model, _| model.saw_number_gone(id, at, answer)).await;
        Ok(answer)
    }

    async fn rents_charge(&self, plan: RentPlan) -> Result<RentsCharged, StoreError> {
        self.before("rents_charge").await;
        let (at, scope) = (plan.at, plan.scope);
        let answer = self.inner.rents_charge(plan).await?;
        self.after(|model, moment| model.saw_rents(moment, at, scope, answer)).await;
        Ok(answer)
    }
}

/// Plans with the store's answers.
fn done<P, A: Clone>(plans: Vec<P>, answers: &[Result<A, StoreError>]) -> (Vec<P>, Vec<A>) {
    let both = plans.into_iter().zip(answers);
    both.filter_map(|(plan, answer)| Some((plan, answer.as_ref().ok()?.clone()))).unzip()
}

impl ReceiptLayer for Stage {
    async fn receipts_record(&self, plans: Vec<ReceiptPlan>) -> Vec<Result<Recorded, StoreError>> {
        self.before("receipts_record").await;
        let seen = plans.clone();
        let answers = self.inner.receipts_record(plans).await;
        let (seen, recorded) = done(seen, &answers);
        self.after(|model, moment| model.saw_receipts(moment, seen, &recorded)).await;
        answers
    }
}

impl SendingLayer for Stage {
    async fn send_accept(
        &self,
        plans: Vec<SendPlan>,
    ) -> Vec<Result<Sent, CommitError<SendRefused>>> {
        self.before("send_accept").await;
        let seen: Vec<SendSeen> = plans.iter().map(SendSeen::of).collect();
        let answers = self.inner.send_accept(plans).await;
        self.after(|model, moment| {
            for (seen, answer) in seen.iter().zip(&answers) {
                model.saw_send(moment, seen, answer)?;
            }
            Ok(())
        })
        .await;
        answers
    }

    async fn send_earlier(
        &self,
        account: AccountId,
        key: &IdempotencyKey,
        at: Timestamp,
    ) -> Result<Option<EarlierSend>, StoreError> {
        self.before("send_earlier").await;
        let answer = self.inner.send_earlier(account, key, at).await?;
        self.world.judge(|model, _| model.saw_earlier(account, key, at, answer.as_ref()));
        Ok(answer)
    }

    async fn send_replay(
        &self,
        account: AccountId,
        earlier: EarlierSend,
    ) -> Result<Sent, StoreError> {
        self.before("send_replay").await;
        let batch = earlier.batch;
        let answer = self.inner.send_replay(account, earlier).await?;
        self.world.judge(|model, moment| model.saw_replay(moment, account, batch, &answer));
        Ok(answer)
    }
}
