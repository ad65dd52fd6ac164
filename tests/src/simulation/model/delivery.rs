//! Webhook deliveries: when each may be attempted, and the effect of an attempt.

use std::time::Duration;

use sms_core::event::EventType;
use sms_core::ids::DeliveryId;
use sms_core::time::Timestamp;
use sms_core::webhook::DeliveryStatus;
use sms_core::webhook::attempt::{
    AttemptPlan, AttemptVerdict, ClaimedDelivery, RetryPlan, RetryVerdict, Room,
};
use sms_core::webhook::delivery::{Delivery, DeliveryError};
use sms_core::webhook::endpoint::{DisabledReason, Endpoint, Power};
use sms_core::webhook::pause::Pause;
use sms_core::webhook::sender::WebhookRequest;

use super::{Check, DeliveryModel, Model, Moment, read};

/// Minutes between one attempt's end and the next attempt.
const RETRY_MINUTES: [u64; 6] = [1, 5, 30, 120, 360, 720];
const FAILURES_TO_SWITCH_OFF: u32 = 100;

impl Model {
    /// A delivery of the model.
    pub fn delivery(&self, id: DeliveryId) -> Result<&DeliveryModel, String> {
        self.deliveries.get(&id).ok_or_else(|| format!("nothing raised delivery {id}"))
    }

    /// Whether the endpoint of a delivery is paused.
    fn is_paused(&self, id: DeliveryId, at: Timestamp) -> bool {
        self.paused_until(id).is_some_and(|until| at < until)
    }

    /// When the last pause of a delivery's endpoint ends.
    fn paused_until(&self, id: DeliveryId) -> Option<Timestamp> {
        let endpoint = self.endpoints.get(&self.deliveries.get(&id)?.last.endpoint)?;
        endpoint.last.pause.map(|pause| pause.until)
    }

    /// When the first delivery can be claimed.
    pub fn next_delivery(&self) -> Option<Timestamp> {
        let mut next = None;
        for (due, id) in &self.due {
            if next.is_some_and(|next| next <= *due) {
                break;
            }
            let claimable_at = self.paused_until(*id).unwrap_or(*due).max(*due);
            next = Some(next.map_or(claimable_at, |next: Timestamp| next.min(claimable_at)));
        }
        next
    }

    /// Changes when a delivery can be claimed.
    pub fn redue(&mut self, id: DeliveryId, change: impl FnOnce(&mut DeliveryModel)) {
        let Some(own) = self.deliveries.get_mut(&id) else { return };
        if let Some(at) = own.claimable_at() {
            self.due.remove(&(at, id));
        }
        change(own);
        if let Some(at) = own.claimable_at() {
            self.due.insert((at, id));
        }
    }

    /// Removes a delivery that was deleted.
    pub fn forget_delivery(&mut self, id: DeliveryId) {
        let Some(own) = self.deliveries.remove(&id) else { return };
        if let Some(at) = own.claimable_at() {
            self.due.remove(&(at, id));
        }
        if let Some(endpoint) = self.endpoints.get_mut(&own.last.endpoint) {
            endpoint.deliveries.remove(&id);
        }
    }

    /// Checks that the store's delivery equals the model's.
    pub fn delivery_kept(&self, moment: &Moment<'_>, id: DeliveryId) -> Check {
        let own = &self.delivery(id)?.last;
        let stored = read(moment.books.delivery_get(own.account, own.endpoint, id))?;
        ensure!(stored.as_ref() == Some(own), "{stored:?} is kept for {own:?}");
        Ok(())
    }

