//! Deliveries: one event for one endpoint.

use std::fmt;

use super::endpoint::Endpoint;
use crate::dispatch::queue::LeaseToken;
use crate::event::{Event, EventBody, EventType, Raised};
use crate::ids::{AccountId, DeliveryId, EndpointId, EventId, Ids};
use crate::time::Timestamp;

/// How long a delivery is kept after its creation: 30 days.
pub const KEPT_FOR: std::time::Duration = std::time::Duration::from_hours(30 * 24);

/// The state of a delivery.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum DeliveryStatus {
    /// It waits for an attempt.
    Pending,
    /// The endpoint received it.
    Delivered,
    /// It is not retried any more, except on request.
    GivenUp,
}

impl DeliveryStatus {
    /// Every status, in the order of the specification.
    pub const ALL: [Self; 3] = [Self::Pending, Self::Delivered, Self::GivenUp];

    /// The name used in the API and by stores.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Pending => "pending",
            Self::Delivered => "delivered",
            Self::GivenUp => "given_up",
        }
    }
}

impl fmt::Display for DeliveryStatus {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.as_str())
    }
}

/// Why an attempt failed: a closed list that reveals nothing about addresses or resolvers.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum DeliveryError {
    /// The host name of the endpoint has no address.
    DnsFailed,
    /// The address is not on the public internet.
    ForbiddenAddress,
    /// The connection failed, or broke before an answer.
    ConnectFailed,
    /// The TLS handshake failed, for example because of the certificate.
    TlsFailed,
    /// The endpoint did not answer in time.
    Timeout,
    /// The endpoint answered with a status other than 2xx.
    HttpStatus,
    /// The endpoint was disabled while the delivery waited.
    EndpointOff,
}

impl DeliveryError {
    /// The name used in the API and by stores.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::DnsFailed => "dns_failed",
            Self::ForbiddenAddress => "forbidden_address",
            Self::ConnectFailed => "connect_failed",
            Self::TlsFailed => "tls_failed",
            Self::Timeout => "timeout",
            Self::HttpStatus => "http_status",
            Self::EndpointOff => "endpoint_off",
        }
    }
}

impl fmt::Display for DeliveryError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.as_str())
    }
}

/// One event for one endpoint. Its id and body are the same in every attempt.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Delivery {
    /// Its id, which the header of every attempt carries, so that receivers deduplicate by it.
    pub id: DeliveryId,
    /// The account of the endpoint.
    pub account: AccountId,
    /// The endpoint that receives it.
    pub endpoint: EndpointId,
    /// The event that it carries.
    pub event_id: EventId,
    /// The kind of the event.
    pub event_type: EventType,
    /// The bytes that it carries.
    pub body: EventBody,
    /// Whether it is pending, delivered or given up.
    pub status: DeliveryStatus,
    /// How many attempts have ended.
    pub attempts: u32,
    /// The status code of the last answer; `None` if the last attempt had no answer.
    pub last_status_code: Option<u16>,
    /// Why the last attempt failed, or why no further one is made; `None` before the first attempt
    /// and after a success.
    pub last_error: Option<DeliveryError>,
    /// When the last attempt ended; `None` before the first.
    pub last_attempt_at: Option<Timestamp>,
    /// When the next attempt is due; `None` unless it is pending.
    pub next_attempt_at: Option<Timestamp>,
    /// When the endpoint received it; `None` if it has not.
    pub delivered_at: Option<Timestamp>,
    /// The lease of the worker that is sending it; `None` if no worker is.
    pub lease: Option<LeaseToken>,
    /// When that lease runs out.
    pub leased_until: Option<Timestamp>,
    /// When it was created.
    pub created_at: Timestamp,
}

impl Delivery {
    /// A delivery of `event` to an endpoint, due now.
    pub fn of(event: &Event, body: EventBody, endpoint: EndpointId, ids: &mut Ids) -> Self {
        Self {
            id: ids.next(),
            account: event.account,
            endpoint,
            event_id: event.id,
            event_type: event.data.kind(),
            body,
            status: DeliveryStatus::Pending,
            attempts: 0,
            last_status_code: None,
            last_error: None,
            last_attempt_at: None,
            next_attempt_at: Some(event.created_at),
            delivered_at: None,
            lease: None,
            leased_until: None,
            created_at: event.created_at,
        }
    }

    /// The same delivery, made at `at` although the event happened earlier, and due then.
    pub(super) fn made_at(self, at: Timestamp) -> Self {
        Self { next_attempt_at: Some(at), created_at: at, ..self }
    }

    /// When a worker may claim it: when its attempt is due, or, while it is leased, when the lease
    /// runs out. `None` unless it is pending.
    pub fn claimable_at(&self) -> Option<Timestamp> {
        match self.status {
            DeliveryStatus::Pending => self.leased_until.max(self.next_attempt_at),
            DeliveryStatus::Delivered | DeliveryStatus::GivenUp => None,
        }
    }

    /// Whether it waits for an attempt and no worker is sending it at `at`.
    pub fn is_waiting(&self, at: Timestamp) -> bool {
        let held = self.leased_until.is_some_and(|until| until > at);
        self.status == DeliveryStatus::Pending && !held
    }

