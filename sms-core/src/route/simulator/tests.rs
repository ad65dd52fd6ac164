use std::sync::Mutex;

use futures_executor::block_on;

use super::super::Look;
use super::*;
use crate::account::Mode;
use crate::ids::MessageId;
use crate::inbound::InboundMessage;
use crate::inbound::segment::InboundSegment;
use crate::receipt::report::{NetworkReport, Reported};
use crate::samples::{mobile, our_number, seconds};
use crate::text::{Encoding, Segments};

/// Records what a route reports; when `deaf`, it returns errors.
#[derive(Debug, Default)]
struct Recorder {
    receipts: Mutex<Vec<Receipt>>,
    inbound: Mutex<Vec<InboundMessage>>,
    deaf: bool,
}

#[async_trait]
impl RouteSink for Recorder {
    async fn receipt(&self, receipt: Receipt) -> Result<(), crate::Error> {
        self.receipts.lock().unwrap().push(receipt);
        if self.deaf { Err(crate::Error::Busy) } else { Ok(()) }
    }

    async fn inbound(&self, text: InboundMessage) -> Result<(), crate::Error> {
        self.inbound.lock().unwrap().push(text);
        Ok(())
    }

    async fn reports(&self, _: Vec<NetworkReport>) -> Vec<Result<Reported, crate::Error>> {
        unreachable!("the simulator has no ids of its own")
    }

    async fn inbound_segment(&self, _: InboundSegment) -> Result<(), crate::Error> {
        unreachable!("the simulator brings whole messages")
    }

    async fn connected(&self, _: &RouteName) -> Result<(), crate::Error> {
        unreachable!("the simulator has no connection")
    }
}

fn simulator() -> Simulator {
    Simulator::new(RouteName::test())
}

/// A message to 07700 900000 plus `last_digits`, at this attempt.
fn text(last_digits: u64, attempt: u32) -> OutboundMessage {
    OutboundMessage {
        message: MessageId::from_u128(u128::from(last_digits)),
        to: mobile(last_digits),
        from: our_number(),
        sender: None,
        body: Body::new("Your table is ready"),
        encoding: Encoding::Gsm7,
        segments: Segments::new(1),
        route: RouteName::test(),
        mode: Mode::Test,
        lane: crate::dispatch::Lane::Normal,
        attempt,
        expires_at: seconds(3_600),
        look: Look::at(seconds(0)),
    }
}

fn answers(messages: &[OutboundMessage], sink: &Recorder) -> Vec<HandOver> {
    let told: Vec<_> = block_on(simulator().hand_over(messages, sink).collect());
    assert!(told.iter().map(|told| told.place).eq(0..messages.len()));
    told.into_iter().map(|told| told.result).collect()
}

/// The outcome of each message, and what was reported meanwhile.
fn hand_over(messages: &[OutboundMessage]) -> (Vec<HandOver>, Vec<Receipt>) {
    let sink = Recorder::default();
    let results = answers(messages, &sink);
    assert_eq!(*sink.inbound.lock().unwrap(), []);
    (results, sink.receipts.into_inner().unwrap())
}

fn after(seconds: u64, what: Comeback) -> Simulated {
    Simulated { after: Duration::from_secs(seconds), what }
}

fn delivered(seconds: u64) -> Simulated {
    after(seconds, Comeback::Receipt(ReceiptStatus::Delivered))
}

fn undelivered(error: ErrorCode) -> Simulated {
    after(2, Comeback::Receipt(ReceiptStatus::Undelivered(error)))
}

fn reply(body: &str) -> Simulated {
    after(3, Comeback::Reply(Body::new(body)))
}

fn taken(simulated: Vec<Simulated>) -> HandOver {
    HandOver::Taken { simulated }
}

fn refused() -> HandOver {
    HandOver::Refused { error: ErrorCode::RejectedByNetwork, detail: None }
}

fn throttled() -> HandOver {
    HandOver::TryLater { detail: "throttled by the network".to_owned() }
}

