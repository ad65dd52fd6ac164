//! Background work, in bounded calls.
//!
//! Any number of programs may make these calls at once on one store. Dropping a call at any point
//! loses nothing: what it had claimed is claimed again when its lease runs out.

use std::collections::BTreeSet;
use std::sync::Arc;

use async_trait::async_trait;
use futures_util::future::{BoxFuture, join_all};
use futures_util::{FutureExt, StreamExt};

use self::group::{Carried, Group, group_by_route};
use self::held::{Known, Recording};
use self::hold::Hold;
use super::sms::Sms;
use crate::dispatch::Claimed;
use crate::dispatch::held::HeldMessage;
use crate::dispatch::outcome::{FollowUp, OutcomePlan, OutcomeRecorded};
use crate::error::Error;
use crate::hand_over::{Comeback, HandOver, HandedOver};
use crate::idempotency::KEPT_FOR;
use crate::inbound::segment::InboundSegment;
use crate::inbound::{InboundMessage, Origin, SHARED_REACH};
use crate::lane::{Lane, RouteLane};
use crate::message::filter::SETTLED_AFTER;
use crate::message::status::MessageStatus;
use crate::number::rent::RentsCharged;
use crate::number::store::CheckedIn;
use crate::receipt::report::{self, NetworkReport, Reported};
use crate::receipt::{Receipt, ReceiptPlan};
use crate::route::RouteSink;
use crate::route_name::RouteName;
use crate::sending::settle::TEST_MESSAGES_KEPT;
use crate::time::Timestamp;
use crate::upkeep::{Chore, Due};
use crate::webhook::delivery;

pub use super::wake::{Wake, Work};

mod claim;
pub(super) mod claim_size;
mod from_birth;
mod group;
pub(super) mod held;
mod hold;
mod journalled;
pub(super) mod own_numbers;
pub(super) mod records;
mod reports;
mod reserve;
pub(super) mod room;

/// What one call of [`Sms::dispatch_due`] or [`Sms::record_kept`] did.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
#[non_exhaustive]
pub struct Dispatched {
    /// Due messages: handed over to a route, or failed or cancelled at once.
    pub claimed: usize,
    /// Messages that were sent, or that may have been sent and were given up.
    pub sent: usize,
    /// Messages that failed and were refunded.
    pub failed: usize,
    /// Messages that will be retried.
    pub retried: usize,
    /// Messages whose outcome no longer counted, because a receipt came first or the lease had run
    /// out.
    pub lost: usize,
    /// Whether the claim took as many as it may, so that there may be more.
    pub is_full: bool,
    /// Lanes whose messages stayed in the queue, because the route that carries them has no room
    /// for them.
    pub lanes_left: usize,
}

impl Dispatched {
    fn count_claimed(&mut self, claimed: &Claimed) {
        self.claimed += claimed.count();
        self.failed += claimed.failed as usize;
        self.sent += claimed.given_up as usize;
    }

    fn count(&mut self, outcome: OutcomeRecorded) {
        let counted = match outcome {
            OutcomeRecorded::Done(MessageStatus::Failed) => &mut self.failed,
            OutcomeRecorded::Done(_) => &mut self.sent,
            OutcomeRecorded::Retry => &mut self.retried,
            OutcomeRecorded::LeaseLost => &mut self.lost,
        };
        *counted += 1;
    }
}

/// [`Sms::dispatch_due`] or [`Sms::record_kept`] could not do everything.
#[derive(Debug, thiserror::Error)]
#[error("{error}")]
#[non_exhaustive]
pub struct DispatchFailed {
    /// What it did nevertheless.
    pub done: Dispatched,
    /// Why not. If several things failed, the last error.
    #[source]
    pub error: Error,
}

impl From<DispatchFailed> for Error {
    fn from(failed: DispatchFailed) -> Self {
        failed.error
    }
}

/// How many commits of one hand-over's outcomes may run at once. While they run, further outcomes
/// are collected for the next commit.
const RECORDS_AT_ONCE: usize = 2;

impl Sms {
    /// Claims up to `limit` due messages, hands them over to their routes, and records the
    /// outcomes. Routes work concurrently: a slow route does not delay the records of another.
    ///
    /// Outcomes that could not be recorded are kept. The next call records and counts them before
    /// it claims anything. The first call records what an earlier run left in the
    /// [journal](super::SmsBuilder::journal).
    pub async fn dispatch_due(&self, limit: usize) -> Result<Dispatched, DispatchFailed> {
        self.dispatch_lanes(&Lane::ALL, limit, |_| {}).await
    }

