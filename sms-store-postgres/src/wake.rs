//! Tells the workers of other programs over the same database that there is work for them.
//!
//! A wake rings the program's own bell at once. A task then tells the others, with one `NOTIFY` for
//! all that was marked meanwhile, at most every 20 ms: `NOTIFY` takes a lock that commits of the
//! whole database wait for, so it is kept rare, and out of every transaction that does business.
//! All others are woken; those that find nothing to claim sleep again. It is a hint: what gets lost
//! is found by polling.

use std::convert::Infallible;
use std::fmt;
use std::io::ErrorKind;
use std::sync::Arc;
use std::sync::atomic::{AtomicU8, Ordering};
use std::time::Duration;

use sms_core::service::{Wake, Work};
use sqlx::postgres::{PgConnectOptions, PgListener, PgNotification, PgPoolOptions};
use tokio::sync::Notify;
use tokio::time::{Instant, MissedTickBehavior, interval, sleep, sleep_until, timeout};

use crate::PgStore;
use crate::error::{PgError, PgResult};

const CHANNEL: &str = "sms_work";
/// What a program tells that has just begun to listen.
const HELLO: &str = "hello";
/// The shortest time between two notifications of one program.
const TELL_EVERY: Duration = Duration::from_millis(20);
/// How often the connection is tried, and listeners are counted.
const CHECK_EVERY: Duration = Duration::from_secs(10);
/// The longest the database may take over it.
const PATIENCE: Duration = Duration::from_secs(5);
const FIRST_PAUSE: Duration = Duration::from_millis(100);
const LONGEST_PAUSE: Duration = Duration::from_secs(5);

/// Rent falls due by itself, and nobody is told of it.
const KINDS: [(Work, &str, u8); 3] = [
    (Work::Dispatch, "dispatch", 1),
    (Work::Webhooks, "webhooks", 2),
    (Work::FollowUps, "follow_ups", 4),
];

/// Wakes the workers of this program, and those of others over the same database.
///
/// ```no_run
/// # use std::sync::Arc;
/// # use sms_core::Sms;
/// # use sms_core::service::Wake;
/// # use sms_store_postgres::{PgStore, PgWake};
/// # fn start(store: PgStore, bells: Arc<dyn Wake>) {
/// let wake = Arc::new(PgWake::new(&store, bells));
/// let sms = Sms::builder(Arc::new(store)).wake(wake.clone()).build();
/// tokio::spawn(async move { wake.run().await });
/// # }
/// ```
pub struct PgWake {
    local: Arc<dyn Wake>,
    options: PgConnectOptions,
    /// The kinds that others are still to be told of.
    marked: AtomicU8,
    mark: Notify,
}

/// Whether anybody else listens.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Company {
    Nobody,
    Others,
}

impl PgWake {
    /// Rings `local` for what this program finds and, while [`run`](Self::run) runs, for what
    /// others find.
    pub fn new(store: &PgStore, local: Arc<dyn Wake>) -> Self {
        let options = (*store.pool.connect_options()).clone().application_name(CHANNEL);
        Self { local, options, marked: AtomicU8::new(0), mark: Notify::new() }
    }

    /// Tells others and listens to them, on a connection of its own. A lost one is made again, and
    /// all bells are rung then, for what may have been missed. Never returns; drop it to stop.
    pub async fn run(&self) -> Infallible {
        let mut pause = FIRST_PAUSE;
        loop {
            let Err(error) = self.attend(&mut pause).await;
            let cause = error.to_string();
            tracing::warn!(cause, "the line to other programs was lost; polling until it is back");
            sleep(pause).await;
            pause = (pause * 2).min(LONGEST_PAUSE);
        }
    }

