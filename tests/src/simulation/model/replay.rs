//! Replays: which events each must send again, when the next portion may be written, and what it
//! adds.

use std::collections::VecDeque;
use std::time::Duration;

use sms_core::event::EventType;
use sms_core::event::kinds::Kinds;
use sms_core::event::position::Position;
use sms_core::ids::{AccountId, EndpointId, EventId};
use sms_core::service::replay::ReplayFrom;
use sms_core::time::Timestamp;
use sms_core::webhook::DeliveryStatus;
use sms_core::webhook::delivery::Delivery;
use sms_core::webhook::endpoint::{Endpoint, Power};
use sms_core::webhook::replay::plan::{PortionEnd, PortionPlan, ReplayPlan, ReplayRefused};
use sms_core::webhook::replay::{Replay, ReplayBegun, Span};

use super::commit::{deliveries_of, fresh};
use super::{Check, DeliveryModel, EndpointModel, Entry, LogModel, Model, Moment, ReplayAsked};
use crate::simulation::executor::TaskId;

/// The most events of a portion.
const PORTION: usize = 14;
/// The pause between two portions.
const PAUSE: Duration = Duration::from_millis(70);
/// The longest that an attempt may be in progress.
const LEASE: Duration = Duration::from_secs(30);
/// From this many failures in a row on, a replay waits until nothing waits for the endpoint.
const DOWN: u32 = 10;

impl Model {
    /// The task under way found this endpoint.
    pub fn saw_endpoint_read(
        &mut self,
        moment: &Moment<'_>,
        account: AccountId,
        id: EndpointId,
        answer: Option<&Endpoint>,
    ) -> Check {
        let own = self.endpoint_of(account, id).map(|own| &own.last);
        ensure!(own == answer, "{answer:?} is found for {own:?}");
        if let Some(asked) = self.replays_asked.get_mut(&moment.task)
            && asked.endpoint == id
        {
            asked.found = answer.cloned();
        }
        Ok(())
    }

    /// A replay began, or was refused.
    pub fn saw_replay_begin(
        &mut self,
        moment: &Moment<'_>,
        plan: &ReplayPlan,
        answer: Result<ReplayBegun, ReplayRefused>,
    ) -> Check {
        let own = self.endpoint_of(plan.account, plan.endpoint).map(|own| own.last.clone());
        let must = match &own {
            None => Err(ReplayRefused::NoSuchEndpoint),
            Some(own) if own.power != Power::On => Err(ReplayRefused::Disabled),
            Some(own) if own.replay.is_some() => Err(ReplayRefused::UnderWay),
            Some(_) => Ok(plan.begun),
        };
        ensure!(answer == must, "a replay meets {answer:?} and must meet {must:?}");
        let asked = self.replays_asked.get_mut(&moment.task);
        let asked = asked.ok_or("a replay begins that nobody asked for")?;
        asked.verdict = Some(answer);
        let Some(own) = own.filter(|_| answer.is_ok()) else { return self.check_heads(moment) };
        let asked = &self.replays_asked[&moment.task];
        let log = self.log_of(plan.account).ok_or("a log vanished")?;
        let (replay, rest) = Scope::of(asked, log)?.check(plan, asked, log)?;
        ensure!(
            replay.is_none_or(|replay| replay.next_at <= moment.now),
            "a replay that begins at {} waits: {replay:?}",
            moment.now
        );
        self.tally.replays_begun += u64::from(replay.is_some());
        self.endpoint_is(moment, Endpoint { replay, ..own })?;
        if let Some(own) = self.endpoints.get_mut(&plan.endpoint) {
            own.rest = rest;
        }
        self.check_heads(moment)
    }

