//! Messages accepted a second over HTTP on the store in memory, beside a handler that does nothing.

use std::time::Duration;

use serde_json::{Value, json};

use crate::Failed;
use crate::drive::{Connection, Load, drive, post, request};
use crate::server::Server;
use crate::stock::drama_numbers;
use crate::table::{Row, print};
use crate::turns::{TURNS, Turns};

/// Long past: what is scheduled for it is accepted, and left alone by the workers.
const LATER: Duration = Duration::from_hours(24);

pub(crate) async fn singles_and_bulk(during: Duration) -> Result<(), Failed> {
    let server = Server::on_memory().await?;
    number(&server).await?;
    let key = account_key(&server, "Measured").await?;
    let later = sms_core::clock::Clock::now(&sms_core::clock::SystemClock).plus(LATER);
    for (messages, connections) in [(1, 32), (1_000, 4)] {
        let to: Vec<String> = drama_numbers().into_iter().take(messages).collect();
        let body = json!({ "to": to, "body": "A text of the measurement",
                           "schedule_at": later.to_string() });
        let ask = post("/api/v1/messages", &key, &body.to_string());
        let answer = Connection::open(server.addr).await?.ask(&ask).await?;
        let bare = Server::bare(answer.body.len()).await?;
        let loads = || {
            let load = |_| Load::keyless(ask.clone(), "201");
            (0..connections).map(load).collect::<Vec<_>>()
        };
        let mut turns = Turns::default();
        let (mut p50, mut p99) = (Vec::new(), Vec::new());
        for _ in 0..TURNS {
            let ours = drive(server.addr, loads(), during / (TURNS * 2)).await?;
            let theirs = drive(bare.addr, loads(), during / (TURNS * 2)).await?;
            p50.push(ours.quantile(0.5));
            p99.push(ours.quantile(0.99));
            turns.add(ours.per_second(), theirs.per_second());
        }
        p50.sort_unstable();
        p99.sort_unstable();
        let middle = TURNS as usize / 2;
        let what = format!(
            "requests/s of {messages} messages each, HTTP, memory store, {connections} connections"
        );
        let row = turns.row(what, "requests/s of a bare poem handler");
        let note = format!(
            "{:.0} messages/s; answers of {} bytes; p50 {:.1} ms, p99 {:.1} ms",
            row.ours * messages as f64,
            answer.body.len(),
            p50[middle].as_secs_f64() * 1e3,
            p99[middle].as_secs_f64() * 1e3,
        );
        print(&Row { note, ..row });
    }
    Ok(())
}

/// Makes a number to send from.
pub(crate) async fn number(server: &Server) -> Result<(), Failed> {
    let mut connection = Connection::open(server.addr).await?;
    let number = json!({ "phone_number": "07700 900000", "shared": true });
    operator(&mut connection, "POST", "/numbers", &number).await.map(drop)
}

/// Makes an account with credits; its live key.
pub(crate) async fn account_key(server: &Server, name: &str) -> Result<String, Failed> {
    let mut connection = Connection::open(server.addr).await?;
    let new = json!({ "name": name, "credits": 1_000_000_000 });
    let account = operator(&mut connection, "POST", "/accounts", &new).await?;
    let id = account["data"]["id"].as_str().ok_or("no account")?.to_owned();
    let active = json!({ "status": "active" });
    operator(&mut connection, "PATCH", &format!("/accounts/{id}"), &active).await?;
    let live = json!({ "kind": "live" });
    let key = operator(&mut connection, "POST", &format!("/accounts/{id}/keys"), &live).await?;
    Ok(key["data"]["key"].as_str().ok_or("no key")?.to_owned())
}

async fn operator(
    connection: &mut Connection,
    method: &str,
    path: &str,
    body: &Value,
) -> Result<Value, Failed> {
    let path = format!("/admin/v1{path}");
    let ask = request(method, &path, Server::ADMIN_TOKEN, &body.to_string());
    let answer = connection.ask(&ask).await?;
    if !answer.status.starts_with('2') {
        return Err(format!("{path}: {}: {}", answer.status, answer.body).into());
    }
    Ok(serde_json::from_str(&answer.body)?)
}
