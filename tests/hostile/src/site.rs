//! The server under attack, its database, and the accounts on it.

use std::path::Path;
use std::sync::atomic::{AtomicU32, Ordering};
use std::time::Duration;

use serde_json::{Value, json};
use sms_test_postgres::{Durability, Server as Postgres};
use tokio::time::sleep;

use crate::client::{Answer, Connection, request};
use crate::failed::Failed;
use crate::server::{OPERATOR, Options, Server, StoreKind};

const DATABASE: &str = "sms_hostile";

/// The server under attack.
#[derive(Debug)]
pub(crate) struct Site {
    pub(crate) server: Server,
    /// How many rows lists and exports have.
    pub(crate) rows: usize,
    accounts: AtomicU32,
    // Dropped after the server, which uses it.
    _postgres: Option<Postgres>,
}

/// What an account may do.
#[derive(Debug, Clone, Copy)]
pub(crate) enum Standing {
    /// Active, with so many credits.
    Active(u64),
    /// Waits for approval: quotes only.
    Pending,
}

/// An account.
#[derive(Debug, Clone)]
pub(crate) struct Account {
    pub(crate) id: String,
    /// A live key.
    pub(crate) key: String,
    /// Its number.
    pub(crate) number: String,
}

impl Site {
    /// Starts a server on a store of its own.
    pub(crate) async fn start(
        program: Option<&Path>,
        store: StoreKind,
        options: &Options,
        rows: usize,
    ) -> Result<Self, Failed> {
        let (postgres, url) = match store {
            StoreKind::Memory => (None, None),
            StoreKind::Postgres => {
                let postgres = Postgres::start(Durability::Full);
                postgres.create_database(DATABASE).await;
                let url = postgres.url(DATABASE);
                (Some(postgres), Some(url))
            }
        };
        let server = Server::start(program, url.as_deref(), options).await?;
        Ok(Self { server, rows, accounts: AtomicU32::new(0), _postgres: postgres })
    }

    /// Creates an account with a live key and a number.
    pub(crate) async fn account(&self, standing: Standing) -> Result<Account, Failed> {
        let place = self.accounts.fetch_add(1, Ordering::Relaxed);
        let number = format!("+447700900{place:03}");
        let (status, credits) = match standing {
            Standing::Active(credits) => ("active", credits),
            Standing::Pending => ("pending", 0),
        };
        let body = json!({ "name": "Hostile", "status": status, "credits": credits });
        let id = word(&self.operator("/admin/v1/accounts", &body).await?["id"]);
        let body = json!({ "phone_number": number, "account_id": id });
        self.operator("/admin/v1/numbers", &body).await?;
        let key = self.key(&id, "live").await?;
        Ok(Account { id, key, number })
    }

    /// Creates a key of an account.
    pub(crate) async fn key(&self, account: &str, kind: &str) -> Result<String, Failed> {
        let path = format!("/admin/v1/accounts/{account}/keys");
        Ok(word(&self.operator(&path, &json!({ "kind": kind })).await?["key"]))
    }

    /// Asks the operator's side, and returns `data`.
    pub(crate) async fn operator(&self, path: &str, body: &Value) -> Result<Value, Failed> {
        self.call("POST", path, OPERATOR, body).await
    }

    /// Posts to the API as a customer who respects the rate limit, and returns `data`.
    pub(crate) async fn post(&self, path: &str, key: &str, body: &Value) -> Result<Value, Failed> {
        self.call("POST", &format!("/api/v1{path}"), key, body).await
    }

    /// Reads from the API.
    pub(crate) async fn get(&self, path: &str, key: &str) -> Result<Value, Failed> {
        self.call("GET", &format!("/api/v1{path}"), key, &Value::Null).await
    }

    async fn call(
        &self,
        method: &str,
        path: &str,
        key: &str,
        body: &Value,
    ) -> Result<Value, Failed> {
        let bytes = request(method, path, key, body);
        loop {
            let answer = Connection::open(self.server.addr).await?.ask(&bytes).await?;
            match answer.status {
                200..=299 => return Ok(answer.json()["data"].take()),
                429 => sleep(retry_after(&answer)).await,
                status => {
                    let body = String::from_utf8_lossy(&answer.body).chars().take(300).collect();
                    return Err(Failed::Setup { path: path.to_owned(), status, body });
                }
            }
        }
    }

    /// Imports contacts into a new list, in portions that fit into a request, and returns its id.
    pub(crate) async fn list_of(
        &self,
        key: &str,
        contacts: impl Iterator<Item = Value>,
    ) -> Result<String, Failed> {
        const PORTION: usize = 10_000;
        let list = word(&self.post("/lists", key, &json!({ "name": "All" })).await?["id"]);
        let mut rows = Vec::with_capacity(PORTION);
        let mut contacts = contacts.peekable();
        while let Some(contact) = contacts.next() {
            rows.push(contact);
            if rows.len() == PORTION || contacts.peek().is_none() {
                let body = json!({ "rows": std::mem::take(&mut rows), "list_id": list });
                self.post("/contacts/import", key, &body).await?;
            }
        }
        Ok(list)
    }
}

fn retry_after(answer: &Answer) -> Duration {
    let seconds = answer.header("retry-after").and_then(|seconds| seconds.parse().ok());
    Duration::from_secs(seconds.unwrap_or(1))
}

/// One of ten million mobile numbers.
pub(crate) fn person(place: usize) -> String {
    format!("+44770{place:07}")
}

/// The text of a JSON value.
pub(crate) fn word(value: &Value) -> String {
    value.as_str().unwrap_or_default().to_owned()
}
