//! Reports on segments, with two hundred thousand rows of segments and early reports.

use sms_conformance::Rig;
use sms_conformance::rig::{all_recorded, request};
use sms_core::dispatch::OutcomeRecorded;
use sms_core::message::MessageStatus;
use sms_core::receipt::ReceiptStatus::Delivered;
use sms_core::receipt::report::{NetworkId, NetworkReport, ReportPlan};
use sms_core::route::{HandOver, OutboundMessage, RouteName};
use sms_core::store::{Health, Store};
use sms_core::time::Timestamp;
use sms_core::upkeep::Chore;
use sms_store_postgres::{PgSettings, PgStore};

use super::Plans;
use super::hot::{explain, judge};
use crate::Own;

fn network_id(id: &str) -> NetworkId {
    NetworkId::new(RouteName::new("main"), id)
}

fn plan(rig: &Rig, id: &str) -> ReportPlan {
    let report = NetworkReport::new(network_id(id), Delivered);
    ReportPlan { report, at: rig.now(), ids: rig.ids() }
}

/// Segments are found by their ids, their siblings by the message, old rows by their age.
pub(super) async fn parts(store: &dyn Store, rig: &Rig) {
    let mut hands = 0;
    judge!(store, "parts, recorded", ["sent_segment_pkey", "queue_pkey"], 100.0, {
        hands += 1;
        let hand = rig.claim(2).await;
        let ids = |n: usize| vec![network_id(&format!("new-{hands}-{n}")), network_id("early-7")];
        let plans = hand.messages.iter().enumerate().map(|(n, text)| {
            rig.outcome(text.message, hand.token, HandOver::Submitted { parts: ids(n) })
        });
        rig.record_all(plans.collect()).await
    });
    let mut brought = 0;
    for (what, index, prefix, first) in [
        ("a report", "message_by_id", "id-", 509),
        ("a report of one of several", "sent_segment_by_message", "id-", 51_009),
        ("an early report", "sent_segment_pkey", "unknown-", 1),
    ] {
        judge!(store, what, ["sent_segment_pkey", index], 30.0, {
            brought += 1;
            let id = format!("{prefix}{}", first + 1_000 * brought);
            all_recorded(store.reports_record(vec![plan(rig, &id)]).await)
        });
    }
    plain_ones(store, rig).await;
    let before = Timestamp::from_millis(1_795_244_830_123);
    let main = RouteName::new("main");
    judge!(
        store,
        "unmatched receipts",
        ["sent_segment_early"],
        10_000.0,
        store.reports_unmatched(&main, before, 10).await.expect("listed")
    );
    judge!(
        store,
        "trimming unmatched receipts",
        ["sent_segment_early", "sent_segment_pkey"],
        100.0,
        store
            .tidy(Chore::UnmatchedReports { route: main.clone(), before, keep: 10 }, 10)
            .await
            .expect("trimmed")
    );
    let known = (1..20).map(|n| NetworkReport::new(network_id(&format!("id-{n}")), Delivered));
    let known: Vec<_> = known.collect();
    judge!(
        store,
        "segments by their ids",
        ["sent_segment_pkey"],
        100.0,
        store.segments_sent(known.clone()).await.expect("read")
    );
    judge!(
        store,
        "tidying parts",
        ["sent_segment_by_age", "sent_segment_pkey"],
        100.0,
        store.tidy(Chore::Reports { before }, 10).await.expect("tidied")
    );
}

/// Plain outcomes and reports take one statement that reads and one that writes, however many, and
/// two for their webhooks.
async fn plain_ones(store: &dyn Store, rig: &Rig) {
    let hand = rig.claim(20).await;
    let id = |n: usize| format!("plain-{n}");
    let submitted = |n| HandOver::Submitted { parts: vec![network_id(&id(n))] };
    let plans: Vec<_> = hand
        .messages
        .iter()
        .enumerate()
        .map(|(n, text)| rig.outcome(text.message, hand.token, submitted(n)))
        .collect();
    let plans_made = plans.len();
    store.health_check().await.expect("the server answers");
    let _ = Plans::told();
    rig.record_all(plans).await;
    store.health_check().await.expect("the server answers");
    assert_eq!(statements(), 2);
    let reports = (0..plans_made).map(|n| plan(rig, &id(n))).collect();
    all_recorded(store.reports_record(reports).await);
    store.health_check().await.expect("the server answers");
    assert_eq!(statements(), 2);
}

/// Without webhooks, outcomes of messages that the worker knows take one statement.
pub(crate) async fn what_a_worker_knows_is_recorded_without_reading(own: Own) {
    let _alone = super::ALONE.lock().await;
    own.store.close().await;
    explain(&own.url).await;
    let store = PgStore::connect(&own.url, PgSettings { connections: 1 }).await;
    let store = store.expect("it answers");
    let rig = own.rig(&store);
    let account = rig.account(100).await;
    rig.send(&account, &request(0..20)).await;
    let hand = rig.claim(20).await;
    let submitted = |n: usize| HandOver::Submitted { parts: vec![network_id(&n.to_string())] };
    let outcome =
        |(n, text): (usize, &OutboundMessage)| rig.outcome(text.message, hand.token, submitted(n));
    let plans: Vec<_> = hand.messages.iter().enumerate().map(outcome).collect();
    let _ = Plans::told();
    let recorded = rig.record_all(plans).await;
    assert_eq!(recorded, [OutcomeRecorded::Done(MessageStatus::Sent); 20]);
    store.health_check().await.expect("the server answers");
    assert_eq!(statements(), 1);
    store.close().await;
}

/// How many statements of the last command read or wrote messages.
fn statements() -> usize {
    let Plans(plans) = Plans::told();
    let text = |plan: &serde_json::Value| plan["Query Text"].as_str().unwrap_or("").to_owned();
    plans.iter().map(text).filter(|text| text.contains("message m")).count()
}
