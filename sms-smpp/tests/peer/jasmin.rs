//! A route against Jasmin, an independent SMS gateway. Its SMPP server accepts our messages, passes
//! them on to node-smpp, and returns receipts and inbound messages. These tests need a running
//! Jasmin (`SMS_JASMIN_SMPP`, `SMS_JASMIN_CLI`), and run one at a time:
//! `tests/bench/peers/README.md` says how.

mod console;

use std::sync::Arc;
use std::time::{Duration, Instant};

use async_trait::async_trait;
use futures_util::StreamExt;
use serde_json::json;
use sms_core::clock::SystemClock;
use sms_core::inbound::InboundMessage;
use sms_core::inbound::segment::InboundSegment;
use sms_core::message::ErrorCode;
use sms_core::random::{Random, SystemRandom};
use sms_core::receipt::report::{NetworkId, NetworkReport, Reported};
use sms_core::receipt::{Receipt, ReceiptStatus};
use sms_core::route::{HandOver, OutboundMessage, Route, RouteName, RouteSink};
use sms_smpp::pdu::Bind;
use sms_smpp::route::SmppRoute;
use sms_smpp::session::{BindFailed, Settings, bind};
use sms_smpp::settings::RouteSettings;
use sms_smpp::submit::LongMessages;
use sms_test_smsc::{Smsc, password, until};
use tokio::net::TcpStream;
use tokio::sync::mpsc::{UnboundedReceiver, UnboundedSender, unbounded_channel};
use tokio::task::JoinHandle;
use tokio::time::timeout;

use crate::messages::{gsm7_characters, joined, ten_parts, text};

const BOUND: Duration = Duration::from_mins(1);

/// What came back.
#[derive(Debug)]
enum Came {
    Report(NetworkReport),
    Text(InboundMessage),
    Part(InboundSegment),
}

/// Keeps whatever the route reports.
#[derive(Debug)]
struct Kept(UnboundedSender<Came>);

#[async_trait]
impl RouteSink for Kept {
    async fn receipt(&self, _receipt: Receipt) -> Result<(), sms_core::Error> {
        Ok(())
    }

    async fn reports(&self, reports: Vec<NetworkReport>) -> Vec<Result<Reported, sms_core::Error>> {
        let keep = |report| {
            self.0.send(Came::Report(report)).unwrap();
            Ok(Reported::Kept)
        };
        reports.into_iter().map(keep).collect()
    }

    async fn inbound(&self, text: InboundMessage) -> Result<(), sms_core::Error> {
        self.0.send(Came::Text(text)).unwrap();
        Ok(())
    }

    async fn inbound_segment(&self, part: InboundSegment) -> Result<(), sms_core::Error> {
        self.0.send(Came::Part(part)).unwrap();
        Ok(())
    }

    async fn connected(&self, _route: &RouteName) -> Result<(), sms_core::Error> {
        Ok(())
    }
}

/// A route to Jasmin, and the SMSC behind Jasmin.
struct Way {
    route: Arc<SmppRoute>,
    sink: Arc<Kept>,
    came: UnboundedReceiver<Came>,
    smsc: Smsc,
    task: JoinHandle<()>,
}

impl Drop for Way {
    fn drop(&mut self) {
        self.task.abort();
    }
}

impl Way {
    async fn through(settings: RouteSettings) -> Self {
        let smsc = Smsc::start().await;
        // Jasmin remembers the message ids of earlier SMSCs, so this one starts from another id.
        let fresh = SystemRandom.next_u64() >> 16;
        smsc.order(json!({ "count_from": fresh })).await;
        console::pass_on_to(smsc.port).await;
        Self::over(smsc, settings).await
    }

    async fn over(smsc: Smsc, settings: RouteSettings) -> Self {
        let (tell, came) = unbounded_channel();
        let route = Arc::new(route(settings));
        let sink = Arc::new(Kept(tell));
        let (kept, to) = (Arc::clone(&route), Arc::clone(&sink));
        let task = tokio::spawn(async move { kept.run(to).await });
        bound(&route, 1).await;
        Self { route, sink, came, smsc, task }
    }

    /// The same SMSC and Jasmin, with a new route.
    async fn again(mut self, settings: RouteSettings) -> Self {
        self.route.close().await;
        self.task.abort();
        let (tell, came) = unbounded_channel();
        (self.route, self.sink) = (Arc::new(route(settings)), Arc::new(Kept(tell)));
        self.came = came;
        let (kept, to) = (Arc::clone(&self.route), Arc::clone(&self.sink));
        self.task = tokio::spawn(async move { kept.run(to).await });
        bound(&self.route, 1).await;
        self
    }