    async fn attend(&self, pause: &mut Duration) -> PgResult<Infallible> {
        // A pool for each attempt: what becomes of the connection before must not be waited for.
        let pool = PgPoolOptions::new().max_connections(1).acquire_timeout(PATIENCE);
        let pool = pool.connect_with(self.options.clone()).await?;
        let mut line = PgListener::connect_with(&pool).await?;
        // A new connection is for `run` to make, which also rings for what was missed.
        line.eager_reconnect(false);
        patiently(line.listen(CHANNEL)).await?;
        let own = sqlx::query_scalar::<_, i32>("SELECT pg_backend_pid()");
        let own = patiently(own.fetch_one(&mut line)).await?;
        patiently(tell(&mut line, vec![HELLO])).await?;
        for (work, ..) in KINDS {
            self.local.wake(work);
        }
        *pause = FIRST_PAUSE;
        let mut company = patiently(count(&mut line)).await?;
        let mut may_tell_at = Instant::now();
        let mut checks = interval(CHECK_EVERY);
        checks.set_missed_tick_behavior(MissedTickBehavior::Delay);
        loop {
            tokio::select! {
                heard = line.try_recv() => {
                    let heard = heard?.ok_or_else(reset)?;
                    if own.cast_unsigned() != heard.process_id() {
                        company = Company::Others;
                        self.hear(&heard);
                    }
                }
                // With nobody to tell, marks stay until somebody says hello.
                () = self.something_to_tell(may_tell_at), if company == Company::Others => {
                    let marked = self.marked.swap(0, Ordering::AcqRel);
                    may_tell_at = Instant::now() + TELL_EVERY;
                    patiently(tell(&mut line, names(marked))).await?;
                }
                _ = checks.tick() => company = patiently(count(&mut line)).await?,
            }
        }
    }

    /// Resolves when something is marked, but not before `earliest`.
    async fn something_to_tell(&self, earliest: Instant) {
        while self.marked.load(Ordering::Acquire) == 0 {
            self.mark.notified().await;
        }
        sleep_until(earliest).await;
    }

    fn hear(&self, heard: &PgNotification) {
        for (work, name, _) in KINDS {
            if heard.payload() == name {
                self.local.wake(work);
            }
        }
    }
}

impl Wake for PgWake {
    fn wake(&self, work: Work) {
        self.local.wake(work);
        for (kind, _, bit) in KINDS {
            if kind == work && self.marked.fetch_or(bit, Ordering::AcqRel) & bit == 0 {
                self.mark.notify_one();
            }
        }
    }
}

impl fmt::Debug for PgWake {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("PgWake").field("local", &self.local).finish_non_exhaustive()
    }
}

fn names(marked: u8) -> Vec<&'static str> {
    KINDS.iter().filter(|(_, _, bit)| marked & bit != 0).map(|(_, name, _)| *name).collect()
}

/// One statement, and so one transaction, whatever the number of kinds.
async fn tell(line: &mut PgListener, kinds: Vec<&'static str>) -> PgResult<()> {
    let told = sqlx::query("SELECT pg_notify($1, kind) FROM unnest($2::text[]) AS kind");
    told.bind(CHANNEL).bind(kinds).execute(line).await?;
    Ok(())
}

/// Whether others listen. What this user may not see of others' connections counts as one that
/// does.
async fn count(line: &mut PgListener) -> PgResult<Company> {
    let others = sqlx::query_scalar::<_, bool>(
        "SELECT EXISTS (
             SELECT FROM pg_stat_activity
             WHERE datname = current_database() AND pid <> pg_backend_pid()
                 AND backend_type IS DISTINCT FROM 'autovacuum worker'
                 AND (application_name = $1 OR application_name IS NULL))",
    );
    let others = others.bind(CHANNEL).fetch_one(line).await?;
    Ok(if others { Company::Others } else { Company::Nobody })
}

fn reset() -> PgError {
    sqlx::Error::Io(ErrorKind::ConnectionReset.into()).into()
}

/// Waits for the database, but not for one that has gone without a word.
async fn patiently<T, E: Into<PgError>>(answer: impl Future<Output = Result<T, E>>) -> PgResult<T> {
    timeout(PATIENCE, answer).await.map_err(|_| PgError::Silent)?.map_err(Into::into)
}
