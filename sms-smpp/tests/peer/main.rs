//! A route's connections against node-smpp, an independent SMPP implementation that plays the SMSC:
//! how it reads our messages, and how we read its receipts and messages, with faults on the way.
//! [`jasmin`] does the same with Jasmin, which must already be running.

#![expect(clippy::unwrap_used, reason = "the helpers of tests are tests as well")]

mod jasmin;
mod messages;

use std::sync::Arc;
use std::time::Duration;

use serde_json::json;
use sms_core::clock::{Clock, SystemClock};
use sms_core::random::{Random, SystemRandom};
use sms_core::receipt::ReceiptStatus;
use sms_core::route::{OutboundMessage, RouteName};
use sms_core::text::measure;
use sms_core::time::Timestamp;
use sms_smpp::carrier::Carrier;
use sms_smpp::coding::Septets;
use sms_smpp::incoming::{Incoming, MessageFor};
use sms_smpp::joining::Place;
use sms_smpp::pdu::Status;
use sms_smpp::report::{IdForm, Report};
use sms_smpp::session::{Arrival, Heard, Submitted};
use sms_smpp::settings::{Binds, RouteSettings};
use sms_smpp::submit::{LongMessages, submits};
use sms_test_smsc::{Smsc, password, until};
use tokio::sync::mpsc;
use tokio::task::JoinHandle;
use tokio::time::timeout;

use crate::messages::{gsm7_characters, joined, numbers, ten_parts, text};

const BOUND: Duration = Duration::from_secs(30);

/// A route to the SMSC, and what arrives on it.
struct Route {
    carrier: Arc<Carrier>,
    settings: Arc<RouteSettings>,
    arrivals: mpsc::Receiver<Arrival>,
    task: JoinHandle<()>,
}

impl Drop for Route {
    fn drop(&mut self) {
        self.task.abort();
    }
}

fn smsc_settings(smsc: &Smsc) -> RouteSettings {
    RouteSettings::new(&smsc.url(), password()).unwrap()
}

impl Route {
    /// A route whose connections are all bound.
    async fn to(smsc: &Smsc) -> Self {
        Self::with(smsc_settings(smsc)).await
    }

    /// The same with other settings.
    async fn with(settings: RouteSettings) -> Self {
        let settings = Arc::new(settings);
        let random: Arc<dyn Random> = Arc::new(SystemRandom);
        let carrier = Arc::new(Carrier::new(RouteName::new("main"), &settings, &random));
        let (tell, arrivals) = mpsc::channel(16);
        let kept = Arc::clone(&carrier);
        let task = tokio::spawn(async move { kept.run(tell).await });
        let route = Self { carrier, settings, arrivals, task };
        route.bound().await;
        route
    }

    async fn bound(&self) {
        until("all to be bound", async || {
            let standing = self.carrier.standing();
            (standing.bound == standing.wanted).then_some(())
        })
        .await;
    }

    /// Submits a message, all its segments at once.
    async fn send(&self, body: &str) -> Vec<Submitted> {
        sms_test_log::secret(body);
        let parts = submits(&text(body), self.settings.style(), 0x1234, now());
        let mut tasks = Vec::new();
        for part in parts {
            let carrier = Arc::clone(&self.carrier);
            tasks.push(tokio::spawn(async move {
                carrier
                    .submit(part, sms_core::dispatch::Lane::Normal, || {}, Heard::nothing())
                    .await
            }));
        }
        let mut results = Vec::new();
        for task in tasks {
            results.push(task.await.unwrap());
        }
        results
    }

    /// Waits for the next arrival, and acknowledges it.
    async fn arrival(&mut self) -> Incoming {
        let arrival = timeout(BOUND, self.arrivals.recv()).await.expect("in time").unwrap();
        let incoming = Incoming::read(&arrival.message, Septets::Unpacked);
        arrival.answer.taken();
        incoming
    }

    async fn report(&mut self) -> Report {
        match self.arrival().await {
            Incoming::Receipt(report) => report,
            other => panic!("not a receipt: {other:?}"),
        }
    }

    async fn text(&mut self) -> MessageFor {
        match self.arrival().await {
            Incoming::Text(text) => text,
            other => panic!("not a message: {other:?}"),
        }
    }
}

fn now() -> Timestamp {
    SystemClock.now()
}

fn ids(results: &[Submitted]) -> Vec<String> {
    let id = |submitted: &Submitted| match submitted {
        Submitted::Accepted { id } => id.clone(),
        other => panic!("not accepted: {other:?}"),
    };
    results.iter().map(id).collect()
}

#[tokio::test]
async fn the_smsc_reads_every_character_of_gsm_7() {
    let smsc = Smsc::start().await;
    let route = Route::to(&smsc).await;
    let all = gsm7_characters();
    for characters in [&all[..], "@", "£5 @ noon?", "x@"] {
        assert_eq!(measure(characters).segments.get(), 1);
        route.send(characters).await;
        let seen = smsc.next("text").await;

        assert_eq!(seen["words"], characters);
        assert_eq!((&seen["data_coding"], &seen["registered"]), (&json!(0), &json!(1)));
    }
}

