//! An SMSC that nobody here wrote: node-smpp, in a process of its own. What it does is told by
//! `sms-smpp/tests/peer/smsc.js`.

use std::io::{BufRead, BufReader, Write};
use std::path::{Path, PathBuf};
use std::process::{Child, ChildStdin, Command, Stdio};
use std::sync::{Arc, Mutex};
use std::time::Duration;

use serde_json::{Value, json};

use crate::socket::bounded;

/// It runs until it is dropped, and writes down all that happens to it.
pub(crate) struct Smsc {
    process: Child,
    orders: Mutex<ChildStdin>,
    seen: Arc<Mutex<Vec<Value>>>,
    pub port: u16,
}

fn folder() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../sms-smpp/tests/peer")
}

/// Looks again and again until there is what is looked for, within a minute: a text that may have
/// left waits for some seconds before it leaves again.
pub(crate) async fn until<T>(what: &str, mut look: impl AsyncFnMut() -> Option<T>) -> T {
    let looking = async {
        loop {
            if let Some(found) = look().await {
                return found;
            }
            tokio::time::sleep(Duration::from_millis(20)).await;
        }
    };
    let found = tokio::time::timeout(Duration::from_mins(1), looking).await;
    found.unwrap_or_else(|_| panic!("waited in vain for {what}"))
}

impl Smsc {
    pub(crate) async fn start() -> Self {
        let folder = folder();
        assert!(
            folder.join("node_modules/smpp").is_dir(),
            "the peer is not installed: run scripts/test once, or `npm ci` in {}",
            folder.display()
        );
        let mut command = Command::new("node");
        command.arg("smsc.js").current_dir(folder).stdin(Stdio::piped()).stdout(Stdio::piped());
        let mut process = command.spawn().expect("node runs: scripts/test installs it");
        let orders = Mutex::new(process.stdin.take().unwrap());
        let told = BufReader::new(process.stdout.take().unwrap());
        let seen: Arc<Mutex<Vec<Value>>> = Arc::default();
        let writer = Arc::clone(&seen);
        std::thread::spawn(move || {
            for line in told.lines().map_while(Result::ok) {
                let event = serde_json::from_str(&line).expect("a line of JSON");
                writer.lock().unwrap().push(event);
            }
        });
        let mut smsc = Self { process, orders, seen, port: 0 };
        let listening = smsc.until("listening", 1).await;
        smsc.port = u16::try_from(listening[0]["port"].as_u64().unwrap()).unwrap();
        smsc
    }

    /// All that happened of a kind.
    pub(crate) fn seen(&self, kind: &str) -> Vec<Value> {
        let seen = self.seen.lock().unwrap();
        seen.iter().filter(|event| event["event"] == kind).cloned().collect()
    }

    /// Waits until so much happened of a kind; all of it.
    pub(crate) async fn until(&self, kind: &str, count: usize) -> Vec<Value> {
        let what = format!("{count} times {kind}");
        until(&what, async || Some(self.seen(kind)).filter(|seen| seen.len() >= count)).await
    }

    /// The id under which it took the text whose words begin so.
    pub(crate) async fn id_of(&self, words: &str) -> u64 {
        let begins = |text: &Value| text["words"].as_str().is_some_and(|it| it.starts_with(words));
        let found = until(words, async || self.seen("text").into_iter().find(begins)).await;
        found["id"].as_u64().unwrap()
    }

    /// Gives an order, and waits until it is carried out.
    pub(crate) async fn order(&self, order: Value) {
        let done = self.seen("done").len();
        writeln!(self.orders.lock().unwrap(), "{order}").unwrap();
        self.until("done", done + 1).await;
    }

    /// How it answers texts from now on.
    pub(crate) async fn answers(&self, manner: Value) {
        self.order(json!({ "submit": manner })).await;
    }

    /// Sends something to whoever is bound, and waits until it is answered: what is answered well
    /// is kept.
    async fn sends(&self, order: Value) {
        let answered = self.seen("answered").len();
        self.order(order).await;
        let answers = self.until("answered", answered + 1).await;
        assert_eq!(answers[answered]["status"], 0, "it is kept");
    }

    /// Sends a receipt, with fields such as `id`, `state`, `form`, `err`.
    pub(crate) async fn receipt(&self, receipt: Value) {
        self.sends(json!({ "receipt": receipt })).await;
    }

    /// Sends a text, or a part of one with this header.
    pub(crate) async fn text(&self, to: &str, header: &[u8], words: &str) {
        let octets = [header, words.as_bytes()].concat();
        let class = if header.is_empty() { 0 } else { 0x40 };
        let text = json!({
            "source_addr": "447700900123", "source_addr_ton": 1, "source_addr_npi": 1,
            "destination_addr": to, "dest_addr_ton": 1, "dest_addr_npi": 1,
            "esm_class": class, "data_coding": 0, "octets": octets,
        });
        self.sends(json!({ "deliver": text })).await;
    }

    /// Ends it, and with it all its connections.
    pub(crate) async fn dies(mut self) {
        self.process.kill().unwrap();
        bounded(async { self.process.wait().unwrap() }).await;
    }
}

impl Drop for Smsc {
    fn drop(&mut self) {
        // Whether it runs still or not, it is gone after this.
        let _ = self.process.kill();
        let _ = self.process.wait();
    }
}
