//! The queue of messages that wait to be handed over, as rows. It is ordered by time within each
//! lane of each route, so that a route that accepts nothing does not delay the others.

use rusqlite::params;
use sms_core::dispatch::{ClaimPlan, LeaseToken, QueueEntry, RouteLane, Turns, Wanted};
use sms_core::ids::{AccountId, MessageId};
use sms_core::route::RouteName;
use sms_core::time::Timestamp;

use crate::db::Db;
use crate::error::SqlResult;
use crate::row::{Cols, id, size, time, token};

impl Db {
    /// Adds a message of this route.
    pub(crate) fn enqueue(&self, entry: &QueueEntry, route: &RouteName) -> SqlResult<()> {
        let QueueEntry {
            message,
            account,
            lane,
            claimable_at,
            expires_at,
            attempt,
            lease,
            unanswered,
        } = *entry;
        self.run(
            "INSERT INTO queue (id, account, route, claimable_at, expires_at, attempt, lease,
                 unanswered, lane, turn, was_held)
             VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9, ?10, 0)",
            params![
                id(message),
                self.known_account(account)?,
                route.as_str(),
                time(claimable_at),
                time(expires_at),
                attempt,
                lease.map(token),
                unanswered,
                lane.as_str(),
                id(account)
            ],
        )?;
        Ok(())
    }

    /// Replaces the entry of a message that waits, as a claim and an outcome do. Does nothing for
    /// other messages.
    pub(crate) fn replace_entry(&self, entry: &QueueEntry) -> SqlResult<()> {
        let QueueEntry {
            message,
            account: _,
            lane: _,
            claimable_at,
            expires_at,
            attempt,
            lease,
            unanswered,
        } = *entry;
        self.run(
            "UPDATE queue SET claimable_at = ?2, expires_at = ?3, attempt = ?4, lease = ?5,
                 unanswered = ?6, was_held = 1
             WHERE id = ?1",
            params![
                id(message),
                time(claimable_at),
                time(expires_at),
                attempt,
                lease.map(token),
                unanswered
            ],
        )?;
        Ok(())
    }

    pub(crate) fn unqueue(&self, message: MessageId) -> SqlResult<()> {
        self.run("DELETE FROM queue WHERE id = ?1", [id(message)])?;
        Ok(())
    }

    pub(crate) fn queued(&self, message: MessageId) -> SqlResult<Option<QueueEntry>> {
        self.one(
            "SELECT id, account, lane, claimable_at, expires_at, attempt, lease, unanswered
             FROM queue WHERE id = ?1",
            [id(message)],
            |c| entry(self, c),
        )
    }

    /// Up to `limit` wanted entries that may be claimed at `at`, in the order in which they leave.
    pub(crate) fn claimable(&self, plan: &ClaimPlan) -> SqlResult<Vec<QueueEntry>> {
        let ClaimPlan { at, limit, wanted, turns, .. } = plan;
        let mut found = Vec::new();
        for lane in self.lanes()? {
            if !wanted.concerns(&lane) {
                continue;
            }
            let entries = match turns.after(&lane) {
                None => self.longest_due(&lane, plan)?,
                Some(after) => self.in_turn(&lane, after, *at, *limit)?,
            };
            let place = |(nth, entry)| (turns.order().place(lane.lane, nth), entry);
            found.extend(entries.into_iter().enumerate().map(place));
        }
        found.sort_unstable_by_key(|(place, entry)| (*place, entry.claimable_at, entry.message));
        Ok(found.into_iter().map(|(_, entry)| entry).take(*limit).collect())
    }

    /// What is due in a lane, the longest due first.
    fn longest_due(&self, lane: &RouteLane, plan: &ClaimPlan) -> SqlResult<Vec<QueueEntry>> {
        // Only expired entries of some lanes may be wanted.
        let expired = match plan.wanted {
            Wanted::AllBut(_) => i64::MAX,
            Wanted::ExpiredOf(_) => time(plan.at),
        };
        let mut found = self.all(
            "SELECT id, account, lane, claimable_at, expires_at, attempt, lease, unanswered
             FROM queue WHERE id IN (
                 SELECT id FROM queue INDEXED BY queue_by_time
                 WHERE route = ?1 AND lane = ?2 AND claimable_at <= ?3 AND expires_at <= ?4
                 ORDER BY claimable_at, id LIMIT ?5)",
            params![
                lane.route.as_str(),
                lane.lane.as_str(),
                time(plan.at),
                expired,
                size(plan.limit)
            ],
            |c| entry(self, c),
        )?;
        found.sort_unstable_by_key(|entry| (entry.claimable_at, entry.message));
        Ok(found)
    }

    /// What is due in a crowded lane, in the order of the turns: of each account up to its part.
    fn in_turn(
        &self,
        lane: &RouteLane,
        after: AccountId,
        at: Timestamp,
        limit: usize,
    ) -> SqlResult<Vec<QueueEntry>> {
        let mut with_due = Vec::new();
        let mut all = 0;
        for (account, first) in self.visits(lane, after, limit)? {
            if first > at {
                continue;
            }
            let share = self.account(account)?.map(|account| account.share).unwrap_or_default();
            all += u64::from(share.get());
            with_due.push((account, share));
        }
        let mut found = Vec::new();
        for (visit, (account, share)) in with_due.into_iter().enumerate() {
            let own = self.all(
                "SELECT id, account, lane, claimable_at, expires_at, attempt, lease, unanswered
                 FROM queue WHERE id IN (
                     SELECT id FROM queue INDEXED BY queue_by_turn
                     WHERE route = ?1 AND lane = ?2 AND turn = ?3 AND claimable_at <= ?4
                     ORDER BY claimable_at, id LIMIT ?5)
                 ORDER BY claimable_at, id",
                params![
                    lane.route.as_str(),
                    lane.lane.as_str(),
                    id(account),
                    time(at),
                    size(Turns::most(limit, share, all))
                ],
                |c| entry(self, c),
            )?;
            let place = |(nth, entry)| ((Turns::round(nth, share), visit), entry);
            found.extend(own.into_iter().enumerate().map(place));
        }
        found.sort_by_key(|(place, _)| *place);
        Ok(found.into_iter().map(|(_, entry)| entry).take(limit).collect())
    }

    /// Accounts that have messages in a lane, each with the time of the first: those after `after`,
    /// then the others.
    fn visits(
        &self,
        lane: &RouteLane,
        after: AccountId,
        limit: usize,
    ) -> SqlResult<Vec<(AccountId, Timestamp)>> {
        let mut visited: Vec<(AccountId, Timestamp)> = Vec::new();
        let (mut last, mut is_second_lap) = (after, false);
        while visited.len() < limit {
            let next = self.one(
                "SELECT turn, claimable_at FROM queue INDEXED BY queue_by_turn
                 WHERE route = ?1 AND lane = ?2 AND turn > ?3
                 ORDER BY turn, claimable_at LIMIT 1",
                params![lane.route.as_str(), lane.lane.as_str(), id(last)],
                |c| Ok((c.id()?, c.at()?)),
            )?;
            match next {
                Some((account, _)) if is_second_lap && account > after => break,
                Some((account, first)) => {
                    visited.push((account, first));
                    last = account;
                }
                None if is_second_lap => break,
                None => (last, is_second_lap) = (AccountId::from_u128(0), true),
            }
        }
        Ok(visited)
    }

    /// The lanes of routes that messages wait in: a leap over the index for each.
    fn lanes(&self) -> SqlResult<Vec<RouteLane>> {
        let mut lanes: Vec<RouteLane> = Vec::new();
        loop {
            let next = match lanes.last() {
                Some(last) => self.lane_after(last)?,
                None => self.first_lane_after("")?,
            };
            match next {
                Some(lane) => lanes.push(lane),
                None => return Ok(lanes),
            }
        }
    }

    /// The next lane. `(route, lane) > (?1, ?2)` would read all that wait in this one, because
    /// SQLite begins at the first row that is equal.
    fn lane_after(&self, RouteLane { route, lane }: &RouteLane) -> SqlResult<Option<RouteLane>> {
        let of_same_route = self.one(
            "SELECT route, lane FROM queue INDEXED BY queue_by_time
             WHERE route = ?1 AND lane > ?2 ORDER BY lane LIMIT 1",
            [route.as_str(), lane.as_str()],
            lane_of,
        )?;
        match of_same_route {
            Some(next) => Ok(Some(next)),
            None => self.first_lane_after(route.as_str()),
        }
    }

    fn first_lane_after(&self, route: &str) -> SqlResult<Option<RouteLane>> {
        self.one(
            "SELECT route, lane FROM queue INDEXED BY queue_by_time
             WHERE route > ?1 ORDER BY route, lane LIMIT 1",
            [route],
            lane_of,
        )
    }

    /// Extends the lease with this token to `until`. Returns the number of its entries.
    pub(crate) fn renew(&self, lease: LeaseToken, until: Timestamp) -> SqlResult<usize> {
        self.run(
            "UPDATE queue SET claimable_at = ?2 WHERE lease = ?1",
            params![token(lease), time(until)],
        )
    }

    /// When the first message can be claimed.
    pub(crate) fn queue_next(&self) -> SqlResult<Option<Timestamp>> {
        let mut next: Option<Timestamp> = None;
        for RouteLane { route, lane } in self.lanes()? {
            let first = self.one(
                "SELECT claimable_at FROM queue INDEXED BY queue_by_time
                 WHERE route = ?1 AND lane = ?2 ORDER BY claimable_at LIMIT 1",
                [route.as_str(), lane.as_str()],
                |c| c.at(),
            )?;
            next = match (next, first) {
                (Some(a), Some(b)) => Some(a.min(b)),
                (a, b) => a.or(b),
            };
        }
        Ok(next)
    }
}

