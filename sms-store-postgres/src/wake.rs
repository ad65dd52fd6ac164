//! Wakes the workers of other programs that use the same database.
//!
//! A service wakes its own workers at once, and marks here which kinds of work to announce to
//! others. One task sends one `NOTIFY` for all marks, at most every 20 ms. `NOTIFY` takes a lock
//! that commits of the whole database wait for, so it must be rare and stay out of business
//! transactions. It wakes all other programs; those that find nothing to claim sleep again. A
//! wake-up is only a hint: if one is lost, polling finds the work.

use std::convert::Infallible;
use std::fmt;
use std::io::ErrorKind;
use std::sync::atomic::{AtomicU8, Ordering};
use std::time::Duration;

use async_trait::async_trait;
use sms_core::service::{Wake, WakeOthers, Work};
use sqlx::PgPool;
use sqlx::postgres::{PgListener, PgNotification, PgPoolOptions};
use tokio::sync::Notify;
use tokio::time::{Instant, MissedTickBehavior, interval, sleep, sleep_until, timeout};

use crate::PgStore;
use crate::error::{PgError, PgResult};
use crate::retired::is_retired;

const CHANNEL: &str = "sms_work";
/// What a program announces when it begins to listen.
const HELLO: &str = "hello";
/// The shortest time between two notifications of one program.
const TELL_EVERY: Duration = Duration::from_millis(20);
/// How often the connection is checked and listeners are counted.
const CHECK_EVERY: Duration = Duration::from_secs(10);
/// How long the database may take to answer.
const PATIENCE: Duration = Duration::from_secs(5);
const FIRST_PAUSE: Duration = Duration::from_millis(100);
const LONGEST_PAUSE: Duration = Duration::from_secs(5);

/// Rent has no wake-up: it falls due with time, not through an event.
const KINDS: [(Work, &str, u8); 3] = [
    (Work::Dispatch, "dispatch", 1),
    (Work::Webhooks, "webhooks", 2),
    (Work::FollowUps, "follow_ups", 4),
];

/// Exchanges wake-ups with other programs that use the same database.
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
    /// The store's pool, which knows how to connect.
    pool: PgPool,
    /// The kinds of work still to be announced to others.
    marked: AtomicU8,
    mark: Notify,
}

/// Whether other programs listen.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Company {
    Nobody,
    Others,
}

impl PgWake {
    /// Connects when [`listen`](WakeOthers::listen) runs.
    pub fn new(store: &PgStore) -> Self {
        let pool = store.pool.clone();
        Self { pool, marked: AtomicU8::new(0), mark: Notify::new() }
    }

    async fn run(&self, local: &dyn Wake) -> Infallible {
        let mut pause = FIRST_PAUSE;
        loop {
            let Err(error) = self.attend(local, &mut pause).await;
            let cause = error.to_string();
            tracing::warn!(
                cause,
                "lost the connection that exchanges wake-ups; polling until it is back"
            );
            sleep(pause).await;
            pause = (pause * 2).min(LONGEST_PAUSE);
        }
    }

    async fn attend(&self, local: &dyn Wake, pause: &mut Duration) -> PgResult<Infallible> {
        // A new pool for each attempt, so that it never waits for the previous connection.
        let opened = Instant::now();
        let options = (*self.pool.connect_options()).clone().application_name(CHANNEL);
        let pool = PgPoolOptions::new().max_connections(1).acquire_timeout(PATIENCE);
        let pool = pool.connect_with(options).await?;
        let mut line = PgListener::connect_with(&pool).await?;
        // `run` reconnects, and then wakes the workers for what was missed.
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
                // Without listeners, marks stay until a program says hello.
                () = self.something_to_tell(may_tell_at), if company == Company::Others => {
                    let marked = self.marked.swap(0, Ordering::AcqRel);
                    may_tell_at = Instant::now() + TELL_EVERY;
                    patiently(tell(&mut line, names(marked))).await?;
                }
                _ = checks.tick() => {
                    if is_retired(opened.elapsed()) {
                        return Err(PgError::ReadOnly);
                    }
                    company = patiently(count(&mut line)).await?;
                }
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

    /// Announces work to others and listens to them, on a separate connection. After a lost
    /// connection it reconnects and wakes `local` for every kind, because it may have missed
    /// wake-ups.
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

/// Announces any number of kinds in one statement, and so in one transaction.
async fn tell(line: &mut PgListener, kinds: Vec<&'static str>) -> PgResult<()> {
    let told = sqlx::query("SELECT pg_notify($1, kind) FROM unnest($2::text[]) AS kind");
    told.bind(CHANNEL).bind(kinds).execute(line).await?;
    Ok(())
}

/// Whether others listen. A connection whose details this user may not see counts as a listener.
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

/// Waits for an answer, but not longer than [`PATIENCE`].
async fn patiently<T, E: Into<PgError>>(answer: impl Future<Output = Result<T, E>>) -> PgResult<T> {
    timeout(PATIENCE, answer).await.map_err(|_| PgError::Silent)?.map_err(Into::into)
}
