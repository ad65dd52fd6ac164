//! Putting a backup where no file is.

use std::fs;
use std::path::{Path, PathBuf};

use crate::maintenance::{MaintenanceError, check_pages};
use crate::open;

/// Puts a backup at `path`, which must not exist. The backup is checked first. `path` appears whole
/// or not at all.
///
/// # Errors
///
/// If there is a file at `path` or a program that uses it, if the backup is damaged or of another
/// program, or if it cannot be copied.
pub fn restore_file(backup: &Path, path: &Path) -> Result<(), MaintenanceError> {
    check_pages(backup)?;
    let _lock = open::lock(path)?;
    for file in [path.to_owned(), beside(path, "-wal")] {
        if file.exists() {
            return Err(MaintenanceError::Exists(file));
        }
    }
    let unfinished = beside(path, ".unfinished");
    let copied = copy_private(backup, &unfinished)
        .and_then(|()| fs::rename(&unfinished, path))
        .and_then(|()| open::sync_folder(path));
    copied.map_err(|source| {
        let _ = fs::remove_file(&unfinished);
        MaintenanceError::Files { path: path.to_owned(), source }
    })
}

/// Copies a file to one that only its owner can read, and syncs it.
fn copy_private(from: &Path, to: &Path) -> std::io::Result<()> {
    let mut from = fs::File::open(from)?;
    let mut to = open::private().truncate(true).open(to)?;
    std::io::copy(&mut from, &mut to)?;
    to.sync_all()
}

fn beside(path: &Path, ending: &str) -> PathBuf {
    let mut name = path.as_os_str().to_owned();
    name.push(ending);
    PathBuf::from(name)
}
