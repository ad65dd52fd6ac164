//! Deliveries of a real server, verified by the libraries that receivers use: `standardwebhooks`
//! and Stripe's, of npm and of PyPI (`tests/webhook-libraries`), and as the guide of the API's
//! document shows.

use std::io::Write;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use poem::http::HeaderMap;
use serde_json::{Map, Value, json};

use crate::process::Process;
use crate::server::{data, receiver};
use crate::socket::bounded;

/// A delivery as a receiver has it, and the secret that it knows.
struct Received {
    secret: String,
    headers: Map<String, Value>,
    body: String,
}

impl Received {
    fn new(secret: &str, headers: &HeaderMap, body: &[u8]) -> Self {
        let text = |value: &[u8]| String::from_utf8(value.to_vec()).unwrap();
        let headers = headers.iter();
        Self {
            secret: secret.to_owned(),
            headers: headers
                .map(|(name, value)| (name.to_string(), text(value.as_bytes()).into()))
                .collect(),
            body: text(body),
        }
    }

    fn to_line(&self) -> String {
        let Self { secret, headers, body } = self;
        json!({ "secret": secret, "headers": headers, "body": body }).to_string() + "\n"
    }
}

fn folder() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../tests/webhook-libraries")
}

/// What a program says to each delivery: for each library, null or why it is refused.
fn verdicts(program: &Path, script: &str, deliveries: &[Received]) -> Vec<Value> {
    let mut command = Command::new(program);
    command.arg(script).current_dir(folder()).stdin(Stdio::piped()).stdout(Stdio::piped());
    let child = command.spawn();
    let mut child = child.unwrap_or_else(|error| {
        panic!("{}: {error}: run scripts/test once, which installs it", program.display())
    });
    let mut input = child.stdin.take().unwrap();
    for delivery in deliveries {
        input.write_all(delivery.to_line().as_bytes()).unwrap();
    }
    drop(input);
    let output = child.wait_with_output().unwrap();
    assert!(output.status.success(), "{script} failed: run scripts/test once, which installs it");
    let lines = String::from_utf8(output.stdout).unwrap();
    lines.lines().map(|line| serde_json::from_str(line).unwrap()).collect()
}

/// Panics unless all four libraries accept the delivery, or refuse it.
fn assert_verdicts(deliveries: &[Received], are_accepted: &[bool]) {
    let python = folder().join(".venv/bin/python");
    for (program, script) in [(Path::new("node"), "verify.js"), (&python, "verify.py")] {
        let verdicts = verdicts(program, script, deliveries);
        assert_eq!(verdicts.len(), deliveries.len());
        for (place, (verdict, is_accepted)) in verdicts.iter().zip(are_accepted).enumerate() {
            for library in ["standardwebhooks", "stripe"] {
                let accepted = verdict[library].is_null();
                assert_eq!(accepted, *is_accepted, "{script}, {library}, {place}: {verdict}");
            }
        }
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn the_libraries_of_npm_and_pypi_verify_every_delivery() {
    let server = Process::start(&[("SMS_WEBHOOK_ALLOW_PRIVATE", "true")]);
    let (receiver, mut received) = receiver().await;
    let key = server.said("Test key");
    let url = format!("http://{}/hook", receiver.addr);
    let hook = json!({ "url": url, "events": ["message.sent", "message.delivered"] });
    let made = data(&server.call("POST", "/api/v1/webhooks", &key, &hook).await);
    let (path, first) =
        (format!("/api/v1/webhooks/{}", made["id"].as_str().unwrap()), made["secret"].clone());
    let first = first.as_str().unwrap();
    let message = json!({ "to": "07700 900123", "body": "Ångström’s café 👋" });

    let mut deliveries = Vec::new();
    server.call("POST", "/api/v1/messages", &key, &message).await;
    for _ in 0..2 {
        let (headers, body) = bounded(received.recv()).await.unwrap();
        deliveries.push(Received::new(first, &headers, &body));
    }
    let rotated = server.call("PATCH", &path, &key, &json!({ "rotate_secret": true })).await;
    let second = data(&rotated)["secret"].as_str().unwrap().to_owned();
    server.call("POST", &format!("{path}/test"), &key, &json!({})).await;
    let (headers, body) = bounded(received.recv()).await.unwrap();
    for secret in [first, &second] {
        deliveries.push(Received::new(secret, &headers, &body));
    }
    let mut changed = Received::new(&second, &headers, &body);
    changed.body.push(' ');
    deliveries.push(changed);
    let of_another = made_secret_of_another(&server, &key, &hook).await;
    deliveries.push(Received::new(&of_another, &headers, &body));
    assert_verdicts(&deliveries, &[true, true, true, true, false, false]);
    assert_guide_verifies(&deliveries[0]);
}

/// The guide of the document, with pieces of code.
const GUIDE: &str = include_str!("../../../sms-http/src/api/guide.md");

/// The piece of code in a language that holds these words.
fn piece(language: &str, words: &str) -> &'static str {
    let pieces = GUIDE.split("```").skip(1).step_by(2);
    let mut of_language = pieces.filter_map(|piece| piece.strip_prefix(language));
    of_language.find(|piece| piece.contains(words)).expect("the guide shows it")
}

/// What a program prints, with a delivery as its input.
fn printed(command: &mut Command, delivery: &Received) -> String {
    command.current_dir(folder()).stdin(Stdio::piped()).stdout(Stdio::piped());
    let mut child = command.spawn().expect("scripts/test installs it");
    child.stdin.take().unwrap().write_all(delivery.to_line().as_bytes()).unwrap();
    let output = child.wait_with_output().unwrap();
    assert!(output.status.success());
    String::from_utf8(output.stdout).unwrap().trim().to_owned()
}

/// Runs the guide's pieces of code on a delivery.
fn assert_guide_verifies(delivery: &Received) {
    let event: Value = serde_json::from_str(&delivery.body).unwrap();
    let id = event["id"].as_str().unwrap();
    let call = "\nconst it = JSON.parse(require('fs').readFileSync(0));\n\
                console.log(eventOf(it.secret, it.body, it.headers).id);";
    let program = piece("js\n", "standardwebhooks").to_owned() + call;
    assert_eq!(printed(Command::new("node").args(["-e", &program]), delivery), id);

    let call = "\nimport json, sys\nit = json.load(sys.stdin)\n\
                print(event_of(it['secret'], it['body'], it['headers'])['id'])";
    let program = piece("python\n", "standardwebhooks").to_owned() + call;
    let python = folder().join(".venv/bin/python");
    assert_eq!(printed(Command::new(python).args(["-c", &program]), delivery), id);

    let header = |name: &str| delivery.headers[name].as_str().unwrap().to_owned();
    let body = std::env::temp_dir().join(format!("body-{id}.json"));
    std::fs::write(&body, &delivery.body).unwrap();
    let program = piece("sh\n", "openssl").replace("body.json", body.to_str().unwrap());
    let mut shell = Command::new("sh");
    shell.args(["-c", &program]).env("SECRET", &delivery.secret);
    shell.env("WEBHOOK_ID", header("webhook-id"));
    shell.env("WEBHOOK_TIMESTAMP", header("webhook-timestamp"));
    let signature = printed(&mut shell, delivery);
    std::fs::remove_file(&body).unwrap();
    assert_eq!(format!("v1,{signature}"), header("webhook-signature"));
}

async fn made_secret_of_another(server: &Process, key: &str, hook: &Value) -> String {
    let made = server.call("POST", "/api/v1/webhooks", key, hook).await;
    data(&made)["secret"].as_str().unwrap().to_owned()
}