#[tokio::test]
async fn the_peer_reads_emoji_and_who_it_is_from_and_for() {
    let smsc = Smsc::start().await;
    let route = Route::to(&smsc).await;
    route.send("Привет 👋🏽 ça va").await;
    let seen = smsc.next("text").await;
    assert_eq!(seen["words"], "Привет 👋🏽 ça va");
    assert_eq!((&seen["from"], &seen["to"]), (&json!("447700900001"), &json!("447700900123")));
    let named = OutboundMessage { sender: Some("Bistro".to_owned()), ..text("x") };
    let submit = submits(&named, route.settings.style(), 1, now()).remove(0);
    assert!(matches!(
        route
            .carrier
            .submit(submit, sms_core::dispatch::Lane::Normal, || {}, Heard::nothing())
            .await,
        Submitted::Accepted { .. }
    ));
    let seen = smsc.next("text").await;
    assert_eq!((&seen["from"], &seen["from_ton"]), (&json!("Bistro"), &json!(5)));
}

#[tokio::test]
async fn the_smsc_joins_ten_segments_in_either_alphabet_by_udh_or_sar() {
    let [gsm, ucs] = ten_parts();
    let smsc = Smsc::start().await;
    for (style, body) in [
        (LongMessages::Udh8, &gsm),
        (LongMessages::Udh8, &ucs),
        (LongMessages::Udh16, &gsm),
        (LongMessages::Udh16, &ucs),
        (LongMessages::Sar, &gsm),
        (LongMessages::Sar, &ucs),
    ] {
        let route =
            Route::with(smsc_settings(&smsc).long_messages(style).window(20).unwrap()).await;
        let parts = measure(body).segments.get() as usize;
        assert!(parts >= 9, "{parts}");
        assert_eq!(ids(&route.send(body).await).len(), parts);
        assert_eq!(&joined(&smsc, parts).await, body, "{style:?}");
    }
}

#[tokio::test]
async fn the_smsc_reads_a_whole_message_from_message_payload() {
    let smsc = Smsc::start().await;
    let route = Route::with(smsc_settings(&smsc).long_messages(LongMessages::Payload)).await;
    let body = "Привет 👋 ".repeat(60);
    assert_eq!(route.send(&body).await.len(), 1);
    assert_eq!(smsc.next("text").await["words"], body.as_str());
}

#[tokio::test]
async fn a_wrong_password_is_never_bound() {
    let smsc = Smsc::start().await;
    sms_test_log::watch();
    sms_test_log::secret("canary");
    let settings = Arc::new(RouteSettings::new(&smsc.url(), "canary").unwrap());
    let random: Arc<dyn Random> = Arc::new(SystemRandom);
    let carrier = Arc::new(Carrier::new(RouteName::new("main"), &settings, &random));
    let kept = Arc::clone(&carrier);
    let (arrivals, _) = mpsc::channel(1);
    let task = tokio::spawn(async move { kept.run(arrivals).await });
    // The route tries again, and stays down.
    smsc.next("bind").await;
    smsc.next("bind").await;
    assert_eq!(carrier.standing().bound, 0);
    task.abort();
}

#[tokio::test]
async fn responses_that_are_late_out_of_order_or_repeated_reach_their_requests() {
    let smsc = Smsc::start().await;
    for manner in [json!({ "delay": 300 }), json!({ "reorder": 3 }), json!({ "repeat": true })] {
        smsc.answers(manner.clone()).await;
        let route = Route::to(&smsc).await;
        let body = "a".repeat(400);
        let given = ids(&route.send(&body).await);
        let mut seen: Vec<(u64, String)> = Vec::new();
        for _ in 0..3 {
            let event = smsc.next("text").await;
            seen.push((numbers(&event["udh"])[4], event["id"].to_string()));
        }
        seen.sort();
        let expected: Vec<String> = seen.into_iter().map(|(_, id)| id).collect();
        assert_eq!(given, expected, "{manner}");
    }
}

#[tokio::test]
async fn throttled_messages_are_refused_and_the_route_slows_down() {
    let smsc = Smsc::start().await;
    smsc.answers(json!({ "throttle": 2 })).await;
    let route = Route::to(&smsc).await;
    let throttled = [Submitted::Refused(Status::THROTTLED)];
    assert_eq!(route.send("one").await, throttled);
    assert_eq!(route.send("one").await, throttled);
    assert!(route.carrier.standing().pace < 0.9);
    assert_eq!(ids(&route.send("one").await).len(), 1);
}