    /// [`dispatch_due`](Self::dispatch_due) for these lanes alone. Calls `claimed` as soon as the
    /// routes have what was claimed. A program that then makes the next call beside this one keeps
    /// a network busy that answers slowly: a call ends when its last outcome is recorded.
    pub async fn dispatch_lanes(
        &self,
        lanes: &[Lane],
        limit: usize,
        claimed: impl FnOnce(Dispatched) + Send,
    ) -> Result<Dispatched, DispatchFailed> {
        let mut done = Dispatched::default();
        match self.hand_over_due(lanes, limit, &mut done, claimed).await {
            Ok(()) => Ok(done),
            Err(error) => Err(DispatchFailed { done, error }),
        }
    }

    async fn hand_over_due(
        &self,
        lanes: &[Lane],
        limit: usize,
        done: &mut Dispatched,
        tell: impl FnOnce(Dispatched) + Send,
    ) -> Result<(), Error> {
        self.record_left_over(done).await?;
        self.record_kept_into(done).await?;
        if self.inner.claim_size.pauses(self.now()) {
            return Ok(());
        }
        self.fail_expired(limit, done).await?;
        // One claim after the other. Each has to see what the earlier ones hold, or all workers of
        // a program would claim messages of the same slow route.
        let claiming = self.inner.claiming.lock().await;
        let mut waiting = self.lanes_that_wait();
        waiting.retain(|waiting| lanes.contains(&waiting.lane));
        done.lanes_left = waiting.len();
        let (claimed, held) = self.claim_in_turn(lanes, &waiting, limit, done).await?;
        let hold = held.hold;
        let carried =
            claimed.held.into_iter().map(|it| Carried { held: Arc::new(it), hold, permit: None });
        let messages = claimed.messages.into_iter().zip(carried);
        // A store that took long for the claim leaves no time to submit them.
        let (messages, late): (Vec<_>, Vec<_>) =
            messages.partition(|(text, _)| text.look.is_fresh());
        let groups = group_by_route(messages.into_iter(), |name| self.carrier(name));
        self.note_claim(&groups);
        let mut hand_overs: Vec<_> = groups.iter().map(|group| self.hand_over(group)).collect();
        if !late.is_empty() {
            let back = late.iter().map(|(_, text)| self.outcome(text, HandOver::GivenBack));
            let known = Known { plans: back.collect(), ..Known::default() };
            hand_overs.push(async move { vec![self.record(known).await] }.boxed());
        }
        drop(claiming);
        tell(*done);
        let mut result = Ok(());
        for recorded in join_all(hand_overs).await.into_iter().flatten() {
            match recorded {
                Ok(outcomes) => outcomes.into_iter().for_each(|outcome| done.count(outcome)),
                Err(error) => result = Err(error),
            }
        }
        if result.is_ok() {
            let all = groups.iter().flat_map(|group| &group.messages);
            self.note_settled(all.map(|text| text.message));
        }
        result
    }

