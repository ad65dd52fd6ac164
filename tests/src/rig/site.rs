//! The environment of a scenario: a PostgreSQL server, our servers, a folder.

use std::path::{Path, PathBuf};
use std::time::Duration;

use sms_test_postgres::{Durability, Server};
use sqlx::{Connection, PgConnection};
use tokio::time::{Instant, sleep};

use super::RigFailed;
use super::fleet::{Fleet, Network, Plan, now};
use super::report::Violation;

const DATABASE: &str = "sms_rig";
const LOOK: Duration = Duration::from_millis(100);

/// The environment of a scenario.
#[derive(Debug)]
pub(super) struct Site {
    pub(super) postgres: Server,
    pub(super) fleet: Fleet,
    pub(super) folder: PathBuf,
}

impl Site {
    /// Starts a durable database and servers on it.
    pub(super) async fn prepare(
        replicas: usize,
        lease: Duration,
        network: Network,
    ) -> Result<Self, RigFailed> {
        let folder = std::env::temp_dir().join(format!("sms-rig-{}-{}", std::process::id(), now()));
        std::fs::create_dir_all(&folder)?;
        let postgres = Server::start(Durability::Full);
        postgres.create_database(DATABASE).await;
        let database = postgres.url(DATABASE);
        let plan = Plan { folder: folder.clone(), database, lease, network };
        let mut site = Self { postgres, fleet: Fleet::new(plan), folder };
        for _ in 0..replicas {
            site.fleet.add().await?;
        }
        Ok(site)
    }

    /// Opens a connection for the rig.
    pub(super) async fn connect(&self) -> Result<PgConnection, RigFailed> {
        Ok(PgConnection::connect(&self.postgres.url(DATABASE)).await?)
    }

    /// Panics in the servers' logs.
    pub(super) fn panics(&self) -> Result<Vec<Violation>, RigFailed> {
        let mut found = Vec::new();
        for entry in std::fs::read_dir(&self.folder)? {
            let path = entry?.path();
            if name(&path).starts_with("log-") && std::fs::read_to_string(&path)?.contains("panick")
            {
                let log = path.display().to_string();
                found.push(Violation::new("nothing panics", log));
            }
        }
        Ok(found)
    }

    /// Removes the folder. After a violation it is kept instead.
    pub(super) fn clear(&self) -> Result<(), RigFailed> {
        Ok(std::fs::remove_dir_all(&self.folder)?)
    }
}

pub(super) fn name(path: &Path) -> String {
    path.file_name().unwrap_or_default().to_string_lossy().into_owned()
}

/// Polls until the condition holds. Returns whether it did in time.
pub(super) async fn comes_true<F>(bound: Duration, mut is_so: F) -> Result<bool, RigFailed>
where
    F: AsyncFnMut() -> Result<bool, RigFailed>,
{
    let deadline = Instant::now() + bound;
    loop {
        if is_so().await? {
            return Ok(true);
        }
        if Instant::now() > deadline {
            return Ok(false);
        }
        sleep(LOOK).await;
    }
}