    /// Checks what the customer was told: an error's code, or the answer of the commit.
    pub fn saw_replay_told(
        &mut self,
        task: TaskId,
        told: Result<ReplayBegun, &'static str>,
    ) -> Check {
        let asked = self.replays_asked.remove(&task).ok_or("a request for a replay vanished")?;
        let must = match (&asked.found, asked.verdict) {
            (None, _) | (_, Some(Err(ReplayRefused::NoSuchEndpoint))) => Err("not_found"),
            (_, Some(Err(ReplayRefused::Disabled))) => Err("webhook_disabled"),
            (_, Some(Err(ReplayRefused::UnderWay))) => Err("replay_under_way"),
            (_, Some(Ok(begun))) => Ok(begun),
            // It waited for its turn for too long, or too many did.
            (Some(_), None) if matches!(told, Err("rate_limited" | "unavailable")) => told,
            (Some(found), None) => {
                let log = self.log_of(found.account).ok_or("a log vanished")?;
                let is_valid = Scope::of(&asked, log).is_ok();
                // Its first event may have been removed a moment ago.
                let may_be_invalid = !is_valid || begins_with_removed(&asked, log);
                match told {
                    Err("validation_failed") if may_be_invalid => told,
                    _ if !is_valid => Err("validation_failed"),
                    _ if found.power != Power::On => Err("webhook_disabled"),
                    _ if found.replay.is_some() => Err("replay_under_way"),
                    _ => return Err(format!("{told:?} answers {asked:?}, which can be done")),
                }
            }
        };
        ensure!(told == must, "a replay answers {told:?} and must answer {must:?}");
        Ok(())
    }

    /// A worker looked for replays that go on.
    pub fn saw_replays_due(&self, at: Timestamp, limit: usize, answer: &[Endpoint]) -> Check {
        let due = self.endpoints.values().filter(|own| {
            let next = next_portion(&own.last);
            next.is_some_and(|next| next <= at) && !self.waits_for_deliveries(own, at)
        });
        let due = due.filter(|own| self.account_rests_until(own.last.account) <= at);
        let due: Vec<&Endpoint> = due.map(|own| &own.last).collect();
        let place = |own: &Endpoint| {
            due.iter().filter(|other| other.account == own.account && other.id < own.id).count()
        };
        let mut due = due.clone();
        due.sort_by_key(|own| (place(own), own.replay.map(|replay| replay.next_at), own.id));
        due.truncate(limit);
        let is: Vec<EndpointId> = answer.iter().map(|own| own.id).collect();
        let must: Vec<EndpointId> = due.iter().map(|own| own.id).collect();
        ensure!(
            due.into_iter().eq(answer),
            "replays of {is:?} go on at {at}, and must of {must:?}"
        );
        Ok(())
    }

    /// When the next portion of any replay is due.
    pub fn next_portion(&self) -> Option<Timestamp> {
        self.endpoints.values().filter_map(|own| next_portion(&own.last)).min()
    }

    /// When the first of the replays goes on that wait for no delivery.
    pub fn next_replay(&self) -> Option<Timestamp> {
        let waiting = self.endpoints.values().filter_map(|own| {
            let next = next_portion(&own.last)?.max(self.account_rests_until(own.last.account));
            (!self.waits_for_deliveries(own, next)).then_some(next)
        });
        waiting.min()
    }

    /// Until when no replay of an account goes on, because one just has.
    fn account_rests_until(&self, account: AccountId) -> Timestamp {
        let own = self.endpoints.values().map(|own| &own.last);
        let own = own.filter(|own| own.account == account && own.power == Power::On);
        let until = own.filter_map(|own| own.replay.map(|replay| replay.next_at)).max();
        until.unwrap_or(Timestamp::from_millis(i64::MIN))
    }

    /// Whether a portion waits at `at` for what the endpoint is sent otherwise.
    fn waits_for_deliveries(&self, own: &EndpointModel, at: Timestamp) -> bool {
        let Endpoint { consecutive_failures, last_delivered_at, replay, .. } = &own.last;
        let down = *consecutive_failures >= DOWN;
        let answers = last_delivered_at.is_some_and(|delivered| {
            replay.is_some_and(|replay| replay.next_at <= delivered.plus(PAUSE))
        });
        let until = if answers { at } else { at.plus(LEASE) };
        let deliveries = own.deliveries.iter().filter_map(|id| self.deliveries.get(id));
        let mut claimable = deliveries.filter_map(DeliveryModel::claimable_at);
        claimable.any(|claimable_at| down || claimable_at <= until)
    }

