//! Servers that stop, are killed, and share a database, with messages on their way through an SMSC.

use std::collections::BTreeSet;

use serde_json::json;
use sms_test_smsc::{Smsc, until};

use crate::smpp_world::{Database, World, history, start};

fn numbers(count: usize) -> String {
    (0..count).map(|n| format!("07700 9001{n:02}")).collect::<Vec<_>>().join(",")
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_server_that_stops_has_its_window_answered_unbinds_and_leaves_the_rest_to_the_next() {
    let database = Database::new().await;
    let smsc = Smsc::start().await;
    // Longer than anything here is held up, and well below what a stop may take.
    smsc.answers(json!({ "delay": 2_000 })).await;
    let world = World::new(Some(&database.url), &smsc, &[]).await;
    let ids = world.send(&numbers(30), "Hello").await;
    smsc.until("text", 5).await;
    world.server.signal("-TERM");
    let World { server, key } = world;
    let log = server.wait_for_log("stopped");
    assert!(!log.contains("before everything had ended"), "{log}");
    assert_eq!(server.ended().code(), Some(0));
    assert_eq!(smsc.seen("unbind").len(), 1, "it went in order");
    let before = smsc.seen("text").len();
    assert!((5..30).contains(&before), "{before} left before it stopped");

    smsc.answers(json!({ "after": "text" })).await;
    let world = World { server: start(Some(&database.url), &smsc, &[]), key };
    smsc.until("text", 30).await;
    for id in &ids {
        until("all to be sent", async || {
            let message = world.message(id).await;
            ["sent", "delivered"].iter().any(|it| message["status"] == *it).then_some(())
        })
        .await;
    }
    let messages = smsc.seen("text");
    let to: BTreeSet<String> = messages.iter().map(|text| text["to"].to_string()).collect();
    assert_eq!((messages.len(), to.len()), (30, 30), "each left once");
    drop(world);
    database.drop().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_receipt_that_comes_after_a_kill_and_a_restart_finds_its_message() {
    let database = Database::new().await;
    let smsc = Smsc::start().await;
    let world = World::new(Some(&database.url), &smsc, &[]).await;
    let id = world.send_one("Hello").await;
    world.until(&id, "sent").await;
    let taken = smsc.id_of("Hello").await;
    world.server.signal("-KILL");
    smsc.until("closed", 1).await;

    let server = start(Some(&database.url), &smsc, &[]);
    let world = World { server, key: world.key };
    smsc.until("bind", 2).await;
    smsc.receipt(json!({ "id": taken, "state": "DELIVRD", "form": "text" })).await;
    let message = world.message(&id).await;
    assert_eq!(history(&message), ["queued", "sending", "sent", "delivered"]);
    assert_eq!(smsc.seen("text").len(), 1);
    drop(world);
    database.drop().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_receipt_that_comes_to_another_server_finds_its_message() {
    let database = Database::new().await;
    // One network, two ways in: each server is bound to its own.
    let (here, there) = (Smsc::start().await, Smsc::start().await);
    let world = World::new(Some(&database.url), &here, &[]).await;
    let other = start(Some(&database.url), &there, &[]);
    here.until("bind", 1).await;
    there.until("bind", 1).await;
    let id = world.send_one(&"Two parts. ".repeat(20)).await;
    world.until(&id, "sent").await;
    let (taken, ways) = (here.seen("text"), [&here, &there]);
    let came_here = taken.len() == 2;
    let messages = if came_here { taken } else { there.seen("text") };
    assert_eq!(messages.len(), 2);
    // The first part's comes to the other server, the second's to the one that sent it.
    for (text, way) in messages.iter().zip(if came_here { [1, 0] } else { [0, 1] }) {
        assert_eq!(world.message(&id).await["status"], "sent");
        ways[way].receipt(json!({ "id": text["id"], "state": "DELIVRD", "form": "tlv" })).await;
    }
    assert_eq!(world.message(&id).await["status"], "delivered");
    drop((world, other));
    database.drop().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_server_on_memory_unbinds_before_it_ends_as_well() {
    let smsc = Smsc::start().await;
    // Longer than anything here is held up, and well below what a stop may take.
    smsc.answers(json!({ "delay": 2_000 })).await;
    let world = World::new(None, &smsc, &[]).await;
    world.send(&numbers(30), "Hello").await;
    smsc.until("text", 5).await;
    world.server.signal("-TERM");
    let log = world.server.wait_for_log("stopped");
    assert!(!log.contains("before everything had ended"), "{log}");
    assert_eq!(world.server.ended().code(), Some(0));
    smsc.until("closed", 1).await;
    assert_eq!(smsc.seen("unbind").len(), 1);
    let to = smsc.seen("text").into_iter().map(|text| text["to"].to_string());
    let to: BTreeSet<String> = to.collect();
    assert_eq!(to.len(), smsc.seen("text").len(), "none left twice");
}