#[tokio::test]
async fn a_connection_cut_within_a_window_leaves_only_written_requests_unanswered() {
    let smsc = Smsc::start().await;
    smsc.answers(json!({ "drop_after": 3 })).await;
    let route = Route::with(smsc_settings(&smsc).window(4).unwrap()).await;
    let sends: Vec<_> = (0..10)
        .map(|_| {
            let (carrier, settings) = (Arc::clone(&route.carrier), Arc::clone(&route.settings));
            tokio::spawn(async move {
                let submit = submits(&text("x"), settings.style(), 1, now()).remove(0);
                carrier
                    .submit(submit, sms_core::dispatch::Lane::Normal, || {}, Heard::nothing())
                    .await
            })
        })
        .collect();
    let (mut in_doubt, mut unwritten) = (0, 0);
    for send in sends {
        match send.await.unwrap() {
            Submitted::Unanswered => in_doubt += 1,
            Submitted::NotWritten => unwritten += 1,
            other => panic!("{other:?}: the SMSC answered none before it cut the connection"),
        }
    }
    // At most a window of requests is unanswered, among them all that the SMSC received.
    assert!((3..=4).contains(&in_doubt), "{in_doubt}");
    assert_eq!(in_doubt + unwritten, 10);
    smsc.next("bind").await;
    smsc.next("bind").await;
    route.bound().await;
    assert_eq!(ids(&route.send("again").await).len(), 1);
}

#[tokio::test]
async fn receipts_are_parsed_in_every_form_before_and_after_the_response() {
    let smsc = Smsc::start().await;
    let mut route = Route::to(&smsc).await;
    for (when, form) in [
        ("after", "text"),
        ("after", "tlv"),
        ("after", "both"),
        ("before", "text"),
        ("before", "tlv"),
    ] {
        let manner = json!({ when: form });
        smsc.answers(manner.clone()).await;
        let given = ids(&route.send("x").await);
        let report = route.report().await;
        assert_eq!(report.id, given[0], "{manner}");
        assert_eq!(report.outcome(), Some(ReceiptStatus::Delivered));
        assert_eq!(smsc.next("answered").await["status"], 0);
    }
}

#[tokio::test]
async fn ids_that_responses_and_receipts_spell_differently_match() {
    let smsc = Smsc::start().await;
    smsc.answers(json!({ "id": "hex", "after": "text" })).await;
    let mut route = Route::with(smsc_settings(&smsc).ids(IdForm::HexThenDecimal)).await;
    // The two spellings differ from ten on.
    let mut given = Vec::new();
    for _ in 0..12 {
        given = ids(&route.send("x").await);
        let report = route.report().await;
        let form = route.settings.id_form();
        assert_eq!(form.of_answer(&given[0]), form.of_receipt(&report.id));
    }
    assert_eq!(given, ["c"]);
}

#[tokio::test]
async fn a_corrupt_receipt_is_of_no_use_and_harms_nothing() {
    let smsc = Smsc::start().await;
    let mut route = Route::to(&smsc).await;
    let receipt = |form: &str| {
        let told = json!({ "id": 7, "state": "UNDELIV", "form": form, "err": "006" });
        json!({ "receipt": told })
    };
    smsc.order(receipt("corrupt")).await;
    assert!(matches!(route.arrival().await, Incoming::Useless(_)));
    smsc.order(receipt("text")).await;
    let report = route.report().await;
    let absent = sms_core::message::ErrorCode::AbsentSubscriber;
    assert_eq!(report.outcome(), Some(ReceiptStatus::Undelivered(absent)));
}

#[tokio::test]
async fn inbound_messages_arrive_in_every_alphabet_and_in_segments() {
    let smsc = Smsc::start().await;
    let mut route = Route::with(smsc_settings(&smsc).binds(Binds::Separate(1)).unwrap()).await;
    let cases = [
        (json!({ "data_coding": 0, "octets": [0x00, 0x1B, 0x65, 0x41] }), "@€A", None),
        (json!({ "data_coding": 3, "octets": [0x63, 0xE9] }), "cé", None),
        (json!({ "data_coding": 8, "octets": [0x04, 0x34, 0xD8, 0x3D, 0xDC, 0x4B] }), "д👋", None),
        (json!({ "esm_class": 0x40, "octets": [5, 0, 3, 9, 2, 2, 0x41] }), "A", Some((9, 2, 2))),
        (
            json!({
                "sar_msg_ref_num": 300, "sar_total_segments": 3, "sar_segment_seqnum": 1,
                "octets": [0x42],
            }),
            "B",
            Some((300, 3, 1)),
        ),
    ];
    for (fields, words, place) in cases {
        smsc.deliver(fields).await;
        let text = route.text().await;
        assert_eq!((text.from.to_string(), text.to.to_string()), {
            ("+447700900123".to_owned(), "+447700900001".to_owned())
        });
        assert_eq!(text.text.decode(), words);
        let place = place.map(|(reference, total, number)| Place { reference, total, number });
        assert_eq!(text.place, place);
        assert_eq!(smsc.next("answered").await["status"], 0);
    }
}

#[tokio::test]
async fn a_closing_route_unbinds() {
    let smsc = Smsc::start().await;
    let route = Route::to(&smsc).await;
    route.carrier.unbind().await;
    smsc.next("unbind").await;
}
