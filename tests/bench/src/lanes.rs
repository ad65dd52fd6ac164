//! How long a single message takes while another account launches a campaign and its messages
//! leave: until it is answered, and until the network has it.
//!
//! The network takes a thousand messages a second. The same is measured before the campaign, so
//! that each figure has a quiet one beside it.

use std::net::SocketAddr;
use std::time::Duration;

use serde_json::{Value, json};
use sms_test_postgres::Server as Postgres;
use tokio::task::JoinSet;
use tokio::time::{Instant, sleep, sleep_until};

use crate::Failed;
use crate::drive::{Connection, post};
use crate::folder::Folder;
use crate::memory::{account_key, number};
use crate::server::{Server, Store};
use crate::smsc::Smsc;

/// Messages that the network takes a second.
const NETWORK: u32 = 1_000;
/// Contacts of the campaign, and contacts of one import.
const CONTACTS: usize = 100_000;
const IMPORT: usize = 20_000;
/// Clients that send single messages, and the pause of each between two.
const CLIENTS: usize = 4;
const PAUSE: Duration = Duration::from_millis(20);
/// How the bodies of single messages begin.
const MARK: &str = "Single ";
/// How long the last single messages may take to the network.
const PATIENCE: Duration = Duration::from_secs(10);

/// When a single message was sent, and how long its answer took.
struct Single {
    number: usize,
    sent: Instant,
    answered: Duration,
}

pub(crate) async fn lanes(
    postgres: &Postgres,
    servers: usize,
    during: Duration,
) -> Result<(), Failed> {
    println!(
        "| a single message, {NETWORK} messages/s leave | answer p50 | p99 | at the network p50 \
         | p99 | max | singles |\n|---|---:|---:|---:|---:|---:|---:|"
    );
    one_store("memory", Store::Memory, 1, during).await?;
    let folder = Folder::new("lanes")?;
    one_store("SQLite", Store::File(folder.path().to_owned()), 1, during).await?;
    for count in [1, servers].into_iter().take(if servers > 1 { 2 } else { 1 }) {
        let database = format!("lanes_{count}");
        postgres.create_database(&database).await;
        let name = format!("PostgreSQL, {count} servers");
        one_store(&name, Store::Postgres(postgres.url(&database)), count, during).await?;
    }
    Ok(())
}

async fn one_store(name: &str, store: Store, count: usize, during: Duration) -> Result<(), Failed> {
    let smsc = Smsc::start(NETWORK, MARK).await?;
    let rate = NETWORK as usize / count;
    let mut servers = Vec::new();
    for _ in 0..count {
        servers.push(Server::with_network(&store, smsc.addr, rate).await?);
    }
    let addrs: Vec<SocketAddr> = servers.iter().map(|server| server.addr).collect();
    number(&servers[0]).await?;
    let person = account_key(&servers[0], "Person").await?;
    let company = account_key(&servers[0], "Company").await?;
    let campaign = Campaign::prepare(addrs[0], &company).await?;
    // Connections, plans and caches of a server that has been up for a while.
    singles(&addrs, &person, 0, Duration::from_secs(1)).await?;
    let quiet = singles(&addrs, &person, 1_000_000, during).await?;
    tell(&format!("{name}: nothing else"), &smsc, &quiet).await;
    let before = smsc.taken().count;
    let (launched, busy) =
        tokio::join!(campaign.launch(), singles(&addrs, &person, 2_000_000, during * 3));
    let (took, busy) = (launched?, busy?);
    let left = smsc.taken().count - before;
    let what = format!(
        "{name}: launch of {CONTACTS} ({:.1} s), {left} messages left meanwhile",
        took.as_secs_f64()
    );
    tell(&what, &smsc, &busy).await;
    Ok(())
}

/// Sends single messages for some time, numbered from `first`.
async fn singles(
    addrs: &[SocketAddr],
    key: &str,
    first: usize,
    during: Duration,
) -> Result<Vec<Single>, Failed> {
    let until = Instant::now() + during;
    let mut clients = JoinSet::new();
    for client in 0..CLIENTS {
        let (addr, key) = (addrs[client % addrs.len()], key.to_owned());
        clients.spawn(async move { person(addr, &key, first + client, until).await });
    }
    let mut all = Vec::new();
    while let Some(done) = clients.join_next().await {
        all.extend(done??);
    }
    Ok(all)
}

