//! Routes that are down: their messages wait, or the next route carries them.

use serde_json::{Value, json};
use sms_test_smsc::{PASSWORD, Smsc, until};

use crate::process::{TOKEN, run};
use crate::smpp_world::{World, history, on_both_stores};

on_both_stores! {
    while_a_route_is_down_the_next_one_carries_its_messages_and_their_receipts
    a_server_serves_and_keeps_messages_while_its_network_refuses_the_password
}

async fn while_a_route_is_down_the_next_one_carries_its_messages_and_their_receipts(
    store: Option<&str>,
) {
    let (main, backup) = (Smsc::start().await, Smsc::start().await);
    let settings = [
        ("SMS_ROUTES", "main,backup"),
        ("SMS_ROUTE_BACKUP_URL", &backup.url()),
        ("SMS_ROUTE_BACKUP_PASSWORD", PASSWORD),
        ("SMS_ROUTE_MAIN_FAILOVER", "1s"),
    ];
    let world = World::new(store, &main, &settings).await;
    world.until_route(0, "ready").await;
    let first = world.send_one("by the first").await;
    world.until(&first, "sent").await;
    main.id_of("by the first").await;
    assert!(backup.seen("text").is_empty());
    let late = world.send_one("waits for its receipt").await;
    world.until(&late, "sent").await;
    let id = main.id_of("waits").await;

    main.dies();
    let down = world.until_route(0, "down").await;
    assert_eq!((&down["name"], &down["default"]), (&json!("main"), &json!(true)));
    assert_eq!(down["connections"]["up"], 0);
    assert!(down["connections"]["down_seconds"].as_u64().unwrap() >= 1);
    assert_eq!(world.route(1)["state"], "ready");
    let second = world.send_one("by the second").await;
    let taken = backup.id_of("by the second").await;
    world.until(&second, "sent").await;
    backup.receipt(json!({ "id": taken, "state": "DELIVRD", "form": "text" })).await;
    let message = world.message(&second).await;
    assert_eq!(history(&message), ["queued", "sending", "sent", "delivered"]);
    // The same id at another network is another message.
    if taken != id {
        backup.receipt(json!({ "id": id, "state": "DELIVRD", "form": "text" })).await;
    }
    assert_eq!(world.message(&late).await["status"], "sent");
    until("the gauge", async || {
        let down = world.metric("sms_route_down_seconds{route=\"main\"}").await;
        (down >= 1.0).then_some(())
    })
    .await;
}

async fn a_server_serves_and_keeps_messages_while_its_network_refuses_the_password(
    store: Option<&str>,
) {
    let smsc = Smsc::start().await;
    let settings = [("SMS_ROUTE_MAIN_PASSWORD", "canary"), ("SMS_ROUTE_MAIN_FAILOVER", "1s")];
    let world = World::new(store, &smsc, &settings).await;
    let id = world.send_one("Hello").await;
    // Refused once and again.
    smsc.until("bind", 2).await;
    world.until_route(0, "down").await;
    assert_eq!(history(&world.message(&id).await), ["queued"], "it waits");
    assert!(smsc.seen("text").is_empty());
    assert_eq!(world.operator("/numbers").await[0]["online"], false);
    let page =
        crate::process::ask(world.server.addr(), "GET", "/metrics", Some(TOKEN), "").await.body;
    assert!(!page.contains("canary"));
    world.server.wait_for_log("cannot bind");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_server_serves_while_nobody_listens_where_its_network_should_be() {
    let smsc = Smsc::start().await;
    let nobody = [("SMS_ROUTE_MAIN_URL", "smpp://example@127.0.0.1:1")];
    let world = World::new(None, &smsc, &nobody).await;
    let id = world.send_one("Hello").await;
    assert_eq!(world.message(&id).await["status"], "queued");
    let addr = world.server.addr().to_string();
    let output = run(&["routes"], &[("SMS_ADMIN_TOKEN", TOKEN), ("SMS_ADDR", &addr)]);
    let routes: Value = serde_json::from_slice(&output.stdout).unwrap();
    assert_eq!(routes.as_array().unwrap().len(), 1, "not the one of test keys");
    assert_eq!((&routes[0]["name"], &routes[0]["state"]), (&json!("main"), &json!("full")));
    let connections = &routes[0]["connections"];
    assert_eq!((&connections["up"], &connections["wanted"]), (&json!(0), &json!(1)));
    assert!(world.server.banner.contains("main (smpp://127.0.0.1:1)"), "{}", world.server.banner);
    assert!(!world.server.banner.contains("example"), "{}", world.server.banner);
    world.server.signal("-TERM");
    assert_eq!(world.server.ended().code(), Some(0));
}
