//! Inbound messages through a real SMSC.

use serde_json::{Value, json};
use sms_test_smsc::{PASSWORD, Smsc, until};

use crate::process::TOKEN;
use crate::server_postgres::data;
use crate::smpp_world::{NUMBER, World, on_both_stores};

on_both_stores! {
    a_long_message_whose_segments_come_in_any_order_is_one_message_of_its_conversation
    a_keyword_is_answered_through_the_smsc
    a_message_from_a_short_code_or_a_name_keeps_it
    a_number_is_online_while_its_route_is_bound
    a_number_with_a_network_of_its_own_stands_beside_simulated_ones
}

async fn inbox(world: &World) -> Value {
    world.get("/messages?direction=inbound").await
}

async fn a_long_message_whose_segments_come_in_any_order_is_one_message_of_its_conversation(
    store: Option<&str>,
) {
    let smsc = Smsc::start().await;
    let world = World::new(store, &smsc, &[]).await;
    let sent = world.send_one("How was it?").await;
    world.until(&sent, "sent").await;
    let (first, second) = ("It was lovely, ".repeat(10), "thank you!");
    smsc.text(NUMBER, &[5, 0, 3, 42, 2, 2], second).await;
    assert_eq!(inbox(&world).await, json!([]), "a part is missing");
    smsc.text(NUMBER, &[5, 0, 3, 42, 2, 1], &first).await;
    // The network repeats what it is not sure of.
    smsc.text(NUMBER, &[5, 0, 3, 42, 2, 2], second).await;
    let messages = inbox(&world).await;
    assert_eq!(messages.as_array().unwrap().len(), 1);
    assert_eq!(messages[0]["body"], format!("{first}{second}"));
    assert_eq!(
        (&messages[0]["from"], &messages[0]["route"]),
        (&json!("+447700900123"), &json!("main"))
    );
    let thread = world.get("/conversations/+447700900123").await;
    let bodies: Vec<&Value> =
        thread["messages"].as_array().unwrap().iter().map(|text| &text["body"]).collect();
    assert_eq!(bodies.len(), 2, "{thread}");
    assert!(bodies.contains(&&json!("How was it?")) && bodies.contains(&&messages[0]["body"]));
    let parts = "sms_smpp_arrivals_total{route=\"main\",what=\"segment\"}";
    assert!((world.metric(parts).await - 3.0).abs() < 0.1);
}

async fn a_keyword_is_answered_through_the_smsc(store: Option<&str>) {
    let smsc = Smsc::start().await;
    smsc.answers(json!({ "after": "text" })).await;
    let world = World::new(store, &smsc, &[]).await;
    let keyword = json!({ "keyword": "PIE", "reply": "Apple or cherry?" });
    world.post("/keywords", &keyword).await;
    let sent = world.send_one("Text PIE for pie").await;
    world.until(&sent, "delivered").await;
    smsc.text(NUMBER, &[], "pie").await;
    smsc.id_of("Apple or cherry?").await;
    let reply = &world.get("/messages?direction=outbound").await[0];
    assert_eq!((&reply["body"], &reply["to"]), (&keyword["reply"], &json!("+447700900123")));
    world.until(reply["id"].as_str().unwrap(), "delivered").await;
}

async fn a_message_from_a_short_code_or_a_name_keeps_it(store: Option<&str>) {
    let smsc = Smsc::start().await;
    let world = World::new(store, &smsc, &[]).await;
    let account = world.operator("/accounts").await[0]["id"].take();
    let own = json!({ "phone_number": "07700 900003", "account_id": account });
    let made = world.server.call("POST", "/admin/v1/numbers", TOKEN, &own).await;
    assert_eq!(made.status, 201, "{}", made.body);
    let numbers = [("ACME", 5, "447700900003"), ("60123", 3, "447700900003"), ("ACME", 5, NUMBER)];
    for (from, ton, to) in numbers {
        let octets = b"Your code is 1234".as_slice();
        let sender = json!({ "source_addr": from, "source_addr_ton": ton, "source_addr_npi": 0 });
        let mut fields = json!({ "destination_addr": to, "octets": octets });
        fields.as_object_mut().unwrap().extend(sender.as_object().unwrap().clone());
        let answered = smsc.seen("answered").len();
        smsc.deliver(fields).await;
        let answers = smsc.until("answered", answered + 1).await;
        assert_eq!(answers[answered]["status"], 0, "{from} is kept");
    }
    let messages = inbox(&world).await;
    let from = messages.as_array().unwrap().iter().map(|message| message["from"].as_str().unwrap());
    let mut from: Vec<&str> = from.collect();
    from.sort_unstable();
    assert_eq!(from, ["60123", "ACME"]);
    let thread = world.get("/conversations/60123").await;
    assert_eq!(thread["contact_number"], "60123");
    let unrouted = world.operator("/unrouted").await;
    assert_eq!((&unrouted[0]["from"], unrouted.as_array().unwrap().len()), (&json!("ACME"), 1));
}

async fn a_number_is_online_while_its_route_is_bound(store: Option<&str>) {
    let smsc = Smsc::start().await;
    let gone = ("SMS_ROUTE_BACKUP_URL", "smpp://example@127.0.0.1:1");
    let backup = [("SMS_ROUTES", "main,backup"), gone, ("SMS_ROUTE_BACKUP_PASSWORD", PASSWORD)];
    let world = World::new(store, &smsc, &backup).await;
    let is_online = async |phone: &str| {
        let numbers = world.operator("/numbers").await;
        let mut numbers = numbers.as_array().unwrap().iter();
        numbers.any(|number| number["phone_number"] == phone && number["online"] == true)
    };
    until("the check-in", async || is_online("+447700900000").await.then_some(())).await;
    assert!(world.operator("/routes").await[0]["connections"]["up"] == 1);
    for (number, route, online) in
        [("07700 900001", "main", true), ("07700 900002", "backup", false)]
    {
        let number = json!({ "phone_number": number, "route": route });
        let made = world.server.call("POST", "/admin/v1/numbers", TOKEN, &number).await;
        assert_eq!((made.status, &data(&made)["online"]), (201, &json!(online)), "{route}");
    }
}

async fn a_number_with_a_network_of_its_own_stands_beside_simulated_ones(store: Option<&str>) {
    let smsc = Smsc::start().await;
    let world = World::new(store, &smsc, &[("SMS_ROUTES", "simulator,main")]).await;
    let simulated = world.send_one("simulated").await;
    let message = world.until(&simulated, "delivered").await;
    assert_eq!(message["route"], "simulator");
    smsc.until("bind", 1).await;
    let account = world.operator("/accounts").await[0]["id"].take();
    let own = json!({ "phone_number": "07700 900003", "route": "main", "account_id": account });
    let made = world.server.call("POST", "/admin/v1/numbers", TOKEN, &own).await;
    assert_eq!(made.status, 201, "{}", made.body);
    // Servers remember numbers for some seconds.
    until("a text by the real network", async || {
        world.send_one("real").await;
        smsc.seen("text").into_iter().next()
    })
    .await;
    assert_eq!(smsc.seen("text")[0]["from"], "447700900003");
    // By hand, it comes by the number's route as well.
    let inbound = json!({ "from": "07700 900123", "to": "07700 900003", "body": "Hello" });
    let taken = world.server.call("POST", "/admin/v1/inbound", TOKEN, &inbound).await;
    assert_eq!((taken.status, &data(&taken)["route"]), (201, &json!("main")));
}