    async fn send(&self, messages: &[OutboundMessage]) -> Vec<HandOver> {
        let mut told: Vec<_> = self.route.hand_over(messages, &*self.sink).collect().await;
        told.sort_by_key(|told| told.place);
        told.into_iter().map(|told| told.result).collect()
    }

    /// Sends a message, and returns the ids of its segments.
    async fn ids(&self, body: &str) -> Vec<NetworkId> {
        match self.send(&[text(body)]).await.remove(0) {
            HandOver::Submitted { parts } => parts,
            other => panic!("not taken: {other:?}"),
        }
    }

    async fn next(&mut self) -> Came {
        timeout(BOUND, self.came.recv()).await.expect("something in time").unwrap()
    }

    async fn report(&mut self) -> NetworkReport {
        match self.next().await {
            Came::Report(report) => report,
            other => panic!("not a receipt: {other:?}"),
        }
    }

    async fn end(self) {
        self.route.close().await;
        console::leave(self.smsc.port).await;
    }
}

fn settings() -> RouteSettings {
    let url = format!("smpp://{}@{}", console::USER, console::smpp());
    RouteSettings::new(&url, password()).unwrap()
}

fn route(settings: RouteSettings) -> SmppRoute {
    let random: Arc<dyn Random> = Arc::new(SystemRandom);
    SmppRoute::new(RouteName::new("main"), settings, Arc::new(SystemClock), &random)
}

async fn bound(route: &SmppRoute, connections: usize) {
    let is_there = async || (route.connections().unwrap().up == connections).then_some(());
    until("its connections", is_there).await;
}

#[tokio::test]
#[ignore = "needs a running Jasmin"]
async fn single_messages_pass_in_every_character() {
    let way = Way::through(settings()).await;
    for words in [&gsm7_characters()[..], "@", "x@", "Привет 👋🏽 ça va"] {
        assert_eq!(way.ids(words).await.len(), 1);
        let seen = way.smsc.next("text").await;
        assert_eq!(seen["words"], words);
        assert_eq!((&seen["from"], &seen["to"]), (&json!("447700900001"), &json!("447700900123")));
        println!("{seen}");
    }
    let named = OutboundMessage { sender: Some("Bistro".to_owned()), ..text("x") };
    assert!(matches!(way.send(&[named]).await[0], HandOver::Submitted { .. }));
    let seen = way.smsc.next("text").await;
    assert_eq!((&seen["from"], &seen["from_ton"]), (&json!("Bistro"), &json!(5)));
    way.end().await;
}

#[tokio::test]
#[ignore = "needs a running Jasmin"]
async fn ten_segments_pass_in_either_alphabet_by_udh_or_sar() {
    let mut way = Way::through(settings()).await;
    for style in [LongMessages::Udh8, LongMessages::Udh16, LongMessages::Sar] {
        way = way.again(settings().long_messages(style).window(20).unwrap()).await;
        for body in ten_parts() {
            let parts = way.ids(&body).await;
            assert!(parts.len() >= 9, "{parts:?}");
            let words = joined(&way.smsc, parts.len()).await;
            println!("{style:?}: {} parts, as sent: {}", parts.len(), words == body);
            assert_eq!(words, body, "{style:?}");
        }
    }
    way.end().await;
}

#[tokio::test]
#[ignore = "needs a running Jasmin"]
async fn a_whole_message_passes_in_a_payload() {
    let way = Way::through(settings().long_messages(LongMessages::Payload)).await;
    let body = "Привет 👋 ".repeat(60);
    assert_eq!(way.ids(&body).await.len(), 1);
    assert_eq!(way.smsc.next("text").await["words"], body.as_str());
    way.end().await;
}

#[tokio::test]
#[ignore = "needs a running Jasmin"]
async fn receipts_come_back_under_the_ids_that_were_given() {
    let mut way = Way::through(settings()).await;
    for form in ["text", "tlv", "both"] {
        way.smsc.answers(json!({ "after": form })).await;
        let given = way.ids("x").await;
        let report = way.report().await;
        println!("{form}: given {given:?}, reported {report:?}");
        assert_eq!((&report.id, report.status), (&given[0], ReceiptStatus::Delivered));
    }
    way.smsc.answers(json!({ "after": "text" })).await;
    let mut given = way.ids(&"long ".repeat(300)).await;
    let mut reported = Vec::new();
    for _ in &given {
        reported.push(way.report().await.id);
    }
    given.sort();
    reported.sort();
    assert_eq!(given, reported);
    way.end().await;
}

