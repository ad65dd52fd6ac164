//! Receipts whose ids the route reads in another way than the network writes them.

use serde_json::json;
use sms_test_smsc::{Smsc, until};

use crate::smpp_world::{World, on_both_stores, start};

on_both_stores! {
    a_wrong_setting_of_ids_is_found_and_explained_within_a_minute
}

/// The network's answers have ids in hexadecimal, and its receipts have them in decimal.
async fn a_wrong_setting_of_ids_is_found_and_explained_within_a_minute(store: Option<&str>) {
    let smsc = Smsc::start().await;
    smsc.order(json!({ "count_from": 1_000 })).await;
    smsc.answers(json!({ "id": "hex", "after": "text" })).await;
    let world = World::new(store, &smsc, &[]).await;
    let ids = world.send("07700 900123, 07700 900124, 07700 900125", "Hello").await;
    let explained = async || Some(world.route(0)).filter(|it| it["unmatched_receipts"] == 3);
    let route = until("the receipts to count as unmatched", explained).await;
    let advice = route["advice"].as_str().unwrap();
    assert!(
        advice.ends_with(
            "match no message; ids look like the decimal form of ours, which are \
                              hexadecimal: try IDS=hex-decimal"
        ),
        "{advice}"
    );
    let kept = world.operator("/routes/main/unmatched-receipts").await;
    assert_eq!(kept.as_array().map(Vec::len), Some(3), "{kept}");
    let gauge = "sms_route_receipts_unmatched{route=\"main\"}";
    let counted = async || (world.metric(gauge).await > 2.9).then_some(());
    until("the metric to show them", counted).await;
    for id in &ids {
        assert_eq!(world.message(id).await["status"], "sent");
    }
    // What the advice says helps. The network gives a receipt to the first who is bound, and that
    // must not be the server that ends.
    let key = world.key.clone();
    drop(world);
    smsc.until("closed", 1).await;
    let mended = start(store, &smsc, &[("SMS_ROUTE_MAIN_IDS", "hex-decimal")]);
    let mended = match store {
        Some(_) => World { server: mended, key },
        None => World::of(mended).await,
    };
    let id = mended.send_one("Hello again").await;
    mended.until(&id, "delivered").await;
}
