//! The environment of a scenario: what keeps the data, our servers, a folder.

use std::path::{Path, PathBuf};
use std::time::Duration;

use sms_test_postgres::{Disk, Durability, Server};
use sqlx::{Connection, PgConnection};
use tokio::time::{Instant, sleep};

use super::RigFailed;
use super::fleet::{Fleet, Network, Plan, Stored, now};
use super::report::Violation;

const DATABASE: &str = "sms_rig";
/// How long a new standby may take.
const SYNCHRONOUS: Duration = Duration::from_secs(30);
const LOOK: Duration = Duration::from_millis(100);

/// The store of the servers.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, clap::ValueEnum)]
pub enum StoreKind {
    /// PostgreSQL, for any number of servers.
    Postgres,
    /// One file, for one server.
    File,
}

/// What keeps the data.
#[derive(Debug)]
enum Data {
    Postgres(Box<Server>),
    /// The file in the servers' folder.
    File(PathBuf),
}

/// The environment of a scenario.
#[derive(Debug)]
pub(super) struct Site {
    data: Data,
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
        let postgres = Server::start(Durability::Full);
        postgres.create_database(DATABASE).await;
        Self::of(postgres, replicas, lease, network).await
    }

    /// Starts servers on this store: as many as asked for on a durable database, one on a file.
    pub(super) async fn prepare_store(
        store: StoreKind,
        replicas: usize,
        lease: Duration,
        network: Network,
    ) -> Result<Self, RigFailed> {
        match store {
            StoreKind::Postgres => Self::prepare(replicas, lease, network).await,
            StoreKind::File => {
                let folder = Self::folder()?;
                let data = folder.join("data");
                Self::on_file(folder, data, lease, network).await
            }
        }
    }

    /// Starts a server whose file is on a small disk.
    pub(super) async fn prepare_file_on(
        disk: &Disk,
        lease: Duration,
        network: Network,
    ) -> Result<Self, RigFailed> {
        Self::on_file(Self::folder()?, disk.folder().join("data"), lease, network).await
    }

    async fn on_file(
        folder: PathBuf,
        data: PathBuf,
        lease: Duration,
        network: Network,
    ) -> Result<Self, RigFailed> {
        let file = data.join("sms.db");
        let store = Stored::Folder(data);
        let plan = Plan { folder: folder.clone(), store, lease, network };
        let mut site = Self { data: Data::File(file), fleet: Fleet::new(plan), folder };
        site.add(1).await?;
        Ok(site)
    }

    /// A new folder for a run.
    fn folder() -> Result<PathBuf, RigFailed> {
        let folder = std::env::temp_dir().join(format!("sms-rig-{}-{}", std::process::id(), now()));
        std::fs::create_dir_all(&folder)?;
        Ok(folder)
    }

    /// Starts a durable database, with its tables and its log on small disks, and servers on it.
    pub(super) async fn prepare_on(
        tables: &Disk,
        log: &Disk,
        replicas: usize,
        lease: Duration,
        network: Network,
    ) -> Result<Self, RigFailed> {
        let postgres = Server::start(Durability::Full);
        postgres.move_log_to(log);
        postgres.create_database_on(tables, DATABASE).await;
        Self::of(postgres, replicas, lease, network).await
    }

    async fn of(
        postgres: Server,
        replicas: usize,
        lease: Duration,
        network: Network,
    ) -> Result<Self, RigFailed> {
        let folder = Self::folder()?;
        let store = Stored::Url(postgres.url(DATABASE));
        let plan = Plan { folder: folder.clone(), store, lease, network };
        let data = Data::Postgres(Box::new(postgres));
        let mut site = Self { data, fleet: Fleet::new(plan), folder };
        site.add(replicas).await?;
        Ok(site)
    }

    /// Starts a durable database with a synchronous standby, and servers that know both.
    pub(super) async fn prepare_pair(
        replicas: usize,
        lease: Duration,
        network: Network,
    ) -> Result<(Self, Pair), RigFailed> {
        let mut site = Self::prepare(0, lease, network).await?;
        let pair = Pair { standby: Some(site.postgres()?.standby()), gone: None };
        pair.wait(&site).await?;
        let ports = [site.postgres()?.port(), pair.standby.as_ref().map_or(0, Server::port)];
        let hosts = ports.map(|port| format!("127.0.0.1:{port}")).join(",");
        let parameters = "target_session_attrs=read-write";
        site.fleet.use_database(format!("postgres://postgres@{hosts}/{DATABASE}?{parameters}"));
        site.add(replicas).await?;
        Ok((site, pair))
    }

    async fn add(&mut self, replicas: usize) -> Result<(), RigFailed> {
        for _ in 0..replicas {
            self.fleet.add().await?;
        }
        Ok(())
    }

    /// The database server.
    pub(super) fn postgres(&self) -> Result<&Server, RigFailed> {
        match &self.data {
            Data::Postgres(server) => Ok(server),
            Data::File(_) => Err(RigFailed::NeedsPostgres),
        }
    }

    /// Opens a connection to the database for the rig.
    pub(super) async fn connect(&self) -> Result<PgConnection, RigFailed> {
        Ok(PgConnection::connect(&self.postgres()?.url(DATABASE)).await?)
    }

    /// The file, if the data is in one.
    pub(super) fn file(&self) -> Option<&Path> {
        match &self.data {
            Data::Postgres(_) => None,
            Data::File(file) => Some(file),
        }
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

/// The other server of a pair, whose primary is the site's.
#[derive(Debug)]
pub(super) struct Pair {
    standby: Option<Server>,
    /// The port of the primary before, which the next standby takes.
    gone: Option<u16>,
}

impl Pair {
    /// Promotes the standby. The primary must be gone, and its folder is removed.
    pub(super) fn promote(&mut self, site: &mut Site) -> Result<(), RigFailed> {
        if let Some(standby) = self.standby.take() {
            standby.promote();
            self.gone = Some(site.postgres()?.port());
            site.data = Data::Postgres(Box::new(standby));
        }
        Ok(())
    }

    /// Makes a new standby of the present primary.
    pub(super) async fn restore(&mut self, site: &Site) -> Result<(), RigFailed> {
        if let Some(port) = self.gone.take() {
            self.standby = Some(site.postgres()?.standby_at(port));
        }
        self.wait(site).await
    }

    /// From then on every commit waits for the standby.
    async fn wait(&self, site: &Site) -> Result<(), RigFailed> {
        site.postgres()?.set("synchronous_standby_names", "*").await;
        let mut db = site.connect().await?;
        let is_synchronous = comes_true(SYNCHRONOUS, async || {
            let states = sqlx::query_scalar::<_, bool>(
                "SELECT EXISTS (SELECT FROM pg_stat_replication WHERE sync_state = 'sync')",
            );
            Ok(states.fetch_one(&mut db).await?)
        });
        if is_synchronous.await? { Ok(()) } else { Err(RigFailed::Late("the standby")) }
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