    /// A worker claimed deliveries.
    pub fn saw_deliveries_claimed(
        &mut self,
        moment: &Moment<'_>,
        at: Timestamp,
        until: Timestamp,
        room: Room,
        answer: &[ClaimedDelivery],
    ) -> Check {
        let due = self.due.iter().take_while(|(time, _)| *time <= at);
        let due = due.filter(|(_, id)| !self.is_paused(*id, at)).take(room.total).count();
        let given_up = self.given_up_by_claim(moment, at)?;
        let taken = answer.len() + given_up;
        ensure!(taken <= room.total, "{taken} of {} were taken", room.total);
        if room == Room::any(room.total) {
            ensure!(taken == due, "{taken} of {due} due deliveries were taken");
        }
        let mut room = room;
        for claimed in answer {
            let id = claimed.request.delivery;
            let own = self.delivery(id)?;
            let claimable_at = own.claimable_at();
            ensure!(
                claimable_at.is_some_and(|claimable_at| claimable_at <= at),
                "delivery {id} was taken at {at}, and can be at {claimable_at:?}"
            );
            let endpoint = self.endpoints.get(&own.last.endpoint).ok_or("an endpoint vanished")?;
            ensure!(
                endpoint.last.power.is_on(),
                "delivery {id} was taken although its endpoint is off"
            );
            ensure!(
                !self.is_paused(id, at),
                "delivery {id} was taken although its endpoint is paused"
            );
            let automatic = own.last.attempts.saturating_sub(own.by_hand);
            ensure!(automatic < 7, "delivery {id} is attempted for the {automatic}th time");
            ensure!(
                room.of(&endpoint.last, at) > 0,
                "more was taken of an endpoint than it has room"
            );
            room.take(&endpoint.last, 1);
            check_request(claimed, own, &endpoint.last, at)?;
            self.redue(id, |own| {
                own.last.lease = Some(claimed.token);
                own.last.leased_until = Some(until);
            });
            self.delivery_kept(moment, id)?;
        }
        self.check_heads(moment)
    }

    /// A claim gives up a due delivery of a disabled endpoint, whose worker died.
    fn given_up_by_claim(&mut self, moment: &Moment<'_>, at: Timestamp) -> Result<usize, String> {
        let due = self.due.iter().take_while(|(time, _)| *time <= at);
        let off = due.filter(|(_, id)| {
            let endpoint = self.deliveries.get(id).map(|own| own.last.endpoint);
            let endpoint = endpoint.and_then(|id| self.endpoints.get(&id));
            endpoint.is_some_and(|endpoint| !endpoint.last.power.is_on())
        });
        let off: Vec<DeliveryId> = off.map(|(_, id)| *id).collect();
        let mut count = 0;
        for id in off {
            let own = &self.delivery(id)?.last;
            let stored = read(moment.books.delivery_get(own.account, own.endpoint, id))?;
            if stored.is_some_and(|stored| stored.status != DeliveryStatus::Pending) {
                self.give_up(moment, id)?;
                count += 1;
            }
        }
        Ok(count)
    }

    /// A delivery is given up because its endpoint is disabled.
    pub fn give_up(&mut self, moment: &Moment<'_>, id: DeliveryId) -> Check {
        self.redue(id, |own| {
            // One that the endpoint took before stays so, however often it is sent again.
            let taken = own.last.delivered_at.is_some();
            own.last.status =
                if taken { DeliveryStatus::Delivered } else { DeliveryStatus::GivenUp };
            own.last.last_error = Some(DeliveryError::EndpointOff);
            own.last.next_attempt_at = None;
            own.last.lease = None;
            own.last.leased_until = None;
        });
        self.delivery_kept(moment, id)
    }

    /// A receiver was called.
    pub fn saw_visit(&mut self, request: &WebhookRequest) -> Check {
        let Some(own) = self.deliveries.get_mut(&request.delivery) else { return Ok(()) };
        ensure!(
            own.last.body == request.body && own.last.event_type == request.event_type,
            "delivery {} changed its words between attempts",
            request.delivery
        );
        own.seen += 1;
        Ok(())
    }

    /// Attempts were recorded.
    pub fn saw_attempts(
        &mut self,
        moment: &Moment<'_>,
        plans: Vec<AttemptPlan>,
        answers: &[AttemptVerdict],
    ) -> Check {
        ensure!(
            plans.len() == answers.len(),
            "{} attempts, {} answers",
            plans.len(),
            answers.len()
        );
        for (plan, answer) in plans.into_iter().zip(answers) {
            let id = plan.delivery;
            let own = self.deliveries.get(&id);
            if own.is_none_or(|own| own.last.lease != Some(plan.token)) {
                let lost = *answer == AttemptVerdict::LeaseLost;
                ensure!(lost, "an attempt of {id} counts although its worker lost it");
                continue;
            }
            let AttemptVerdict::Record { delivery, .. } = answer else {
                return Err(format!("an attempt of {id} was not recorded"));
            };
            self.attempted(moment, &plan, delivery)?;
        }
        self.check_heads(moment)
    }

