//! Webhook endpoints and attempts to deliver to them.

use std::collections::BTreeSet;

use async_trait::async_trait;
use sms_core::idempotency::{Claim, Once};
use sms_core::ids::{AccountId, DeliveryId, EndpointId};
use sms_core::page::{Cursor, Page, PageRequest};
use sms_core::store::{CommitError, StoreError};
use sms_core::time::Timestamp;
use sms_core::version::{Changed, IfVersion};
use sms_core::webhook::attempt::{
    AttemptPlan, AttemptVerdict, ClaimedDelivery, DeliveryClaim, DeliveryClaimPlan, RetryPlan,
    RetryVerdict, settle_claim,
};
use sms_core::webhook::delivery::Delivery;
use sms_core::webhook::endpoint::{Endpoint, EndpointChange, EndpointRefused, settle_creation};
use sms_core::webhook::replay::ReplayBegun;
use sms_core::webhook::replay::plan::{
    PortionPlan, PortionWrites, ReplayPlan, ReplayRefused, has_just_gone_on, in_turn, waits_for,
};
use sms_core::webhook::reseal::{EndpointSecrets, ResealPlan};
use sms_core::webhook::sealing::SecretPlace;
use sms_core::webhook::store::{EndpointsWanted, ReadsWebhooks, WebhookStore};

use crate::MemoryStore;
use crate::state::State;

#[async_trait]
impl ReadsWebhooks for MemoryStore {
    async fn endpoint_get(
        &self,
        account: AccountId,
        id: EndpointId,
    ) -> Result<Option<Endpoint>, StoreError> {
        Ok(self.state().endpoint(account, id).cloned())
    }

    async fn endpoint_list(&self, wanted: EndpointsWanted) -> Result<Vec<Endpoint>, StoreError> {
        Ok(match wanted {
            EndpointsWanted::Of(account) => self.endpoints_of(account),
            EndpointsWanted::All { after, limit } => self.endpoints_after(after, limit),
            EndpointsWanted::ReplaysDue { at, limit } => self.replays_due(at, limit),
        })
    }

    async fn delivery_get(
        &self,
        account: AccountId,
        endpoint: EndpointId,
        id: DeliveryId,
    ) -> Result<Option<Delivery>, StoreError> {
        Ok(self.state().delivery(account, endpoint, id).cloned())
    }

    async fn delivery_list(
        &self,
        account: AccountId,
        endpoint: EndpointId,
        page: PageRequest,
    ) -> Result<Page<Delivery>, StoreError> {
        let state = self.state();
        let before = page.after.map(Cursor::id);
        let rows = state.deliveries.newest_first(endpoint, before);
        let own = rows.filter(|delivery| delivery.account == account);
        let rows = own.take(page.limit.get() + 1).cloned().collect();
        Ok(Page::of(rows, page.limit, |delivery: &Delivery| delivery.id))
    }
}

#[async_trait]
impl WebhookStore for MemoryStore {
    async fn endpoint_create(
        &self,
        endpoint: Endpoint,
        claim: Option<&Claim>,
    ) -> Result<Once<Endpoint>, CommitError<EndpointRefused>> {
        let mut state = self.state();
        if let Some(earlier) = state.earlier(claim) {
            return Ok(Once::Earlier(earlier));
        }
        let room = state.accounts.get_mut(&endpoint.account).ok_or_else(no_account)?;
        settle_creation(room.endpoints.len()).map_err(CommitError::Refused)?;
        room.endpoints.insert(endpoint.id, endpoint.clone());
        state.remember(claim, &endpoint);
        Ok(Once::Done(endpoint))
    }

    async fn endpoints_reseal(&self, plans: Vec<ResealPlan>) -> Result<usize, StoreError> {
        let mut state = self.state();
        let mut replaced = 0;
        for plan in plans {
            let SecretPlace { account, endpoint } = plan.place;
            let room = state.accounts.get_mut(&account);
            let found = room.and_then(|room| room.endpoints.get_mut(&endpoint));
            let Some(found) = found else { continue };
            let Some(after) = plan.settle(&EndpointSecrets::of(found)) else { continue };
            let EndpointSecrets { secret, old } = after;
            (found.secret, found.old_secret) = (secret, old);
            replaced += 1;
        }
        Ok(replaced)
    }

    async fn endpoint_update(
        &self,
        account: AccountId,
        id: EndpointId,
        change: EndpointChange,
        at: Timestamp,
    ) -> Result<Option<Endpoint>, CommitError<Changed>> {
        let mut state = self.state();
        let Some(before) = state.endpoint(account, id).cloned() else { return Ok(None) };
        let was_on = before.power.is_on();
        let after = change.apply(before, at).map_err(CommitError::Refused)?;
        if was_on && !after.power.is_on() {
            state.give_up_waiting(id, at);
        }
        state.put_endpoint(after.clone());
        Ok(Some(after))
    }