    /// What becomes of a [waiting](Self::is_waiting) delivery when its endpoint is disabled. An
    /// attempt in progress is not interrupted, but no other follows. A delivery that the endpoint
    /// received before, and that was to be sent again on request, stays delivered.
    #[must_use]
    pub fn given_up(self) -> Self {
        let taken_once = self.delivered_at.is_some();
        Self {
            status: if taken_once { DeliveryStatus::Delivered } else { DeliveryStatus::GivenUp },
            last_error: Some(DeliveryError::EndpointOff),
            next_attempt_at: None,
            lease: None,
            leased_until: None,
            ..self
        }
    }
}

/// One delivery of an event for each of the account's endpoints that subscribes to it.
pub fn fan_out<'a>(
    event: &Event,
    endpoints: impl IntoIterator<Item = &'a Endpoint>,
    ids: &mut Ids,
) -> Vec<Delivery> {
    let kind = event.data.kind();
    let mut body = None;
    let wanting = endpoints.into_iter().filter(|endpoint| endpoint.wants(kind));
    wanting
        .map(|endpoint| {
            let body = body.get_or_insert_with(|| event.body()).clone();
            Delivery::of(event, body, endpoint.id, ids)
        })
        .collect()
}

/// The deliveries of raised events, in order, to those of `endpoints` that belong to the event's
/// account and subscribe to its kind.
pub fn deliveries<'a>(
    raised: Vec<Raised>,
    endpoints: &(impl Iterator<Item = &'a Endpoint> + Clone),
) -> Vec<Delivery> {
    let mut deliveries = Vec::new();
    for Raised { events, mut ids } in raised {
        for event in &events {
            let own = endpoints.clone().filter(|endpoint| endpoint.account == event.account);
            deliveries.extend(fan_out(event, own, &mut ids));
        }
    }
    deliveries
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use super::*;
    use crate::event::EventData;
    use crate::message::MessageStatus;
    use crate::samples::{account_id, endpoint, ids, message, now, seconds};
    use crate::webhook::endpoint::{DisabledReason, Power};

    #[test]
    fn a_status_is_shown_by_the_name_that_the_api_uses() {
        let all = [DeliveryStatus::Pending, DeliveryStatus::Delivered, DeliveryStatus::GivenUp];
        assert_eq!(all.map(|status| status.to_string()), ["pending", "delivered", "given_up"]);
    }

    #[test]
    fn a_delivery_is_kept_for_30_days() {
        assert_eq!(KEPT_FOR.as_secs(), 30 * 24 * 60 * 60);
    }

    fn event() -> Event {
        let data = EventData::MessageSent(Box::new(message(MessageStatus::Sent)));
        Event::new(account_id(), data, now(), &mut ids())
    }

    fn waiting() -> Delivery {
        Delivery::of(&event(), event().body(), endpoint().id, &mut ids())
    }

    fn numbered(id: u128, events: &[EventType], power: Power) -> Endpoint {
        let events = events.iter().copied().collect();
        Endpoint { id: EndpointId::from_u128(id), events, power, ..endpoint() }
    }

    #[test]
    fn a_new_delivery_is_due_at_once_and_was_never_tried() {
        let event = event();
        let delivery = Delivery::of(&event, event.body(), endpoint().id, &mut ids());
        let expected = Delivery {
            id: delivery.id,
            account: account_id(),
            endpoint: endpoint().id,
            event_id: event.id,
            event_type: EventType::MessageSent,
            body: event.body(),
            status: DeliveryStatus::Pending,
            attempts: 0,
            last_status_code: None,
            last_error: None,
            last_attempt_at: None,
            next_attempt_at: Some(now()),
            delivered_at: None,
            lease: None,
            leased_until: None,
            created_at: now(),
        };
        assert_eq!(delivery, expected);
    }

    #[test]
    fn an_event_goes_to_every_enabled_endpoint_that_subscribes_to_its_kind() {
        use EventType::{MessageDelivered, MessageSent};
        let endpoints = [
            numbered(1, &[MessageSent], Power::On),
            numbered(2, &[MessageDelivered], Power::On),
            numbered(3, &[MessageSent], Power::Off(DisabledReason::ByOwner)),
            numbered(4, &[MessageSent], Power::Off(DisabledReason::Failures)),
            numbered(5, &[MessageSent, MessageDelivered], Power::On),
            numbered(6, &[], Power::On),
        ];
        let deliveries = fan_out(&event(), &endpoints, &mut ids());
        let reached: Vec<u128> = deliveries.iter().map(|one| one.endpoint.as_u128()).collect();
        assert_eq!(reached, [1, 5]);
        assert_eq!(fan_out(&event(), &endpoints[1..4], &mut ids()), []);
    }

    #[test]
    fn raised_events_go_to_endpoints_of_their_own_account_in_order() {
        let mut ids = ids();
        let data = || EventData::MessageSent(Box::new(message(MessageStatus::Sent)));
        let other = AccountId::from_u128(2);
        let events: Vec<Event> = [account_id(), other, account_id()]
            .map(|account| Event::new(account, data(), now(), &mut ids))
            .into();
        let own = numbered(1, &[EventType::MessageSent], Power::On);
        let another =
            Endpoint { account: other, ..numbered(2, &[EventType::MessageSent], Power::On) };
        let raised = vec![Raised { events: events.clone(), ids }];
        let made = deliveries(raised, &[own, another].iter());
        let reached: Vec<_> =
            made.iter().map(|one| (one.endpoint.as_u128(), one.event_id)).collect();
        assert_eq!(reached, [(1, events[0].id), (2, events[1].id), (1, events[2].id)]);
        assert!(made.windows(2).all(|pair| pair[0].id < pair[1].id));
    }

    #[test]
    fn every_delivery_of_an_event_carries_the_same_bytes_under_a_separate_id() {
        let endpoints: Vec<Endpoint> =
            (1..=10).map(|id| numbered(id, &EventType::SUBSCRIBABLE, Power::On)).collect();
        let event = event();
        let deliveries = fan_out(&event, &endpoints, &mut ids());
        let delivery_ids: BTreeSet<DeliveryId> = deliveries.iter().map(|one| one.id).collect();
        assert_eq!(delivery_ids.len(), 10);
        assert!(deliveries.iter().all(|one| one.event_id == event.id));
        assert!(deliveries.iter().all(|one| one.body == event.body()));
        let places: BTreeSet<_> = deliveries.iter().map(|one| one.body.as_str().as_ptr()).collect();
        assert_eq!(places.len(), 1, "serialised once");
    }

    #[test]
    fn a_delivery_is_claimable_when_due_or_when_its_lease_runs_out() {
        let pending = |next, until| Delivery {
            next_attempt_at: Some(seconds(next)),
            leased_until: until,
            ..waiting()
        };
        for (delivery, expected) in [
            (pending(60, None), Some(seconds(60))),
            (pending(0, Some(seconds(30))), Some(seconds(30))),
            // A lease that ran out before the next attempt is due.
            (pending(60, Some(seconds(30))), Some(seconds(60))),
        ] {
            assert_eq!(delivery.claimable_at(), expected);
            for status in [DeliveryStatus::Delivered, DeliveryStatus::GivenUp] {
                assert_eq!(Delivery { status, ..delivery.clone() }.claimable_at(), None);
            }
        }
    }

    #[test]
    fn a_delivery_waits_while_it_is_pending_and_no_worker_has_it() {
        for (leased_until, is_waiting) in [
            (None, true),
            (Some(seconds(1)), false),
            (Some(now()), true),
            (Some(seconds(-1)), true),
        ] {
            let delivery = Delivery { leased_until, ..waiting() };
            assert_eq!(delivery.is_waiting(now()), is_waiting, "{leased_until:?}");
            for status in [DeliveryStatus::Delivered, DeliveryStatus::GivenUp] {
                assert!(!Delivery { status, ..delivery.clone() }.is_waiting(now()));
            }
        }
    }

    #[test]
    fn deliveries_that_wait_for_a_disabled_endpoint_are_given_up_for_that_reason() {
        let tried = Delivery {
            attempts: 2,
            last_status_code: Some(503),
            last_error: Some(DeliveryError::HttpStatus),
            last_attempt_at: Some(seconds(-5)),
            lease: Some(LeaseToken(1)),
            leased_until: Some(seconds(-1)),
            ..waiting()
        };
        let expected = Delivery {
            status: DeliveryStatus::GivenUp,
            last_error: Some(DeliveryError::EndpointOff),
            next_attempt_at: None,
            lease: None,
            leased_until: None,
            ..tried.clone()
        };
        assert_eq!(tried.given_up(), expected);
    }

    #[test]
    fn a_delivery_that_was_received_once_stays_delivered_when_its_endpoint_is_disabled() {
        // Sent again on request, by a worker that died while sending it.
        let again = Delivery {
            delivered_at: Some(seconds(-90)),
            lease: Some(LeaseToken(1)),
            leased_until: Some(seconds(-1)),
            ..waiting()
        };
        let after = again.given_up();
        assert_eq!(after.status, DeliveryStatus::Delivered);
        assert_eq!(after.delivered_at, Some(seconds(-90)));
        assert_eq!((after.next_attempt_at, after.claimable_at()), (None, None));
    }

    #[test]
    fn names_are_the_documented_ones() {
        use DeliveryStatus as S;
        let statuses = [S::Pending, S::Delivered, S::GivenUp].map(DeliveryStatus::as_str);
        assert_eq!(statuses, ["pending", "delivered", "given_up"]);
        let errors = [
            DeliveryError::DnsFailed,
            DeliveryError::ForbiddenAddress,
            DeliveryError::ConnectFailed,
            DeliveryError::TlsFailed,
            DeliveryError::Timeout,
            DeliveryError::HttpStatus,
            DeliveryError::EndpointOff,
        ];
        assert_eq!(
            errors.map(|error| error.to_string()).join(", "),
            "dns_failed, forbidden_address, connect_failed, tls_failed, timeout, http_status, \
             endpoint_off"
        );
    }
}
