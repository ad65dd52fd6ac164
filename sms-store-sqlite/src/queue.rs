//! The queue of messages that wait to be handed over, as rows. It is ordered by time within each
//! route, so that a route that accepts nothing does not delay the others.

use rusqlite::params;
use sms_core::dispatch::{LeaseToken, QueueEntry, Wanted};
use sms_core::ids::MessageId;
use sms_core::route::RouteName;
use sms_core::time::Timestamp;

use crate::db::Db;
use crate::error::SqlResult;
use crate::row::{Cols, id, size, time, token};

impl Db {
    /// Adds a message of this route.
    pub(crate) fn enqueue(&self, entry: &QueueEntry, route: &RouteName) -> SqlResult<()> {
        let QueueEntry { message, account, claimable_at, expires_at, attempt, lease, unanswered } =
            *entry;
        self.run(
            "INSERT INTO queue (id, account, route, claimable_at, expires_at, attempt, lease,
                 unanswered)
             VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8)",
            params![
                id(message),
                self.known_account(account)?,
                route.as_str(),
                time(claimable_at),
                time(expires_at),
                attempt,
                lease.map(token),
                unanswered
            ],
        )?;
        Ok(())
    }

    /// Replaces the entry of a message that waits. Does nothing for other messages.
    pub(crate) fn replace_entry(&self, entry: &QueueEntry) -> SqlResult<()> {
        let QueueEntry {
            message,
            account: _,
            claimable_at,
            expires_at,
            attempt,
            lease,
            unanswered,
        } = *entry;
        self.run(
            "UPDATE queue SET claimable_at = ?2, expires_at = ?3, attempt = ?4, lease = ?5,
                 unanswered = ?6
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
            "SELECT id, account, claimable_at, expires_at, attempt, lease, unanswered
             FROM queue WHERE id = ?1",
            [id(message)],
            |c| entry(self, c),
        )
    }

    /// Up to `limit` wanted entries that may be claimed at `at`, the longest due first.
    pub(crate) fn claimable(
        &self,
        at: Timestamp,
        limit: usize,
        wanted: &Wanted,
    ) -> SqlResult<Vec<QueueEntry>> {
        // Only expired entries of some routes may be wanted.
        let expired = match wanted {
            Wanted::AllBut(_) => i64::MAX,
            Wanted::ExpiredOf(_) => time(at),
        };
        let mut found = Vec::new();
        for route in self.routes()? {
            if wanted.concerns(&route) {
                found.extend(self.all(
                    "SELECT id, account, claimable_at, expires_at, attempt, lease, unanswered
                     FROM queue WHERE id IN (
                         SELECT id FROM queue INDEXED BY queue_by_time
                         WHERE route = ?1 AND claimable_at <= ?2 AND expires_at <= ?3
                         ORDER BY claimable_at, id LIMIT ?4)",
                    params![route.as_str(), time(at), expired, size(limit)],
                    |c| entry(self, c),
                )?);
            }
        }
        found.sort_unstable_by_key(|entry| (entry.claimable_at, entry.message));
        found.truncate(limit);
        Ok(found)
    }

    /// The routes that messages wait for: a leap over the index for each.
    fn routes(&self) -> SqlResult<Vec<RouteName>> {
        let mut routes: Vec<RouteName> = Vec::new();
        loop {
            let after = routes.last().map_or("", RouteName::as_str);
            let next = self.one(
                if routes.is_empty() {
                    "SELECT route FROM queue INDEXED BY queue_by_time WHERE route >= ?1
                     ORDER BY route LIMIT 1"
                } else {
                    "SELECT route FROM queue INDEXED BY queue_by_time WHERE route > ?1
                     ORDER BY route LIMIT 1"
                },
                [after],
                |c| c.get::<String>(),
            )?;
            match next {
                Some(name) => routes.push(RouteName::new(name)),
                None => return Ok(routes),
            }
        }
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
        for route in self.routes()? {
            let first = self.one(
                "SELECT claimable_at FROM queue INDEXED BY queue_by_time WHERE route = ?1
                 ORDER BY claimable_at LIMIT 1",
                [route.as_str()],
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

fn entry(db: &Db, c: &mut Cols<'_>) -> SqlResult<QueueEntry> {
    Ok(QueueEntry {
        message: c.id()?,
        account: db.account_id(c.get()?)?,
        claimable_at: c.at()?,
        expires_at: c.at()?,
        attempt: c.count()?,
        lease: c.maybe_token()?,
        unanswered: c.count()?,
    })
}
