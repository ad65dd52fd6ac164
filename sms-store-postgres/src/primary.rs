//! Watches the host that takes writes, and finds it when the database has several: a primary and
//! its standbys.
//!
//! A task asks the present host every half second, on a separate connection. Once that host no
//! longer takes writes, or no longer answers, the task asks all of them in turn until one does. It
//! then points the pools there and retires the connections to the old host. Everything else takes
//! the host from the store's pool when it connects. A single host is only asked for a sign of life.
//!
//! When the present host is silent, the task ends the connections to it: as soon as another host
//! takes writes, and otherwise after some seconds.

use std::collections::BTreeSet;
use std::net::IpAddr;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use sqlx::postgres::PgConnectOptions;
use sqlx::{ConnectOptions, Connection, PgConnection, PgPool};
use tokio::task::{AbortHandle, spawn_blocking};
use tokio::time::{Instant, sleep};

use crate::error::{ConnectFailed, PgError, PgResult};
use crate::retired::retire_at_once;
use crate::silence::{addresses, end_connections};
use crate::wire::within;

/// How often the present host is asked.
const ASK_EVERY: Duration = Duration::from_millis(500);
/// How long a host may take to answer. A host that died silently takes all of it.
const PATIENCE: Duration = Duration::from_secs(2);
/// How long the present host may be silent before the connections to it are ended. New ones may
/// find it again.
const LONGEST_SILENCE: Duration = Duration::from_secs(8);
/// How long a store that connects waits for a host that takes writes.
const LONGEST_SEARCH: Duration = Duration::from_secs(10);

/// The hosts of a database.
pub(crate) struct Primary {
    shared: Arc<Shared>,
    watching: AbortHandle,
}

struct Shared {
    hosts: Vec<PgConnectOptions>,
    followers: Mutex<Vec<Follower>>,
}

/// A pool that connects to the host that takes writes.
struct Follower {
    pool: PgPool,
    adapt: Adapt,
}

/// Adds the settings that only the connections of this pool have.
pub(crate) type Adapt = fn(PgConnectOptions) -> PgConnectOptions;

/// The host that took writes when it was last asked.
pub(crate) struct Found {
    place: usize,
    /// The connection on which it is asked.
    line: Option<PgConnection>,
}

/// No host was found.
struct NotFound {
    /// The last error.
    error: PgError,
    present: Silence,
}

/// Whether the present host gave any answer.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Silence {
    Answers,
    Silent,
}

impl Silence {
    fn of(error: &PgError) -> Self {
        if matches!(error, PgError::Silent) { Self::Silent } else { Self::Answers }
    }
}

impl Found {
    /// How to connect to it.
    pub(crate) fn options(&self, hosts: &[PgConnectOptions]) -> PgConnectOptions {
        hosts[self.place].clone()
    }
}

/// The host to connect to. A single one is not asked whether it takes writes: it is used either
/// way.
pub(crate) async fn first(hosts: &[PgConnectOptions]) -> Result<Found, ConnectFailed> {
    if hosts.len() <= 1 {
        return Ok(Found { place: 0, line: None });
    }
    let deadline = Instant::now() + LONGEST_SEARCH;
    loop {
        match search(hosts, 0).await {
            Ok(found) => return Ok(found),
            Err(NotFound { error, .. }) if Instant::now() > deadline => {
                return Err(ConnectFailed::new(error));
            }
            Err(_) => sleep(ASK_EVERY).await,
        }
    }
}

/// Asks all hosts in turn, the present one first.
async fn search(hosts: &[PgConnectOptions], present: usize) -> Result<Found, NotFound> {
    let others = (0..hosts.len()).filter(|place| *place != present);
    let mut none = NotFound { error: PgError::ReadOnly, present: Silence::Answers };
    for place in std::iter::once(present).chain(others) {
        match within(PATIENCE, connect(hosts, place)).await {
            Ok(line) => return Ok(Found { place, line: Some(line) }),
            Err(error) => {
                if place == present {
                    none.present = Silence::of(&error);
                }
                none.error = error;
            }
        }
    }
    Err(none)
}

/// Connects to a host, if it takes writes or is the only one.
async fn connect(hosts: &[PgConnectOptions], place: usize) -> PgResult<PgConnection> {
    let mut line = hosts[place].connect().await?;
    ask(hosts, &mut line).await?;
    Ok(line)
}

