//! Which endpoints hear of an event, and what they are sent.

use std::collections::BTreeSet;

use sms_core::event::EventType;
use sms_core::webhook::attempt::Room;
use sms_core::webhook::delivery::{Delivery, DeliveryStatus};
use sms_core::webhook::endpoint::{DisabledReason, EndpointChange, Power};
use sms_core::webhook::rotation::{OLD_SECRET_VALID_FOR, SecretChange, SigningSecrets};

use crate::Rig;
use crate::rig::{event_of, millis, person};

scenarios! { Webhook;
    /// An event becomes a delivery for each enabled endpoint that subscribes to it: one event, the
    /// same bytes, a separate delivery id for each.
    async fn an_event_goes_to_every_endpoint_that_wants_it(rig: &Rig) {
        let (account, first) = rig.listener(person(900)).await;
        let second = rig.endpoint(&account, &EventType::SUBSCRIBABLE).await;
        let deaf =
            rig.endpoint(&account, &[EventType::MessageSent, EventType::OptOutCreated]).await;
        let off = rig.endpoint(&account, &EventType::SUBSCRIBABLE).await;
        rig.switch(&off, Power::Off(DisabledReason::ByOwner)).await;
        let (_, stranger) = rig.listener(person(901)).await;
        let message = rig.inbound_routed(1, person(900), "Grüße 🐦").await;
        for endpoint in [&deaf, &off, &stranger] {
            assert_eq!(rig.deliveries(endpoint).await, []);
        }
        let one = rig.deliveries(&first).await.remove(0);
        let two = rig.deliveries(&second).await.remove(0);
        assert_eq!((one.event_id, &one.body), (two.event_id, &two.body));
        assert_ne!(one.id, two.id);
        let event = event_of(&one.body);
        assert_eq!(event["id"], one.event_id.to_string());
        assert_eq!(event["type"], "message.received");
        assert_eq!(event["created_at"], rig.now().to_string());
        assert_eq!(event["data"], serde_json::to_value(&message).expect("a text is JSON"));
        assert_eq!(
            one,
            Delivery {
                id: one.id,
                account: account.id,
                endpoint: first.id,
                event_id: one.event_id,
                event_type: EventType::MessageReceived,
                body: one.body.clone(),
                status: DeliveryStatus::Pending,
                attempts: 0,
                last_status_code: None,
                last_error: None,
                last_attempt_at: None,
                next_attempt_at: Some(rig.now()),
                delivered_at: None,
                lease: None,
                leased_until: None,
                created_at: rig.now(),
            }
        );
    }

    /// Endpoints are asked as they are when the event happens.
    async fn what_an_endpoint_wants_counts_from_its_change_on(rig: &Rig) {
        let (_, endpoint) = rig.listener(person(900)).await;
        rig.raise(person(900), 1).await;
        let events = Some(BTreeSet::from([EventType::OptOutCreated]));
        rig.update_endpoint(&endpoint, EndpointChange { events, ..Default::default() }).await;
        rig.raise(person(900), 1).await;
        rig.inbound_routed(1, person(900), "STOP").await;
        let kinds = rig.kinds(&endpoint).await;
        assert_eq!(kinds, [EventType::MessageReceived, EventType::OptOutCreated]);
    }

    /// What is sent carries the endpoint's address and secret as they are at the attempt, and the
    /// bytes of the event.
    async fn an_attempt_uses_the_address_and_secret_of_the_moment(rig: &Rig) {
        let (account, endpoint) = rig.listener(person(900)).await;
        rig.raise(person(900), 1).await;
        let delivery = rig.deliveries(&endpoint).await.remove(0);
        let new_secret = crate::rig::secret(rig);
        let change = EndpointChange {
            url: Some("https://example.com/other".to_owned()),
            secret: Some(SecretChange::ReplaceAtOnce(new_secret.clone())),
            ..EndpointChange::default()
        };
        rig.update_endpoint(&endpoint, change).await;
        let plan = rig.delivery_claim(Room::any(10));
        let token = plan.lease.token;
        let claimed = rig.store().deliveries_claim(plan).await.expect("claimed").remove(0);
        assert_eq!((claimed.account, claimed.endpoint), (account.id, endpoint.id));
        assert_eq!(claimed.token, token);
        let request = claimed.request;
        assert_eq!((request.delivery, request.event_type), (delivery.id, delivery.event_type));
        assert_eq!(
            (request.url.as_str(), request.body),
            ("https://example.com/other", delivery.body)
        );
        assert_eq!(request.secrets, SigningSecrets { current: new_secret, old: None });
    }

    /// After a rotation a worker gets the old secret too, for a day; then, or once it is ended, the
    /// new one alone.
    async fn an_old_secret_signs_for_a_day(rig: &Rig) {
        let (_, endpoint) = rig.listener(person(900)).await;
        let secrets = async || {
            rig.raise(person(900), 1).await;
            let claimed = rig.claim_any(10).await;
            rig.succeed(&claimed).await;
            claimed[0].request.secrets.clone()
        };
        let [second, third] = [(); 2].map(|()| crate::rig::secret(rig));
        let change = |secret| EndpointChange { secret: Some(secret), ..EndpointChange::default() };
        rig.update_endpoint(&endpoint, change(SecretChange::Replace(second.clone()))).await;
        let both = SigningSecrets { current: second.clone(), old: Some(endpoint.secret.clone()) };
        assert_eq!(secrets().await, both);
        rig.advance(OLD_SECRET_VALID_FOR - millis(1));
        assert_eq!(secrets().await, both);
        rig.advance(millis(1));
        assert_eq!(secrets().await, SigningSecrets { old: None, ..both });
        rig.update_endpoint(&endpoint, change(SecretChange::Replace(third.clone()))).await;
        let both = SigningSecrets { current: third.clone(), old: Some(second) };
        assert_eq!(secrets().await, both);
        let retried = rig.deliveries(&endpoint).await[0].id;
        assert_eq!(rig.retry(&endpoint, retried).await.request.secrets, both);
        let ended = rig.update_endpoint(&endpoint, change(SecretChange::EndOld)).await;
        assert_eq!((&ended.secret, &ended.old_secret), (&third, &None));
        assert_eq!(secrets().await, SigningSecrets { old: None, ..both });
    }

    /// Events that happen while an endpoint is off are not kept for it; those after it is enabled
    /// again are.
    async fn events_while_an_endpoint_is_off_are_not_kept_for_it(rig: &Rig) {
        let (_, endpoint) = rig.listener(person(900)).await;
        rig.switch(&endpoint, Power::Off(DisabledReason::ByOwner)).await;
        rig.raise(person(900), 2).await;
        let on = rig.switch(&endpoint, Power::On).await;
        assert_eq!((on.power, on.consecutive_failures), (Power::On, 0));
        assert_eq!(rig.deliveries(&endpoint).await, []);
        rig.raise(person(900), 1).await;
        assert_eq!(rig.deliveries(&endpoint).await.len(), 1);
    }
}
