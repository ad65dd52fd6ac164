//! What a replay writes: its beginning, and each portion.

use std::collections::BTreeSet;

use super::{DOWN_AFTER, EVERY, Replay, ReplayBegun};
use crate::event::Event;
use crate::event::position::Position;
use crate::ids::{AccountId, EndpointId, EventId, Ids};
use crate::time::Timestamp;
use crate::webhook::attempt::ATTEMPT_LEASE;
use crate::webhook::delivery::{Delivery, fan_out};
use crate::webhook::endpoint::Endpoint;

/// Why no replay begins.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub enum ReplayRefused {
    /// The account has no such endpoint.
    #[error("no such endpoint")]
    NoSuchEndpoint,
    /// The endpoint is disabled: what waits for it is given up.
    #[error("the endpoint is disabled")]
    Disabled,
    /// Another replay to it is under way.
    #[error("a replay to this endpoint is under way")]
    UnderWay,
}

/// A request for a replay, whose events are counted.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ReplayPlan {
    /// The account of the endpoint.
    pub account: AccountId,
    /// The endpoint that asked for it.
    pub endpoint: EndpointId,
    /// The replay; `None` if there are no events for it.
    pub replay: Option<Replay>,
    /// The answer to the request: how many events, and how far they reach.
    pub begun: ReplayBegun,
}

impl ReplayPlan {
    /// The endpoint with the replay, for the endpoint that the store found under its lock.
    pub fn settle(&self, endpoint: Option<&Endpoint>) -> Result<Endpoint, ReplayRefused> {
        may_begin(endpoint)?;
        let endpoint = endpoint.ok_or(ReplayRefused::NoSuchEndpoint)?;
        Ok(Endpoint { replay: self.replay, ..endpoint.clone() })
    }
}

/// Whether a replay to this endpoint may begin.
pub fn may_begin(endpoint: Option<&Endpoint>) -> Result<(), ReplayRefused> {
    let endpoint = endpoint.ok_or(ReplayRefused::NoSuchEndpoint)?;
    if !endpoint.power.is_on() {
        return Err(ReplayRefused::Disabled);
    }
    if endpoint.replay.is_some() { Err(ReplayRefused::UnderWay) } else { Ok(()) }
}

/// A replay waits for deliveries of its endpoint that can be claimed by this time: `at`, or any
/// time once the endpoint has failed [`DOWN_AFTER`] times in a row. Unless a delivery has succeeded
/// since the last portion, the replay also waits for attempts in progress: an endpoint that does
/// not answer must not get one portion after another.
pub fn waits_for(endpoint: &Endpoint, at: Timestamp) -> Timestamp {
    if endpoint.consecutive_failures >= DOWN_AFTER {
        return Timestamp::from_millis(i64::MAX);
    }
    let portion = endpoint.replay.map(|replay| replay.next_at.minus(EVERY));
    if endpoint.last_delivered_at >= portion { at } else { at.plus(ATTEMPT_LEASE) }
}

/// The replays of an account take turns: whether a portion of this one was written less than
/// [`EVERY`] before `at`, so that no replay of the account writes one now.
pub fn has_just_gone_on(endpoint: &Endpoint, at: Timestamp) -> bool {
    endpoint.replay.is_some_and(|replay| replay.next_at > at)
}

/// The order in which replays go on that could all go on: first the first of each account by id,
/// then the second of each, which has its turn if the first one fails, and so on; of these the
/// longest due first, then by id. At most `limit`.
pub fn in_turn(mut ready: Vec<Endpoint>, limit: usize) -> Vec<Endpoint> {
    ready.sort_unstable_by_key(|one| (one.account, one.id));
    let mut ordered = Vec::with_capacity(ready.len());
    let (mut account, mut place) = (None, 0);
    for endpoint in ready {
        place = if account == Some(endpoint.account) { place + 1 } else { 0 };
        account = Some(endpoint.account);
        ordered.push((place, endpoint));
    }
    ordered.sort_unstable_by_key(|(place, one)| {
        (*place, one.replay.map(|replay| replay.next_at), one.id)
    });
    ordered.into_iter().take(limit).map(|(_, endpoint)| endpoint).collect()
}

/// How far a portion of a replay goes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum PortionEnd {
    /// Up to this position. The replay continues after it.
    At(Position),
    /// To the end of the replay.
    Last,
}

/// A portion of a replay.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct PortionPlan {
    /// The account of the endpoint.
    pub account: AccountId,
    /// The endpoint that receives it.
    pub endpoint: EndpointId,
    /// The replay that the portion was read for.
    pub replay: Replay,
    /// The events, in order.
    pub events: Vec<Event>,
    /// How far it goes.
    pub end: PortionEnd,
    /// The time of the portion.
    pub at: Timestamp,
    /// Ids for the deliveries.
    pub ids: Ids,
}

/// What a portion writes.
#[derive(Debug, Clone, PartialEq, Eq)]
#[must_use = "a verdict has to be written by the store"]
pub struct PortionWrites {
    /// The endpoint, whose replay has come further or has ended.
    pub endpoint: Endpoint,
    /// New deliveries to it.
    pub deliveries: Vec<Delivery>,
}

impl PortionPlan {
    /// What to write for the endpoint that the store found under its lock, and for those events of
    /// the portion that wait for it already. `None` if the endpoint or this replay is gone, or if
    /// another program was faster.
    pub fn settle(
        &self,
        endpoint: Option<&Endpoint>,
        waiting: &BTreeSet<EventId>,
    ) -> Option<PortionWrites> {
        let endpoint = endpoint.filter(|endpoint| endpoint.replay == Some(self.replay))?;
        let mut ids = self.ids.clone();
        let new = self.events.iter().filter(|event| !waiting.contains(&event.id));
        let deliveries = new.flat_map(|event| fan_out(event, [endpoint], &mut ids));
        let deliveries = deliveries.map(|delivery| delivery.made_at(self.at)).collect();
        let replay = match self.end {
            PortionEnd::Last => None,
            PortionEnd::At(after) => {
                Some(Replay { after, next_at: self.at.plus(EVERY), ..self.replay })
            }
        };
        Some(PortionWrites { endpoint: Endpoint { replay, ..endpoint.clone() }, deliveries })
    }
}
