//! Everything that a scenario stands on: a database server, servers of ours, a folder.

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

/// The ground of a scenario.
#[derive(Debug)]
pub(super) struct Site {
    pub(super) postgres: Server,
    pub(super) fleet: Fleet,
    pub(super) folder: PathBuf,
}

impl Site {
    /// A database that writes to disk, and so many servers on it.
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

    /// A connection of the rig's own.
    pub(super) async fn connect(&self) -> Result<PgConnection, RigFailed> {
        Ok(PgConnection::connect(&self.postgres.url(DATABASE)).await?)
    }

    /// What the servers' logs must not hold.
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

    /// Removes the folder; what is found broken keeps it.
    pub(super) fn clear(&self) -> Result<(), RigFailed> {
        Ok(std::fs::remove_dir_all(&self.folder)?)
    }
}

pub(super) fn name(path: &Path) -> String {
    path.file_name().unwrap_or_default().to_string_lossy().into_owned()
}

/// Asks again and again until it is so; says whether it came to be so in time.
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
