//! The server under attack, as a process of its own.

use std::fmt;
use std::net::{SocketAddr, TcpListener};
use std::path::Path;
use std::process::Stdio;
use std::time::{Duration, Instant};

use clap::ValueEnum;
use serde_json::Value;
use tokio::process::{Child, Command};
use tokio::time::sleep;

use crate::client::{Connection, request};
use crate::failed::Failed;
use crate::usage::Usage;

/// The operator's token.
pub(crate) const OPERATOR: &str = "token-of-the-hostile-rig";
const START_SECONDS: u64 = 30;

/// Where the server keeps its data.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub(crate) enum StoreKind {
    Memory,
    Postgres,
}

impl fmt::Display for StoreKind {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Memory => "memory",
            Self::Postgres => "PostgreSQL",
        })
    }
}

/// How an attack wants the server to be started.
#[derive(Debug, Clone, Default)]
pub(crate) struct Options {
    /// The most file handles that the server may open: `ulimit -n`.
    pub(crate) handles: Option<u64>,
    /// More settings.
    pub(crate) settings: Vec<(&'static str, String)>,
}

/// A server that runs until it is dropped.
#[derive(Debug)]
pub(crate) struct Server {
    child: Child,
    pub(crate) addr: SocketAddr,
}

impl Server {
    /// Starts a server and waits until it is ready.
    pub(crate) async fn start(
        program: Option<&Path>,
        database: Option<&str>,
        options: &Options,
    ) -> Result<Self, Failed> {
        let (program, argument) = match program {
            Some(path) => (path.canonicalize().map_err(|_| Failed::NoServer(path.into()))?, None),
            None => (std::env::current_exe()?, Some("serve")),
        };
        let port = TcpListener::bind("127.0.0.1:0")?.local_addr()?.port();
        let addr = SocketAddr::from(([127, 0, 0, 1], port));
        let mut command = match options.handles {
            Some(handles) => {
                let mut shell = Command::new("sh");
                shell
                    .arg("-c")
                    .arg(format!("ulimit -n {handles}; exec \"$0\" \"$@\""))
                    .arg(program);
                shell
            }
            None => Command::new(program),
        };
        command
            .args(argument)
            .env("SMS_ADDR", addr.to_string())
            .env("SMS_ADMIN_TOKEN", OPERATOR)
            .env("SMS_DEMO", "false")
            .env("SMS_WEBHOOK_ALLOW_PRIVATE", "true")
            .env("SMS_LOG", "error")
            .env_remove("DATABASE_URL")
            .envs(options.settings.iter().map(|(name, value)| (name, value.as_str())))
            .stdin(Stdio::null())
            .stdout(Stdio::null())
            .stderr(Stdio::null())
            .kill_on_drop(true);
        match database {
            Some(url) => command.env("DATABASE_URL", url),
            None => command.env("SMS_STORE", "memory"),
        };
        let server = Self { child: command.spawn()?, addr };
        server.wait_until_ready().await?;
        Ok(server)
    }

    async fn wait_until_ready(&self) -> Result<(), Failed> {
        let until = Instant::now() + Duration::from_secs(START_SECONDS);
        let ready = request("GET", "/readyz", OPERATOR, &Value::Null);
        while Instant::now() < until {
            if let Ok(mut connection) = Connection::open(self.addr).await
                && let Ok(answer) = connection.ask(&ready).await
                && answer.status == 200
            {
                return Ok(());
            }
            sleep(Duration::from_millis(50)).await;
        }
        Err(Failed::NotStarted(START_SECONDS))
    }

    /// What its process uses now.
    pub(crate) fn usage(&self) -> Usage {
        Usage::of(self.child.id().unwrap_or_default())
    }
}
