//! A program hears of the events of its accounts, each once and in order.

use std::sync::{Arc, Mutex};

use sms_core::prelude::*;
use sms_workers::{WorkerOptions, Workers};

use crate::service::{account, builder};
use crate::{TIME_TO_STOP, until};

/// What a handler was called with.
#[derive(Debug, Clone, Default)]
struct Heard(Arc<Mutex<Vec<LoggedEvent>>>);

impl Heard {
    fn handler(&self) -> impl FnMut(LoggedEvent) + Send + 'static {
        let heard = self.clone();
        move |event| heard.0.lock().unwrap().push(event)
    }

    /// All events, once there are so many.
    async fn events(&self, count: usize) -> Vec<LoggedEvent> {
        until("events", async || {
            let heard = self.0.lock().unwrap().clone();
            (heard.len() >= count).then_some(heard)
        })
        .await
    }
}

async fn log_of(account: &AccountHandle) -> Vec<LoggedEvent> {
    account.event_list(EventRequest::after(Position::START)).await.unwrap().items
}

#[tokio::test(start_paused = true)]
async fn the_program_hears_of_each_event_from_now_on_once_and_with_its_data() {
    let sms = builder().build();
    let account = account(&sms).await;
    let workers = Workers::start(&sms, WorkerOptions::new());
    let (heard, all) = (Heard::default(), Heard::default());
    workers.on_event_after(&account, Position::START, all.handler());
    account.send(SendRequest::new("Before").to("07700 900124")).await.unwrap();
    let before = all.events(2).await;
    workers.on_event(&account, heard.handler()).await.unwrap();

    let sent = account.send(SendRequest::new("Hello").to("07700 900123")).await.unwrap();
    let events = heard.events(2).await;
    let kinds: Vec<EventType> = events.iter().map(|one| one.event.data.kind()).collect();
    assert_eq!(kinds, [EventType::MessageSent, EventType::MessageDelivered]);
    let EventData::MessageDelivered(message) = &events[1].event.data else { unreachable!() };
    assert_eq!(message.id, sent.messages[0].id);
    assert_eq!([before, events].concat(), all.events(4).await);
    workers.stop(TIME_TO_STOP).await.unwrap();
}

#[tokio::test(start_paused = true)]
async fn a_program_goes_on_after_any_event_without_missing_or_repeating_one() {
    let sms = builder().build();
    let account = account(&sms).await;
    let workers = Workers::start(&sms, WorkerOptions::new());
    // Several events in one row of the log.
    let numbers = "07700 900123, 07700 900124, 07700 900125";
    account.send(SendRequest::new("Hello").to(numbers)).await.unwrap();
    let log =
        until("six events", async || Some(log_of(&account).await).filter(|log| log.len() == 6));
    let log = log.await;
    let places = log.iter().enumerate().map(|(place, event)| (place + 1, event.position));
    for (known, position) in [(0, Position::START)].into_iter().chain(places) {
        let heard = Heard::default();
        workers.on_event_after(&account, position, heard.handler());
        assert_eq!(heard.events(6 - known).await, log[known..], "after {known}");
    }
    workers.stop(TIME_TO_STOP).await.unwrap();
}

#[tokio::test(start_paused = true)]
async fn a_long_log_does_not_delay_the_events_of_another_account() {
    let sms = builder().build();
    let first = account(&sms).await;
    let other = NewAccountInput::active("Bakery", 100);
    let other = sms.operator().account_create(other).await.unwrap();
    let accounts = [first, sms.account(other.id, Mode::Live)];
    let workers = Workers::start(&sms, WorkerOptions::new());
    let many: Vec<String> = (100..180).map(|last| format!("07700 900{last}")).collect();
    for (account, to) in accounts.iter().zip([many.join(", "), "07700 900199".to_owned()]) {
        let count =
            2 * account.send(SendRequest::new("Hello").to(to)).await.unwrap().messages.len();
        let all = Heard::default();
        workers.on_event_after(account, Position::START, all.handler());
        all.events(count).await;
    }

    let heard = Arc::new(Mutex::new(Vec::new()));
    for (place, account) in accounts.iter().enumerate() {
        let heard = Arc::clone(&heard);
        let handle = move |_| heard.lock().unwrap().push(place);
        workers.on_event_after(account, Position::START, handle);
    }
    let heard = until("all events", async || {
        let heard = heard.lock().unwrap().clone();
        (heard.len() == 162).then_some(heard)
    })
    .await;
    let before = heard.iter().take_while(|place| **place == 0).count();
    assert!(before < 100, "the other account waited for {before} events");
    workers.stop(TIME_TO_STOP).await.unwrap();
}
