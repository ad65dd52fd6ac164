//! `/metrics` and the table of `docs/metrics.md`: each has what the other has.

use std::collections::BTreeSet;
use std::fs;
use std::path::Path;

use serde_json::json;
use sms_test_smsc::{Smsc, until};

use crate::process::{TOKEN, ask};
use crate::smpp_world::World;

const TABLE: &str = include_str!("../../../docs/metrics.md");

/// The names of the table.
fn named() -> BTreeSet<&'static str> {
    let rows = TABLE.lines().filter_map(|line| line.strip_prefix("| `"));
    rows.filter_map(|row| Some(row.split_once('`')?.0)).collect()
}

/// Every line of Rust below a folder.
fn source(folder: &Path) -> String {
    let mut all = String::new();
    for entry in fs::read_dir(folder).unwrap() {
        let path = entry.unwrap().path();
        if path.is_dir() {
            all.push_str(&source(&path));
        } else {
            all.push_str(&fs::read_to_string(path).unwrap());
        }
    }
    all
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn what_a_server_shows_is_in_the_table() {
    let smsc = Smsc::start().await;
    smsc.answers(json!({ "after": "text" })).await;
    let world = World::new(None, &smsc, &[]).await;
    let id = world.send_one("canary").await;
    world.until(&id, "delivered").await;
    until("the gauges", async || {
        let up = world.metric("sms_route_connections_up{route=\"main\"}").await;
        (up > 0.9).then_some(())
    })
    .await;
    let page = ask(world.server.addr(), "GET", "/metrics", Some(TOKEN), "").await.body;
    let types = page.lines().filter_map(|line| line.strip_prefix("# TYPE ")?.split(' ').next());
    let shown: BTreeSet<&str> = types.collect();
    let named = named();
    let unnamed: Vec<&&str> = shown.difference(&named).collect();
    assert!(unnamed.is_empty(), "docs/metrics.md lacks {unnamed:?}");
    assert!(shown.len() > 12, "{shown:?}");
    assert!(page.contains("sms_smpp_answer_seconds_bucket{route=\"main\",le=\"0.05\"}"), "{page}");
    assert!(!page.contains("canary") && !page.contains("900123"), "{page}");
}

#[test]
fn what_is_in_the_table_is_counted_somewhere() {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("..");
    let crates = ["sms-http/src", "sms-server/src", "sms-smpp/src", "sms-workers/src"];
    let sources = crates.map(|folder| source(&root.join(folder))).concat();
    assert!(named().len() > 20, "the table is read");
    for name in named() {
        assert!(sources.contains(&format!("\"{name}\"")), "nothing counts {name}");
    }
}