#[tokio::test]
#[ignore = "needs a running Jasmin"]
async fn a_receipt_for_an_undelivered_message_says_so() {
    let mut way = Way::through(settings()).await;
    let given = way.ids("x").await;
    let id = way.smsc.next("text").await["id"].clone();
    let told = json!({ "id": id, "state": "UNDELIV", "form": "text", "err": "006" });
    way.smsc.order(json!({ "receipt": told })).await;
    let report = way.report().await;
    println!("{report:?}");
    assert_eq!(report.id, given[0]);
    let absent = ReceiptStatus::Undelivered(ErrorCode::AbsentSubscriber);
    let unknown = ReceiptStatus::Undelivered(ErrorCode::NetworkError);
    assert!(report.status == absent || report.status == unknown);
    way.end().await;
}

#[tokio::test]
#[ignore = "needs a running Jasmin"]
async fn inbound_messages_pass_in_every_alphabet_and_in_segments() {
    let mut way = Way::through(settings()).await;
    let cases = [
        (json!({ "data_coding": 0, "octets": [0x00, 0x1B, 0x65, 0x41] }), "@€A"),
        (json!({ "data_coding": 3, "octets": [0x63, 0xE9] }), "cé"),
        (json!({ "data_coding": 8, "octets": [0x04, 0x34, 0xD8, 0x3D, 0xDC, 0x4B] }), "д👋"),
    ];
    for (fields, words) in cases {
        way.smsc.deliver(fields).await;
        match way.next().await {
            Came::Text(text) => {
                assert_eq!(text.from.to_string(), "+447700900123");
                assert_eq!(text.to.to_string(), "+447700900001");
                assert_eq!(text.body.as_str(), words);
            }
            other => panic!("not a message: {other:?}"),
        }
    }
    // A gateway may join the segments of a message or pass on each.
    let marked =
        |number: u8| json!({ "esm_class": 0x40, "octets": [5, 0, 3, 9, 2, number, 0x40 + number] });
    let valued = |number: u8| {
        json!({
            "sar_msg_ref_num": 300, "sar_total_segments": 2, "sar_segment_seqnum": number,
            "octets": [0x40 + number],
        })
    };
    for parts in [[marked(1), marked(2)], [valued(1), valued(2)]] {
        for part in parts {
            way.smsc.deliver(part).await;
        }
        let mut words = String::new();
        while words.len() < 2 {
            match way.next().await {
                Came::Text(text) => words.push_str(text.body.as_str()),
                Came::Part(part) => words.push_str(&part.text.decode()),
                Came::Report(report) => panic!("{report:?}"),
            }
            println!("so far {words:?}");
        }
        assert_eq!(words, "AB");
    }
    way.end().await;
}

#[tokio::test]
#[ignore = "needs a running Jasmin"]
async fn a_wrong_password_is_refused_and_the_right_one_is_not() {
    let way = Way::through(settings()).await;
    let right = Bind {
        system_id: console::USER.to_owned(),
        password: password().to_owned(),
        system_type: String::new(),
        version: 0x34,
    };
    let wrong = Bind { password: "wrong".to_owned(), ..right.clone() };
    let ask = async |who| {
        let stream = TcpStream::connect(console::smpp()).await.unwrap();
        bind(stream, Settings::new(who)).await.map(|(session, _)| session)
    };
    let refused = ask(wrong).await.unwrap_err();
    println!("{refused}");
    assert!(matches!(refused, BindFailed::Refused(_)), "{refused}");
    ask(right).await.unwrap().unbind().await;
    way.end().await;
}

#[tokio::test]
#[ignore = "needs a running Jasmin"]
async fn a_route_binds_again_after_the_smsc_unbinds() {
    let way = Way::through(settings()).await;
    console::unbind().await;
    bound(&way.route, 0).await;
    bound(&way.route, 1).await;
    way.ids("x").await;
    assert_eq!(way.smsc.next("text").await["words"], "x");
    way.end().await;
}

/// Measures the throughput with a window of 10 and of 100; asserts no figure.
#[tokio::test]
#[ignore = "needs a running Jasmin"]
async fn throughput() {
    let mut way = Way::through(settings()).await;
    for window in [10, 100] {
        way = way.again(settings().window(window).unwrap()).await;
        let messages: Vec<OutboundMessage> =
            (0..1_000).map(|_| text("Your table is ready")).collect();
        let start = Instant::now();
        let results = way.send(&messages).await;
        let taken = results.iter().filter(|it| matches!(it, HandOver::Submitted { .. })).count();
        let to = start.elapsed();
        for _ in 0..taken {
            way.smsc.next("text").await;
        }
        let through = start.elapsed();
        println!("window {window}: {taken} taken in {to:?}, through in {through:?}");
        assert_eq!(taken, messages.len());
    }
    way.end().await;
}