    /// Starts to hand messages over at once, and records the outcomes as they arrive; those that
    /// are known at the same time share a commit.
    fn hand_over<'a>(
        &'a self,
        group: &'a Group<'_>,
    ) -> BoxFuture<'a, Vec<Result<Vec<OutcomeRecorded>, Error>>> {
        let Group { messages, carried, carrier } = group;
        let Some(route) = carrier else {
            let plans = carried.iter().map(|text| self.outcome(text, not_configured(text)));
            let unknown = Known { plans: plans.collect(), ..Known::default() };
            return async move { vec![self.record(unknown).await] }.boxed();
        };
        route
            .hand_over(messages, self)
            .ready_chunks(messages.len())
            .map(move |outcomes| {
                let mut known = Known::default();
                for HandedOver { place, result, room } in outcomes {
                    let Some(text) = carried.get(place) else { continue };
                    known.plans.push(self.outcome(text, result));
                    known.rooms.push(room);
                }
                self.note_outcomes(&mut known);
                self.record(known)
            })
            .buffer_unordered(RECORDS_AT_ONCE)
            .collect()
            .boxed()
    }

    fn outcome(&self, text: &Carried, result: HandOver) -> OutcomePlan {
        let at = self.now();
        let Carried { held, hold: Hold { token, since: claimed_at }, permit: _ } = text;
        let (message, token, claimed_at) = (held.message.id, *token, *claimed_at);
        let held = Some(Arc::clone(held));
        OutcomePlan { message, token, claimed_at, result, at, held, ids: self.ids(at) }
    }

    /// Records outcomes. If the store fails, keeps them, the hold on their messages, and the room
    /// that these take.
    async fn record(&self, known: Known) -> Result<Vec<OutcomeRecorded>, Error> {
        let recording = Recording::of(known, &self.inner.unrecorded, &self.inner.leases);
        let _turn = self.inner.records.turn().await;
        let recorded = self.store().dispatch_record(recording.plans().to_vec()).await?;
        self.note_settled(recording.plans().iter().map(|plan| plan.message));
        let comes_back = recording.plans().iter().any(|plan| plan.result.comes_back());
        let given_back = self.note_given_back(recording.plans());
        recording.succeeded();
        self.wake(Work::Webhooks);
        if given_back {
            self.wake(Work::Dispatch);
        }
        if comes_back {
            self.wake(Work::FollowUps);
        }
        Ok(recorded)
    }

    /// What was given back waits in the queue: nothing new overtakes it. Returns whether any was.
    fn note_given_back(&self, plans: &[OutcomePlan]) -> bool {
        let mut given_back = plans.iter().filter(|plan| plan.result == HandOver::GivenBack);
        let lane = |plan: &OutcomePlan| {
            let HeldMessage { message, entry, .. } = plan.held.as_deref()?;
            Some(RouteLane::new(message.route.clone(), entry.lane))
        };
        let lanes: BTreeSet<RouteLane> = given_back.clone().filter_map(lane).collect();
        for lane in &lanes {
            self.inner.rooms.goes_to_queue(lane);
        }
        given_back.next().is_some()
    }

    /// Records outcomes that could not be recorded when they arrived, and keeps those that still
    /// cannot. [`dispatch_due`](Sms::dispatch_due) starts with this, but until they are recorded,
    /// one under way may wait for the room that they take in their routes. So call it every second.
    /// A program that stops calls it last, until it succeeds: other programs send again what it
    /// does not record.
    pub async fn record_kept(&self) -> Result<Dispatched, DispatchFailed> {
        let mut done = Dispatched::default();
        match self.record_kept_into(&mut done).await {
            Ok(()) => Ok(done),
            Err(error) => Err(DispatchFailed { done, error }),
        }
    }

    async fn record_kept_into(&self, done: &mut Dispatched) -> Result<(), Error> {
        while let Some(known) = self.inner.unrecorded.with(Vec::pop) {
            self.record(known).await?.into_iter().for_each(|outcome| done.count(outcome));
        }
        self.give_back_doubtful().await
    }

    /// Renews the leases of all messages that this program is handing over, or whose outcome it
    /// could not record yet. Call it three times in a lease, every 10 s by default. A program that
    /// stops calling it loses its messages to other programs.
    pub async fn renew_leases(&self) -> Result<(), Error> {
        let until = self.now().plus(self.inner.lease);
        let mut tokens = self.inner.leases.tokens();
        tokens.extend(self.inner.rooms.leases());
        self.inner.unrecorded.with(|kept| {
            let plans = kept.iter().flat_map(|known| &known.plans);
            tokens.extend(plans.map(|plan| plan.token));
        });
        for token in tokens {
            self.store().dispatch_renew(token, until).await?;
        }
        Ok(())
    }

    /// Brings back up to `limit` due follow-ups of simulated networks: receipts, recorded together,
    /// then answers. A follow-up that fails does not delay the others, and stays due. Returns how
    /// many were processed.
    pub async fn simulate_due(&self, limit: usize) -> Result<usize, Error> {
        let due = self.store().follow_ups_due(self.now(), limit).await?;
        let count = due.len();
        let mut result = Ok(count);
        let (mut receipts, mut answers) = (Vec::new(), Vec::new());
        for FollowUp { id, message, number, person, route, due_at: _, what } in due {
            match what {
                Comeback::Receipt(status) => {
                    let at = self.now();
                    let receipt = Receipt { message, status };
                    let ids = self.ids(at);
                    receipts.push(ReceiptPlan { receipt, at, ids, follow_up: Some(id) });
                }
                Comeback::Reply(body) => {
                    let text = InboundMessage { from: person.into(), to: number, body, route };
                    answers.push((text, Origin::Answer { to: message, follow_up: id }));
                }
            }
        }
        if !receipts.is_empty() {
            for recorded in self.store().receipts_record(receipts).await {
                result = result.and(recorded.map(|_| count).map_err(Error::from));
            }
            self.wake(Work::Webhooks);
        }
        for (text, origin) in answers {
            result = self.take_in(text, origin).await.and(result);
        }
        result
    }

    /// Removes up to `limit` of each kind of data past its retention: deliveries, events and
    /// contacts on shared numbers after 30 days, idempotency keys and networks' ids after 7 days,
    /// test sends after two hours; and receipts that match no message beyond their bound. Also
    /// records what has arrived of long messages whose first segment is a day old, folds the counts
    /// of campaigns, and cancels the leftover messages of cancelled campaigns. Returns how many it
    /// processed.
    pub async fn tidy(&self, limit: usize) -> Result<usize, Error> {
        let now = self.now();
        let store = self.store();
        let before = |kept_for| now.minus(kept_for);
        let mut done = 0;
        for chore in [
            Chore::Deliveries { before: before(delivery::KEPT_FOR) },
            Chore::IdempotencyKeys { before: before(KEPT_FOR) },
            Chore::LastContacts { before: before(SHARED_REACH) },
            Chore::TestSends { before: before(TEST_MESSAGES_KEPT) },
        ] {
            done += store.tidy(chore, limit).await?;
        }
        done += self.give_up_parts(limit).await?;
        done += self.campaigns_tidy(now, limit).await?;
        done += store.tidy(Chore::Reports { before: before(report::KEPT_FOR) }, limit).await?;
        done += self.trim_unmatched(limit).await?;
        let events = Chore::Events { before: before(self.inner.events_kept_for) };
        done += store.tidy(events, limit).await?;
        Ok(done)
    }

    /// Prepares searches for words in about `limit` messages that are new since the last call.
    /// Returns how many it processed; 0 if there is no more for now. Without it searches return the
    /// same result, but slow down as messages accumulate.
    pub async fn prepare_search(&self, limit: usize) -> Result<usize, Error> {
        let before = self.now().minus(SETTLED_AFTER);
        Ok(self.store().tidy(Chore::Search { before }, limit).await?)
    }

    /// Does up to `limit` due pieces of work of this kind, and waits for them. Returns how many it
    /// processed; 0 if nothing is due.
    pub async fn do_work(&self, work: Work, limit: usize) -> Result<usize, Error> {
        match work {
            Work::Dispatch => Ok(self.dispatch_due(limit).await?.claimed),
            Work::Webhooks => match self.deliver_webhooks(limit).await? {
                0 => self.replays_go_on().await,
                delivered => Ok(delivered),
            },
            Work::FollowUps => self.simulate_due(limit).await,
            Work::Rents => {
                let RentsCharged { taken, unpaid } = self.charge_rents(limit).await?;
                Ok(taken + unpaid)
            }
        }
    }

    /// The earliest time at which work of this kind is due; `None` if there is none.
    pub async fn next_work(&self, work: Work) -> Result<Option<Timestamp>, Error> {
        let next = match work {
            Work::Dispatch => self.store().next(Due::Messages).await,
            Work::Webhooks => {
                let delivery = self.store().next(Due::Deliveries).await?;
                return Ok(delivery.into_iter().chain(self.inner.replays.next()).min());
            }
            Work::FollowUps => self.store().next(Due::FollowUps).await,
            Work::Rents => self.store().next(Due::Rents).await,
        };
        Ok(next?)
    }

    /// Wakes `wake` from now on whenever there may be work, until its last `Arc` is dropped.
    ///
    /// `Workers::start` of `sms-workers` calls this for its own loops. Call it if you drive the
    /// loops yourself.
    pub fn wake_with(&self, wake: &Arc<dyn Wake>) {
        self.inner.signals.add(wake);
    }

    /// Wakes the workers of this program for work that other programs on the same store find: see
    /// [`SmsBuilder::wake_others`](super::SmsBuilder::wake_others). Runs until it is dropped.
    pub async fn listen_to_others(&self) {
        self.inner.signals.listen().await;
    }

    /// Where routes report receipts and inbound messages; pass it to
    /// [`Route::run`](crate::route::Route::run).
    pub fn sink(&self) -> Arc<dyn RouteSink> {
        Arc::new(self.clone())
    }
}