    async fn endpoint_delete(
        &self,
        account: AccountId,
        id: EndpointId,
        if_version: IfVersion,
    ) -> Result<bool, CommitError<Changed>> {
        let mut state = self.state();
        let Some(endpoint) = state.endpoint(account, id) else { return Ok(false) };
        if_version.check(endpoint).map_err(CommitError::Refused)?;
        let room = state.accounts.get_mut(&account);
        let removed = room.and_then(|room| room.endpoints.remove(&id)).is_some();
        if removed {
            state.deliveries.remove_endpoint(id);
        }
        Ok(removed)
    }

    async fn deliveries_claim(
        &self,
        plan: DeliveryClaimPlan,
    ) -> Result<Vec<ClaimedDelivery>, StoreError> {
        let DeliveryClaimPlan { at, lease, mut room } = plan;
        let mut state = self.state();
        let mut taken = Vec::new();
        for id in state.deliveries.endpoints_due(at) {
            if room.total == 0 {
                break;
            }
            let Some(endpoint) = state.endpoint_of(id).cloned() else { continue };
            let due = state.deliveries.claimable(id, at, room.of(&endpoint, at));
            room.take(&endpoint, due.len());
            for delivery in due {
                match settle_claim(delivery, &endpoint, lease, at) {
                    DeliveryClaim::Take(held, claimed) => {
                        state.deliveries.put(*held);
                        taken.push(*claimed);
                    }
                    DeliveryClaim::GiveUp(delivery) => state.deliveries.put(*delivery),
                }
            }
        }
        Ok(taken)
    }

    async fn deliveries_record(
        &self,
        plans: Vec<AttemptPlan>,
    ) -> Vec<Result<AttemptVerdict, StoreError>> {
        let mut state = self.state();
        plans.into_iter().map(|plan| Ok(state.record_attempt(&plan))).collect()
    }

    async fn delivery_retry(&self, plan: RetryPlan) -> Result<Option<RetryVerdict>, StoreError> {
        let mut state = self.state();
        let delivery = state.delivery(plan.account, plan.endpoint, plan.delivery);
        let endpoint = state.endpoint(plan.account, plan.endpoint);
        let Some((delivery, endpoint)) = delivery.zip(endpoint) else { return Ok(None) };
        let verdict = plan.settle(delivery, endpoint);
        if let RetryVerdict::Send(held, _) = &verdict {
            state.deliveries.put((**held).clone());
        }
        Ok(Some(verdict))
    }

    async fn delivery_log(&self, delivery: Delivery) -> Result<(), StoreError> {
        let mut state = self.state();
        if state.endpoint(delivery.account, delivery.endpoint).is_some() {
            state.deliveries.put(delivery);
        }
        Ok(())
    }

    async fn replay_begin(
        &self,
        plan: ReplayPlan,
        claim: Option<&Claim>,
    ) -> Result<Once<ReplayBegun>, CommitError<ReplayRefused>> {
        let mut state = self.state();
        if let Some(earlier) = state.earlier(claim) {
            return Ok(Once::Earlier(earlier));
        }
        let endpoint = plan.settle(state.endpoint(plan.account, plan.endpoint));
        state.put_endpoint(endpoint.map_err(CommitError::Refused)?);
        state.remember(claim, &plan.begun);
        Ok(Once::Done(plan.begun))
    }

    async fn replay_portion(&self, plan: PortionPlan) -> Result<usize, StoreError> {
        let mut state = self.state();
        let events = plan.events.iter().map(|event| event.id);
        let waiting = events.filter(|event| state.deliveries.waits(plan.endpoint, *event));
        let waiting = waiting.collect();
        let writes = plan.settle(state.endpoint(plan.account, plan.endpoint), &waiting);
        let Some(PortionWrites { endpoint, deliveries }) = writes else { return Ok(0) };
        let count = deliveries.len();
        for delivery in deliveries {
            state.deliveries.put(delivery);
        }
        state.put_endpoint(endpoint);
        Ok(count)
    }
}

impl MemoryStore {
    fn endpoints_of(&self, account: AccountId) -> Vec<Endpoint> {
        let state = self.state();
        let endpoints = state.accounts.get(&account).into_iter();
        endpoints.flat_map(|room| room.endpoints.values().rev().cloned()).collect()
    }

