//! An independent SMSC for tests: node-smpp, in a separate process. `smsc.js` documents its
//! behaviour and its orders.

#![deny(missing_docs)]
#![expect(
    clippy::expect_used,
    clippy::unwrap_used,
    clippy::missing_panics_doc,
    reason = "a test fails by panicking"
)]

use std::io::{BufRead, BufReader, Write};
use std::path::Path;
use std::process::{Child, ChildStdin, Command, Stdio};
use std::sync::{Arc, Mutex};
use std::time::Duration;

use serde_json::{Value, json};

/// The password it accepts, as long as the protocol allows.
pub const PASSWORD: &str = "gr8 duck";

/// Polls until `look` finds something, for at most a minute: a message that may have been sent
/// waits some seconds before it is sent again.
pub async fn until<T>(what: &str, mut look: impl AsyncFnMut() -> Option<T>) -> T {
    let looking = async {
        loop {
            if let Some(found) = look().await {
                return found;
            }
            tokio::time::sleep(Duration::from_millis(10)).await;
        }
    };
    let found = tokio::time::timeout(Duration::from_mins(1), looking).await;
    found.unwrap_or_else(|_| panic!("timed out waiting for {what}"))
}

/// [`PASSWORD`]; from now on no log may contain it.
pub fn password() -> &'static str {
    sms_test_log::watch();
    sms_test_log::secret(PASSWORD);
    PASSWORD
}

/// A running SMSC that records all events. Dropping it stops it.
#[derive(Debug)]
pub struct Smsc {
    /// Its port on loopback.
    pub port: u16,
    process: Child,
    orders: Mutex<ChildStdin>,
    seen: Arc<Mutex<Vec<Value>>>,
    /// How many events [`next`](Smsc::next) has passed over.
    passed: Mutex<usize>,
}

impl Smsc {
    /// Starts an SMSC on a free port.
    pub async fn start() -> Self {
        let folder = Path::new(env!("CARGO_MANIFEST_DIR"));
        assert!(
            folder.join("node_modules/smpp").is_dir(),
            "the SMSC is not installed: run scripts/test once, or `npm ci` in {}",
            folder.display()
        );
        let mut command = Command::new("node");
        command.args(["smsc.js", PASSWORD]).current_dir(folder);
        command.stdin(Stdio::piped()).stdout(Stdio::piped());
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
        let mut smsc = Self { port: 0, process, orders, seen, passed: Mutex::new(0) };
        let listening = smsc.until("listening", 1).await;
        smsc.port = u16::try_from(listening[0]["port"].as_u64().unwrap()).unwrap();
        smsc
    }

    /// Its address, as in the `URL` of a route.
    pub fn url(&self) -> String {
        format!("smpp://example@127.0.0.1:{}", self.port)
    }

    /// All events, in order.
    pub fn all(&self) -> Vec<Value> {
        self.seen.lock().unwrap().clone()
    }

    /// All events of a kind.
    pub fn seen(&self, kind: &str) -> Vec<Value> {
        let seen = self.seen.lock().unwrap();
        seen.iter().filter(|event| event["event"] == kind).cloned().collect()
    }

    /// Waits for `count` events of a kind. Returns all of that kind.
    pub async fn until(&self, kind: &str, count: usize) -> Vec<Value> {
        let what = format!("{count} times {kind}");
        until(&what, async || Some(self.seen(kind)).filter(|seen| seen.len() >= count)).await
    }

    /// Waits for the next event of a kind and skips other events.
    pub async fn next(&self, kind: &str) -> Value {
        until(kind, async || {
            let (seen, mut passed) = (self.seen.lock().unwrap(), self.passed.lock().unwrap());
            let ahead = seen[*passed..].iter().position(|event| event["event"] == kind)?;
            *passed += ahead + 1;
            Some(seen[*passed - 1].clone())
        })
        .await
    }

    /// The id it gave to the message whose body begins with these words.
    pub async fn id_of(&self, words: &str) -> u64 {
        let begins = |text: &Value| text["words"].as_str().is_some_and(|it| it.starts_with(words));
        let found = until(words, async || self.seen("text").into_iter().find(begins)).await;
        found["id"].as_u64().unwrap()
    }

    /// Gives an order and waits until it is carried out.
    pub async fn order(&self, order: Value) {
        let done = self.seen("done").len();
        writeln!(self.orders.lock().unwrap(), "{order}").unwrap();
        self.until("done", done + 1).await;
    }

    /// Sets how it answers submits from now on.
    pub async fn answers(&self, manner: Value) {
        self.order(json!({ "submit": manner })).await;
    }

    /// Sends a receipt, with fields such as `id`, `state`, `form`, `err`, and waits until it is
    /// accepted.
    pub async fn receipt(&self, receipt: Value) {
        self.is_kept(json!({ "receipt": receipt })).await;
    }

    /// Sends a message, or a segment with this header, and waits until it is accepted.
    pub async fn text(&self, to: &str, header: &[u8], words: &str) {
        let octets = [header, words.as_bytes()].concat();
        let class = if header.is_empty() { 0 } else { 0x40 };
        let fields = json!({ "destination_addr": to, "esm_class": class, "octets": octets });
        self.is_kept(text_with(fields)).await;
    }

    /// Sends a message with these fields and the body in `octets`.
    pub async fn deliver(&self, fields: Value) {
        self.order(text_with(fields)).await;
    }

    /// Sends something to the bound client and waits for an answer, which must have status 0.
    async fn is_kept(&self, order: Value) {
        let answered = self.seen("answered").len();
        self.order(order).await;
        let answers = self.until("answered", answered + 1).await;
        assert_eq!(answers[answered]["status"], 0, "it is kept");
    }

    /// Stops it, and closes all its connections.
    pub fn dies(self) {
        drop(self);
    }
}

/// The order to send a message. The given fields replace the defaults.
fn text_with(fields: Value) -> Value {
    let mut text = json!({
        "source_addr": "447700900123", "source_addr_ton": 1, "source_addr_npi": 1,
        "destination_addr": "447700900001", "dest_addr_ton": 1, "dest_addr_npi": 1,
        "data_coding": 0,
    });
    if let Value::Object(fields) = fields {
        text.as_object_mut().unwrap().extend(fields);
    }
    json!({ "deliver": text })
}

impl Drop for Smsc {
    fn drop(&mut self) {
        // It may have ended already. It is gone after this either way.
        let _ = self.process.kill();
        let _ = self.process.wait();
    }
}
