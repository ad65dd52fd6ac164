//! What the audit reads: a database, or a file.

use sqlx::PgConnection;

use super::file::FileBooks;
use super::messages::{self, Text};
use super::rules::{self, Waiting};
use super::webhooks::{self, Webhooks};
use crate::rig::RigFailed;
use crate::rig::report::Violation;
use crate::rig::site::Site;

/// What the audit reads.
pub(in crate::rig) enum Books {
    Postgres(Box<PgConnection>),
    File(Box<FileBooks>),
}

impl Books {
    /// Opens those of a site, which its servers may use meanwhile.
    pub(in crate::rig) async fn open(site: &Site) -> Result<Self, RigFailed> {
        Ok(match site.file() {
            Some(file) => Self::File(Box::new(FileBooks::open(file)?)),
            None => Self::Postgres(Box::new(site.connect().await?)),
        })
    }

    /// Violations of the rules that hold at every moment.
    pub(in crate::rig) async fn always(&mut self) -> Result<Vec<Violation>, RigFailed> {
        match self {
            Self::Postgres(db) => rules::always(db).await,
            Self::File(file) => file.always(),
        }
    }

    /// Violations of the rules that hold once all work is done.
    pub(in crate::rig) async fn at_the_end(&mut self) -> Result<Vec<Violation>, RigFailed> {
        match self {
            Self::Postgres(db) => rules::at_the_end(db).await,
            Self::File(file) => file.at_the_end(),
        }
    }

    /// Transactions that are idle for longer than under normal load. The only writer of a file has
    /// none: its next command would fail.
    pub(in crate::rig) async fn stale_under_load(&mut self) -> Result<Vec<Violation>, RigFailed> {
        match self {
            Self::Postgres(db) => rules::stale_under_load(db).await,
            Self::File(_) => Ok(Vec::new()),
        }
    }

    /// Transactions that are open although no work is under way.
    pub(in crate::rig) async fn stale_at_rest(&mut self) -> Result<Vec<Violation>, RigFailed> {
        match self {
            Self::Postgres(db) => rules::stale_at_rest(db).await,
            Self::File(_) => Ok(Vec::new()),
        }
    }

    /// Counts the work that is left now.
    pub(in crate::rig) async fn waiting(&mut self) -> Result<Waiting, RigFailed> {
        match self {
            Self::Postgres(db) => rules::waiting(db).await,
            Self::File(file) => file.waiting(),
        }
    }

    /// All outbound messages.
    pub(in crate::rig) async fn messages(&mut self) -> Result<Vec<Text>, RigFailed> {
        match self {
            Self::Postgres(db) => messages::read(db).await,
            Self::File(file) => file.messages(),
        }
    }

    /// All endpoints and deliveries.
    pub(in crate::rig) async fn webhooks(&mut self) -> Result<Webhooks, RigFailed> {
        match self {
            Self::Postgres(db) => webhooks::read(db).await,
            Self::File(file) => file.webhooks(),
        }
    }
}