    /// A portion was written, or came too late.
    pub fn saw_portion(&mut self, moment: &Moment<'_>, plan: &PortionPlan, answer: usize) -> Check {
        let (account, id) = (plan.account, plan.endpoint);
        let found = deliveries_of(moment, &plan.ids, account, id, plan.events.len())?;
        ensure!(
            found.len() == answer,
            "a portion of {answer} made {} deliveries for {id}",
            found.len()
        );
        let own = self.endpoint_of(account, id);
        let Some(own) = own.filter(|own| own.last.replay == Some(plan.replay)) else {
            self.tally.portions_late += 1;
            ensure!(found.is_empty(), "a portion of a replay that is over was sent to {id}");
            return self.check_heads(moment);
        };
        let Replay { next_at, after, until, .. } = plan.replay;
        ensure!(next_at <= plan.at, "a portion that is due at {next_at} was made at {}", plan.at);
        ensure!(plan.events.len() <= PORTION, "a portion has {} events", plan.events.len());
        let log = self.log_of(account).ok_or("a log vanished")?;
        let (covered, replay) = match plan.end {
            PortionEnd::Last => (own.rest.len(), None),
            PortionEnd::At(to) => {
                ensure!(after < to && to < until, "{:?} goes on at {to:?}", plan.replay);
                let covered = own.rest.partition_point(|id| {
                    log.find(*id).is_some_and(|entry| entry.logged.position <= to)
                });
                let next_at = plan.at.plus(PAUSE);
                (covered, Some(Replay { after: to, next_at, ..plan.replay }))
            }
        };
        let wanted = own.rest.iter().take(covered).filter_map(|event| log.find(*event));
        let wanted = wanted.filter(|entry| own.hears_of(entry.logged.event.data.kind()));
        let wanted = wanted.filter(|entry| !self.waits(own, entry.logged.event.id));
        check_portion(plan, wanted, &found)?;
        let endpoint = Endpoint { replay, ..own.last.clone() };
        self.tally.portions += 1;
        self.tally.replayed += found.len() as u64;
        if let Some(own) = self.endpoints.get_mut(&id) {
            own.rest.drain(..covered);
        }
        self.endpoint_is(moment, endpoint)?;
        for delivery in found {
            self.delivery_made(delivery);
        }
        self.check_heads(moment)
    }

    /// Whether an event waits to be delivered to an endpoint.
    fn waits(&self, own: &EndpointModel, event: EventId) -> bool {
        let own = own.deliveries.iter().filter_map(|id| self.deliveries.get(id));
        let mut same = own.filter(|delivery| delivery.last.event_id == event);
        same.any(|delivery| delivery.last.status == DeliveryStatus::Pending)
    }
}

/// When the next portion of an endpoint's replay is due, if it waits for no delivery.
fn next_portion(endpoint: &Endpoint) -> Option<Timestamp> {
    let replay = endpoint.replay.filter(|_| endpoint.power == Power::On)?;
    Some(endpoint.pause.map_or(replay.next_at, |pause| pause.until.max(replay.next_at)))
}

/// Checks that a portion made a delivery of each of these events, in order, and nothing else. What
/// was removed from the log may be missing.
fn check_portion<'a>(
    plan: &PortionPlan,
    wanted: impl Iterator<Item = &'a Entry>,
    found: &[Delivery],
) -> Check {
    let mut found = found.iter().peekable();
    for entry in wanted {
        let event = &entry.logged.event;
        match found.next_if(|delivery| delivery.event_id == event.id) {
            Some(delivery) => {
                let expected = fresh(delivery, plan.account, event.data.kind(), plan.at);
                ensure!(*delivery == expected, "{delivery:?} replays {event:?}");
                ensure!(
                    delivery.body == event.body(),
                    "a replay tells another story: {delivery:?}"
                );
            }
            None => ensure!(
                entry.removed,
                "a replay to {} leaves event {} out: {:?} follows",
                plan.endpoint,
                event.id,
                found.peek().map(|delivery| delivery.event_id)
            ),
        }
    }
    let more = found.next();
    ensure!(more.is_none(), "a replay to {} sends {more:?}, not of it", plan.endpoint);
    Ok(())
}

