//! Writing a backup.

use std::path::Path;

use rusqlite::Connection;

use crate::error::MaintenanceError;
use crate::new_file::NewFile;
use crate::{open, seal};

/// What the name of a backup ends with until it is whole.
const UNFINISHED: &str = ".part";

/// Writes a consistent copy of the file at `from` to a new file, also while another program serves
/// from it. `to` appears once the copy is whole and on disk; until then its name ends in `.part`.
/// It ends with a seal: a digest of what it holds.
///
/// # Errors
///
/// If there is no such file, if it holds only a part of a copy, or if `to` exists or cannot be
/// written.
pub fn backup_file(from: &Path, to: &Path) -> Result<(), MaintenanceError> {
    copy(&open::to_care(from)?, from, to)
}

/// Writes what this connection to `from` reads, as [`backup_file`] does.
pub(crate) fn copy(
    connection: &Connection,
    from: &Path,
    to: &Path,
) -> Result<(), MaintenanceError> {
    open::refuse_half_a_copy(from, connection)?;
    let mut copy = NewFile::begin(to, UNFINISHED)?;
    let failed = |source| MaintenanceError::Files { path: to.to_owned(), source };
    let name = copy.path().to_str().ok_or(std::io::ErrorKind::InvalidFilename);
    let name = name.map_err(|kind| failed(kind.into()))?.to_owned();
    connection.execute("VACUUM INTO ?1", [name])?;
    seal::put(copy.file()).map_err(failed)?;
    copy.publish()
}
