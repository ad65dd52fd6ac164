//! Replays: what an endpoint missed is sent again from the event log.

use sms_core::account::Account;
use sms_core::event::EventType;
use sms_core::event::kinds::Kinds;
use sms_core::event::log::LoggedEvent;
use sms_core::event::position::Position;
use sms_core::idempotency::{Claim, Fingerprint, Once, Owner};
use sms_core::ids::EventId;
use sms_core::store::CommitError;
use sms_core::time::Timestamp;
use sms_core::upkeep::Due;
use sms_core::version::IfVersion::Any;
use sms_core::webhook::delivery::{Delivery, DeliveryStatus};
use sms_core::webhook::endpoint::{DisabledReason, Endpoint, Power};
use sms_core::webhook::replay::plan::{PortionEnd, PortionPlan, ReplayPlan, ReplayRefused};
use sms_core::webhook::replay::{DOWN_AFTER, EVERY, Replay, ReplayBegun, Span};
use sms_core::webhook::store::EndpointsWanted;

use crate::Rig;
use crate::rig::{millis, person, refused, seconds};

/// A replay of all that the log has for an endpoint now.
async fn replay_of_all(rig: &Rig, endpoint: &Endpoint) -> ReplayPlan {
    let events = rig.events(endpoint.account).await;
    let reached = events.last().map(|last| last.position);
    let replay = Replay {
        kinds: Kinds::all(),
        span: Span { from: Some(a_day_ago(rig)), to: None },
        after: Position::START,
        until: reached.expect("there are events"),
        next_at: rig.now(),
    };
    let begun = ReplayBegun { events: events.len(), reached, has_more: false };
    let (account, endpoint) = (endpoint.account, endpoint.id);
    ReplayPlan { account, endpoint, replay: Some(replay), begun }
}

fn a_day_ago(rig: &Rig) -> Timestamp {
    rig.now().minus(seconds(86_400))
}

async fn begin(rig: &Rig, endpoint: &Endpoint) -> Replay {
    let plan = replay_of_all(rig, endpoint).await;
    let (replay, answer) = (plan.replay.expect("there are events"), plan.begun);
    let begun = rig.store().replay_begin(plan, None).await.expect("a replay begins");
    assert_eq!(begun, Once::Done(answer));
    replay
}

fn portion(
    rig: &Rig,
    endpoint: &Endpoint,
    replay: Replay,
    events: &[LoggedEvent],
    end: PortionEnd,
) -> PortionPlan {
    PortionPlan {
        account: endpoint.account,
        endpoint: endpoint.id,
        replay,
        events: events.iter().map(|logged| logged.event.clone()).collect(),
        end,
        at: rig.now(),
        ids: rig.ids(),
    }
}

async fn write(rig: &Rig, plan: PortionPlan) -> usize {
    rig.store().replay_portion(plan).await.expect("a portion is written")
}

/// Sends an endpoint all that the log has, in one portion. Returns how many deliveries that makes.
async fn replay_at_once(rig: &Rig, endpoint: &Endpoint) -> usize {
    let replay = begin(rig, endpoint).await;
    let events = rig.events(endpoint.account).await;
    write(rig, portion(rig, endpoint, replay, &events, PortionEnd::Last)).await
}

async fn due(rig: &Rig) -> Vec<Endpoint> {
    rig.store()
        .endpoint_list(EndpointsWanted::ReplaysDue { at: rig.now(), limit: 100 })
        .await
        .expect("replays are found")
}

async fn next(rig: &Rig) -> Option<Timestamp> {
    rig.store().next(Due::Replays).await.expect("the next portion is found")
}

fn event_ids(deliveries: &[Delivery]) -> Vec<EventId> {
    deliveries.iter().rev().map(|delivery| delivery.event_id).collect()
}

/// Events of every cause: a message that leaves, one that does not, one that comes in, and a STOP.
async fn raise_some(rig: &Rig, account: &Account) {
    rig.message_that_left(account, 1).await;
    rig.text(account, 2).await;
    let hand = rig.claim_all().await;
    rig.finish(&hand, &refused()).await;
    rig.inbound_routed(3, person(900), "Hello").await;
    rig.inbound_routed(4, person(900), "STOP").await;
}

