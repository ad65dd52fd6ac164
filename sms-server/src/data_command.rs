//! The commands of the server binary that work on the stored data themselves, without a server.

use std::path::{Path, PathBuf};

use sms_store_postgres::{ConnectFailed, PgSettings, PgStore};
use sms_store_sqlite::MaintenanceError;

use crate::copy_command::{self, CopyCommandFailed};
use crate::data_dir::DataDir;
use crate::secrets::Hidden;
use crate::settings::{Keeping, Settings};

/// A command on the stored data.
#[derive(Debug)]
pub enum DataCommand {
    /// Apply the pending migrations of the database.
    Migrate,
    /// Copy the file store to this file.
    Backup(PathBuf),
    /// Put this backup into the folder of the file store.
    Restore(PathBuf),
    /// Copy everything from one store to another.
    Copy {
        /// What to copy, as given in the arguments.
        from: Option<Hidden>,
        /// Where to, as given in the arguments.
        to: Option<Hidden>,
    },
    /// Check the file store.
    Check,
}

/// Why such a command failed.
#[derive(Debug, thiserror::Error)]
pub enum DataCommandFailed {
    /// No database is given.
    #[error("DATABASE_URL is missing: set it, or DATABASE_URL_FILE")]
    NoDatabase,
    /// The data is not in a file.
    #[error(
        "this command is for the file store in SMS_DATA_DIR: unset DATABASE_URL and SMS_STORE, or \
         use PostgreSQL's own tools, such as pg_dump"
    )]
    NoFile,
    /// The database could not be reached or prepared.
    #[error("the database of DATABASE_URL cannot be used: {0}")]
    Database(#[from] ConnectFailed),
    /// The file could not be copied or read.
    #[error(transparent)]
    File(#[from] MaintenanceError),
    /// The data could not be copied to another store.
    #[error(transparent)]
    Copy(#[from] CopyCommandFailed),
    /// The check found something.
    #[error("{} is not in order:\n{}", .file.display(), .findings.join("\n"))]
    NotInOrder {
        /// The file.
        file: PathBuf,
        /// What is wrong, one line each.
        findings: Vec<String>,
    },
    /// The command panicked.
    #[error("the command panicked; see the log")]
    Panicked,
}

/// Runs the command, and returns what to tell the operator.
///
/// # Errors
///
/// If the data is somewhere else or cannot be used, or if a check finds something.
pub async fn run(command: DataCommand, settings: &Settings) -> Result<String, DataCommandFailed> {
    let command = match command {
        DataCommand::Migrate => return migrate(settings).await,
        DataCommand::Copy { from, to } => {
            let (from, to) = (copy_command::FROM.address(from)?, copy_command::TO.address(to)?);
            return Ok(copy_command::run(&from, &to).await?);
        }
        DataCommand::Backup(copy) => FileCommand::Backup(copy),
        DataCommand::Restore(backup) => FileCommand::Restore(backup),
        DataCommand::Check => FileCommand::Check,
    };
    let Keeping::File(DataDir(folder)) = settings.keeping() else {
        return Err(DataCommandFailed::NoFile);
    };
    let file = DataDir(folder).database();
    let work = tokio::task::spawn_blocking(move || on_file(&command, &file));
    work.await.map_err(|_| DataCommandFailed::Panicked)?
}

async fn migrate(settings: &Settings) -> Result<String, DataCommandFailed> {
    let url = settings.database().ok_or(DataCommandFailed::NoDatabase)?;
    let store = PgStore::connect(url, PgSettings { connections: 1 }).await?;
    store.migrate().await?;
    store.close().await;
    Ok("the database schema is up to date".to_owned())
}

/// A command on the file store.
enum FileCommand {
    Backup(PathBuf),
    Restore(PathBuf),
    Check,
}

fn on_file(command: &FileCommand, file: &Path) -> Result<String, DataCommandFailed> {
    match command {
        FileCommand::Backup(copy) => {
            sms_store_sqlite::backup_file(file, copy)?;
            Ok(format!("{} is a backup of {}", copy.display(), file.display()))
        }
        FileCommand::Restore(backup) => {
            sms_store_sqlite::restore_file(backup, file)?;
            Ok(format!("{} is restored from {}", file.display(), backup.display()))
        }
        FileCommand::Check => {
            let findings = sms_store_sqlite::check_file(file)?;
            if findings.is_empty() {
                Ok(format!("{} is in order", file.display()))
            } else {
                let findings = findings.iter().map(ToString::to_string).collect();
                Err(DataCommandFailed::NotInOrder { file: file.to_owned(), findings })
            }
        }
    }
}
