//! Followers of the event log beside writers on several servers, whose commits are held up and
//! killed at random: each follower sees every event once, in the order of the log.
//!
//! `SMS_RACE_ROUNDS` has each writer write more often than the 25 times of a usual run.

use std::collections::BTreeSet;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::{Duration, Instant};

use futures_util::StreamExt as _;
use sms_client::event::{Event, EventFilter};
use sms_client::{ApiKey, Client, Retries};
use sms_core::event::EventData;
use sms_core::event::kinds::Kinds;
use sms_core::event::log::{EventRequest, LoggedEvent, ReadFrom};
use sms_core::event::position::Position;
use sms_core::ids::AccountId;
use sms_core::page::Limit;
use sms_core::phone::E164;
use sms_core::prelude::*;
use sms_core::random::{Random, SeededRandom};
use sms_http::admin::gate::OperatorToken;
use sms_http::api::EventStreams;
use sms_http::rate_limit::{Gcra, Stopwatch};
use sms_http::web::client_address::TrustedProxies;
use sms_http::web::intake::IntakeLimits;
use sms_http::web::serve::{ServeLimits, listen, serve};
use sms_server::app::{AppParts, whole_app};
use sms_store_postgres::{PgSettings, PgStore, PgWake};
use sms_test_postgres::Cluster;
use sqlx::{Connection as _, Executor as _, PgConnection};
use tokio::task::{JoinHandle, JoinSet};
use tokio::time::{self, sleep, timeout_at};

const SERVERS: usize = 4;
const WRITERS_OF_EACH: usize = 3;
const ACCOUNTS: usize = 2;
/// By list and by stream, for each account.
const FOLLOWERS_OF_EACH_KIND: u64 = 3;
/// Far longer than followers take once the writers have ended.
const BOUND: Duration = Duration::from_mins(2);
/// The words of the last message of each account.
const THE_END: &str = "The end";

/// Holds up some of the commits that write events, once their transactions have numbers.
const HOLD_UP: &str = "
    CREATE FUNCTION hold_up() RETURNS trigger LANGUAGE plpgsql AS $$
    BEGIN
        IF random() < 0.3 THEN PERFORM pg_sleep(random() * 0.03); END IF;
        RETURN NULL;
    END $$;
    CREATE CONSTRAINT TRIGGER hold_up AFTER INSERT ON event
        DEFERRABLE INITIALLY DEFERRED FOR EACH ROW EXECUTE FUNCTION hold_up();";

/// A server: a store of its own, the service and its API.
struct Server {
    sms: Sms,
    url: String,
    /// What the database calls its connections.
    name: String,
    database: String,
    tasks: Vec<JoinHandle<()>>,
}

/// An account with a number and a key.
#[derive(Clone)]
struct Business {
    id: AccountId,
    number: E164,
    key: ApiKey,
}

/// What happened in a run.
#[derive(Debug, Default)]
struct Figures {
    writes: AtomicUsize,
    failed: AtomicUsize,
    kills: AtomicUsize,
    restarts: AtomicUsize,
}

/// An event as a follower saw it.
type Seen = (String, String);

fn count(figure: &AtomicUsize) {
    figure.fetch_add(1, Ordering::Relaxed);
}

fn below(random: &SeededRandom, bound: usize) -> usize {
    usize::try_from(random.next_u64() % bound as u64).unwrap()
}

impl Server {
    async fn start(database: &str, number: usize) -> Self {
        let name = format!("racer_{number}");
        let url = format!("{database}?application_name={name}");
        let store = PgStore::connect(&url, PgSettings { connections: 6 }).await.unwrap();
        let wake = Arc::new(PgWake::new(&store));
        let sms = Sms::builder(store).wake_others(wake).build();
        let app = whole_app(&AppParts {
            streams: EventStreams::new(sms.clone()),
            sms: sms.clone(),
            rate: Gcra::new(1_000_000, 1_000_000),
            shared_arrivals: None,
            stopwatch: Stopwatch::default(),
            token: OperatorToken::new("operator-token-of-the-tests"),
            public_url: "https://sms.example.com".to_owned(),
            limits: IntakeLimits::default(),
            trusted_proxies: TrustedProxies::default(),
            sandbox: None,
            metrics: None,
            console: None,
        });
        let listener = listen("127.0.0.1:0".parse().unwrap()).unwrap();
        let url = format!("http://{}", listener.local_addr().unwrap());
        let serving = serve(listener, app, ServeLimits::default(), std::future::pending());
        let others = sms.clone();
        let tasks = vec![
            tokio::spawn(async move {
                serving.await;
            }),
            tokio::spawn(async move { others.listen_to_others().await }),
        ];
        Self { sms, url, name, database: database.to_owned(), tasks }
    }

