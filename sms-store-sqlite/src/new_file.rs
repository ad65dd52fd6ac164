//! A file that appears under its name whole or not at all.

use std::fs::{self, File, OpenOptions, TryLockError};
use std::io::{self, ErrorKind};
use std::path::{Path, PathBuf};

use crate::error::MaintenanceError;
use crate::open::{self, beside};

/// A file that is being written under another name, which it loses when it is whole. It is locked
/// meanwhile, so what a killed program left can be told from what another one is writing. It is
/// removed when this is dropped before it is whole.
pub(crate) struct NewFile {
    file: File,
    /// Its name until it is whole.
    path: PathBuf,
    to: PathBuf,
}

impl NewFile {
    /// Begins a file that only its owner can read. Until it is whole, its name has this ending.
    pub(crate) fn begin(to: &Path, ending: &str) -> Result<Self, MaintenanceError> {
        if is_there(to) {
            return Err(MaintenanceError::Exists(to.to_owned()));
        }
        let path = beside(to, ending);
        let failed = |source: io::Error| match source.kind() {
            ErrorKind::AlreadyExists | ErrorKind::WouldBlock => {
                MaintenanceError::UnderWay(path.clone())
            }
            _ => MaintenanceError::Files { path: path.clone(), source },
        };
        let left = remove_left(&path).map_err(failed)?;
        let mut options = open::private();
        // It is never a file that is there, nor one to which a link leads.
        let file = options.create_new(true).open(&path).map_err(failed)?;
        lock(&file).map_err(failed)?;
        drop(left);
        Ok(Self { file, path, to: to.to_owned() })
    }

    pub(crate) fn path(&self) -> &Path {
        &self.path
    }

    pub(crate) fn file(&mut self) -> &mut File {
        &mut self.file
    }

    /// Gives the file its name, once it is on disk. It never replaces a file.
    pub(crate) fn publish(self) -> Result<(), MaintenanceError> {
        let failed = |source: io::Error| match source.kind() {
            ErrorKind::AlreadyExists => MaintenanceError::Exists(self.to.clone()),
            _ => MaintenanceError::Files { path: self.to.clone(), source },
        };
        self.file.sync_all().map_err(failed)?;
        give_name(&self.path, &self.to).map_err(failed)?;
        open::sync_folder(&self.to).map_err(failed)
    }
}

impl Drop for NewFile {
    fn drop(&mut self) {
        // If the file is whole, it has another name by now.
        let _ = fs::remove_file(&self.path);
    }
}

/// Removes what a killed program left under this name. Returns its lock, which keeps others out
/// until the next file is there.
fn remove_left(path: &Path) -> io::Result<Option<File>> {
    let about = match fs::symlink_metadata(path) {
        Ok(about) => about,
        Err(error) if error.kind() == ErrorKind::NotFound => return Ok(None),
        Err(error) => return Err(error),
    };
    if !about.is_file() {
        // Something else, such as a link: it is not followed.
        fs::remove_file(path)?;
        return Ok(None);
    }
    let left = OpenOptions::new().read(true).open(path)?;
    lock(&left)?;
    if !open::is_at(&left, path) {
        return Err(ErrorKind::WouldBlock.into());
    }
    // Only the name goes: it may be another name of a file that is whole.
    fs::remove_file(path)?;
    Ok(Some(left))
}

/// Locks a file, where the file system can.
fn lock(file: &File) -> io::Result<()> {
    match file.try_lock() {
        Err(TryLockError::WouldBlock) => Err(ErrorKind::WouldBlock.into()),
        Ok(()) | Err(TryLockError::Error(_)) => Ok(()),
    }
}

/// Renames a file, unless there is one with the new name.
fn give_name(from: &Path, to: &Path) -> io::Result<()> {
    match fs::hard_link(from, to) {
        Ok(()) => fs::remove_file(from),
        Err(error) if error.kind() == ErrorKind::AlreadyExists => Err(error),
        // Not every file system has links.
        Err(_) if is_there(to) => Err(ErrorKind::AlreadyExists.into()),
        Err(_) => fs::rename(from, to),
    }
}

/// Whether there is anything with this name, a link that leads nowhere included.
pub(crate) fn is_there(path: &Path) -> bool {
    fs::symlink_metadata(path).is_ok()
}
