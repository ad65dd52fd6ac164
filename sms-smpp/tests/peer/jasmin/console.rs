//! Configures a running Jasmin over its console: it passes messages on to our SMSC and back.

use std::time::Duration;

use sms_test_smsc::{PASSWORD, until};
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::TcpStream;
use tokio::time::timeout;

/// Longer than any command takes.
const BOUND: Duration = Duration::from_secs(30);

/// The user that binds; its password is the one of the test SMSC.
pub(crate) const USER: &str = "example";

/// The address of one of Jasmin's services: from the variable, or the default.
fn place(variable: &str, default: &str) -> String {
    std::env::var(variable).unwrap_or_else(|_| default.to_owned())
}

/// Where Jasmin's SMPP server listens.
pub(crate) fn smpp() -> String {
    place("SMS_JASMIN_SMPP", "127.0.0.1:2775")
}

/// Runs commands one after the other, and returns all output.
async fn console(lines: &[String]) -> String {
    let place = place("SMS_JASMIN_CLI", "127.0.0.1:8990");
    let stream = TcpStream::connect(&place).await;
    let mut stream = stream.unwrap_or_else(|error| panic!("no Jasmin at {place}: {error}"));
    let mut said = prompt(&mut stream).await;
    for line in lines {
        stream.write_all(format!("{line}\r\n").as_bytes()).await.unwrap();
        said.push_str(&prompt(&mut stream).await);
    }
    said
}

/// Reads output up to the next prompt. The greeting has no prompt.
async fn prompt(stream: &mut TcpStream) -> String {
    let mut said = Vec::new();
    loop {
        let read = timeout(BOUND, stream.read_buf(&mut said)).await.expect("an answer in time");
        let text = String::from_utf8_lossy(&said).into_owned();
        let is_greeting = text.contains("Session ref") && text.ends_with('\n');
        if read.unwrap() == 0 || text.ends_with("> ") || text.ends_with("jcli : ") || is_greeting {
            return text;
        }
    }
}

fn lines(lines: &[&str]) -> Vec<String> {
    lines.iter().map(|line| (*line).to_owned()).collect()
}

/// Routes the user's messages to the SMSC on `port`, and that SMSC's messages to the user.
pub(crate) async fn pass_on_to(port: u16) {
    let connector = format!("peer{port}");
    let (cid, to) = (format!("cid {connector}"), format!("port {port}"));
    let by = format!("connector smppc({connector})");
    let for_user = format!("connector smpps({USER})");
    let name = format!("username {USER}");
    let word = format!("password {PASSWORD}");
    let steps: [&[&str]; 5] = [
        &["group -a", "gid example", "ok"],
        &["user -a", &name, &word, "uid example", "gid example", "ok"],
        &[
            "smppccm -a",
            &cid,
            "host 127.0.0.1",
            &to,
            "username example",
            &word,
            "bind transceiver",
            "submit_throughput 0",
            "requeue_delay 1",
            "con_fail_delay 1",
            "con_loss_delay 1",
            "ok",
        ],
        &["mtrouter -a", "type DefaultRoute", &by, "rate 0.0", "ok"],
        &["morouter -a", "type DefaultRoute", &for_user, "ok"],
    ];
    for step in steps {
        // Jasmin refuses what already exists, and leaves the form.
        console(&lines(step)).await;
    }
    console(&[format!("smppccm -1 {connector}")]).await;
    until("Jasmin to bind to the peer", async || {
        let listed = console(&lines(&["smppccm --list"])).await;
        let is_bound = |line: &str| line.contains(&connector) && line.contains("BOUND_TRX");
        listed.lines().any(is_bound).then_some(())
    })
    .await;
}

/// Removes the SMSC from Jasmin.
pub(crate) async fn leave(port: u16) {
    console(&[format!("smppccm -0 peer{port}"), format!("smppccm -r peer{port}")]).await;
}

/// Makes Jasmin unbind every session of the user.
pub(crate) async fn unbind() {
    console(&[format!("user --smpp-unbind {USER}")]).await;
}
