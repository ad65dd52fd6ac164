//! The peer: `smsc.js` in a process of its own.

use std::path::{Path, PathBuf};
use std::process::Stdio;
use std::time::Duration;

use serde_json::{Value, json};
use tokio::io::{AsyncBufReadExt, AsyncWriteExt, BufReader, Lines};
use tokio::process::{Child, ChildStdin, ChildStdout, Command};
use tokio::time::timeout;

/// More than anything here takes.
const BOUND: Duration = Duration::from_secs(30);

/// An SMSC that somebody else wrote. It ends with its input, so with this.
pub(crate) struct Smsc {
    _process: Child,
    orders: ChildStdin,
    told: Lines<BufReader<ChildStdout>>,
    pub(crate) port: u16,
}

fn folder() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/peer")
}

impl Smsc {
    pub(crate) async fn start() -> Self {
        assert!(
            folder().join("node_modules/smpp").is_dir(),
            "the peer is not installed: run scripts/test once, or `npm ci` in {}",
            folder().display()
        );
        let mut command = Command::new("node");
        command.arg("smsc.js").current_dir(folder());
        command.stdin(Stdio::piped()).stdout(Stdio::piped()).kill_on_drop(true);
        let mut process = command.spawn().expect("node runs: scripts/test installs it");
        let orders = process.stdin.take().unwrap();
        let told = BufReader::new(process.stdout.take().unwrap()).lines();
        let mut smsc = Self { _process: process, orders, told, port: 0 };
        let port = smsc.event("listening").await["port"].as_u64().unwrap();
        smsc.port = u16::try_from(port).unwrap();
        smsc
    }

    /// Gives an order and waits until it is carried out.
    pub(crate) async fn order(&mut self, order: Value) {
        self.orders.write_all(format!("{order}\n").as_bytes()).await.unwrap();
        self.event("done").await;
    }

    /// The next thing of a kind that happens; others on the way are passed over.
    pub(crate) async fn event(&mut self, kind: &str) -> Value {
        let found = timeout(BOUND, async {
            loop {
                let line = self.told.next_line().await.unwrap().expect("the peer still runs");
                let event: Value = serde_json::from_str(&line).unwrap();
                if event["event"] == kind {
                    return event;
                }
            }
        });
        found.await.unwrap_or_else(|_| panic!("no {kind} in time"))
    }

    /// How it answers texts from now on.
    pub(crate) async fn answers(&mut self, manner: Value) {
        self.order(json!({ "submit": manner })).await;
    }
}