    /// Ends all its connections to the database, in the middle of whatever they do.
    async fn cut_off(&self) {
        let mut connection = PgConnection::connect(&self.database).await.unwrap();
        let cut = "SELECT pg_terminate_backend(pid) FROM pg_stat_activity
                   WHERE datname = current_database() AND application_name = $1";
        sqlx::query(cut).bind(&self.name).execute(&mut connection).await.unwrap();
        connection.close().await.unwrap();
    }

    /// Raises events of the account, and of others whose messages are due.
    async fn write(sms: Sms, business: Business, dice: u64) -> Result<(), Error> {
        let person: E164 = format!("+447700900{:03}", dice / 7 % 1_000).parse().unwrap();
        match dice % 7 {
            0 => {
                sms.operator().inbound(person, business.number, "STOP").await?;
            }
            1 | 2 => {
                sms.operator().inbound(person, business.number, "Hello").await?;
            }
            wanted => {
                let to: Vec<String> =
                    (0..wanted).map(|n| format!("+4477009{:05}", dice / 11 % 9_999 + n)).collect();
                let request = SendRequest::new("Hello").to(to.join(","));
                sms.account(business.id, Mode::Live).send(request).await?;
            }
        }
        // These commit for all accounts.
        let _ = sms.dispatch_due(20).await;
        sms.simulate_due(50).await?;
        Ok(())
    }
}

/// Writes many times. Some writes are cut off from the database, some are dropped.
async fn writer(
    server: Arc<Server>,
    businesses: Vec<Business>,
    seed: u64,
    rounds: usize,
    figures: Arc<Figures>,
) {
    let random = SeededRandom::new(seed);
    for _ in 0..rounds {
        let business = businesses[below(&random, ACCOUNTS)].clone();
        let dice = random.next_u64();
        let write = tokio::spawn(Server::write(server.sms.clone(), business, dice));
        count(&figures.writes);
        let fate = below(&random, 40);
        if fate < 2 {
            count(&figures.kills);
            // Somewhere in the middle of it.
            sleep(Duration::from_millis(random.next_u64() % 15)).await;
            if fate == 0 { server.cut_off().await } else { write.abort() }
        }
        if !matches!(write.await, Ok(Ok(()))) {
            count(&figures.failed);
        }
    }
}

fn is_the_end(event: &LoggedEvent) -> bool {
    matches!(&event.event.data, EventData::MessageReceived(text) if text.body.as_str() == THE_END)
}

fn seen(event: &LoggedEvent) -> Seen {
    (event.position.to_string(), event.event.id.to_string())
}

fn page_after(after: Position, limit: usize) -> EventRequest {
    let limit = Limit::new(u32::try_from(limit).unwrap()).unwrap();
    EventRequest { kinds: Kinds::all(), from: ReadFrom::After(after), limit }
}

/// Asks for page after page, each of another server.
async fn by_list(servers: Vec<Arc<Server>>, business: Business, seed: u64) -> Vec<Seen> {
    let random = SeededRandom::new(seed);
    let (mut all, mut at) = (Vec::new(), Position::START);
    loop {
        let server = &servers[below(&random, SERVERS)];
        let account = server.sms.account(business.id, Mode::Live);
        // Some remember the end of the log, as a stream does.
        let end = if seed.is_multiple_of(2) { account.event_end().await.ok() } else { None };
        let asked = page_after(at, 1 + below(&random, 100));
        let Ok(page) = account.event_list(asked).await else { continue };
        all.extend(page.items.iter().map(seen));
        if page.items.last().is_some_and(is_the_end) {
            return all;
        }
        at = page.items.last().map_or(at, |event| event.position);
        if let Some(next) = page.next {
            at = next;
        } else {
            at = end.unwrap_or(at).max(at);
            // It polls.
            sleep(Duration::from_millis(3)).await;
        }
    }
}

