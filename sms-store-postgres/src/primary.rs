//! Finds the host that takes writes, when the database has several: a primary and its standbys.
//!
//! A task asks the present host every half second, on a connection of its own. Once that host no
//! longer takes writes, or no longer answers, the task asks all of them in turn until one does. It
//! then points the pools there and retires the connections to the old host. Everything else takes
//! the host from the store's pool when it connects.

use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use sqlx::postgres::PgConnectOptions;
use sqlx::{ConnectOptions, PgConnection, PgPool};
use tokio::task::AbortHandle;
use tokio::time::{Instant, sleep, timeout};

use crate::error::{ConnectFailed, PgError, PgResult};
use crate::retired::retire_at_once;

/// How often the present host is asked.
const ASK_EVERY: Duration = Duration::from_millis(500);
/// How long a host may take to answer. A host that died silently takes all of it.
const PATIENCE: Duration = Duration::from_secs(2);
/// How long a store that connects waits for a host that takes writes.
const LONGEST_SEARCH: Duration = Duration::from_secs(10);

/// The hosts of a database.
pub(crate) struct Primary {
    shared: Arc<Shared>,
    watching: Option<AbortHandle>,
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

/// Adds what one pool's connections have besides.
pub(crate) type Adapt = fn(PgConnectOptions) -> PgConnectOptions;

/// The host that took writes when it was last asked.
pub(crate) struct Found {
    place: usize,
    /// The connection on which it is asked, if it is one of several.
    line: Option<PgConnection>,
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
            Err(error) if Instant::now() > deadline => return Err(ConnectFailed::new(error)),
            Err(_) => sleep(ASK_EVERY).await,
        }
    }
}

/// Asks all hosts in turn, the present one first. Returns the last error if none takes writes.
async fn search(hosts: &[PgConnectOptions], present: usize) -> PgResult<Found> {
    let others = (0..hosts.len()).filter(|place| *place != present);
    let mut last = PgError::ReadOnly;
    for place in std::iter::once(present).chain(others) {
        match timeout(PATIENCE, connect(&hosts[place])).await {
            Ok(Ok(line)) => return Ok(Found { place, line: Some(line) }),
            Ok(Err(error)) => last = error,
            Err(_) => last = PgError::Silent,
        }
    }
    Err(last)
}

/// Connects to a host if it takes writes.
async fn connect(host: &PgConnectOptions) -> PgResult<PgConnection> {
    let mut line = host.connect().await?;
    check_writable(&mut line).await?;
    Ok(line)
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
    /// Watches the hosts, if there are several, and points this pool to the one that takes writes.
    pub(crate) fn watch(hosts: Vec<PgConnectOptions>, found: Found, pool: &PgPool) -> Self {
        let is_several = hosts.len() > 1;
        let shared = Arc::new(Shared { hosts, followers: Mutex::default() });
        shared.follow(pool, |options| options);
        let watch = is_several.then(|| keep(Arc::clone(&shared), found, pool.clone()));
        let watching = watch.map(|watch| tokio::spawn(watch).abort_handle());
        Self { shared, watching }
    }

    /// Points another pool there, too.
    pub(crate) fn follow(&self, pool: &PgPool, adapt: Adapt) {
        if self.watching.is_some() {
            self.shared.follow(pool, adapt);
        }
    }
}

impl Drop for Primary {
    fn drop(&mut self) {
        if let Some(watching) = &self.watching {
            watching.abort();
        }
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
        tracing::warn!(host, port, "another host of the database takes writes now; using it");
    }
}

/// Asks the present host again and again, and looks for another when it takes no writes.
async fn keep(shared: Arc<Shared>, mut found: Found, pool: PgPool) {
    let mut is_lost = false;
    while !pool.is_closed() {
        sleep(ASK_EVERY).await;
        if let Some(line) = &mut found.line
            && matches!(timeout(PATIENCE, check_writable(line)).await, Ok(Ok(())))
        {
            continue;
        }
        // It broke, or its server takes no writes.
        found.line = None;
        match search(&shared.hosts, found.place).await {
            Ok(next) => {
                if next.place != found.place {
                    shared.point_to(&shared.hosts[next.place]);
                }
                found = next;
                is_lost = false;
            }
            Err(error) => {
                if !is_lost {
                    let cause = error.to_string();
                    tracing::warn!(cause, "no host of the database takes writes; looking for one");
                }
                is_lost = true;
            }
        }
    }
}