    fn attempted(&mut self, moment: &Moment<'_>, plan: &AttemptPlan, answer: &Delivery) -> Check {
        self.tally.attempts += 1;
        let id = plan.delivery;
        let own = self.delivery(id)?;
        ensure!(own.seen > own.last.attempts, "an attempt of {id} is recorded that nobody saw");
        let before = own.last.clone();
        let endpoint = self.endpoints.get(&before.endpoint).ok_or("an endpoint vanished")?;
        let mut endpoint = endpoint.last.clone();
        let was_on = endpoint.power.is_on();
        let mut expected = Delivery {
            attempts: before.attempts + 1,
            last_attempt_at: Some(plan.at),
            last_status_code: plan.status_code,
            last_error: plan.result.err(),
            next_attempt_at: None,
            lease: None,
            leased_until: None,
            ..before.clone()
        };
        if before.event_type == EventType::WebhookTest {
            // A test is neither repeated nor counted, also when it is sent again by hand. What was
            // taken once stays so.
            expected.delivered_at = plan.result.is_ok().then_some(plan.at).or(before.delivered_at);
            let taken = expected.delivered_at.is_some();
            expected.status =
                if taken { DeliveryStatus::Delivered } else { DeliveryStatus::GivenUp };
        } else if plan.result.is_ok() {
            expected.status = DeliveryStatus::Delivered;
            expected.delivered_at = Some(plan.at);
            // One that is off keeps the count that tells why; switching on starts anew.
            if was_on {
                endpoint.consecutive_failures = 0;
            }
            endpoint.last_delivered_at = Some(plan.at);
        } else {
            if !pauses(&mut endpoint, plan) {
                count_failure(&mut endpoint);
            }
            expected.status = after_failure(&expected, endpoint.power);
            if expected.status == DeliveryStatus::Pending {
                expected.next_attempt_at = answer.next_attempt_at;
                check_retry(&expected, plan.at, endpoint.pause)?;
            }
        }
        ensure!(*answer == expected, "an attempt made {answer:?} and must make {expected:?}");
        let switched_off = was_on && !endpoint.power.is_on();
        let paused = endpoint.pause.is_some_and(|pause| pause.since == plan.at);
        self.tally.pauses += u64::from(paused);
        let endpoint_id = endpoint.id;
        self.redue(id, |own| own.last = expected);
        self.delivery_kept(moment, id)?;
        let had = self.endpoints.get(&endpoint_id).is_some_and(|own| own.last.replay.is_some());
        self.tally.replays_cut += u64::from(had && endpoint.replay.is_none());
        self.endpoint_is(moment, endpoint)?;
        if switched_off {
            self.tally.switched_off += 1;
            self.give_up_waiting(moment, endpoint_id, plan.at)?;
        }
        Ok(())
    }

    /// A user retried a delivery, or a worker was sending it.
    pub fn saw_retry(
        &mut self,
        moment: &Moment<'_>,
        plan: &RetryPlan,
        answer: Option<&RetryVerdict>,
    ) -> Check {
        let id = plan.delivery;
        let own = self
            .deliveries
            .get(&id)
            .filter(|own| (own.last.account, own.last.endpoint) == (plan.account, plan.endpoint));
        let Some(own) = own else {
            ensure!(answer.is_none(), "another's delivery {id} was sent again");
            return Ok(());
        };
        let answer = answer.ok_or_else(|| format!("delivery {id} was not found"))?;
        let held = own.last.leased_until.is_some_and(|until| until > plan.at);
        ensure!(
            matches!(answer, RetryVerdict::UnderWay(_)) == held,
            "sending {id} again answers {answer:?}"
        );
        if !held {
            self.redue(id, |own| {
                own.by_hand += 1;
                own.last.status = DeliveryStatus::Pending;
                own.last.next_attempt_at = Some(plan.at);
                own.last.lease = Some(plan.lease.token);
                own.last.leased_until = Some(plan.lease.until);
            });
        }
        self.delivery_kept(moment, id)?;
        self.check_heads(moment)
    }

    /// A test of an endpoint was logged, if the endpoint still exists.
    pub fn saw_test_logged(&mut self, moment: &Moment<'_>, delivery: Delivery) -> Check {
        ensure!(delivery.status != DeliveryStatus::Pending, "a test waits to be repeated");
        if self.endpoint_of(delivery.account, delivery.endpoint).is_some() {
            let id = delivery.id;
            self.delivery_made(delivery);
            self.delivery_kept(moment, id)?;
            if let Some(own) = self.deliveries.get_mut(&id) {
                own.seen = own.last.attempts;
            }
        }
        self.check_heads(moment)
    }

