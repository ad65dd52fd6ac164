//! Work that a command leaves for later: rows of deleted lists and endpoints, deliveries that are
//! given up, what launches did not finish, and free pages. The writer does a portion after a
//! commit, and whenever nothing else waits.

use std::time::{Duration, Instant};

use crate::db::Db;
use crate::error::SqlResult;
use crate::{giving_up, launching, space};

/// How long a portion may take; everybody waits for it.
const PORTION: Duration = Duration::from_millis(3);
/// How many rows are removed between two looks at the clock.
const ROWS: i64 = 100;

/// Whether commands wait for the writer.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Moment {
    /// Some may wait: only what has to be done is done.
    Busy,
    /// None does.
    Idle,
}

impl Db {
    /// Notes that tidying has removed so many rows, whose pages may be given back.
    pub(crate) fn note_tidied(&self, rows: usize) -> usize {
        if rows > 0 {
            self.has_chores.set(true);
        }
        rows
    }

    /// Notes that the rows of a deleted list or endpoint have to be removed.
    pub(crate) fn note_gone(&self, id: [u8; 16]) -> SqlResult<()> {
        self.run("INSERT OR IGNORE INTO gone (id) VALUES (?1)", [id])?;
        self.has_chores.set(true);
        Ok(())
    }
}

/// Does a portion of what was left, within a transaction. Returns whether there is more.
pub(crate) fn portion(db: &Db, moment: Moment) -> SqlResult<bool> {
    if remove_gone(db)? || giving_up::portion(db)? {
        return Ok(true);
    }
    let query = "SELECT batch_id, state FROM launching WHERE state <> 0 LIMIT 1";
    match db.one(query, [], |c| Ok((c.id()?, c.get::<i64>()?)))? {
        Some((batch, 1)) => launching::enqueue(db, batch)?,
        Some((batch, _)) => launching::remove(db, batch)?,
        None => {
            return match moment {
                Moment::Busy => space::is_needed(db),
                Moment::Idle => space::give_back(db),
            };
        }
    };
    Ok(true)
}

/// Removes rows of deleted lists and endpoints. Returns whether it found any.
fn remove_gone(db: &Db) -> SqlResult<bool> {
    let began = Instant::now();
    while began.elapsed() < PORTION {
        let gone = db.one("SELECT id FROM gone LIMIT 1", [], |c| c.get::<[u8; 16]>())?;
        let Some(id) = gone else { return Ok(false) };
        let members = db.run(
            "DELETE FROM list_member WHERE list_id = ?1 AND contact_id IN (
                 SELECT contact_id FROM list_member WHERE list_id = ?1 LIMIT ?2)",
            rusqlite::params![id, ROWS],
        )?;
        let deliveries = db.run(
            "DELETE FROM delivery WHERE no IN (
                 SELECT no FROM delivery INDEXED BY delivery_by_endpoint
                 WHERE endpoint_id = ?1 LIMIT ?2)",
            rusqlite::params![id, ROWS],
        )?;
        if members + deliveries == 0 {
            db.run("DELETE FROM gone WHERE id = ?1", [id])?;
        }
    }
    Ok(true)
}
