//! Work that a command leaves for later: rows of deleted lists and endpoints. The writer does a
//! portion after a commit, and whenever nothing else waits.

use std::time::{Duration, Instant};

use crate::db::Db;
use crate::error::SqlResult;

/// How long a portion may take; everybody waits for it.
const PORTION: Duration = Duration::from_millis(3);
/// How many rows are removed between two looks at the clock.
const ROWS: i64 = 100;

impl Db {
    /// Notes that the rows of a deleted list or endpoint have to be removed.
    pub(crate) fn note_gone(&self, id: [u8; 16]) -> SqlResult<()> {
        self.run("INSERT OR IGNORE INTO gone (id) VALUES (?1)", [id])?;
        self.has_chores.set(true);
        Ok(())
    }
}

/// Does a portion of what was left, within a transaction. Returns whether there is more.
pub(crate) fn portion(db: &Db) -> SqlResult<bool> {
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
