//! Putting a backup where no file is.

use std::fs::File;
use std::path::Path;

use crate::error::{Finding, MaintenanceError, OpenError};
use crate::new_file::{NewFile, is_there};
use crate::open::{self, beside};
use crate::rules;
use crate::seal::{Sealed, Unsealed};

/// What the name of the file ends with until it is whole and checked.
const UNFINISHED: &str = ".unfinished";

/// Puts a backup of [`backup_file`](crate::backup_file) at `path`, which must not exist. The copy
/// is compared with the backup's seal, and checked as [`check_file`](crate::check_file) does,
/// before it gets its name: `path` appears whole and in order, or not at all.
///
/// # Errors
///
/// If there is a file at `path` or a program that uses it; if the backup is not whole, is damaged,
/// breaks a rule, or is of another program or a newer version; or if it cannot be copied.
pub fn restore_file(backup: &Path, path: &Path) -> Result<(), MaintenanceError> {
    let sealed = open_sealed(backup)?;
    let _lock = open::lock(path)?;
    // SQLite would take what is left of another file for a part of this one.
    for file in ["", "-wal", "-shm", "-journal"].map(|ending| beside(path, ending)) {
        if is_there(&file) {
            return Err(MaintenanceError::Exists(file));
        }
    }
    let mut copy = NewFile::begin(path, UNFINISHED)?;
    sealed.copy_to(copy.file()).map_err(|unsealed| explain(backup, path, unsealed))?;
    let findings = findings(copy.path(), backup).map_err(|error| of_backup(backup, error))?;
    if !findings.is_empty() {
        return Err(MaintenanceError::NotInOrder { path: backup.to_owned(), findings });
    }
    copy.publish()
}

fn open_sealed(backup: &Path) -> Result<Sealed, MaintenanceError> {
    if !backup.is_file() {
        return Err(MaintenanceError::Missing(backup.to_owned()));
    }
    let file = File::open(backup).map_err(Unsealed::Unreadable);
    file.and_then(Sealed::of).map_err(|unsealed| explain(backup, backup, unsealed))
}

fn explain(backup: &Path, path: &Path, unsealed: Unsealed) -> MaintenanceError {
    let failed = |path: &Path, source| MaintenanceError::Files { path: path.to_owned(), source };
    match unsealed {
        Unsealed::NotWhole => MaintenanceError::NotWhole(backup.to_owned()),
        Unsealed::Changed => MaintenanceError::DamagedBackup {
            path: backup.to_owned(),
            finding: "it has another digest than when it was written".to_owned(),
        },
        Unsealed::Unreadable(source) => failed(backup, source),
        Unsealed::Unwritable(source) => failed(path, source),
    }
}

/// An error of the copy is one of the backup.
fn of_backup(backup: &Path, error: MaintenanceError) -> MaintenanceError {
    match error {
        MaintenanceError::Open(OpenError::Damaged { finding, .. }) => {
            MaintenanceError::DamagedBackup { path: backup.to_owned(), finding }
        }
        error => error,
    }
}

/// What is wrong with a copy. One with an older schema is checked as the next start will migrate
/// it, and stays as it is.
fn findings(copy: &Path, backup: &Path) -> Result<Vec<Finding>, MaintenanceError> {
    let of_sqlite = |source| open::explain(backup, source);
    let connection = open::connect(copy).map_err(of_sqlite)?;
    open::check_is_ours(backup, &connection)?;
    open::refuse_half_a_copy(backup, &connection)?;
    let pragmas = "PRAGMA journal_mode = MEMORY; PRAGMA trusted_schema = OFF; BEGIN IMMEDIATE;";
    connection.execute_batch(pragmas).map_err(of_sqlite)?;
    for migration in open::missing_migrations(backup, &connection)? {
        connection.execute_batch(migration).map_err(of_sqlite)?;
    }
    let findings = rules::findings(&connection)?;
    connection.execute_batch("ROLLBACK")?;
    Ok(findings)
}

#[cfg(test)]
mod tests {
    use std::path::PathBuf;

    use rusqlite::Connection;

    use super::*;
    use crate::SqliteStore;
    use crate::backup::backup_file;
    use crate::open::MIGRATIONS;

    /// A folder that is removed in the end.
    struct Folder(PathBuf);

    impl Drop for Folder {
        fn drop(&mut self) {
            let _ = std::fs::remove_dir_all(&self.0);
        }
    }

    #[test]
    fn a_backup_of_every_earlier_version_is_checked_and_restored() {
        let folder = Folder(std::env::temp_dir().join(format!("sms-old-{}", std::process::id())));
        for version in 1..MIGRATIONS.len() {
            let folder = folder.0.join(version.to_string());
            std::fs::create_dir_all(&folder).unwrap();
            let old = folder.join("old.db");
            let connection = Connection::open(&old).unwrap();
            for migration in &MIGRATIONS[..version] {
                connection.execute_batch(migration).unwrap();
            }
            let mark = format!(
                "PRAGMA application_id = {}; PRAGMA user_version = {version};",
                open::APPLICATION_ID
            );
            connection.execute_batch(&mark).unwrap();
            drop(connection);
            let (backup, path) = (folder.join("backup.db"), folder.join("sms.db"));
            backup_file(&old, &backup).unwrap();
            restore_file(&backup, &path).unwrap();
            let restored = Connection::open(&path).unwrap();
            let found: i64 =
                restored.pragma_query_value(None, "user_version", |row| row.get(0)).unwrap();
            assert_eq!(usize::try_from(found).unwrap(), version, "it stays as it is");
            drop(restored);
            SqliteStore::open(&path).unwrap();
        }
    }
}