/// Asks a host for what is expected of it: that it takes writes, or only a sign of life if there is
/// no other.
async fn ask(hosts: &[PgConnectOptions], line: &mut PgConnection) -> PgResult<()> {
    if hosts.len() > 1 { check_writable(line).await } else { Ok(line.ping().await?) }
}

/// Fails if the server takes no writes: it is a standby, is being promoted, or is read-only.
pub(crate) async fn check_writable(connection: &mut PgConnection) -> PgResult<()> {
    let takes_writes: bool = sqlx::query_scalar(
        "SELECT NOT pg_is_in_recovery() AND current_setting('transaction_read_only') = 'off'",
    )
    .fetch_one(connection)
    .await?;
    if takes_writes { Ok(()) } else { Err(PgError::ReadOnly) }
}

impl Primary {
    /// Watches the hosts, and points this pool to the one that takes writes.
    pub(crate) fn watch(hosts: Vec<PgConnectOptions>, found: Found, pool: &PgPool) -> Self {
        let shared = Arc::new(Shared { hosts, followers: Mutex::default() });
        shared.follow(pool, |options| options);
        let (watched, pool) = (Arc::clone(&shared), pool.clone());
        let watch = async move {
            // An error says that the pool is closed.
            let _ = pool.close_event().do_until(Box::pin(keep(&watched, found))).await;
        };
        let watching = tokio::spawn(watch).abort_handle();
        Self { shared, watching }
    }

    /// Points another pool there, too.
    pub(crate) fn follow(&self, pool: &PgPool, adapt: Adapt) {
        self.shared.follow(pool, adapt);
    }
}

impl Drop for Primary {
    fn drop(&mut self) {
        self.watching.abort();
    }
}

impl Shared {
    fn follow(&self, pool: &PgPool, adapt: Adapt) {
        let follower = Follower { pool: pool.clone(), adapt };
        self.followers.lock().unwrap_or_else(PoisonError::into_inner).push(follower);
    }

    fn point_to(&self, host: &PgConnectOptions) {
        for Follower { pool, adapt } in
            self.followers.lock().unwrap_or_else(PoisonError::into_inner).iter()
        {
            pool.set_connect_options(adapt(host.clone()));
        }
        retire_at_once();
        let (host, port) = (host.get_host(), host.get_port());
        tracing::warn!(host, port, "another host of the database accepts writes now; using it");
    }
}

/// Asks the present host again and again, and looks for another when it takes no writes.
async fn keep(shared: &Shared, mut found: Found) {
    let hosts = &shared.hosts;
    let mut is_lost = false;
    let mut heard = Instant::now();
    let mut reached = addresses(&hosts[found.place]).await;
    loop {
        sleep(ASK_EVERY).await;
        let mut present = Silence::Answers;
        if let Some(line) = &mut found.line {
            match within(PATIENCE, ask(hosts, line)).await {
                Ok(()) => {
                    heard = Instant::now();
                    continue;
                }
                // It broke, or its server takes no writes.
                Err(error) => present = Silence::of(&error),
            }
        }
        found.line = None;
        match search(hosts, found.place).await {
            Ok(next) => {
                if next.place != found.place {
                    shared.point_to(&hosts[next.place]);
                    if present == Silence::Silent || heard.elapsed() > PATIENCE {
                        end(&reached).await;
                    }
                }
                reached = addresses(&hosts[next.place]).await;
                (found, is_lost, heard) = (next, false, Instant::now());
            }
            Err(NotFound { error, present: again }) => {
                if present == Silence::Answers && again == Silence::Answers {
                    heard = Instant::now();
                }
                if heard.elapsed() > LONGEST_SILENCE {
                    end(&reached).await;
                }
                if !is_lost {
                    let cause = error.to_string();
                    tracing::warn!(
                        cause,
                        "the database accepts no writes; looking for another host"
                    );
                }
                is_lost = true;
            }
        }
    }
}

/// Ends the connections to a silent host.
async fn end(addresses: &BTreeSet<(IpAddr, u16)>) {
    let addresses = addresses.clone();
    let ended = spawn_blocking(move || end_connections(&addresses)).await.unwrap_or_default();
    if ended > 0 {
        tracing::warn!(connections = ended, "the database is silent; closed the connections to it");
    }
}
