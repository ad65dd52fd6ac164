//! The event log, as its readers see it.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::PoisonError;

use sms_core::event::kinds::Kinds;
use sms_core::event::log::{EventPage, EventRequest, LoggedEvent, ReadFrom};
use sms_core::event::position::Position;
use sms_core::event::{EventData, EventType};
use sms_core::ids::{AccountId, MessageId};
use sms_core::message::{Message, MessageStatus};
use sms_core::page::Limit;
use sms_core::webhook::store::EndpointsWanted;

use super::{MOST, Rig};

/// A request for events of all kinds.
pub fn events_from(from: ReadFrom, limit: u32) -> EventRequest {
    let limit = Limit::new(limit).expect("1 to 100");
    EventRequest { kinds: Kinds::all(), from, limit }
}

/// The message of an event, as the event shows it.
pub fn message_of(event: &LoggedEvent) -> Option<&Message> {
    match &event.event.data {
        EventData::MessageSent(message)
        | EventData::MessageDelivered(message)
        | EventData::MessageFailed(message)
        | EventData::MessageReceived(message) => Some(message),
        EventData::OptOutCreated(_)
        | EventData::LinkClicked(_)
        | EventData::RepliesPaused(_)
        | EventData::WebhookTest(_) => None,
    }
}

impl Rig {
    /// A page of an account's events.
    pub async fn event_page(&self, account: AccountId, request: EventRequest) -> EventPage {
        let page = self.store().event_list(account, request).await.expect("events are read");
        assert!(page.items.len() <= request.limit.get(), "a page holds more than its limit");
        page
    }

    /// All events that a request and the pages after it find.
    pub async fn events_by(
        &self,
        account: AccountId,
        mut request: EventRequest,
    ) -> Vec<LoggedEvent> {
        let mut all = Vec::new();
        loop {
            let EventPage { items, next } = self.event_page(account, request).await;
            all.extend(items);
            assert!(all.len() < MOST, "the log does not end");
            let Some(next) = next else { return all };
            request.from = match request.from {
                ReadFrom::Newest(_) => ReadFrom::Newest(Some(next)),
                ReadFrom::After(_) => ReadFrom::After(next),
            };
        }
    }

    /// All of an account's events, oldest first.
    pub async fn events(&self, account: AccountId) -> Vec<LoggedEvent> {
        self.events_by(account, events_from(ReadFrom::After(Position::START), 100)).await
    }

    /// The end of an account's log.
    pub async fn event_end(&self, account: AccountId) -> Position {
        let ends = self.store().event_ends(vec![account]).await.expect("events are read");
        assert_eq!(ends.len(), 1, "one account has one end");
        ends[0]
    }

    /// From now on the audit does not ask that the log has all events of the account.
    pub fn note_events_removed(&self, account: AccountId) {
        self.tidied.lock().unwrap_or_else(PoisonError::into_inner).push(account);
    }

    /// The log agrees with itself and with the account's messages.
    pub(crate) async fn audit_events(&self, account: AccountId, messages: &[Message]) {
        let events = self.events(account).await;
        let rising = events.is_sorted_by(|one, next| one.position < next.position);
        assert!(rising, "positions rise, each once");
        let ids: BTreeSet<_> = events.iter().map(|event| event.event.id).collect();
        assert_eq!(ids.len(), events.len(), "every event has an id of its own");
        let mut back = self.events_by(account, events_from(ReadFrom::Newest(None), 99)).await;
        back.reverse();
        assert_eq!(back, events, "the log reads the same in both directions");
        let mut raised: BTreeMap<MessageId, Vec<EventType>> = BTreeMap::new();
        for event in &events {
            assert_eq!(event.event.account, account);
            if let Some(message) = message_of(event) {
                raised.entry(message.id).or_default().push(event.event.data.kind());
            }
        }
        let is_whole =
            !self.tidied.lock().unwrap_or_else(PoisonError::into_inner).contains(&account);
        self.audit_deliveries(account, &events, is_whole).await;
        if !is_whole {
            return;
        }
        for message in messages {
            let found = raised.remove(&message.id).unwrap_or_default();
            check_message(message, &found);
        }
        assert_eq!(raised, BTreeMap::new(), "events are about messages that are there");
    }
}

impl Rig {
    /// Every delivery carries an event of the log, byte for byte as the log shows it.
    async fn audit_deliveries(&self, account: AccountId, log: &[LoggedEvent], is_whole: bool) {
        let log: BTreeMap<_, _> =
            log.iter().map(|logged| (logged.event.id, &logged.event)).collect();
        let endpoints = self
            .store()
            .endpoint_list(EndpointsWanted::Of(account))
            .await
            .expect("endpoints are read");
        for endpoint in endpoints {
            for delivery in self.deliveries(&endpoint).await {
                let event = log.get(&delivery.event_id);
                let is_test = delivery.event_type == EventType::WebhookTest;
                assert!(!is_test || event.is_none(), "a test is no event of the account");
                let is_kept = event.is_some() || is_test || !is_whole;
                assert!(is_kept, "the log has the event of {delivery:?}");
                if let Some(event) = event {
                    assert_eq!(delivery.event_type, event.data.kind());
                    assert_eq!(delivery.body, event.body(), "one event, the same bytes");
                }
            }
        }
    }
}

/// A message raised the events that its times imply, each once and in order.
fn check_message(message: &Message, found: &[EventType]) {
    use EventType as E;
    let times = message.times;
    let mut expected = Vec::new();
    expected.extend(times.sent_at.map(|_| E::MessageSent));
    expected.extend(times.received_at.map(|_| E::MessageReceived));
    expected.extend(times.failed_at.map(|_| E::MessageFailed));
    expected.extend(times.delivered_at.map(|_| E::MessageDelivered));
    // A later receipt that says otherwise takes the failure back.
    let late = [E::MessageSent, E::MessageFailed, E::MessageDelivered];
    let is_late = message.status == MessageStatus::Delivered && found == late;
    assert!(found == expected || is_late, "{found:?} of {message:?}");
}