fn begins_with_removed(asked: &ReplayAsked, log: &LogModel) -> bool {
    let ReplayFrom::Event(id) = asked.request.from else { return false };
    log.find(id).is_none_or(|entry| entry.removed)
}

/// The events that a request means.
struct Scope {
    /// Those after this position.
    after: Position,
    kinds: Kinds,
    span: Span,
}

impl Scope {
    /// What a request means for the endpoint that was found.
    ///
    /// # Errors
    ///
    /// Why it cannot be done.
    fn of(asked: &ReplayAsked, log: &LogModel) -> Result<Self, String> {
        let found = asked.found.as_ref().ok_or("a replay begins without an endpoint")?;
        let (after, from) = match asked.request.from {
            ReplayFrom::Position(position) => (position, None),
            ReplayFrom::Event(id) => {
                let entry = log.find(id).ok_or("a replay begins with an unknown event")?;
                (entry.logged.position, None)
            }
            ReplayFrom::Time(at) => (Position::START, Some(at)),
        };
        let span = Span { from, to: asked.request.to };
        let (from, to) = (from.unwrap_or(Timestamp::from_millis(0)), span.to);
        ensure!(to.is_none_or(|to| from < to), "a replay ends before it begins: {span:?}");
        let types = asked.request.types.as_ref().unwrap_or(&found.events);
        let own = types.iter().all(|kind| found.events.contains(kind));
        ensure!(own, "a replay of {types:?} began, of {:?}", found.events);
        let kinds = types.iter().copied().collect();
        Ok(Self { after, kinds, span })
    }

    fn wants(&self, entry: &Entry) -> bool {
        let event = &entry.logged.event;
        let (kind, at): (EventType, _) = (event.data.kind(), event.created_at);
        self.kinds.contains(kind)
            && self.span.from.is_none_or(|from| at >= from)
            && self.span.to.is_none_or(|to| at < to)
    }

    /// Checks that a plan has all that there was when it was asked for. Returns the replay, and its
    /// events in order.
    fn check(
        &self,
        plan: &ReplayPlan,
        asked: &ReplayAsked,
        log: &LogModel,
    ) -> Result<(Option<Replay>, VecDeque<EventId>), String> {
        let planned = plan.replay.map(|replay| (replay.after, replay.until));
        let (after, until) = planned.unwrap_or((self.after, self.after));
        let by_position = self.span.from.is_none();
        ensure!(!by_position || after == self.after, "a replay begins at {after:?}");
        let all = |from, to| log.between(from, to).iter().filter(|entry| self.wants(entry));
        let mut skipped = all(self.after, after).filter(|entry| !entry.removed);
        let first = skipped.next();
        ensure!(first.is_none(), "a replay begins after {first:?}");
        let cut = all(until, asked.end).find(|entry| !entry.removed);
        ensure!(cut.is_none(), "a replay until {until:?} leaves out {cut:?}");
        let rest: Vec<&Entry> = all(after, until).collect();
        let kept = rest.iter().filter(|entry| !entry.removed).count();
        // Those that were removed meanwhile may be counted.
        let most = if log.removed() == asked.removed { kept } else { rest.len() };
        let ReplayBegun { events, reached, has_more } = plan.begun;
        ensure!((kept..=most).contains(&events) && !has_more, "{:?} has {kept} events", plan.begun);
        let last = rest.last().map(|entry| entry.logged.position);
        ensure!(
            reached == plan.replay.map(|replay| replay.until) && reached == last,
            "a replay reaches {reached:?}, and its last event is at {last:?}"
        );
        let replay = plan.replay.map(|replay| Replay {
            kinds: self.kinds,
            span: self.span,
            after,
            until,
            next_at: replay.next_at,
        });
        ensure!(replay == plan.replay, "{:?} is planned for {replay:?}", plan.replay);
        Ok((replay, rest.iter().map(|entry| entry.logged.event.id).collect()))
    }
}
