//! Replays: what an endpoint missed is written as deliveries again, portion by portion.

use std::collections::BTreeSet;
use std::time::Duration;

use rusqlite::params;
use sms_core::ids::{AccountId, DeliveryId, EndpointId, EventId};
use sms_core::time::Timestamp;
use sms_core::webhook::endpoint::Endpoint;
use sms_core::webhook::replay::plan::{PortionPlan, PortionWrites, in_turn, waits_for};

use crate::db::Db;
use crate::endpoint::{endpoint, select_endpoints};
use crate::error::SqlResult;
use crate::row::{id, time};

impl Db {
    /// The endpoints whose replays go on at `at`.
    pub(crate) fn replays_due(&self, at: Timestamp, limit: usize) -> SqlResult<Vec<Endpoint>> {
        // Replays are few.
        let mut due = self.all(
            concat!(
                select_endpoints!(),
                "INDEXED BY endpoint_by_replay WHERE replay_at <= ?1 AND off IS NULL
                     AND (paused_until IS NULL OR paused_until <= ?1)"
            ),
            [time(at)],
            |c| endpoint(self, c),
        )?;
        let just_now: Vec<AccountId> = self.all(
            "SELECT account FROM endpoint INDEXED BY endpoint_by_replay
             WHERE replay_at > ?1 AND off IS NULL",
            [time(at)],
            |c| self.account_id(c.get()?),
        )?;
        due.retain(|one| !just_now.contains(&one.account));
        let mut ready = Vec::new();
        for endpoint in due {
            if !self.has_due(endpoint.id, waits_for(&endpoint, at))? {
                ready.push(endpoint);
            }
        }
        Ok(in_turn(ready, limit))
    }

    fn has_due(&self, endpoint: EndpointId, at: Timestamp) -> SqlResult<bool> {
        self.has(
            "SELECT 1 FROM delivery INDEXED BY delivery_claimable
             WHERE endpoint_id = ?1 AND claimable_at <= ?2 LIMIT 1",
            params![id(endpoint), time(at)],
        )
    }

    /// When the next portion of a replay is due, of a paused endpoint when the pause ends.
    pub(crate) fn replays_next(&self) -> SqlResult<Option<Timestamp>> {
        let next = self.one(
            "SELECT min(max(replay_at, ifnull(paused_until, replay_at))) FROM endpoint
                 INDEXED BY endpoint_by_replay
             WHERE replay_at IS NOT NULL AND off IS NULL",
            [],
            |c| c.maybe_at(),
        );
        Ok(next?.flatten())
    }

    /// Writes a portion, and returns how many deliveries it adds.
    pub(crate) fn replay_portion(&self, plan: &PortionPlan) -> SqlResult<usize> {
        let found = self.endpoint(plan.account, plan.endpoint)?;
        let mut waiting = BTreeSet::new();
        for event in &plan.events {
            if self.waits(plan.endpoint, event.id)? {
                waiting.insert(event.id);
            }
        }
        let writes = plan.settle(found.as_ref(), &waiting);
        let Some(PortionWrites { endpoint, deliveries }) = writes else { return Ok(0) };
        for delivery in &deliveries {
            self.put_delivery(delivery)?;
            self.run("UPDATE delivery SET replayed = 1 WHERE id = ?1", [id(delivery.id)])?;
        }
        self.put_endpoint(&endpoint)?;
        Ok(deliveries.len())
    }

    /// Whether a delivery of this event is pending. The one that the commit of the event wrote has
    /// an id of the same millisecond.
    fn waits(&self, endpoint: EndpointId, event: EventId) -> SqlResult<bool> {
        let until = DeliveryId::first_at(event.timestamp().plus(Duration::from_millis(1)));
        Ok(self.has(
            "SELECT 1 FROM delivery INDEXED BY delivery_by_endpoint
             WHERE endpoint_id = ?1 AND id > ?2 AND id < ?3 AND event_id = ?2
                 AND claimable_at IS NOT NULL LIMIT 1",
            params![id(endpoint), id(event), id(until)],
        )? || self.has(
            "SELECT 1 FROM delivery INDEXED BY delivery_replayed
             WHERE endpoint_id = ?1 AND event_id = ?2 AND replayed = 1
                 AND claimable_at IS NOT NULL LIMIT 1",
            params![id(endpoint), id(event)],
        )?)
    }
}