fn lane_of(c: &mut Cols<'_>) -> SqlResult<RouteLane> {
    Ok(RouteLane::new(RouteName::new(c.get::<String>()?), c.name()?))
}

fn entry(db: &Db, c: &mut Cols<'_>) -> SqlResult<QueueEntry> {
    Ok(QueueEntry {
        message: c.id()?,
        account: db.account_id(c.get()?)?,
        lane: c.name()?,
        claimable_at: c.at()?,
        expires_at: c.at()?,
        attempt: c.count()?,
        lease: c.maybe_token()?,
        unanswered: c.count()?,
    })
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;
    use std::sync::atomic::{AtomicU32, Ordering};

    use sms_core::dispatch::Lane;

    use super::*;
    use crate::open::{MIGRATIONS, in_memory};

    #[test]
    fn the_lanes_are_found_in_a_few_steps_however_many_messages_wait() {
        let connection = in_memory(&MIGRATIONS);
        let fill =
            "WITH RECURSIVE n (i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < 20000)
             INSERT INTO queue (id, account, route, claimable_at, expires_at, attempt, lease,
                 unanswered, lane, turn)
             SELECT CAST(i AS BLOB), 1, CASE WHEN i % 4 = 0 THEN 'backup' ELSE 'main' END, i, i, 0,
                 NULL, 0, CASE WHEN i % 4 = 1 THEN 'normal' ELSE 'bulk' END, x''
             FROM n";
        connection.execute_batch(fill).unwrap();
        let steps = Arc::new(AtomicU32::new(0));
        let counted = Arc::clone(&steps);
        let count = move || {
            counted.fetch_add(1, Ordering::Relaxed);
            false
        };
        connection.progress_handler(1, Some(count)).unwrap();
        let db = Db::new(connection);
        let lane = |route, lane| RouteLane::new(RouteName::new(route), lane);
        let expected =
            [lane("backup", Lane::Bulk), lane("main", Lane::Bulk), lane("main", Lane::Normal)];
        assert_eq!(db.lanes().unwrap(), expected);
        let steps = steps.load(Ordering::Relaxed);
        assert!(steps < 300, "{steps} steps");
    }
}
