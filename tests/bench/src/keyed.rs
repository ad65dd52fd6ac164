//! What an `Idempotency-Key` costs: requests with a key, in each or in one of ten, beside requests
//! without one, by turns on the same server.

use std::time::Duration;

use serde_json::json;
use sms_test_postgres::Server as Postgres;

use crate::Failed;
use crate::drive::{Keys, Load, drive, post};
use crate::folder::Folder;
use crate::memory::{account_key, number};
use crate::server::{Server, Store};
use crate::smsc::Smsc;
use crate::table::print;
use crate::turns::{TURNS, Turns};
use crate::usage::{cpu, cpu_with_children};

const CONNECTIONS: usize = 32;
/// More than anything here sends in a second.
const NETWORK: u32 = 100_000;

/// On one file, then on PostgreSQL: each message leaves for a network that accepts at once.
pub(crate) async fn beside_keyless(
    postgres: &Postgres,
    keys: Keys,
    during: Duration,
) -> Result<(), Failed> {
    let folder = Folder::new("keyed")?;
    let database = format!("keyed_{keys:?}").to_lowercase();
    postgres.create_database(&database).await;
    let stores = [
        ("one file", Store::File(folder.path().join("data"))),
        ("PostgreSQL", Store::Postgres(postgres.url(&database))),
    ];
    for (name, store) in stores {
        let smsc = Smsc::start(NETWORK, "none of interest").await?;
        let server = Server::with_network(&store, smsc.addr, NETWORK as usize).await?;
        number(&server).await?;
        let key = account_key(&server, "Measured").await?;
        let sent = Sent { server, key, database: postgres.pid().unwrap_or_default() };
        // Connections, statements and pages of the first requests.
        sent.turn(keys, "warm", Duration::from_secs(1)).await?;
        let mut turns = Turns::default();
        let (mut with, mut without) = (Used::default(), Used::default());
        for turn in 0..TURNS {
            let each = during / (TURNS * 2);
            let ours = sent.turn(keys, &format!("turn-{turn}"), each).await?;
            let theirs = sent.turn(Keys::None, "none", each).await?;
            turns.add(ours.per_second, theirs.per_second);
            with.add(ours);
            without.add(theirs);
        }
        let what = match keys {
            Keys::Each => format!("one message a request, a key in each, {name}"),
            Keys::OneInTen => format!("one message a request, a key in one of ten, {name}"),
            Keys::None => format!("one message a request, {name}"),
        };
        let row = turns.row(what, "requests/s without a key");
        let note = format!("CPU of a message: {} with, {} without", with.tell(), without.tell());
        print(&row.note(note));
    }
    Ok(())
}

/// The requests of a measurement.
struct Sent {
    server: Server,
    key: String,
    database: u32,
}

/// What a turn did.
#[derive(Default, Clone, Copy)]
struct Used {
    per_second: f64,
    answered: f64,
    server: f64,
    postgres: f64,
}

impl Used {
    fn add(&mut self, more: Self) {
        self.answered += more.answered;
        self.server += more.server;
        self.postgres += more.postgres;
    }

    fn tell(self) -> String {
        let micros = |seconds: f64| seconds * 1e6 / self.answered;
        format!("server {:.0} µs, PostgreSQL {:.0} µs", micros(self.server), micros(self.postgres))
    }
}

impl Sent {
    async fn turn(&self, keys: Keys, run: &str, during: Duration) -> Result<Used, Failed> {
        let loads = (0..CONNECTIONS).map(|client| {
            let to = format!("07700900{client:03}");
            let body = json!({ "to": to, "body": "A text of the measurement" }).to_string();
            let request = post("/api/v1/messages", &self.key, &body);
            Load { request, status: "201", keys, name: format!("{run}-{client}") }
        });
        let used = || (cpu(self.server.pid()), cpu_with_children(self.database));
        let before = used();
        let driven = drive(self.server.addr, loads.collect(), during).await?;
        let after = used();
        Ok(Used {
            per_second: driven.per_second(),
            answered: driven.answered as f64,
            server: after.0 - before.0,
            postgres: after.1 - before.1,
        })
    }
}