/// The outcome of a message whose route is not configured.
fn not_configured(text: &Carried) -> HandOver {
    let detail = format!("route {} is not configured", text.held.message.route);
    HandOver::TryLater { detail }
}

#[async_trait]
impl RouteSink for Sms {
    async fn receipt(&self, receipt: Receipt) -> Result<(), Error> {
        self.record_receipt(receipt).await.map(|_| ())
    }

    async fn reports(&self, reports: Vec<NetworkReport>) -> Vec<Result<Reported, Error>> {
        self.record_reports(reports).await
    }

    async fn inbound(&self, text: InboundMessage) -> Result<(), Error> {
        self.take_in(text, Origin::Network).await.map(|_| ())
    }

    async fn inbound_segment(&self, part: InboundSegment) -> Result<(), Error> {
        Sms::inbound_segment(self, part).await.map(|_| ())
    }

    async fn connected(&self, route: &RouteName) -> Result<(), Error> {
        let mut behind = vec![Some(route.clone())];
        if route == self.default_route() {
            behind.push(None);
        }
        self.store().number_check_in(CheckedIn::Routes(behind), self.now()).await?;
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_kind_of_work_is_listed_once() {
        // A new kind does not compile here until it has a place.
        let place = |work| match work {
            Work::Dispatch => 0,
            Work::FollowUps => 1,
            Work::Webhooks => 2,
            Work::Rents => 3,
        };
        let places: Vec<usize> = Work::ALL.into_iter().map(place).collect();
        assert_eq!(places, [0, 1, 2, 3]);
    }
}