/// One client: every `PAUSE`, or as soon as the answer before is there.
async fn person(
    addr: SocketAddr,
    key: &str,
    first: usize,
    until: Instant,
) -> Result<Vec<Single>, Failed> {
    let mut connection = Connection::open(addr).await?;
    let mut sent = Vec::new();
    for number in (first..).step_by(CLIENTS) {
        let begun = Instant::now();
        if begun >= until {
            break;
        }
        let to = format!("07700900{:03}", number % 1_000);
        let body = json!({ "to": to, "body": format!("{MARK}{number} of the measurement") });
        let request = post("/api/v1/messages", key, &body.to_string());
        let answer = connection.ask(&request).await?;
        if answer.status != "201" {
            return Err(format!("answer {}: {}", answer.status, answer.body).into());
        }
        sent.push(Single { number, sent: begun, answered: begun.elapsed() });
        sleep_until(begun + PAUSE).await;
    }
    Ok(sent)
}

/// Waits until the network has all of them, and prints what they took.
async fn tell(what: &str, smsc: &Smsc, singles: &[Single]) {
    let until = Instant::now() + PATIENCE;
    let missing = || {
        let taken = smsc.taken();
        singles.iter().filter(|single| !taken.marked.contains_key(&single.number)).count()
    };
    while missing() > 0 && Instant::now() < until {
        sleep(Duration::from_millis(10)).await;
    }
    let lost = missing();
    let taken = smsc.taken();
    let arrived =
        |single: &Single| Some(taken.marked.get(&single.number)?.duration_since(single.sent));
    // What has not arrived counts as long as was waited for it.
    let mut arrivals: Vec<Duration> =
        singles.iter().map(|single| arrived(single).unwrap_or(single.sent.elapsed())).collect();
    let mut answers: Vec<Duration> = singles.iter().map(|single| single.answered).collect();
    arrivals.sort_unstable();
    answers.sort_unstable();
    let count = if lost > 0 {
        format!("{}, {lost} not there yet", singles.len())
    } else {
        singles.len().to_string()
    };
    println!(
        "| {what} | {} | {} | {} | {} | {} | {count} |",
        millis(&answers, 0.5),
        millis(&answers, 0.99),
        millis(&arrivals, 0.5),
        millis(&arrivals, 0.99),
        millis(&arrivals, 1.0),
    );
}

/// The time that this share of sorted times stayed within, in milliseconds.
fn millis(times: &[Duration], share: f64) -> String {
    let index = (times.len().saturating_sub(1) as f64 * share).round() as usize;
    let time = times.get(index).copied().unwrap_or_default();
    format!("{:.1} ms", time.as_secs_f64() * 1e3)
}

/// A campaign that is ready to be launched.
struct Campaign {
    connection: Connection,
    key: String,
    id: String,
}

impl Campaign {
    /// Imports the contacts, and makes the draft.
    async fn prepare(addr: SocketAddr, key: &str) -> Result<Self, Failed> {
        let mut connection = Connection::open(addr).await?;
        let list = ask(&mut connection, key, "/lists", &json!({ "name": "All" })).await?;
        for from in (0..CONTACTS).step_by(IMPORT) {
            let contact = |index| json!({ "phone": format!("+44770{index:07}") });
            let rows: Vec<Value> = (from..CONTACTS.min(from + IMPORT)).map(contact).collect();
            let import = json!({ "rows": rows, "list_id": list });
            ask(&mut connection, key, "/contacts/import", &import).await?;
        }
        let draft = json!({ "name": "All", "body": "Our spring menu is here", "list_id": list,
                            "ignore_quiet_hours": true });
        let id = ask(&mut connection, key, "/campaigns", &draft).await?;
        Ok(Self { connection, key: key.to_owned(), id })
    }

    /// Launches it; how long the answer took.
    async fn launch(mut self) -> Result<Duration, Failed> {
        let started = Instant::now();
        let path = format!("/campaigns/{}/send", self.id);
        ask(&mut self.connection, &self.key, &path, &json!({})).await?;
        Ok(started.elapsed())
    }
}

/// Posts something; the id in the answer, if there is one.
async fn ask(
    connection: &mut Connection,
    key: &str,
    path: &str,
    body: &Value,
) -> Result<String, Failed> {
    let request = post(&format!("/api/v1{path}"), key, &body.to_string());
    let answer = connection.ask(&request).await?;
    if !answer.status.starts_with('2') {
        return Err(format!("{path}: {}: {}", answer.status, answer.body).into());
    }
    let answer: Value = serde_json::from_str(&answer.body)?;
    Ok(answer["data"]["id"].as_str().unwrap_or_default().to_owned())
}
