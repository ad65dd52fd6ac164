//! Endpoints themselves.

use std::collections::BTreeSet;

use sms_core::event::EventType;
use sms_core::ids::AccountId;
use sms_core::upkeep::{Chore, Due};
use sms_core::version::IfVersion::Any;
use sms_core::webhook::attempt::{ATTEMPT_LEASE, AttemptVerdict};
use sms_core::webhook::delivery::KEPT_FOR;
use sms_core::webhook::endpoint::{
    DisabledReason, Endpoint, EndpointChange, EndpointRefused, MAX_PER_ACCOUNT, Power,
};

use sms_core::webhook::reseal::{EndpointSecrets, ResealPlan};
use sms_core::webhook::rotation::{OLD_SECRET_VALID_FOR, OldSecret, SecretChange};
use sms_core::webhook::sealing::{SealingKeyId, StoredSecret};
use sms_core::webhook::store::EndpointsWanted;

use crate::Rig;
use crate::rig::{done, millis, person, refusal_of, secret};

async fn list(rig: &Rig, account: AccountId) -> Vec<Endpoint> {
    rig.store().endpoint_list(EndpointsWanted::Of(account)).await.expect("read")
}

async fn get(rig: &Rig, account: AccountId, endpoint: &Endpoint) -> Option<Endpoint> {
    rig.store().endpoint_get(account, endpoint.id).await.expect("read")
}

fn sealed(key: &str, bytes: &[u8]) -> StoredSecret {
    let key = SealingKeyId::new(key).expect("a key's id");
    StoredSecret::Sealed { key, bytes: bytes.to_vec() }
}

