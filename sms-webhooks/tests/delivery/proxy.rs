//! Proxy settings of the environment are ignored. A process cannot change its own environment
//! safely, so the delivery is made by this same test program run once more.

use std::process::Command;

use crate::receiver::{Receiver, answer};
use crate::{delivery_to, open_client};

const TARGET: &str = "SMS_WEBHOOKS_TEST_TARGET";

/// The child process runs this test. Without a target it does nothing.
#[tokio::test]
async fn deliver_in_a_child_process() {
    let Ok(url) = std::env::var(TARGET) else {
        return;
    };
    let attempt = open_client().deliver(delivery_to(&url)).await;
    assert_eq!((attempt.status_code, attempt.failure), (Some(200), None));
}

#[tokio::test]
async fn proxies_of_the_environment_are_ignored() {
    let target = Receiver::start(answer("200 OK", "", "")).await;
    let proxy = Receiver::start(answer("502 Bad Gateway", "", "")).await;
    let mut child = Command::new(std::env::current_exe().unwrap());
    child.args(["--exact", "proxy::deliver_in_a_child_process"]).env(TARGET, target.url("/"));
    for name in ["HTTP_PROXY", "HTTPS_PROXY", "ALL_PROXY"] {
        child.env(name, proxy.url("")).env(name.to_lowercase(), proxy.url(""));
    }
    child.env_remove("NO_PROXY").env_remove("no_proxy");
    let output = tokio::task::spawn_blocking(move || child.output()).await.unwrap().unwrap();
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stdout));
    assert_eq!((target.connections().await, proxy.connections().await), (1, 0));
}
