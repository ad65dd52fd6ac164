//! The webhook side of the stage.

use super::{Stage, done, first};
use crate::layer::prelude::*;
use crate::layer::{Layer, WebhookLayer, call};
use crate::simulation::trace::Detail;

impl WebhookLayer for Stage {
    async fn endpoint_create(
        &self,
        endpoint: Endpoint,
        claim: Option<&Claim>,
    ) -> Result<Once<Endpoint>, CommitError<EndpointRefused>> {
        self.before("endpoint_create").await;
        let made = endpoint.clone();
        let answer = match first(self.inner.endpoint_create(endpoint, claim).await) {
            Ok(answer) => answer,
            Err(earlier) => return Ok(Once::Earlier(earlier)),
        };
        let kept = answer.is_ok();
        self.after(|model, _| model.saw_endpoint(made, kept)).await;
        answer.map(Once::Done)
    }

    async fn endpoint_update(
        &self,
        account: AccountId,
        id: EndpointId,
        change: EndpointChange,
        at: Timestamp,
    ) -> Result<Option<Endpoint>, CommitError<Changed>> {
        self.before("endpoint_update").await;
        let asked = change.clone();
        let answer = self.inner.endpoint_update(account, id, change, at).await?;
        let now = answer.as_ref();
        self.after(|model, moment| model.saw_endpoint_update(moment, account, id, asked, at, now))
            .await;
        Ok(answer)
    }

    async fn endpoint_delete(
        &self,
        account: AccountId,
        id: EndpointId,
        if_version: IfVersion,
    ) -> Result<bool, CommitError<Changed>> {
        self.before("endpoint_delete").await;
        let answer = self.inner.endpoint_delete(account, id, if_version).await?;
        self.after(|model, moment| model.saw_endpoint_gone(moment, account, id, answer)).await;
        Ok(answer)
    }

    async fn endpoint_get(
        &self,
        account: AccountId,
        id: EndpointId,
    ) -> Result<Option<Endpoint>, StoreError> {
        self.before("endpoint_get").await;
        let answer = self.inner.endpoint_get(account, id).await?;
        let found = answer.as_ref();
        self.world.judge(|model, moment| model.saw_endpoint_read(moment, account, id, found));
        Ok(answer)
    }

    async fn replay_begin(
        &self,
        plan: ReplayPlan,
        claim: Option<&Claim>,
    ) -> Result<Once<ReplayBegun>, CommitError<ReplayRefused>> {
        self.before("replay_begin").await;
        let seen = plan.clone();
        let answer = match first(self.inner.replay_begin(plan, claim).await) {
            Ok(answer) => answer,
            Err(earlier) => return Ok(Once::Earlier(earlier)),
        };
        let verdict = match &answer {
            Ok(begun) => Ok(*begun),
            Err(CommitError::Refused(refused)) => Err(*refused),
            Err(CommitError::Stale | CommitError::Store(_)) => return answer.map(Once::Done),
        };
        self.after(|model, moment| model.saw_replay_begin(moment, &seen, verdict)).await;
        answer.map(Once::Done)
    }

    async fn endpoint_list(&self, wanted: EndpointsWanted) -> Result<Vec<Endpoint>, StoreError> {
        self.before(call::of_endpoints(wanted)).await;
        let answer = self.inner.endpoint_list(wanted).await?;
        if let EndpointsWanted::ReplaysDue { at, limit } = wanted {
            self.world.note("finds replays", Detail::Count(answer.len()));
            self.world.judge(|model, _| model.saw_replays_due(at, limit, &answer));
        }
        Ok(answer)
    }

    async fn replay_portion(&self, plan: PortionPlan) -> Result<usize, StoreError> {
        self.before("replay_portion").await;
        let seen = plan.clone();
        let answer = self.inner.replay_portion(plan).await?;
        self.world.note("replays", Detail::Count(answer));
        self.after(|model, moment| model.saw_portion(moment, &seen, answer)).await;
        Ok(answer)
    }

    async fn deliveries_claim(
        &self,
        plan: DeliveryClaimPlan,
    ) -> Result<Vec<ClaimedDelivery>, StoreError> {
        self.before("deliveries_claim").await;
        let (at, until, room) = (plan.at, plan.lease.until, plan.room.clone());
        let answer = self.inner.deliveries_claim(plan).await?;
        self.world.note("claims", Detail::Count(answer.len()));
        self.after(|model, moment| model.saw_deliveries_claimed(moment, at, until, room, &answer))
            .await;
        Ok(answer)
    }

    async fn deliveries_record(
        &self,
        plans: Vec<AttemptPlan>,
    ) -> Vec<Result<AttemptVerdict, StoreError>> {
        self.before("deliveries_record").await;
        let seen = plans.clone();
        let answers = self.inner.deliveries_record(plans).await;
        let (seen, recorded) = done(seen, &answers);
        self.after(|model, moment| model.saw_attempts(moment, seen, &recorded)).await;
        answers
    }

    async fn delivery_retry(&self, plan: RetryPlan) -> Result<Option<RetryVerdict>, StoreError> {
        self.before("delivery_retry").await;
        let seen = plan.clone();
        let answer = self.inner.delivery_retry(plan).await?;
        self.after(|model, moment| model.saw_retry(moment, &seen, answer.as_ref())).await;
        Ok(answer)
    }

    async fn delivery_log(&self, delivery: Delivery) -> Result<(), StoreError> {
        self.before("delivery_log").await;
        let logged = delivery.clone();
        let answer = self.inner.delivery_log(delivery).await;
        self.after(|model, moment| model.saw_test_logged(moment, logged)).await;
        answer
    }
}
