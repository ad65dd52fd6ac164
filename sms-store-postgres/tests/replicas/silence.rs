//! A store whose database falls silent: its connections stay open, and nothing comes back.

use std::sync::Arc;
use std::time::Duration;

use sms_core::Sms;
use sms_core::credits::Change;
use sms_core::service::operator::NewAccountInput;
use sms_core::store::Health;
use sms_store_postgres::{PgSettings, PgStore};
use sms_test_postgres::{Durability, Server};
use sqlx::{Connection, PgConnection};
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::{TcpListener, TcpStream};
use tokio::sync::watch;
use tokio::task::JoinSet;
use tokio::time::{Instant, sleep, timeout};

/// The longest that a command may wait: the watcher notices within 10.5 s.
const BOUND: Duration = Duration::from_secs(20);

/// Passes octets on between a store and its database, until it swallows them.
struct Cable {
    port: u16,
    is_cut: watch::Sender<bool>,
    _passing: JoinSet<()>,
}

impl Cable {
    async fn to(port: u16) -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").await.expect("a port is free");
        let (is_cut, cut) = watch::channel(false);
        let mut passing = JoinSet::new();
        let own = listener.local_addr().expect("it is bound").port();
        passing.spawn(async move {
            let mut connections = JoinSet::new();
            while let Ok((near, _)) = listener.accept().await {
                let far = TcpStream::connect(("127.0.0.1", port)).await.expect("it runs");
                let ((near_in, near_out), (far_in, far_out)) =
                    (near.into_split(), far.into_split());
                connections.spawn(pass(near_in, far_out, cut.clone()));
                connections.spawn(pass(far_in, near_out, cut.clone()));
            }
        });
        Self { port: own, is_cut, _passing: passing }
    }

    fn cut(&self) {
        self.is_cut.send_replace(true);
    }

    fn mend(&self) {
        self.is_cut.send_replace(false);
    }
}

async fn pass(
    mut from: impl AsyncReadExt + Unpin,
    mut to: impl AsyncWriteExt + Unpin,
    cut: watch::Receiver<bool>,
) {
    let mut octets = [0; 4096];
    while let Ok(count @ 1..) = from.read(&mut octets).await {
        if !*cut.borrow() && to.write_all(&octets[..count]).await.is_err() {
            return;
        }
    }
}

/// Starts a command that waits at the database, cuts the cable, and says how long the command
/// waited after that.
#[expect(clippy::disallowed_methods, reason = "nothing drops what a test does")]
async fn waited(database: &Server, cable: &Cable, store: &Arc<PgStore>) -> Duration {
    let sms = Sms::builder(Arc::clone(store)).build();
    let account = sms.operator().account_create(NewAccountInput::active("Bistro", 0)).await;
    let account = account.expect("made").id;
    let mut holder = PgConnection::connect(&database.url("sms")).await.expect("it runs");
    let mut held = holder.begin().await.expect("it runs");
    sqlx::query("LOCK TABLE account").execute(&mut *held).await.expect("nobody has it");
    let adds = sms.clone();
    let command = tokio::spawn(async move {
        let one = Change::new(1).expect("it is small");
        adds.operator().credits_adjust(account, one, None).await
    });
    let waits = "SELECT count(*) FROM pg_locks WHERE NOT granted";
    while sqlx::query_scalar::<_, i64>(waits).fetch_one(&mut *held).await.expect("read") == 0 {
        sleep(Duration::from_millis(10)).await;
    }
    cable.cut();
    let since = Instant::now();
    let answer = timeout(BOUND, command).await.expect("it ends").expect("it does not panic");
    answer.expect_err("nobody knows what became of it");
    since.elapsed()
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_database_that_falls_silent_holds_no_command_up_for_long() {
    sms_test_log::watch();
    let database = Server::start(Durability::None);
    database.create_database("sms").await;
    let cable = Cable::to(database.port()).await;
    let url = format!("postgres://postgres@127.0.0.1:{}/sms", cable.port);
    let store = PgStore::connect(&url, PgSettings { connections: 4 }).await.expect("it runs");
    let store = Arc::new(store);
    store.migrate().await.expect("it takes writes");
    waited(&database, &cable, &store).await;
    // Connections that it refuses now break at once, and new ones find it again.
    cable.mend();
    let works = async {
        while store.health_check().await.is_err() {
            sleep(Duration::from_millis(50)).await;
        }
    };
    timeout(BOUND, works).await.expect("the store goes on by itself");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn commands_at_a_silent_primary_end_when_a_standby_takes_over() {
    sms_test_log::watch();
    let first = Server::start(Durability::None);
    first.create_database("sms").await;
    let standby = first.standby();
    let cable = Cable::to(first.port()).await;
    let url =
        format!("postgres://postgres@127.0.0.1:{},127.0.0.1:{}/sms", cable.port, standby.port());
    let store = PgStore::connect(&url, PgSettings { connections: 4 }).await.expect("it runs");
    let store = Arc::new(store);
    store.migrate().await.expect("it takes writes");
    let (waited, ()) = tokio::join!(waited(&first, &cable, &store), async {
        let mut is_cut = cable.is_cut.subscribe();
        is_cut.wait_for(|cut| *cut).await.expect("the cable is there");
        standby.promote();
    });
    assert!(waited < BOUND, "{waited:?}");
    store.health_check().await.expect("the standby takes writes");
}
