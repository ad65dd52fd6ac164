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
    Ok(surplus(db)? > 0)
}

/// Gives pages back for a few milliseconds, within a transaction. Returns whether there are more.
pub(crate) fn give_back(db: &Db) -> SqlResult<bool> {
    let began = Instant::now();
    let mut left = surplus(db)?;
    while left > 0 {
        if began.elapsed() >= PORTION {
            return Ok(true);
        }
        // Each row that it returns is a page given back.
        db.all(&format!("PRAGMA incremental_vacuum({PAGES})"), [], |_| Ok(()))?;
        let before = std::mem::replace(&mut left, surplus(db)?);
        if left >= before {
            // A file that was made without this ability keeps its free pages.
            return Ok(false);
        }
    }
    Ok(false)
}

/// How many free pages there are beyond those that are kept.
fn surplus(db: &Db) -> SqlResult<i64> {
    let pages = count(db, "PRAGMA page_count")?;
    Ok(count(db, "PRAGMA freelist_count")? - KEPT.max(pages / 16))
}

fn count(db: &Db, pragma: &str) -> SqlResult<i64> {
    Ok(db.one(pragma, [], |c| c.get())?.unwrap_or_default())
}
