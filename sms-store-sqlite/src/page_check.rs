//! Reads all pages of a large file in the background once it is open. If one is damaged, nothing is
//! served any more.

use std::io;
use std::path::Path;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, OnceLock};
use std::thread::JoinHandle;

use crate::db::Db;
use crate::error::{SqlResult, Trouble};

/// What was found to be damaged, if anything was.
#[derive(Debug, Clone, Default)]
pub(crate) struct Damage(Arc<OnceLock<String>>);

impl Damage {
    /// Nothing is served from now on.
    pub(crate) fn found(&self, finding: String) {
        tracing::error!(
            %finding,
            "the file is damaged, so nothing is served from it: restore a backup"
        );
        // One finding is enough.
        let _ = self.0.set(finding);
    }

    /// Refuses commands once damage was found.
    pub(crate) fn check(&self) -> Result<(), Trouble> {
        match self.0.get() {
            None => Ok(()),
            Some(finding) => Err(Trouble::Damaged(finding.clone())),
        }
    }
}

/// The thread that reads. It ends early when this is dropped.
pub(crate) struct PageCheck {
    is_closing: Arc<AtomicBool>,
    thread: Option<JoinHandle<()>>,
}

/// After so many steps SQLite asks whether to go on.
const STEPS: i32 = 1_000;

impl PageCheck {
    /// Starts to read, on a connection that nothing else uses.
    pub(crate) fn start(db: Db, path: &Path, damage: Damage) -> io::Result<Self> {
        let is_closing = Arc::<AtomicBool>::default();
        let closing = Arc::clone(&is_closing);
        let thread = std::thread::Builder::new().name("sms-sqlite-check".to_owned());
        let path = path.to_owned();
        let thread = thread.spawn(move || match finding(&db, closing) {
            Ok(None) => tracing::debug!(path = %path.display(), "all pages were read"),
            Ok(Some(finding)) => damage.found(finding),
            Err(error) if Trouble::is_damage(&error) => damage.found(error.to_string()),
            Err(error) => tracing::debug!(%error, "the pages were not read to the end"),
        })?;
        Ok(Self { is_closing, thread: Some(thread) })
    }
}

impl Drop for PageCheck {
    fn drop(&mut self) {
        self.is_closing.store(true, Ordering::Relaxed);
        if let Some(thread) = self.thread.take() {
            let _ = thread.join();
        }
    }
}

/// The first damage that SQLite finds, unless the file is closed before.
fn finding(db: &Db, closing: Arc<AtomicBool>) -> SqlResult<Option<String>> {
    db.sql.progress_handler(STEPS, Some(move || closing.load(Ordering::Relaxed)))?;
    let found = db.one("PRAGMA quick_check(1)", [], |c| c.get::<String>())?;
    Ok(found.filter(|finding| finding != "ok"))
}
