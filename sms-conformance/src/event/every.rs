//! Every kind of event is in the log, as its endpoints hear of it.

use sms_core::event::EventType;

use crate::Rig;
use crate::rig::{person, refused};

scenarios! { Link;
    /// The log has every event that endpoints are sent, with the same id and the same bytes,
    /// whatever became of its message since.
    async fn the_log_has_the_events_that_endpoints_receive(rig: &Rig) {
        let account = rig.account(100).await;
        rig.dedicated_number(person(900), &account).await;
        let endpoint = rig.endpoint(&account, &EventType::SUBSCRIBABLE).await;
        let link = rig.link(&account, 1).await;
        rig.leave_all().await;
        rig.undeliver(link.message).await;
        rig.deliver(link.message).await;
        rig.click(link.code).await;
        rig.text(&account, 3).await;
        let hand = rig.claim_all().await;
        rig.finish(&hand, &refused()).await;
        rig.inbound_routed(2, person(900), "Grüße 🐦").await;
        rig.inbound_routed(2, person(900), "STOP").await;
        let read = rig.store().conversation_read(account.id, person(2), rig.now()).await;
        assert_eq!(read.expect("it is read"), Some(2));
        let events = rig.events(account.id).await;
        let kinds: Vec<EventType> = events.iter().map(|event| event.event.data.kind()).collect();
        // What pauses replies has scenarios of its own.
        let of_replies = EventType::RepliesPaused;
        for kind in EventType::SUBSCRIBABLE.iter().filter(|kind| **kind != of_replies) {
            assert!(kinds.contains(kind), "{kind}");
        }
        let sent = rig.deliveries(&endpoint).await.into_iter().rev();
        let sent: Vec<_> =
            sent.map(|it| (it.event_id, it.event_type, it.body)).collect();
        let logged = events.iter().map(|logged| &logged.event);
        let logged: Vec<_> =
            logged.map(|event| (event.id, event.data.kind(), event.body())).collect();
        assert_eq!(logged, sent);
    }
}