/// Follows a stream, and then the stream of another server after the last event.
async fn by_stream(
    servers: Vec<Arc<Server>>,
    business: Business,
    seed: u64,
    figures: Arc<Figures>,
) -> Vec<Seen> {
    let random = SeededRandom::new(seed);
    let (first_wait, longest_wait) = (Duration::from_millis(5), Duration::from_millis(100));
    let retries = Retries { attempts: 1_000, first_wait, longest_wait };
    let mut filter = EventFilter { types: Vec::new(), after: Some("0".repeat(26).as_str().into()) };
    let mut all = Vec::new();
    loop {
        let server = &servers[below(&random, SERVERS)];
        let client = Client::with_retries(&server.url, &business.key, retries.clone()).unwrap();
        let stream = client.event_stream(&filter).await.unwrap();
        let mut stream = stream.take(1 + below(&random, 200));
        while let Some(event) = stream.next().await {
            let event: Event = event.unwrap();
            let position = event.position.clone().unwrap();
            all.push((position.as_str().to_owned(), event.id.as_str().to_owned()));
            filter.after = Some(position);
            if event.data["body"] == THE_END && event.data["direction"] == "inbound" {
                return all;
            }
        }
        count(&figures.restarts);
    }
}

/// The log up to the last message, in order.
async fn log_of(sms: &Sms, business: &Business) -> Vec<Seen> {
    let account = sms.account(business.id, Mode::Live);
    let (mut log, mut at) = (Vec::new(), Position::START);
    loop {
        let page = account.event_list(page_after(at, 100)).await.unwrap();
        for event in page.items {
            assert!(at < event.position);
            at = event.position;
            log.push(seen(&event));
            if is_the_end(&event) {
                return log;
            }
        }
    }
}

async fn businesses(sms: &Sms) -> Vec<Business> {
    let mut businesses = Vec::new();
    for number in 0..ACCOUNTS {
        let number = format!("+44770090009{number}");
        let operator = sms.operator();
        let input = NewAccountInput::active("Bistro", 1_000_000);
        let id = operator.account_create(input).await.unwrap().id;
        operator.number_create(NumberInput::dedicated(number.clone(), id)).await.unwrap();
        let key = operator.api_key_create(id, Mode::Live, None).await.unwrap();
        let key = ApiKey::from(key.key.reveal().to_owned());
        businesses.push(Business { id, number: number.parse().unwrap(), key });
    }
    businesses
}

/// What came of a race.
struct Outcome {
    figures: Arc<Figures>,
    took: Duration,
    /// The log of each account.
    logs: Vec<Vec<Seen>>,
    followers: Vec<Followed>,
}

/// What a follower saw.
struct Followed {
    /// The place of the account among the others.
    account: usize,
    kind: &'static str,
    /// `None` if the end never came.
    seen: Option<Vec<Seen>>,
}

impl Outcome {
    /// How many events a follower missed that saw the end.
    fn missed(&self, Followed { account, kind: _, seen }: &Followed) -> usize {
        let Some(seen) = seen else { return 0 };
        let known: BTreeSet<&Seen> = seen.iter().collect();
        self.logs[*account].iter().filter(|event| !known.contains(event)).count()
    }

    /// What is wrong with what a follower saw.
    fn fault(&self, followed: &Followed) -> Option<String> {
        let Followed { account, kind, seen } = followed;
        let Some(seen) = seen else { return Some(format!("a follower by {kind} misses the end")) };
        let log = &self.logs[*account];
        let (missed, events) = (self.missed(followed), log.len());
        let twice = seen.len() - seen.iter().collect::<BTreeSet<_>>().len();
        let fault = format!("a follower by {kind} missed {missed} of {events}, saw {twice} twice");
        (seen != log).then_some(fault)
    }

    fn faults(&self) -> Vec<String> {
        self.followers.iter().filter_map(|one| self.fault(one)).collect()
    }

