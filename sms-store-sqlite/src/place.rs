//! Whether the files that a store has open are still at their places. A program may go on writing
//! to a file that was moved, replaced or deleted, but the next start does not find what it wrote.

use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use rusqlite::Connection;

use crate::error::FileMoved;
use crate::open::{FileId, beside};

/// The files of a store, as they were when it was opened.
#[derive(Debug, Clone)]
pub(crate) struct Place(Arc<Inner>);

#[derive(Debug)]
struct Inner {
    files: Vec<(PathBuf, FileId)>,
    /// Whether it was logged that one is gone.
    is_logged: AtomicBool,
}

impl Place {
    /// The file that this connection has open, and its log. The log stays for as long as the file
    /// is open.
    pub(crate) fn of(path: &Path, connection: &Connection) -> Self {
        // SQLite follows links, and keeps the log beside the file to which they lead.
        let real = connection.path().map_or_else(|| path.to_owned(), PathBuf::from);
        let known = |path: PathBuf| Some((FileId::at(&path)?, path));
        let files = [path.to_owned(), beside(&real, "-wal")].into_iter().filter_map(known);
        let files = files.map(|(id, path)| (path, id)).collect();
        Self(Arc::new(Inner { files, is_logged: AtomicBool::new(false) }))
    }

    /// Refuses commands while a file is not at its place.
    pub(crate) fn check(&self) -> Result<(), FileMoved> {
        let Inner { files, is_logged } = &*self.0;
        let gone = files.iter().find(|(path, id)| FileId::at(path).as_ref() != Some(id));
        match gone {
            None => {
                is_logged.store(false, Ordering::Relaxed);
                Ok(())
            }
            Some((path, _)) => {
                if !is_logged.swap(true, Ordering::Relaxed) {
                    tracing::error!(path = %path.display(), "{FileMoved}");
                }
                Err(FileMoved)
            }
        }
    }
}
