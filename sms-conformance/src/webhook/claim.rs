//! Which deliveries a claim takes, and how long a worker has them.

use std::collections::BTreeMap;

use sms_core::event::EventType;
use sms_core::ids::{DeliveryId, EndpointId};
use sms_core::upkeep::Due;
use sms_core::webhook::attempt::{ATTEMPT_LEASE, AttemptVerdict, ClaimedDelivery, Room};

use crate::Rig;
use crate::rig::{millis, minutes, person};

/// How many of each endpoint's deliveries were claimed.
fn counts(claimed: &[ClaimedDelivery]) -> BTreeMap<EndpointId, usize> {
    let mut counts = BTreeMap::new();
    for delivery in claimed {
        *counts.entry(delivery.endpoint).or_default() += 1;
    }
    counts
}

fn deliveries(claimed: &[ClaimedDelivery]) -> Vec<DeliveryId> {
    claimed.iter().map(|delivery| delivery.request.delivery).collect()
}

scenarios! { Webhook;
    /// Deliveries that are due are claimed, no others, and an endpoint's longest due first.
    async fn deliveries_are_claimed_when_due_the_oldest_first(rig: &Rig) {
        let (_, endpoint) = rig.listener(person(900)).await;
        assert_eq!(rig.claim_any(10).await, []);
        for _ in 0..3 {
            rig.raise(person(900), 1).await;
            rig.advance(millis(1));
        }
        let mut expected: Vec<_> =
            rig.deliveries(&endpoint).await.iter().map(|delivery| delivery.id).collect();
        expected.reverse();
        let first = rig.claim_any(2).await;
        assert_eq!(deliveries(&first), expected[..2]);
        rig.fail(&first).await;
        assert_eq!(deliveries(&rig.claim_any(10).await), expected[2..]);
        rig.advance(minutes(1) - millis(1));
        assert!(!deliveries(&rig.claim_any(10).await).contains(&expected[0]));
        rig.advance(millis(1));
        assert_eq!(deliveries(&rig.claim_any(10).await), expected[..2]);
    }

    /// What one worker has claimed, no other gets while the lease holds; when it expires, another
    /// gets it, and the first one's outcome changes nothing.
    async fn a_delivery_whose_lease_ran_out_is_claimed_again(rig: &Rig) {
        let (_, endpoint) = rig.listener(person(900)).await;
        rig.raise(person(900), 1).await;
        let slow = rig.claim_any(10).await;
        rig.advance(ATTEMPT_LEASE - millis(1));
        assert_eq!(rig.claim_any(10).await, []);
        rig.advance(millis(1));
        let other = rig.claim_any(10).await;
        assert_eq!(other[0].request, slow[0].request);
        let before = rig.deliveries(&endpoint).await;
        assert_eq!((before[0].lease, before[0].attempts), (Some(other[0].token), 0));
        assert_eq!(rig.succeed(&slow).await, [AttemptVerdict::LeaseLost]);
        assert_eq!(rig.deliveries(&endpoint).await, before);
        assert!(matches!(rig.succeed(&other).await[0], AttemptVerdict::Record { .. }));
        assert_eq!(rig.fail(&other).await, [AttemptVerdict::LeaseLost]);
    }

    /// An outcome that comes after its lease expired counts while nobody else took the delivery.
    async fn a_late_attempt_counts_while_nobody_else_took_the_delivery(rig: &Rig) {
        let (_, endpoint) = rig.listener(person(900)).await;
        rig.raise(person(900), 1).await;
        let slow = rig.claim_any(10).await;
        rig.advance(ATTEMPT_LEASE * 3);
        assert!(matches!(rig.succeed(&slow).await[0], AttemptVerdict::Record { .. }));
        assert_eq!(rig.claim_any(10).await, []);
        assert_eq!(rig.deliveries(&endpoint).await[0].attempts, 1);
    }

    /// A claim takes no more of one endpoint than it has room for, and no more in all.
    async fn a_claim_takes_of_each_endpoint_what_there_is_room_for(rig: &Rig) {
        let (_, one) = rig.listener(person(901)).await;
        let (_, two) = rig.listener(person(902)).await;
        let (_, three) = rig.listener(person(903)).await;
        for number in [901, 902, 903] {
            rig.raise(person(number), 5).await;
            rig.advance(millis(1));
        }
        let full = BTreeMap::from([(one.id, 0), (two.id, 1)]);
        let room = Room { total: 3, failing: 0, each: 4, endpoints: full };
        let expected = BTreeMap::from([(two.id, 1), (three.id, 2)]);
        assert_eq!(counts(&rig.claim_deliveries(room).await), expected);
        let room = Room { total: 100, failing: 0, each: 2, endpoints: BTreeMap::new() };
        let expected = BTreeMap::from([(one.id, 2), (two.id, 2), (three.id, 2)]);
        assert_eq!(counts(&rig.claim_deliveries(room.clone()).await), expected);
        let expected = BTreeMap::from([(one.id, 2), (two.id, 2), (three.id, 1)]);
        assert_eq!(counts(&rig.claim_deliveries(room).await), expected);
        assert_eq!(rig.claim_deliveries(Room::any(0)).await, []);
    }

    /// Endpoints whose last attempt failed share the room for failing ones; healthy ones do not
    /// wait for them.
    async fn endpoints_that_fail_share_a_part_of_the_room(rig: &Rig) {
        let (_, healthy) = rig.listener(person(901)).await;
        let (_, first) = rig.listener(person(902)).await;
        let (_, second) = rig.listener(person(903)).await;
        rig.raise(person(902), 1).await;
        rig.raise(person(903), 1).await;
        let claimed = rig.claim_any(10).await;
        rig.fail(&claimed).await;
        rig.raise(person(902), 5).await;
        rig.advance(millis(1));
        rig.raise(person(903), 5).await;
        rig.advance(millis(1));
        rig.raise(person(901), 5).await;
        let room = Room { total: 100, failing: 6, each: 100, endpoints: BTreeMap::new() };
        let expected = BTreeMap::from([(first.id, 5), (second.id, 1), (healthy.id, 5)]);
        assert_eq!(counts(&rig.claim_deliveries(room).await), expected);
        let none = Room { total: 100, failing: 0, each: 100, endpoints: BTreeMap::new() };
        assert_eq!(rig.claim_deliveries(none).await, []);
    }

    /// The endpoint whose delivery is the longest due comes first.
    async fn the_longest_due_endpoint_comes_first(rig: &Rig) {
        let (_, one) = rig.listener(person(901)).await;
        let (_, two) = rig.listener(person(902)).await;
        rig.raise(person(902), 2).await;
        rig.advance(millis(1));
        rig.raise(person(901), 4).await;
        rig.advance(millis(1));
        rig.raise(person(902), 2).await;
        let room = Room { total: 3, failing: 0, each: 2, endpoints: BTreeMap::new() };
        let claimed = rig.claim_deliveries(room.clone()).await;
        assert_eq!(counts(&claimed), BTreeMap::from([(two.id, 2), (one.id, 1)]));
        let claimed = rig.claim_deliveries(room).await;
        assert_eq!(counts(&claimed), BTreeMap::from([(one.id, 2), (two.id, 1)]));
    }

    /// A mountain of one endpoint's deliveries does not hide another's single one.
    async fn a_mountain_of_deliveries_hides_nobody_elses(rig: &Rig) {
        let (_, loud) = rig.listener(person(901)).await;
        let (_, quiet) = rig.listener(person(902)).await;
        rig.raise(person(901), 250).await;
        rig.advance(millis(1));
        rig.raise(person(902), 1).await;
        let room = Room { total: 20, failing: 5, each: 10, endpoints: BTreeMap::new() };
        let expected = BTreeMap::from([(loud.id, 10), (quiet.id, 1)]);
        assert_eq!(counts(&rig.claim_deliveries(room).await), expected);
    }

    /// The next moment for a claim is when a delivery is due, or when a worker's lease expires.
    async fn the_next_moment_is_that_of_the_first_claimable_delivery(rig: &Rig) {
        let next = async || rig.store().next(Due::Deliveries).await.expect("read");
        let (account, _) = rig.listener(person(900)).await;
        assert_eq!(next().await, None);
        let begin = rig.now();
        rig.raise(person(900), 1).await;
        assert_eq!(next().await, Some(begin));
        let claimed = rig.claim_any(10).await;
        assert_eq!(next().await, Some(begin.plus(ATTEMPT_LEASE)));
        rig.fail(&claimed).await;
        assert_eq!(next().await, Some(begin.plus(minutes(1))));
        rig.advance(minutes(1));
        let other = rig.endpoint(&account, &[EventType::MessageReceived]).await;
        let claimed = rig.claim_any(10).await;
        rig.succeed(&claimed).await;
        assert_eq!((next().await, rig.deliveries(&other).await), (None, vec![]));
    }

    /// Eight workers claim five hundred deliveries: each is claimed by exactly one.
    async fn many_workers_claim_each_delivery_exactly_once(rig: &Rig) {
        rig.listener(person(901)).await;
        rig.listener(person(902)).await;
        for _ in 0..10 {
            rig.raise(person(901), 25).await;
            rig.raise(person(902), 25).await;
        }
        let plans: Vec<Vec<_>> =
            (0..8).map(|_| (0..20).map(|_| rig.delivery_claim(Room::any(31))).collect()).collect();
        let claimed = rig.race_each(plans, |store, plans| async move {
            let mut mine = Vec::new();
            for plan in plans {
                mine.extend(store.deliveries_claim(plan).await.expect("claimed"));
            }
            mine
        });
        let mut ids = deliveries(&claimed.concat());
        ids.extend(deliveries(&rig.claim_any(500).await));
        assert_eq!(ids.len(), 500);
        ids.sort_unstable();
        ids.dedup();
        assert_eq!(ids.len(), 500);
    }
}