    fn endpoints_after(&self, after: Option<SecretPlace>, limit: usize) -> Vec<Endpoint> {
        let state = self.state();
        let all = state.accounts.values().flat_map(|room| room.endpoints.values());
        let mut rest: Vec<_> =
            all.filter(|endpoint| Some(endpoint.secret_place()) > after).cloned().collect();
        rest.sort_unstable_by_key(Endpoint::secret_place);
        rest.truncate(limit);
        rest
    }

    fn replays_due(&self, at: Timestamp, limit: usize) -> Vec<Endpoint> {
        let state = self.state();
        let just_now = state.replays().filter(|(_, one)| has_just_gone_on(one, at));
        let just_now: BTreeSet<AccountId> = just_now.map(|(_, one)| one.account).collect();
        let ready = state.replays().filter(|(next_at, one)| {
            *next_at <= at
                && !just_now.contains(&one.account)
                && !state.deliveries.is_due(one.id, waits_for(one, at))
        });
        in_turn(ready.map(|(_, endpoint)| endpoint.clone()).collect(), limit)
    }

    pub(crate) fn replays_next(&self) -> Option<Timestamp> {
        self.state().replays().map(|(next_at, _)| next_at).min()
    }

    pub(crate) fn deliveries_tidy(&self, before: Timestamp, limit: usize) -> usize {
        self.state().deliveries.tidy(before, limit)
    }

    pub(crate) fn deliveries_next(&self) -> Option<Timestamp> {
        self.state().next_delivery()
    }
}

impl State {
    fn endpoint(&self, account: AccountId, id: EndpointId) -> Option<&Endpoint> {
        self.accounts.get(&account)?.endpoints.get(&id)
    }

    /// The endpoint of a pending delivery.
    fn endpoint_of(&self, id: EndpointId) -> Option<&Endpoint> {
        let first = self.deliveries.newest_first(id, None).next()?;
        self.endpoint(first.account, id)
    }

    /// When the first delivery can be claimed. The deliveries of a paused endpoint wait for it.
    fn next_delivery(&self) -> Option<Timestamp> {
        let mut next: Option<Timestamp> = None;
        for (due, id) in self.deliveries.first_due() {
            if next.is_some_and(|next| next <= due) {
                break;
            }
            let pause = self.endpoint_of(id).and_then(|endpoint| endpoint.pause);
            let claimable = pause.map_or(due, |pause| pause.until.max(due));
            next = Some(next.map_or(claimable, |next| next.min(claimable)));
        }
        next
    }

    /// The endpoints with replays, each with the time at which the next portion is due.
    fn replays(&self) -> impl Iterator<Item = (Timestamp, &Endpoint)> {
        let all = self.accounts.values().flat_map(|room| room.endpoints.values());
        all.filter_map(|endpoint| {
            let replay = endpoint.replay.filter(|_| endpoint.power.is_on())?;
            let paused_until = endpoint.pause.map(|pause| pause.until);
            Some((paused_until.max(Some(replay.next_at))?, endpoint))
        })
    }

    fn put_endpoint(&mut self, endpoint: Endpoint) {
        if let Some(room) = self.accounts.get_mut(&endpoint.account) {
            room.endpoints.insert(endpoint.id, endpoint);
        }
    }

    fn delivery(
        &self,
        account: AccountId,
        endpoint: EndpointId,
        id: DeliveryId,
    ) -> Option<&Delivery> {
        let found = self.deliveries.get(id);
        found.filter(|delivery| delivery.account == account && delivery.endpoint == endpoint)
    }

    fn record_attempt(&mut self, plan: &AttemptPlan) -> AttemptVerdict {
        let delivery = self.deliveries.get(plan.delivery);
        let own = delivery.filter(|delivery| delivery.account == plan.account);
        let found = own.and_then(|own| Some((own, self.endpoint(plan.account, own.endpoint)?)));
        let verdict = plan.settle(found);
        if let AttemptVerdict::Record { delivery, endpoint, switched_off } = &verdict {
            self.deliveries.put((**delivery).clone());
            self.put_endpoint((**endpoint).clone());
            if *switched_off {
                self.give_up_waiting(endpoint.id, plan.at);
            }
        }
        verdict
    }

    fn give_up_waiting(&mut self, endpoint: EndpointId, at: Timestamp) {
        for delivery in self.deliveries.pending(endpoint) {
            if delivery.is_waiting(at) {
                self.deliveries.put(delivery.given_up());
            }
        }
    }
}

fn no_account() -> StoreError {
    StoreError::Internal {
        doing: "saving an endpoint of an account that does not exist",
        source: None,
    }
}
