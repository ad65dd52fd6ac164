//! Tells the workers of other programs over the same database that there is work for them.
//!
//! A service wakes its own workers at once and marks here what the others are to be told. The
//! workers' task sends one `NOTIFY` for all marks, at most every 20 ms: `NOTIFY` takes a lock that
//! commits of the whole database wait for, so it is kept rare, and out of every transaction that
//! does business. All others are woken; those that find nothing to claim sleep again. A wake-up is
//! a hint: polling finds what gets lost.

use std::convert::Infallible;
use std::fmt;
use std::io::ErrorKind;
use std::sync::atomic::{AtomicU8, Ordering};
use std::time::Duration;

use async_trait::async_trait;
use sms_core::service::{Wake, WakeOthers, Work};
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

/// Exchanges wake-ups with other programs over the same database.
///
/// ```no_run
/// # use std::sync::Arc;
/// # use sms_core::Sms;
/// # use sms_store_postgres::{PgStore, PgWake};
/// # fn build(store: PgStore) -> Sms {
/// let wake = Arc::new(PgWake::new(&store));
/// Sms::builder(Arc::new(store)).wake_others(wake).build()
/// # }
/// ```
///
/// `Workers::start` of `sms-workers` then runs [`Sms::listen_to_others`]; a program that drives its
/// loops by hand spawns that call.
///
/// [`Sms::listen_to_others`]: sms_core::Sms::listen_to_others
pub struct PgWake {
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
    /// Connects when [`listen`](WakeOthers::listen) runs.
    pub fn new(store: &PgStore) -> Self {
        let options = (*store.pool.connect_options()).clone().application_name(CHANNEL);
        Self { options, marked: AtomicU8::new(0), mark: Notify::new() }
    }

    async fn run(&self, local: &dyn Wake) -> Infallible {
        let mut pause = FIRST_PAUSE;
        loop {
            let Err(error) = self.attend(local, &mut pause).await;
            let cause = error.to_string();
            tracing::warn!(cause, "the line to other programs was lost; polling until it is back");
            sleep(pause).await;
            pause = (pause * 2).min(LONGEST_PAUSE);
        }
    }

    async fn attend(&self, local: &dyn Wake, pause: &mut Duration) -> PgResult<Infallible> {
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
            local.wake(work);
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
                        hear(local, &heard);
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
}

#[async_trait]
impl WakeOthers for PgWake {
    fn tell(&self, work: Work) {
        for (kind, _, bit) in KINDS {
            if kind == work && self.marked.fetch_or(bit, Ordering::AcqRel) & bit == 0 {
                self.mark.notify_one();
            }
        }
    }

    /// Tells others and listens to them, on a connection of its own. A lost one is made again, and
    /// `local` is woken for every kind then, as wake-ups may have been missed.
    async fn listen(&self, local: &dyn Wake) {
        match self.run(local).await {}
    }
}

impl fmt::Debug for PgWake {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("PgWake").finish_non_exhaustive()
    }
}

fn hear(local: &dyn Wake, heard: &PgNotification) {
    for (work, name, _) in KINDS {
        if heard.payload() == name {
            local.wake(work);
        }
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