#[test]
fn the_recipients_number_decides_the_outcome() {
    let table = [
        (901, refused()),
        (902, taken(vec![undelivered(ErrorCode::UnknownSubscriber)])),
        (903, taken(vec![undelivered(ErrorCode::AbsentSubscriber)])),
        (904, taken(vec![])),
        (905, taken(vec![delivered(30)])),
        (906, throttled()),
        (907, taken(vec![delivered(2), reply("STOP")])),
        (908, taken(vec![delivered(2), reply("Your table is ready")])),
        (909, taken(vec![delivered(2), delivered(2)])),
        (910, taken(vec![])),
        (911, throttled()),
        // All others are delivered, those next to the table included.
        (0, taken(vec![delivered(2)])),
        (123, taken(vec![delivered(2)])),
        (899, taken(vec![delivered(2)])),
        (900, taken(vec![delivered(2)])),
        (912, taken(vec![delivered(2)])),
        (999, taken(vec![delivered(2)])),
    ];
    for (last_digits, expected) in table {
        let (results, _) = hand_over(&[text(last_digits, 0)]);
        assert_eq!(results, [expected], "07700 900{last_digits:03}");
    }
}

#[test]
fn one_number_throttles_two_attempts_and_another_throttles_all() {
    for (attempt, gets_through) in [(0, false), (1, false), (2, true), (3, true), (100, true)] {
        let expected = if gets_through { taken(vec![delivered(2)]) } else { throttled() };
        assert_eq!(hand_over(&[text(906, attempt)]).0, [expected], "attempt {attempt}");
    }
    for attempt in [0, 1, 2, 3, 1_000, u32::MAX - 1] {
        assert_eq!(hand_over(&[text(911, attempt)]).0, [throttled()], "attempt {attempt}");
    }
}

#[test]
fn at_other_numbers_the_attempt_changes_nothing() {
    for last_digits in (901..=911).filter(|last| *last != 906) {
        let first = hand_over(&[text(last_digits, 0)]).0;
        assert_eq!(hand_over(&[text(last_digits, 9)]).0, first, "07700 900{last_digits}");
    }
}

#[test]
fn only_one_number_has_its_receipt_reported_during_the_hand_over() {
    for last_digits in [0, 123].into_iter().chain(900..=912) {
        let (_, receipts) = hand_over(&[text(last_digits, 0)]);
        let early = Receipt::new(text(910, 0).message, ReceiptStatus::Delivered);
        let expected = if last_digits == 910 { vec![early] } else { vec![] };
        assert_eq!(receipts, expected, "07700 900{last_digits}");
    }
}

#[test]
fn a_receipt_that_was_not_stored_does_not_stop_the_other_messages() {
    let sink = Recorder { deaf: true, ..Recorder::default() };
    let results = answers(&[text(910, 0), text(123, 0)], &sink);
    assert_eq!(results, [taken(vec![]), taken(vec![delivered(2)])]);
}

#[test]
fn outcomes_are_in_the_order_of_the_messages() {
    let messages = [text(123, 0), text(901, 0), text(911, 5), text(904, 0)];
    let (results, _) = hand_over(&messages);
    assert_eq!(results, [taken(vec![delivered(2)]), refused(), throttled(), taken(vec![])]);
    assert_eq!(hand_over(&[]).0, []);
}

#[test]
fn numbers_outside_the_drama_range_are_delivered() {
    for digits in [447_700_899_901, 447_700_901_901, 447_800_900_901, 1_202_555] {
        let number = E164::from_digits(digits).unwrap();
        assert_eq!(outcome_for(number), Outcome::Deliver(DELIVERY_TIME), "{digits}");
    }
}

#[test]
fn a_simulator_has_the_name_it_is_given_and_nothing_to_run() {
    let simulator = Simulator::new(RouteName::new("spare"));
    assert_eq!(simulator.name().to_string(), "spare");
    assert_eq!(simulator.name().as_str(), "spare");
    block_on(simulator.run(Arc::new(Recorder::default())));
}