scenarios! { Webhook;
    /// A replay sends an endpoint what happened before it was there: portion by portion, with the
    /// bytes of the log.
    async fn a_replay_goes_on_portion_by_portion(rig: &Rig) {
        let account = rig.account(100).await;
        rig.dedicated_number(person(900), &account).await;
        raise_some(rig, &account).await;
        let events = rig.events(account.id).await;
        let endpoint = rig.endpoint(&account, &EventType::SUBSCRIBABLE).await;
        assert_eq!((next(rig).await, due(rig).await), (None, vec![]));
        rig.advance(seconds(60));
        let replay = begin(rig, &endpoint).await;
        let expected = Endpoint { replay: Some(replay), ..endpoint.clone() };
        assert_eq!(rig.endpoint_now(&endpoint).await, expected, "as it was before, but for that");
        assert_eq!((next(rig).await, due(rig).await), (Some(rig.now()), vec![expected]));
        let end = PortionEnd::At(events[1].position);
        assert_eq!(write(rig, portion(rig, &endpoint, replay, &events[..2], end)).await, 2);
        let further = Replay {
            after: events[1].position,
            next_at: rig.now().plus(EVERY),
            ..replay
        };
        assert_eq!(rig.endpoint_now(&endpoint).await.replay, Some(further));
        assert_eq!((next(rig).await, due(rig).await), (Some(further.next_at), vec![]));
        let last = portion(rig, &endpoint, further, &events[2..], PortionEnd::Last);
        assert_eq!(write(rig, last).await, events.len() - 2);
        assert_eq!(rig.endpoint_now(&endpoint).await, endpoint);
        assert_eq!(next(rig).await, None);
        let deliveries = rig.deliveries(&endpoint).await;
        let ids: Vec<EventId> = events.iter().map(|logged| logged.event.id).collect();
        assert_eq!(event_ids(&deliveries), ids);
        for (delivery, logged) in deliveries.iter().rev().zip(&events) {
            assert_eq!(delivery.body, logged.event.body());
            assert_eq!(delivery.status, DeliveryStatus::Pending);
            let times = (delivery.created_at, delivery.next_attempt_at);
            assert_eq!(times, (rig.now(), Some(rig.now())), "it is due now");
        }
        let claimed = rig.claim_any(100).await;
        assert_eq!(claimed.len(), events.len());
        rig.succeed(&claimed).await;
    }

    /// What waits for an endpoint, because it happened or because of an earlier replay, is not
    /// added again; what it has received is.
    async fn a_replay_does_not_add_waiting_deliveries(rig: &Rig) {
        let account = rig.account(100).await;
        rig.dedicated_number(person(900), &account).await;
        let endpoint = rig.endpoint(&account, &EventType::SUBSCRIBABLE).await;
        let other = rig.endpoint(&account, &EventType::SUBSCRIBABLE).await;
        raise_some(rig, &account).await;
        let all = rig.events(account.id).await.len();
        assert_eq!(rig.deliveries(&endpoint).await.len(), all);
        assert_eq!(replay_at_once(rig, &endpoint).await, 0, "all of them wait");
        let held = rig.claim_any(100).await;
        assert_eq!(replay_at_once(rig, &endpoint).await, 0, "workers hold all of them");
        rig.succeed(&held).await;
        rig.advance(millis(1));
        assert_eq!(replay_at_once(rig, &endpoint).await, all);
        assert_eq!(replay_at_once(rig, &endpoint).await, 0, "the first replay's wait");
        assert_eq!(replay_at_once(rig, &other).await, all, "nothing waits for the other");
        let again = rig.claim_any(100).await;
        rig.fail(&again).await;
        assert_eq!(replay_at_once(rig, &endpoint).await, 0, "they wait to be tried again");
    }

    /// What was given up because the endpoint was switched off can be replayed.
    async fn deliveries_that_were_given_up_can_be_replayed(rig: &Rig) {
        let (_, endpoint) = rig.listener(person(900)).await;
        rig.raise(person(900), 3).await;
        rig.switch(&endpoint, Power::Off(DisabledReason::ByOwner)).await;
        rig.raise(person(900), 2).await;
        rig.switch(&endpoint, Power::On).await;
        assert_eq!(replay_at_once(rig, &endpoint).await, 5);
        let pending = rig.claim_any(100).await;
        assert_eq!(pending.len(), 5);
    }

    /// A replay continues only while nothing else can be claimed of its endpoint, and not in a
    /// pause.
    async fn a_replay_waits_for_deliveries_that_are_due(rig: &Rig) {
        let (_, endpoint) = rig.listener(person(900)).await;
        let (_, busy) = rig.listener(person(901)).await;
        rig.raise(person(900), 2).await;
        rig.succeed(&rig.claim_any(10).await).await;
        begin(rig, &endpoint).await;
        rig.raise(person(901), 1).await;
        let found = |due: Vec<Endpoint>| due.into_iter().map(|one| one.id).collect::<Vec<_>>();
        assert_eq!(found(due(rig).await), [endpoint.id], "what waits for another does not matter");
        rig.raise(person(900), 1).await;
        assert_eq!(due(rig).await, []);
        let claimed = rig.claim_any(10).await;
        assert_eq!(found(due(rig).await), [endpoint.id], "workers hold all there is");
        let own: Vec<_> =
            claimed.iter().filter(|one| one.endpoint == endpoint.id).cloned().collect();
        rig.ask_for_pause(&own, seconds(90)).await;
        assert_eq!((due(rig).await, next(rig).await), (vec![], Some(rig.now().plus(seconds(90)))));
        assert_eq!(rig.endpoint_now(&busy).await.replay, None);
    }

    /// Replays of different accounts go on in the order in which they are due, then by id, and up
    /// to the limit.
    async fn the_replay_that_is_due_first_goes_on_first(rig: &Rig) {
        let mut endpoints = Vec::new();
        for _ in 0..3 {
            let account = rig.account(100).await;
            endpoints.push(rig.endpoint(&account, &EventType::SUBSCRIBABLE).await);
            rig.message_that_left(&account, 1).await;
        }
        rig.succeed(&rig.claim_any(10).await).await;
        begin(rig, &endpoints[2]).await;
        rig.advance(millis(1));
        begin(rig, &endpoints[1]).await;
        begin(rig, &endpoints[0]).await;
        let order = [endpoints[2].id, endpoints[0].id, endpoints[1].id];
        for limit in [2, 3] {
            let wanted = EndpointsWanted::ReplaysDue { at: rig.now(), limit };
            let due = rig.store().endpoint_list(wanted);
            let due = due.await.expect("replays are found");
            assert_eq!(due.into_iter().map(|one| one.id).collect::<Vec<_>>(), order[..limit]);
        }
    }

    /// The replays of an account take turns: all ten write no more portions than one, and one after
    /// another has its events. Those of other accounts go on beside them.
    async fn the_replays_of_an_account_take_turns(rig: &Rig) {
        let (account, other) = (rig.account(100).await, rig.account(100).await);
        for own in [&account, &other] {
            for n in 1..=3 {
                rig.message_that_left(own, n).await;
            }
        }
        let mut endpoints = Vec::new();
        for _ in 0..10 {
            endpoints.push(rig.endpoint(&account, &EventType::SUBSCRIBABLE).await);
        }
        let alone = rig.endpoint(&other, &EventType::SUBSCRIBABLE).await;
        rig.advance(seconds(60));
        for endpoint in endpoints.iter().chain([&alone]) {
            begin(rig, endpoint).await;
        }
        let events = rig.events(account.id).await;
        let ids = |due: Vec<Endpoint>| due.into_iter().map(|one| one.id).collect::<Vec<_>>();
        let first = ids(due(rig).await);
        assert_eq!((first.len(), first[0], first[1]), (11, endpoints[0].id, alone.id));
        assert_eq!(first[2..], ids(endpoints[1..].to_vec()), "if the first one fails");
        for (n, endpoint) in endpoints.iter().enumerate() {
            for (place, logged) in events.iter().enumerate() {
                let mut own = due(rig).await;
                own.retain(|one| one.account == account.id);
                assert_eq!(ids(own).first(), Some(&endpoint.id), "{n}");
                let now = rig.endpoint_now(endpoint).await.replay.expect("it is under way");
                let is_last = place + 1 == events.len();
                let end =
                    if is_last { PortionEnd::Last } else { PortionEnd::At(logged.position) };
                let plan = portion(rig, endpoint, now, std::slice::from_ref(logged), end);
                assert_eq!(write(rig, plan).await, 1);
                rig.succeed(&rig.claim_any(10).await).await;
                if end != PortionEnd::Last {
                    rig.advance(EVERY - millis(1));
                    assert_eq!(ids(due(rig).await), [alone.id], "{n} rests, and so do the others");
                    rig.advance(millis(1));
                }
            }
        }
        assert_eq!(ids(due(rig).await), [alone.id]);
    }

    /// An endpoint that does not answer does not get one portion after another: until something
    /// succeeds, a replay also waits for attempts in progress.
    async fn a_replay_waits_for_the_first_answer_since_its_last_portion(rig: &Rig) {
        let (_, endpoint) = rig.listener(person(900)).await;
        rig.raise(person(900), 3).await;
        let claimed = rig.claim_any(10).await;
        rig.succeed(&claimed[..1]).await;
        rig.advance(seconds(1));
        begin(rig, &endpoint).await;
        assert_eq!(due(rig).await, [], "workers hold all there is");
        rig.succeed(&claimed[1..2]).await;
        let due = due(rig).await;
        assert_eq!(due.into_iter().map(|one| one.id).collect::<Vec<_>>(), [endpoint.id]);
    }

    /// While an endpoint fails, a replay waits until nothing waits for it: portions that fail would
    /// switch it off, and end the replay.
    async fn a_replay_waits_for_an_endpoint_that_is_down(rig: &Rig) {
        let (_, endpoint) = rig.listener(person(900)).await;
        rig.raise(person(900), 11).await;
        let claimed = rig.claim_any(11).await;
        begin(rig, &endpoint).await;
        rig.succeed(&claimed[10..]).await;
        rig.fail(&claimed[..9]).await;
        let found = |due: Vec<Endpoint>| due.into_iter().map(|one| one.id).collect::<Vec<_>>();
        assert_eq!(found(due(rig).await), [endpoint.id], "some failures are no reason to wait");
        rig.fail(&claimed[9..10]).await;
        assert_eq!(rig.endpoint_now(&endpoint).await.consecutive_failures, DOWN_AFTER);
        assert_eq!(due(rig).await, [], "all of them are tried again first");
        rig.advance(seconds(3_600));
        let again = rig.claim_any(10).await;
        rig.succeed(&again[..1]).await;
        assert_eq!(found(due(rig).await), [endpoint.id], "it is up again");
    }

    /// A replay begins only where no other is under way, on an endpoint that is on, and once for
    /// its idempotency key.
    async fn a_replay_begins_once(rig: &Rig) {
        let (account, endpoint) = rig.listener(person(900)).await;
        let (stranger, _) = rig.listener(person(901)).await;
        rig.raise(person(900), 1).await;
        let plan = replay_of_all(rig, &endpoint).await;
        let begin = async |plan: ReplayPlan, claim: Option<&Claim>| {
            rig.store().replay_begin(plan, claim).await
        };
        let refusal = async |plan: ReplayPlan| match begin(plan, None).await {
            Err(CommitError::Refused(refused)) => refused,
            other => panic!("a replay begins: {other:?}"),
        };
        let foreign = ReplayPlan { account: stranger.id, ..plan.clone() };
        assert_eq!(refusal(foreign).await, ReplayRefused::NoSuchEndpoint);
        rig.switch(&endpoint, Power::Off(DisabledReason::ByOwner)).await;
        assert_eq!(refusal(plan.clone()).await, ReplayRefused::Disabled);
        rig.switch(&endpoint, Power::On).await;
        let key = "replay 1".parse().expect("a key");
        let claim = Claim {
            owner: Owner::Account(account.id),
            key,
            fingerprint: Fingerprint([7; 32]),
            at: rig.now(),
        };
        assert_eq!(begin(plan.clone(), Some(&claim)).await.expect("begun"), Once::Done(plan.begun));
        assert_eq!(refusal(plan.clone()).await, ReplayRefused::UnderWay);
        let again = begin(plan.clone(), Some(&claim)).await.expect("remembered");
        let Once::Earlier(earlier) = again else { panic!("it began again: {again:?}") };
        let kept = claim.answer::<ReplayBegun>(&earlier).expect("it is an answer");
        assert_eq!(ReplayBegun::from(kept), plan.begun);
    }

    /// A portion that another program has written is not written again.
    async fn a_portion_is_written_once(rig: &Rig) {
        let (_, endpoint) = rig.listener(person(900)).await;
        rig.raise(person(900), 2).await;
        rig.succeed(&rig.claim_any(10).await).await;
        let replay = begin(rig, &endpoint).await;
        let events = rig.events(endpoint.account).await;
        let first = PortionEnd::At(events[0].position);
        let plan = || portion(rig, &endpoint, replay, &events[..1], first);
        let [one, two] = [plan(), plan()];
        assert_eq!(write(rig, one).await, 1);
        assert_eq!(write(rig, two).await, 0);
        let gone = rig.store().endpoint_delete(endpoint.account, endpoint.id, Any).await;
        assert!(gone.expect("the endpoint is deleted"));
        assert_eq!((due(rig).await, next(rig).await), (vec![], None));
        assert_eq!(write(rig, plan()).await, 0);
    }

    /// An endpoint that is switched off, by its owner or by failures, has no replay any more.
    async fn switching_off_ends_a_replay(rig: &Rig) {
        let (_, endpoint) = rig.listener(person(900)).await;
        rig.raise(person(900), 100).await;
        let replay = begin(rig, &endpoint).await;
        rig.switch(&endpoint, Power::Off(DisabledReason::ByOwner)).await;
        assert_eq!(rig.endpoint_now(&endpoint).await.replay, None);
        let events = rig.events(endpoint.account).await;
        let late = portion(rig, &endpoint, replay, &events[..1], PortionEnd::Last);
        assert_eq!(write(rig, late).await, 0);
        rig.switch(&endpoint, Power::On).await;
        assert_eq!((due(rig).await, next(rig).await), (vec![], None));
        rig.raise(person(900), 100).await;
        begin(rig, &endpoint).await;
        rig.fail(&rig.claim_any(100).await).await;
        let off = rig.endpoint_now(&endpoint).await;
        assert_eq!((off.power, off.replay), (Power::Off(DisabledReason::Failures), None));
        assert_eq!(next(rig).await, None);
    }
}
