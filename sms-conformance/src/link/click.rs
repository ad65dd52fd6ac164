//! Hits on short URLs.

use std::collections::BTreeSet;

use futures_util::FutureExt;
use futures_util::future::BoxFuture;
use sms_core::event::EventType;
use sms_core::ids::DeliveryKind;
use sms_core::link::{Link, LinkCode, LinkFilter};
use sms_core::webhook::endpoint::Endpoint;

use crate::Rig;
use crate::rig::{all_recorded, event_of, millis, tracked};

/// The counts that the endpoint is sent, in the order in which its deliveries were made.
async fn told(rig: &Rig, endpoint: &Endpoint) -> Vec<u64> {
    let deliveries = rig.deliveries(endpoint).await;
    let counts = deliveries.iter().rev().map(|delivery| {
        let event = event_of(&delivery.body);
        event["data"]["clicks"].as_u64().expect("a count")
    });
    counts.collect()
}

scenarios! { Link;
    /// Each hit counts one, says when, and is reported to the endpoints that want it with the count
    /// after it; the first hit stays the first.
    async fn each_hit_counts_and_is_told(rig: &Rig) {
        let account = rig.account(10).await;
        let endpoint = rig.endpoint(&account, &[EventType::LinkClicked]).await;
        let other = rig.endpoint(&account, &[EventType::MessageSent]).await;
        let link = rig.link(&account, 1).await;
        let first_at = rig.advance(millis(5));
        let mut last_at = first_at;
        for clicks in 1..=3 {
            let expected = Link {
                clicks,
                first_clicked_at: Some(first_at),
                last_clicked_at: Some(last_at),
                ..link.clone()
            };
            assert_eq!(rig.click(link.code).await, Some(expected.clone()));
            assert_eq!(rig.link_now(account.id, link.id).await, Some(expected));
            last_at = rig.advance(millis(7));
        }
        assert_eq!(told(rig, &endpoint).await, [1, 2, 3]);
        assert_eq!(rig.deliveries(&other).await, []);
        let deliveries = rig.deliveries(&endpoint).await;
        let event = event_of(&deliveries[2].body);
        assert_eq!(event["type"], "link.clicked");
        let data = &event["data"];
        assert_eq!(data["link_id"], link.id.to_string());
        assert_eq!(data["code"], link.code.as_str());
        assert_eq!(data["url"], "https://example.com/menu");
        assert_eq!(data["message_id"], link.message.to_string());
        assert_eq!(data["contact_number"], link.contact_number.to_string());
        assert_eq!(data["clicked_at"], first_at.to_string());
        assert_eq!(deliveries[2].created_at, first_at);
    }

    /// A code that no link has is answered with nothing, and takes nothing from the hits beside it.
    async fn a_hit_on_an_unknown_code_counts_nowhere(rig: &Rig) {
        let account = rig.account(10).await;
        let link = rig.link(&account, 1).await;
        let unknown: LinkCode = "0000000000".parse().expect("a code");
        assert_eq!(rig.click(unknown).await, None);
        let counted = rig.click_all(&[unknown, link.code, unknown]).await;
        let counts: Vec<Option<u64>> =
            counted.iter().map(|link| link.as_ref().map(|link| link.clicks)).collect();
        assert_eq!(counts, [None, Some(1), None]);
        assert_eq!(rig.store().links_click(Vec::new()).await.len(), 0);
    }

    /// Hits of one call count one after another, each with its own event, whosever links they are.
    async fn hits_of_one_call_build_on_each_other(rig: &Rig) {
        let (account, other) = (rig.account(10).await, rig.account(10).await);
        let own = rig.endpoint(&account, &[EventType::LinkClicked]).await;
        let theirs = rig.endpoint(&other, &[EventType::LinkClicked]).await;
        let (a, b) = (rig.link(&account, 1).await, rig.link(&account, 2).await);
        let c = rig.link(&other, 1).await;
        let codes = [a.code, c.code, a.code, b.code, a.code, c.code];
        let counted = rig.click_all(&codes).await;
        let counts: Vec<u64> =
            counted.iter().map(|link| link.as_ref().expect("it is there").clicks).collect();
        assert_eq!(counts, [1, 1, 2, 1, 3, 2]);
        assert_eq!(told(rig, &own).await, [1, 2, 1, 3]);
        assert_eq!(told(rig, &theirs).await, [1, 2]);
        for (link, clicks) in [(a, 3), (b, 1)] {
            let now = rig.link_now(account.id, link.id).await.expect("there");
            assert_eq!(now.clicks, clicks);
        }
    }

    /// The deliveries of hits of one call are named each by the ids that its own hit has left.
    async fn deliveries_of_hits_are_named_by_their_own_hits(rig: &Rig) {
        let account = rig.account(10).await;
        let endpoint = rig.endpoint(&account, &[EventType::LinkClicked]).await;
        let (a, b) = (rig.link(&account, 1).await, rig.link(&account, 2).await);
        let plans: Vec<_> = [&a, &b].map(|link| rig.click_plan(link.code)).into();
        let named = plans.iter().zip([&a, &b]).map(|(plan, link)| {
            let mut plan = plan.clone();
            let event = plan.settle(link).event().id;
            (event, plan.ids.next::<DeliveryKind>())
        });
        let named: BTreeSet<_> = named.collect();
        all_recorded(rig.store().links_click(plans).await);
        let made = rig.deliveries(&endpoint).await;
        let made: BTreeSet<_> = made.iter().map(|one| (one.event_id, one.id)).collect();
        assert_eq!(made, named);
    }

    /// A hit that is written later than one after it does not turn the times back.
    async fn hits_that_cross_never_turn_the_times_back(rig: &Rig) {
        let account = rig.account(10).await;
        let link = rig.link(&account, 1).await;
        let early = rig.click_plan(link.code);
        let later = rig.advance(millis(50));
        rig.click(link.code).await;
        let answer = rig.store().links_click(vec![early]).await.remove(0);
        let now = answer.expect("counted").expect("there");
        assert_eq!((now.clicks, now.first_clicked_at, now.last_clicked_at),
            (2, Some(later), Some(later)));
    }

    /// Two hundred hits race for one link: each gets a separate count, the endpoint is sent each
    /// count once, and the link has them all.
    async fn racing_hits_on_one_link_are_all_counted(rig: &Rig) {
        let account = rig.account(10).await;
        let endpoint = rig.endpoint(&account, &[EventType::LinkClicked]).await;
        let link = rig.link(&account, 1).await;
        let plans: Vec<_> = (0..200).map(|_| rig.click_plan(link.code)).collect();
        let answers = rig.race_each(plans, |store, plan| async move {
            store.links_click(vec![plan]).await.remove(0)
        });
        let counts: BTreeSet<u64> = answers
            .into_iter()
            .map(|answer| answer.expect("counted").expect("there").clicks)
            .collect();
        let every: BTreeSet<u64> = (1..=200).collect();
        assert_eq!(counts, every);
        let now = rig.link_now(account.id, link.id).await.expect("there");
        assert_eq!(now.clicks, 200);
        let told = told(rig, &endpoint).await;
        assert_eq!((told.len(), told.into_iter().collect()), (200, every));
    }

    /// Hits on many links, in calls that hold them in different orders, race with sends that make
    /// links: all end, and every hit is counted.
    async fn racing_hits_and_sends_all_end(rig: &Rig) {
        let (account, other) = (rig.account(100).await, rig.account(100).await);
        let mut codes = Vec::new();
        for n in 0..6 {
            codes.push(rig.link(&account, n).await.code);
            codes.push(rig.link(&other, n).await.code);
        }
        let mut futures: Vec<BoxFuture<'static, usize>> = Vec::new();
        for n in 0..24 {
            codes.rotate_left(n % 5);
            let (store, own) = (rig.store().clone(), codes.clone());
            let plans = own.into_iter().map(|code| rig.click_plan(code)).collect::<Vec<_>>();
            let hit = async move {
                let answers = store.links_click(plans).await;
                answers.iter().filter(|answer| matches!(answer, Ok(Some(_)))).count()
            };
            futures.push(hit.boxed());
            let owner = if n % 2 == 0 { &account } else { &other };
            let plan = rig.plan(owner, &tracked("https://example.com/{phone}", [100, 101]));
            let store = rig.store().clone();
            let send = async move {
                store.send_accept(vec![plan]).await.iter().filter(|sent| sent.is_ok()).count()
            };
            futures.push(send.boxed());
        }
        assert_eq!(rig.race(futures).into_iter().sum::<usize>(), 24 * 12 + 24);
        let mut clicks = 0;
        for owner in [&account, &other] {
            let links = rig.links(owner.id, LinkFilter::default(), 100).await;
            assert_eq!(links.len(), 6 + 24);
            clicks += links.iter().map(|link| link.clicks).sum::<u64>();
        }
        assert_eq!(clicks, 24 * 12);
    }
}