    fn say(&self) {
        let Self { figures, took, logs, followers } = self;
        println!(
            "{} writers on {SERVERS} servers, {} followers, {} events in {:.1} s; {figures:?}",
            SERVERS * WRITERS_OF_EACH,
            followers.len(),
            logs.iter().map(Vec::len).sum::<usize>(),
            took.as_secs_f64(),
        );
    }
}

/// Has each writer write so often. `sabotage` is run in the database before. After the last event a
/// follower has the time of `bound` to see it.
async fn race(rounds: usize, sabotage: &'static str, bound: Duration) -> Outcome {
    sms_test_log::watch();
    let cluster = Cluster::start();
    let database = cluster.url(&cluster.create(None).await);
    let store = PgStore::connect(&database, PgSettings { connections: 4 }).await.unwrap();
    store.migrate().await.unwrap();
    let mut connection = PgConnection::connect(&database).await.unwrap();
    connection.execute(HOLD_UP).await.unwrap();
    connection.execute(sabotage).await.unwrap();
    let calm = Sms::builder(store).build();
    let businesses = businesses(&calm).await;
    let mut servers = Vec::new();
    for number in 0..SERVERS {
        servers.push(Arc::new(Server::start(&database, number).await));
    }
    let (figures, began) = (Arc::new(Figures::default()), Instant::now());
    let mut following = Vec::new();
    for (account, business) in businesses.iter().enumerate() {
        for seed in 0..FOLLOWERS_OF_EACH_KIND {
            let list = by_list(servers.clone(), business.clone(), seed);
            following.push((account, "list", tokio::spawn(list)));
            let figures = Arc::clone(&figures);
            let stream = by_stream(servers.clone(), business.clone(), seed, figures);
            following.push((account, "stream", tokio::spawn(stream)));
        }
    }
    let mut writers = JoinSet::new();
    for number in 0..SERVERS * WRITERS_OF_EACH {
        let (server, seed) = (Arc::clone(&servers[number % SERVERS]), number as u64);
        writers.spawn(writer(server, businesses.clone(), seed, rounds, Arc::clone(&figures)));
    }
    while let Some(ended) = writers.join_next().await {
        ended.unwrap();
    }
    let person: E164 = "+447700900999".parse().unwrap();
    let mut logs = Vec::new();
    for business in &businesses {
        calm.operator().inbound(person, business.number, THE_END).await.unwrap().unwrap();
        logs.push(log_of(&calm, business).await);
    }
    let (end, mut followers) = (time::Instant::now() + bound, Vec::new());
    for (account, kind, mut following) in following {
        let ended = timeout_at(end, &mut following).await;
        following.abort();
        followers.push(Followed { account, kind, seen: ended.ok().map(Result::unwrap) });
    }
    for server in servers {
        server.tasks.iter().for_each(JoinHandle::abort);
    }
    Outcome { figures, took: began.elapsed(), logs, followers }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 4)]
async fn a_follower_misses_no_event_and_sees_none_twice_whatever_is_killed() {
    let rounds = std::env::var("SMS_RACE_ROUNDS").map_or(25, |rounds| rounds.parse().unwrap());
    let outcome = race(rounds, "SELECT 1", BOUND).await;
    outcome.say();
    assert_eq!(outcome.faults(), Vec::<String>::new());
    for log in &outcome.logs {
        let ids: BTreeSet<&String> = log.iter().map(|(_, id)| id).collect();
        assert_eq!(ids.len(), log.len(), "each event is in the log once");
    }
}

/// Readers see whatever is committed.
const NO_HORIZON: &str = "
    CREATE OR REPLACE FUNCTION event_horizon() RETURNS bigint LANGUAGE sql VOLATILE AS
    'SELECT base + pg_snapshot_xmax(pg_current_snapshot())::text::bigint FROM event_base'";

/// So the servers do race, and the horizon is what keeps followers from missing events.
#[tokio::test(flavor = "multi_thread", worker_threads = 4)]
async fn without_the_horizon_followers_of_the_log_miss_events() {
    let outcome = race(10, NO_HORIZON, Duration::from_secs(20)).await;
    outcome.say();
    // A follower that ran out of time proves nothing.
    let misses = outcome.followers.iter().filter(|one| outcome.missed(one) > 0).count();
    println!("{misses} followers missed events");
    assert!(misses > 0);
}
