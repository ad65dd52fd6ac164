//! Gives pages that tidying has freed back to the file system, a few at a time, while nothing else
//! waits for the writer.

use std::time::{Duration, Instant};

use crate::db::Db;
use crate::error::SqlResult;

/// How long a portion may take; a command that comes meanwhile waits for it.
const PORTION: Duration = Duration::from_millis(3);
/// How many pages are given back between two looks at the clock.
const PAGES: u32 = 32;
/// At least so many free pages are kept, and a sixteenth of the file: they will be used again.
const KEPT: i64 = 256;

/// Whether there are more free pages than are kept.
pub(crate) fn is_needed(db: &Db) -> SqlResult<bool> {
    let count = |pragma: &str| -> SqlResult<i64> {
        let found = db.one(pragma, [], |c| c.get::<i64>())?;
        Ok(found.unwrap_or_default())
    };
    let pages = count("PRAGMA page_count")?;
    Ok(count("PRAGMA freelist_count")? > KEPT.max(pages / 16))
}

/// Gives pages back for a few milliseconds, within a transaction. Returns whether there are more.
pub(crate) fn give_back(db: &Db) -> SqlResult<bool> {
    let began = Instant::now();
    while is_needed(db)? {
        if began.elapsed() >= PORTION {
            return Ok(true);
        }
        db.sql.execute_batch(&format!("PRAGMA incremental_vacuum({PAGES})"))?;
    }
    Ok(false)
}
