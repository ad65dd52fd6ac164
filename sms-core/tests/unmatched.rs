//! Receipts that match no message: what the operator is told of them.

#![expect(clippy::unwrap_used, reason = "a test fails by panicking")]

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

use async_trait::async_trait;
use futures_executor::block_on;
use sms_core::clock::ManualClock;
use sms_core::phone::E164;
use sms_core::prelude::*;
use sms_core::random::SeededRandom;
use sms_core::receipt::ReceiptStatus;
use sms_core::receipt::report::{KEPT_FOR, NetworkId, NetworkReport, Reported};
use sms_core::route::{
    HandOver, HandOvers, OutboundMessage, Reading, Route, RouteKind, RouteName, RouteSink,
    all_at_once,
};
use sms_core::service::unmatched::UnmatchedReceipts;
use sms_core::time::Timestamp;
use sms_store_memory::MemoryStore;

/// The network's first number of a message.
const FIRST: u64 = 0x1A2B;
const HINT: &str = "ids look like ours in decimal: try IDS=hex-decimal";
/// After this, a receipt is no early one any more.
const AFTER: Duration = Duration::from_secs(31);

/// A network that answers with hexadecimal ids.
#[derive(Debug)]
struct Network {
    name: RouteName,
    next: AtomicU64,
}

#[async_trait]
impl Route for Network {
    fn name(&self) -> &RouteName {
        &self.name
    }

    fn kind(&self) -> RouteKind {
        RouteKind::Real
    }

    fn hand_over<'a>(
        &'a self,
        messages: &'a [OutboundMessage],
        _sink: &'a dyn RouteSink,
    ) -> HandOvers<'a> {
        all_at_once(async move {
            let submitted = |_: &OutboundMessage| {
                let id = format!("{:x}", self.next.fetch_add(1, Ordering::Relaxed));
                HandOver::Submitted { parts: vec![NetworkId::new(self.name.clone(), id)] }
            };
            messages.iter().map(submitted).collect()
        })
    }

    fn readings(&self, id: &str) -> Vec<Reading> {
        let as_hex = id.parse().map(|number: u64| format!("{number:x}"));
        as_hex.into_iter().map(|id| Reading { hint: HINT, ids: vec![id] }).collect()
    }

    async fn run(&self, _sink: Arc<dyn RouteSink>) {}
}

struct Stage {
    clock: Arc<ManualClock>,
    sms: Sms,
    account: sms_core::service::AccountHandle,
}

fn main_route() -> RouteName {
    RouteName::new("main")
}

fn person(n: u64) -> E164 {
    E164::from_digits(447_700_900_000 + n).unwrap()
}

impl Stage {
    fn new() -> Self {
        let clock = Arc::new(ManualClock::at(Timestamp::from_millis(1_795_000_000_000)));
        let network = Network { name: main_route(), next: AtomicU64::new(FIRST) };
        let sms = Sms::builder(Arc::new(MemoryStore::new()))
            .clock(clock.clone())
            .random(Arc::new(SeededRandom::new(7)))
            .route(Arc::new(network))
            .build();
        let input = NewAccountInput::active("Bistro", 100);
        let account = block_on(sms.operator().account_create(input)).unwrap();
        block_on(sms.operator().number_create(NumberInput::shared("07700 900001"))).unwrap();
        let account = sms.account(account.id, Mode::Live);
        Self { clock, sms, account }
    }

    /// Sends one message, whose id is one more than that of the last.
    fn send(&self, to: u64) {
        block_on(self.account.send(SendRequest::new("hello").to(person(to).to_string()))).unwrap();
        assert_eq!(block_on(self.sms.dispatch_due(10)).unwrap().sent, 1);
    }

    fn report(&self, id: String, to: u64) -> Reported {
        let id = NetworkId::new(main_route(), id);
        let report = NetworkReport::new(id, ReceiptStatus::Delivered).between([person(to)]);
        block_on(self.sms.record_reports(vec![report])).remove(0).unwrap()
    }

    fn unmatched(&self) -> UnmatchedReceipts {
        block_on(self.sms.operator().unmatched_receipts(&main_route(), 10)).unwrap()
    }
}

#[test]
fn receipts_whose_ids_match_in_another_reading_say_what_to_try() {
    let stage = Stage::new();
    for n in 0..3 {
        stage.send(100 + n);
        assert_eq!(stage.report((FIRST + n).to_string(), 100 + n), Reported::Early);
    }
    assert_eq!(stage.unmatched(), UnmatchedReceipts::default(), "they may have come early");
    stage.clock.advance(AFTER);
    let found = stage.unmatched();
    let advice = format!("3 receipts match no message; {HINT}");
    assert_eq!(found.advice(), Some(advice));
    let told: Vec<_> = found.newest.iter().map(|it| it.recipient_ends().unwrap()).collect();
    assert_eq!(told.len(), 3);
    assert!(told.contains(&"0100".to_owned()), "{told:?}");
    stage.clock.advance(KEPT_FOR);
    block_on(stage.sms.tidy(100)).unwrap();
    assert_eq!(stage.unmatched(), UnmatchedReceipts::default());
}

#[test]
fn a_receipt_without_a_message_shows_after_half_a_minute() {
    let stage = Stage::new();
    assert_eq!(stage.report("99".to_owned(), 100), Reported::Early);
    stage.clock.advance(Duration::from_secs(29));
    assert_eq!(stage.unmatched().count, 0);
    stage.clock.advance(Duration::from_secs(2));
    assert_eq!(stage.unmatched().count, 1);
}

#[test]
fn no_route_keeps_more_than_ten_thousand_receipts_without_a_message() {
    let stage = Stage::new();
    let report = |n: u64| {
        let id = NetworkId::new(main_route(), n.to_string());
        NetworkReport::new(id, ReceiptStatus::Delivered).between([person(100)])
    };
    let recorded = block_on(stage.sms.record_reports((0..10_003).map(report).collect()));
    assert!(recorded.into_iter().all(|it| it.unwrap() == Reported::Early));
    assert_eq!(block_on(stage.sms.tidy(20_000)).unwrap(), 0, "their messages may be recorded yet");
    stage.clock.advance(Duration::from_hours(2));
    assert_eq!(block_on(stage.sms.tidy(20_000)).unwrap(), 3);
    assert_eq!(block_on(stage.sms.tidy(20_000)).unwrap(), 0);
}

#[test]
fn receipts_of_other_recipients_or_unknown_ids_give_no_hint() {
    let stage = Stage::new();
    stage.send(100);
    // The right id in the other reading, and another recipient.
    stage.report(FIRST.to_string(), 200);
    stage.report("99".to_owned(), 100);
    // The right id, and another recipient.
    assert_eq!(stage.report(format!("{FIRST:x}"), 300), Reported::Early);
    stage.clock.advance(AFTER);
    let found = stage.unmatched();
    assert_eq!((found.count, found.hint), (3, None));
    assert_eq!(found.advice().as_deref(), Some("3 receipts match no message"));
    let unknown = block_on(stage.sms.operator().unmatched_receipts(&RouteName::new("none"), 1));
    assert!(matches!(unknown, Err(sms_core::Error::NotFound("route"))), "{unknown:?}");
}
