//! Servers as processes of their own, which are this program run again.

use std::net::{SocketAddr, TcpListener};
use std::path::PathBuf;
use std::process::Stdio;
use std::time::{Duration, Instant};

use clap::Parser as _;
use sms_server::cli::Cli;
use sms_server::run::run;
use tokio::net::TcpStream;
use tokio::process::{Child, Command};

use crate::Failed;

/// What the child does.
pub(crate) async fn serve() -> Result<(), Failed> {
    let settings = Cli::try_parse_from(["sms-server"])?.settings;
    let ctrl_c = async {
        let _ = tokio::signal::ctrl_c().await;
    };
    run(settings, ctrl_c).await?;
    Ok(())
}

/// Where a server keeps its data.
pub(crate) enum Store {
    Memory,
    /// In a file in this folder.
    File(PathBuf),
    /// In the database at this address.
    Postgres(String),
}

/// A server that runs until it is dropped.
pub(crate) struct Server {
    child: Child,
    pub(crate) addr: SocketAddr,
}

impl Server {
    /// The operator's token of ours.
    pub(crate) const ADMIN_TOKEN: &str = "token-of-a-measurement";

    /// Ours, on PostgreSQL.
    pub(crate) async fn start(url: &str) -> Result<Self, Failed> {
        Self::spawn(|child, addr| ours(child, addr).env("DATABASE_URL", url)).await
    }

    /// Ours, with the store in memory.
    pub(crate) async fn on_memory() -> Result<Self, Failed> {
        Self::spawn(|child, addr| ours(child, addr).env("SMS_STORE", "memory")).await
    }

    /// Ours, with a network that takes so many messages a second from it.
    pub(crate) async fn with_network(
        store: &Store,
        network: SocketAddr,
        per_second: usize,
    ) -> Result<Self, Failed> {
        Self::spawn(|child, addr| {
            let child = match store {
                Store::Memory => ours(child, addr).env("SMS_STORE", "memory"),
                Store::File(folder) => ours(child, addr).env("SMS_DATA_DIR", folder),
                Store::Postgres(url) => ours(child, addr).env("DATABASE_URL", url),
            };
            child
                .env("SMS_ROUTES", "main")
                .env("SMS_ROUTE_MAIN_URL", format!("smpp://bench@{network}"))
                .env("SMS_ROUTE_MAIN_PASSWORD", "example")
                .env("SMS_ROUTE_MAIN_RATE", per_second.to_string())
        })
        .await
    }

    /// One that reads a body and answers so many bytes.
    pub(crate) async fn bare(answer_bytes: usize) -> Result<Self, Failed> {
        let args = |addr: SocketAddr| ["bare".into(), addr.to_string(), answer_bytes.to_string()];
        Self::spawn(|child, addr| child.args(args(addr))).await
    }

    async fn spawn(
        set_up: impl FnOnce(&mut Command, SocketAddr) -> &mut Command,
    ) -> Result<Self, Failed> {
        let port = TcpListener::bind(loopback(0))?.local_addr()?.port();
        let addr = loopback(port);
        let mut child = Command::new(std::env::current_exe()?);
        let child = set_up(&mut child, addr).stdout(Stdio::null()).kill_on_drop(true).spawn()?;
        let server = Self { child, addr };
        let until = Instant::now() + Duration::from_secs(20);
        while TcpStream::connect(addr).await.is_err() {
            if Instant::now() > until {
                return Err("the server did not start".into());
            }
            tokio::time::sleep(Duration::from_millis(20)).await;
        }
        Ok(server)
    }

    /// The id of its process.
    pub(crate) fn pid(&self) -> u32 {
        self.child.id().unwrap_or_default()
    }
}

fn ours(child: &mut Command, addr: SocketAddr) -> &mut Command {
    child
        .env_remove("DATABASE_URL")
        .arg("serve")
        .env("SMS_ADDR", addr.to_string())
        .env("SMS_ADMIN_TOKEN", Server::ADMIN_TOKEN)
        .env("SMS_DEMO", "false")
        .env("SMS_RATE_PER_SECOND", "1000000")
        .env("SMS_RATE_BURST", "1000000")
        .env("SMS_LOG", "warn")
}

fn loopback(port: u16) -> SocketAddr {
    SocketAddr::from(([127, 0, 0, 1], port))
}
