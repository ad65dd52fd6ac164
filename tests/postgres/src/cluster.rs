//! Temporary databases.

use std::sync::atomic::{AtomicU32, Ordering};

use crate::server::{Durability, Server, run_at};

/// The server that tests use, and the databases that they create on it.
#[derive(Debug)]
pub struct Cluster {
    /// `postgres://…/`, without the database's name.
    base: String,
    databases: AtomicU32,
    own: Option<Server>,
}

impl Cluster {
    /// Uses the server that `TEST_DATABASE_URL` names, or else starts one without durability.
    pub fn start() -> Self {
        let Ok(url) = std::env::var("TEST_DATABASE_URL") else {
            return Self::of(Server::start(Durability::None));
        };
        let base = url.rsplit_once('/').map_or(url.as_str(), |(base, _)| base);
        Self { base: format!("{base}/"), databases: AtomicU32::new(0), own: None }
    }

    /// Creates databases on this server.
    pub fn of(server: Server) -> Self {
        Self { base: server.url(""), databases: AtomicU32::new(0), own: Some(server) }
    }

    /// The server, if this process started it.
    pub fn server(&self) -> Option<&Server> {
        self.own.as_ref()
    }

    /// The address of a database.
    pub fn url(&self, database: &str) -> String {
        format!("{}{database}", self.base)
    }

    /// Creates a database, as a copy of `template` if given. Returns its name.
    pub async fn create(&self, template: Option<&str>) -> String {
        let number = self.databases.fetch_add(1, Ordering::Relaxed);
        let name = format!("sms_test_{}_{number}", std::process::id());
        let template = template.unwrap_or("template1");
        let create = format!("CREATE DATABASE {name} TEMPLATE {template} STRATEGY FILE_COPY");
        run_at(&self.url("postgres"), create).await;
        name
    }

    /// Drops a database, even if clients are connected to it.
    pub async fn drop(&self, database: &str) {
        run_at(&self.url("postgres"), format!("DROP DATABASE {database} WITH (FORCE)")).await;
    }
}
