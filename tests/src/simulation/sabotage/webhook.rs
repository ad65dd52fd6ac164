//! Defects of deliveries and replays.

use std::time::Duration;

use sms_core::event::Event;
use sms_core::event::kinds::Kinds;
use sms_core::webhook::replay::Replay;
use sms_core::webhook::replay::plan::PortionEnd;

use super::{Sabotage, Saboteur};
use crate::layer::WebhookLayer;
use crate::layer::prelude::*;

/// How much too early replays go on.
const EARLY: Duration = Duration::from_secs(5);

/// Those that happened after all events before them: without those whose commits came late.
fn in_order_of_time(events: Vec<Event>) -> Vec<Event> {
    let mut newest = None;
    let mut in_time = |event: &Event| {
        let is_in_time = Some(event.created_at) >= newest;
        newest = newest.max(Some(event.created_at));
        is_in_time
    };
    events.into_iter().filter(|event| in_time(event)).collect()
}

impl WebhookLayer for Saboteur {
    async fn deliveries_claim(
        &self,
        plan: DeliveryClaimPlan,
    ) -> Result<Vec<ClaimedDelivery>, StoreError> {
        let mut claimed = self.inner.deliveries_claim(plan).await?;
        if self.does(Sabotage::LosesDeliveries) {
            claimed.retain(|claimed| claimed.request.delivery.as_u128() % 50 != 0);
        }
        Ok(claimed)
    }

    async fn replay_begin(
        &self,
        mut plan: ReplayPlan,
        claim: Option<&Claim>,
    ) -> Result<Once<ReplayBegun>, CommitError<ReplayRefused>> {
        if self.does(Sabotage::ReplaysAllTypes) {
            plan.replay = plan.replay.map(|replay| Replay { kinds: Kinds::all(), ..replay });
        }
        self.inner.replay_begin(plan, claim).await
    }

    async fn endpoint_list(
        &self,
        mut wanted: EndpointsWanted,
    ) -> Result<Vec<Endpoint>, StoreError> {
        if let EndpointsWanted::ReplaysDue { at, .. } = &mut wanted
            && self.does(Sabotage::HurriesReplays)
        {
            *at = at.plus(EARLY);
        }
        self.inner.endpoint_list(wanted).await
    }

    async fn replay_portion(&self, mut plan: PortionPlan) -> Result<usize, StoreError> {
        if self.does(Sabotage::ForgetsReplayPosition) && self.one_in(3) {
            plan.end = PortionEnd::At(plan.replay.after);
        }
        if self.does(Sabotage::SkipsLateInReplay) {
            plan.events = in_order_of_time(plan.events);
        }
        self.inner.replay_portion(plan).await
    }
}