scenarios! { Webhook;
    /// An endpoint is kept as it was made, whether on or off.
    async fn an_endpoint_is_kept_as_it_was_made(rig: &Rig) {
        let account = rig.account(0).await;
        for power in [Power::On, Power::Off(DisabledReason::ByOwner)] {
            let endpoint = Endpoint {
                url: "https://example.com/hook?a=1&b=%20#é".to_owned(),
                description: (!power.is_on()).then(|| "Küche 🐦".to_owned()),
                power,
                ..rig.new_endpoint(&account, &EventType::SUBSCRIBABLE)
            };
            done(rig.store().endpoint_create(endpoint.clone(), None).await).expect("written");
            assert_eq!(get(rig, account.id, &endpoint).await, Some(endpoint));
        }
    }

    /// Endpoints are listed newest first, and only the account's own.
    async fn endpoints_are_listed_newest_first(rig: &Rig) {
        let (account, other) = (rig.account(0).await, rig.account(0).await);
        let mut expected = Vec::new();
        for n in 0..3 {
            expected.insert(0, rig.endpoint(&account, &[EventType::MessageSent]).await);
            rig.endpoint(&other, &[EventType::MessageSent]).await;
            rig.advance(millis(n));
        }
        assert_eq!(list(rig, account.id).await, expected);
        assert_eq!(list(rig, rig.id()).await, []);
    }

    /// An account has ten endpoints and no eleventh; one that is removed makes room.
    async fn an_eleventh_endpoint_is_refused(rig: &Rig) {
        let (account, other) = (rig.account(0).await, rig.account(0).await);
        let mut last = rig.endpoint(&account, &[EventType::MessageSent]).await;
        rig.switch(&last, Power::Off(DisabledReason::ByOwner)).await;
        for _ in 1..MAX_PER_ACCOUNT {
            last = rig.endpoint(&account, &[EventType::MessageSent]).await;
        }
        let eleventh = rig.new_endpoint(&account, &[EventType::MessageSent]);
        let refused = refusal_of(done(rig.store().endpoint_create(eleventh.clone(), None).await));
        assert_eq!(refused, EndpointRefused::LimitReached);
        assert_eq!(get(rig, account.id, &eleventh).await, None);
        rig.endpoint(&other, &[EventType::MessageSent]).await;
        assert!(rig.store().endpoint_delete(account.id, last.id, Any).await.expect("removed"));
        done(rig.store().endpoint_create(eleventh, None).await).expect("there is room");
        assert_eq!(list(rig, account.id).await.len(), MAX_PER_ACCOUNT);
    }

    /// However many endpoints are made at once, an account gets ten.
    async fn racing_endpoints_are_ten_at_most(rig: &Rig) {
        let account = rig.account(0).await;
        let endpoint = |_| rig.new_endpoint(&account, &[EventType::MessageSent]);
        let endpoints: Vec<_> = (0..16).map(endpoint).collect();
        let answers = rig.race_each(endpoints, |store, endpoint| async move {
            done(store.endpoint_create(endpoint, None).await)
        });
        assert_eq!(answers.iter().filter(|answer| answer.is_ok()).count(), MAX_PER_ACCOUNT);
        assert_eq!(list(rig, account.id).await.len(), MAX_PER_ACCOUNT);
    }

    /// A change writes what it names and its time, and leaves the rest unchanged.
    async fn a_change_of_an_endpoint_leaves_the_rest_alone(rig: &Rig) {
        let account = rig.account(0).await;
        let endpoint = rig.endpoint(&account, &[EventType::MessageSent]).await;
        let changes = [
            EndpointChange {
                url: Some("https://example.com/other".to_owned()),
                events: Some(BTreeSet::from([EventType::LinkClicked, EventType::MessageFailed])),
                ..EndpointChange::default()
            },
            EndpointChange { description: Some(None), ..EndpointChange::default() },
            EndpointChange {
                secret: Some(SecretChange::Replace(secret(rig))),
                ..EndpointChange::default()
            },
            EndpointChange {
                secret: Some(SecretChange::EndOld), ..EndpointChange::default()
            },
            EndpointChange {
                power: Some(Power::Off(DisabledReason::ByOwner)),
                description: Some(Some("Till".to_owned())),
                ..EndpointChange::default()
            },
            EndpointChange::default(),
        ];
        let mut expected = endpoint;
        for change in changes {
            let now = rig.advance(millis(5));
            expected = change.clone().apply(expected, now).expect("any version");
            assert_eq!(rig.update_endpoint(&expected, change).await, expected);
            assert_eq!(rig.endpoint_now(&expected).await, expected);
        }
    }

    /// An endpoint is seen, changed and removed through its own account only.
    async fn another_accounts_endpoint_is_out_of_reach(rig: &Rig) {
        let (account, endpoint) = rig.listener(person(900)).await;
        let other = rig.account(0).await;
        rig.raise(person(900), 1).await;
        assert_eq!(get(rig, other.id, &endpoint).await, None);
        let change = EndpointChange { description: Some(None), ..EndpointChange::default() };
        let store = rig.store();
        let updated = store.endpoint_update(other.id, endpoint.id, change, rig.now()).await;
        assert_eq!(updated.expect("answered"), None);
        assert!(!store.endpoint_delete(other.id, endpoint.id, Any).await.expect("answered"));
        let wanted = sms_core::page::PageRequest::default();
        let page = store.delivery_list(other.id, endpoint.id, wanted).await.expect("read");
        assert_eq!((page.items, page.next), (vec![], None));
        assert_eq!(get(rig, account.id, &endpoint).await, Some(endpoint.clone()));
        assert_eq!(rig.deliveries(&endpoint).await.len(), 1);
    }

    /// An endpoint that is removed takes its deliveries with it, also the ones under way; its
    /// neighbours keep theirs.
    async fn a_removed_endpoint_takes_its_deliveries_with_it(rig: &Rig) {
        let (account, endpoint) = rig.listener(person(900)).await;
        let other = rig.endpoint(&account, &[EventType::MessageReceived]).await;
        rig.raise(person(900), 2).await;
        let claimed = rig.claim_any(10).await;
        assert_eq!(claimed.len(), 4);
        let delivery = rig.deliveries(&endpoint).await[0].id;
        let store = rig.store();
        assert!(store.endpoint_delete(account.id, endpoint.id, Any).await.expect("removed"));
        assert!(!store.endpoint_delete(account.id, endpoint.id, Any).await.expect("answered"));
        assert_eq!(get(rig, account.id, &endpoint).await, None);
        assert_eq!(rig.deliveries(&endpoint).await, []);
        let found = store.delivery_get(account.id, endpoint.id, delivery).await.expect("read");
        assert_eq!(found, None);
        let verdicts = rig.succeed(&claimed).await;
        let lost = verdicts.iter().filter(|verdict| **verdict == AttemptVerdict::LeaseLost).count();
        assert_eq!((lost, rig.deliveries(&other).await.len()), (2, 2));
        assert_eq!(store.next(Due::Deliveries).await.expect("read"), None);
    }

    /// What waited for a removed endpoint is ignored from then on: no claim takes it, nothing
    /// waits for it, and it can be cleared away without its neighbours.
    async fn what_waits_for_a_removed_endpoint_is_nobodys(rig: &Rig) {
        let (account, endpoint) = rig.listener(person(900)).await;
        rig.raise(person(900), 4).await;
        let other = rig.endpoint(&account, &[EventType::MessageReceived]).await;
        rig.advance(millis(5));
        rig.raise(person(900), 1).await;
        let waiting = rig.deliveries(&endpoint).await;
        let store = rig.store();
        assert!(store.endpoint_delete(account.id, endpoint.id, Any).await.expect("removed"));
        let next = store.next(Due::Deliveries).await.expect("read");
        assert_eq!(next, Some(rig.now()), "the neighbour's");
        let retry = rig.retry_plan(&endpoint, waiting[0].id);
        assert_eq!(store.delivery_retry(retry).await.expect("answered"), None);
        let before = rig.now().minus(KEPT_FOR);
        while store.tidy(Chore::Deliveries { before }, 2).await.expect("tidied") > 0 {}
        let claimed = rig.claim_any(1).await;
        assert_eq!((claimed.len(), claimed[0].endpoint), (1, other.id));
        let held_until = rig.now().plus(ATTEMPT_LEASE);
        assert_eq!(store.next(Due::Deliveries).await.expect("read"), Some(held_until));
    }

    /// Events raised while their endpoint is being removed leave nothing to be claimed.
    async fn events_that_race_a_removal_leave_nothing_behind(rig: &Rig) {
        let (account, endpoint) = rig.listener(person(900)).await;
        let plans = (1..=8).map(|n| {
            Some(rig.inbound_plan(n, person(900), "Hello", sms_core::inbound::Origin::Network))
        });
        let acts: Vec<_> = plans.chain([None]).collect();
        let id = endpoint.id;
        rig.race_each(acts, move |store, act| async move {
            match act {
                Some(plan) => drop(done(store.inbound_take(plan, None).await).expect("taken in")),
                None => {
                    assert!(store.endpoint_delete(account.id, id, Any).await.expect("removed"));
                }
            }
        });
        assert_eq!(rig.deliveries(&endpoint).await, []);
        assert_eq!(rig.claim_any(10).await, []);
        assert_eq!(rig.store().next(Due::Deliveries).await.expect("read"), None);
    }

    /// A sealed secret is kept as it is given, byte by byte.
    async fn a_sealed_secret_is_kept_as_it_was_given(rig: &Rig) {
        let account = rig.account(0).await;
        let until = rig.now().plus(OLD_SECRET_VALID_FOR);
        let endpoint = Endpoint {
            secret: sealed("new", &[0, 255, b':', b'\'']),
            old_secret: Some(OldSecret { secret: sealed("old", &[7; 80]), until }),
            ..rig.new_endpoint(&account, &EventType::SUBSCRIBABLE)
        };
        done(rig.store().endpoint_create(endpoint.clone(), None).await).expect("written");
        assert_eq!(get(rig, account.id, &endpoint).await, Some(endpoint));
    }

    /// All endpoints of all accounts are read in portions, each once.
    async fn all_endpoints_are_read_in_portions(rig: &Rig) {
        let mut expected = Vec::new();
        for count in [2, 0, 3] {
            let account = rig.account(0).await;
            for _ in 0..count {
                expected.push(rig.endpoint(&account, &[EventType::MessageSent]).await);
            }
        }
        expected.sort_unstable_by_key(Endpoint::secret_place);
        for limit in [1, 2, 5, 6] {
            let (mut after, mut read) = (None, Vec::new());
            loop {
                let portion = rig.store().endpoint_list(EndpointsWanted::All { after, limit });
                let portion = portion.await.expect("read");
                assert!(portion.len() <= limit, "{limit}");
                let Some(last) = portion.last() else { break };
                after = Some(last.secret_place());
                read.extend(portion);
            }
            assert_eq!(read, expected, "{limit}");
        }
    }

    /// Secrets are replaced where they are as they were read, and nothing else of an endpoint is.
    async fn secrets_are_replaced_only_where_they_have_not_changed(rig: &Rig) {
        let account = rig.account(0).await;
        let kinds = [EventType::MessageSent];
        let change = |secret| EndpointChange { secret: Some(secret), ..Default::default() };
        let rotate = || change(SecretChange::Replace(secret(rig)));
        let mut endpoints = Vec::new();
        for _ in 0..5 {
            let made = rig.endpoint(&account, &kinds).await;
            endpoints.push(rig.update_endpoint(&made, rotate()).await);
        }
        let plan = |endpoint: &Endpoint, key: &str| {
            let before = EndpointSecrets::of(endpoint);
            let old = before.old.clone().map(|old| OldSecret { secret: sealed(key, b"2"), ..old });
            let after = EndpointSecrets { secret: sealed(key, b"1"), old };
            ResealPlan { place: endpoint.secret_place(), before, after }
        };
        let mut plans: Vec<_> = endpoints.iter().map(|endpoint| plan(endpoint, "a")).collect();
        plans[1].after.old = None;
        let rotated = rig.update_endpoint(&endpoints[2], rotate()).await;
        let ended = rig.update_endpoint(&endpoints[3], change(SecretChange::EndOld)).await;
        let deleted = rig.store().endpoint_delete(account.id, endpoints[4].id, Any).await;
        assert!(deleted.expect("deleted"));
        let replaced = rig.store().endpoints_reseal(plans.clone()).await.expect("replaced");
        assert_eq!(replaced, 2);
        let after = |place: usize| {
            let EndpointSecrets { secret, old } = plans[place].after.clone();
            Endpoint { secret, old_secret: old, ..endpoints[place].clone() }
        };
        assert_eq!(list(rig, account.id).await, [ended, rotated, after(1), after(0)]);
        let again = rig.store().endpoints_reseal(plans.clone()).await.expect("replaced");
        assert_eq!(again, 0);
        assert_eq!(rig.store().endpoints_reseal(Vec::new()).await.expect("replaced"), 0);
    }

    /// Programs with the same plans race: each endpoint is replaced once.
    async fn racing_programs_replace_each_secret_once(rig: &Rig) {
        let account = rig.account(0).await;
        let mut endpoints = Vec::new();
        for _ in 0..8 {
            endpoints.push(rig.endpoint(&account, &[EventType::MessageSent]).await);
        }
        let plans = |key: &str| -> Vec<ResealPlan> {
            let plan = |endpoint: &Endpoint| {
                let after = EndpointSecrets { secret: sealed(key, b"1"), old: None };
                let before = EndpointSecrets::of(endpoint);
                ResealPlan { place: endpoint.secret_place(), before, after }
            };
            endpoints.iter().map(plan).collect()
        };
        let (forward, mut backward) = (plans("a"), plans("b"));
        backward.reverse();
        let replaced = rig.race_each([forward, backward], |store, plans| async move {
            store.endpoints_reseal(plans).await.expect("replaced")
        });
        assert_eq!(replaced.iter().sum::<usize>(), endpoints.len());
        for endpoint in list(rig, account.id).await {
            assert!(matches!(endpoint.secret, StoredSecret::Sealed { .. }), "{endpoint:?}");
        }
    }

    /// Changes of different things race: none is lost.
    async fn racing_changes_of_an_endpoint_are_all_kept(rig: &Rig) {
        let account = rig.account(0).await;
        let endpoint = rig.endpoint(&account, &[EventType::MessageSent]).await;
        let new_secret = secret(rig);
        let changes = [
            EndpointChange { url: Some("https://example.com/b".to_owned()), ..Default::default() },
            EndpointChange { description: Some(None), ..Default::default() },
            EndpointChange {
                secret: Some(SecretChange::Replace(new_secret)),
                ..EndpointChange::default()
            },
            EndpointChange {
                events: Some(BTreeSet::from([EventType::LinkClicked])),
                ..Default::default()
            },
        ];
        let at = rig.now();
        let expected = changes
            .clone()
            .into_iter()
            .fold(endpoint.clone(), |so_far, change| change.apply(so_far, at).expect("changed"));
        let (account, id) = (account.id, endpoint.id);
        rig.race_each(changes, move |store, change| async move {
            store.endpoint_update(account, id, change, at).await.expect("updated")
        });
        assert_eq!(rig.endpoint_now(&endpoint).await, expected);
    }
}
