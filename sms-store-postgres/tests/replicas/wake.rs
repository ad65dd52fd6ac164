//! Wake-ups reach the other programs.

use std::sync::Arc;
use std::time::Instant;

use sms_core::service::{Wake, WakeOthers, Work};
use sms_store_postgres::{PgStore, PgWake};
use tokio::sync::mpsc::{UnboundedReceiver, UnboundedSender, unbounded_channel};
use tokio::task::JoinHandle;

use crate::{Database, bounded};

#[derive(Debug)]
struct Bells(UnboundedSender<Work>);

impl Wake for Bells {
    fn wake(&self, work: Work) {
        let _ = self.0.send(work);
    }
}

/// A program that listens for wake-ups.
struct Program {
    wake: Arc<PgWake>,
    rung: UnboundedReceiver<Work>,
    running: JoinHandle<()>,
}

impl Program {
    /// Resolves when it listens.
    async fn start(store: &PgStore) -> Self {
        let (bells, rung) = unbounded_channel();
        let wake = Arc::new(PgWake::new(store));
        let listens = Arc::clone(&wake);
        let running = tokio::spawn(async move { listens.listen(&Bells(bells)).await });
        let mut program = Self { wake, rung, running };
        program.all_ring().await;
        program
    }

    async fn rings(&mut self) -> Work {
        bounded(self.rung.recv()).await.expect("it runs")
    }

    /// All kinds of work wake when it begins to listen, because it may have missed wake-ups.
    async fn all_ring(&mut self) {
        for work in [Work::Dispatch, Work::Webhooks, Work::FollowUps] {
            assert_eq!(self.rings().await, work);
        }
    }
}

impl Drop for Program {
    fn drop(&mut self) {
        self.running.abort();
    }
}

/// The connections over which programs exchange wake-ups.
async fn lines(database: &Database) -> Vec<i32> {
    database
        .ask(
            "SELECT COALESCE(array_agg(pid ORDER BY pid), '{}') FROM pg_stat_activity
             WHERE datname = current_database() AND application_name = 'sms_work'",
        )
        .await
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_program_wakes_the_others_soon_and_not_itself() {
    const KINDS: [Work; 3] = [Work::Dispatch, Work::Webhooks, Work::FollowUps];
    let database = Database::new().await;
    // A program whose database is silent for 5 seconds connects again, and then wakes for
    // everything. On a busy machine that happens, and such a round proves nothing.
    let (heard, own) = loop {
        let mut one = Program::start(&database.store().await).await;
        let mut other = Program::start(&database.store().await).await;
        let mut third = Program::start(&database.store().await).await;
        let connected = lines(&database).await;
        let mut heard = Vec::new();
        for work in KINDS {
            one.wake.tell(work);
            heard.push((other.rings().await, third.rings().await));
        }
        // A wake-up from itself would have arrived first.
        other.wake.tell(Work::Webhooks);
        let own = one.rings().await;
        if lines(&database).await == connected {
            break (heard, own);
        }
    };
    assert_eq!(heard, KINDS.map(|work| (work, work)));
    assert_eq!(own, Work::Webhooks);
    database.drop().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn many_wake_ups_share_few_notifications() {
    let database = Database::new().await;
    let one = Program::start(&database.store().await).await;
    let mut other = Program::start(&database.store().await).await;
    let since = Instant::now();
    for _ in 0..200_000 {
        one.wake.tell(Work::Dispatch);
    }
    one.wake.tell(Work::Webhooks);
    let mut rung = 0;
    while other.rings().await == Work::Dispatch {
        rung += 1;
    }
    let allowed = since.elapsed().as_millis() / 20 + 1;
    assert!((1..=allowed).contains(&rung), "{rung} of {allowed}");
    drop((one, other));
    database.drop().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn after_a_lost_connection_a_program_reconnects_and_wakes_for_everything() {
    let database = Database::new().await;
    let mut one = Program::start(&database.store().await).await;
    let mut other = Program::start(&database.store().await).await;
    let cut: i64 = database
        .ask(
            "SELECT count(pg_terminate_backend(pid)) FROM pg_stat_activity
             WHERE datname = current_database() AND application_name = 'sms_work'",
        )
        .await;
    assert_eq!(cut, 2);
    one.all_ring().await;
    other.all_ring().await;
    one.wake.tell(Work::FollowUps);
    assert_eq!(other.rings().await, Work::FollowUps);
    drop((one, other));
    database.drop().await;
}