    /// Old deliveries were removed.
    pub fn saw_deliveries_tidied(
        &mut self,
        moment: &Moment<'_>,
        before: Timestamp,
        limit: usize,
        answer: usize,
    ) -> Check {
        let old = self.deliveries.values().filter(|own| own.last.created_at < before);
        let old: Vec<Delivery> = old.map(|own| own.last.clone()).collect();
        let mut gone = 0;
        for delivery in &old {
            let kept = moment.books.delivery_get(delivery.account, delivery.endpoint, delivery.id);
            if read(kept)?.is_none() {
                self.forget_delivery(delivery.id);
                gone += 1;
            }
        }
        ensure!(
            gone == answer && gone == limit.min(old.len()),
            "{answer} of {} old deliveries were removed, {gone} are gone",
            old.len()
        );
        self.check_heads(moment)
    }
}

/// Counts a failed attempt. The hundredth in a row disables the endpoint, and ends its replay.
fn count_failure(endpoint: &mut Endpoint) {
    if endpoint.power.is_on() {
        endpoint.consecutive_failures += 1;
        if endpoint.consecutive_failures == FAILURES_TO_SWITCH_OFF {
            endpoint.power = Power::Off(DisabledReason::Failures);
            endpoint.replay = None;
        }
    }
}

/// The effect of a failed attempt on a delivery.
fn after_failure(delivery: &Delivery, power: Power) -> DeliveryStatus {
    let attempts = delivery.attempts as usize;
    if delivery.delivered_at.is_some() {
        DeliveryStatus::Delivered
    } else if attempts <= RETRY_MINUTES.len() && power.is_on() {
        DeliveryStatus::Pending
    } else {
        DeliveryStatus::GivenUp
    }
}

/// Pauses an endpoint that asks for it. Returns whether the attempt belongs to a pause that was
/// counted before.
fn pauses(endpoint: &mut Endpoint, plan: &AttemptPlan) -> bool {
    let seconds = match (plan.status_code, plan.retry_after) {
        (Some(429), None) => 5,
        (Some(429 | 503), Some(asked)) => asked.as_secs().clamp(1, 300),
        _ => return false,
    };
    if !endpoint.power.is_on() {
        return false;
    }
    let until = plan.at.plus(Duration::from_secs(seconds));
    match &mut endpoint.pause {
        Some(pause) if plan.at < pause.until || plan.began <= pause.since => {
            pause.until = pause.until.max(until);
            true
        }
        pause => {
            *pause = Some(Pause { since: plan.at, until });
            false
        }
    }
}

/// Checks that the next attempt is never early, and late by at most a tenth of its delay or by the
/// pause of its endpoint.
fn check_retry(delivery: &Delivery, at: Timestamp, pause: Option<Pause>) -> Check {
    let minutes = RETRY_MINUTES[delivery.attempts as usize - 1];
    let delay = Duration::from_secs(minutes * 60);
    let end = pause.map_or(at, |pause| pause.until);
    let due = at.plus(delay).max(end)..=at.plus(delay + delay / 10).max(end);
    let next = delivery.next_attempt_at;
    ensure!(
        next.is_some_and(|next| due.contains(&next)),
        "delivery {} failed {} times and comes again at {next:?}, not in {due:?}",
        delivery.id,
        delivery.attempts
    );
    Ok(())
}

/// Checks that a worker gets the stored body, the address and the secrets that are valid.
fn check_request(
    claimed: &ClaimedDelivery,
    own: &DeliveryModel,
    endpoint: &Endpoint,
    at: Timestamp,
) -> Check {
    let request = &claimed.request;
    let last = &own.last;
    let old = endpoint.old_secret.as_ref().filter(|old| at < old.until);
    let right = (claimed.account, claimed.endpoint) == (last.account, last.endpoint)
        && request.url == endpoint.url
        && request.secrets.current == endpoint.secret
        && request.secrets.old.as_ref() == old.map(|old| &old.secret)
        && request.event_type == last.event_type
        && request.body == last.body;
    ensure!(right, "a worker got {claimed:?} for {last:?}");
    Ok(())
}
