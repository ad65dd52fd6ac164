//! Lanes, and turns among the accounts whose messages wait: no message to a person waits behind a
//! campaign.

use std::collections::BTreeMap;

use sms_core::account::{Account, AccountChange, Share};
use sms_core::dispatch::{ClaimPlan, Claimed, LEASE, Lane, RouteLane, Turns, Wanted};
use sms_core::ids::{AccountId, MessageId};
use sms_core::route::RouteName;

use crate::Rig;
use crate::rig::{millis, request, request_with_body, seconds};

/// A program that claims again and again, and remembers whose turn it is.
struct Server<'a> {
    rig: &'a Rig,
    turns: Turns,
}

impl<'a> Server<'a> {
    async fn start(rig: &'a Rig) -> Self {
        rig.provide_our_number().await;
        Self { rig, turns: Turns::default() }
    }

    async fn claim(&mut self, limit: usize) -> Claimed {
        self.claim_wanted(limit, Wanted::AllBut(Vec::new())).await
    }

    async fn claim_wanted(&mut self, limit: usize, wanted: Wanted) -> Claimed {
        let plan = ClaimPlan { turns: self.turns.clone(), wanted, ..self.rig.claim_plan(limit) };
        let claimed = self.rig.store().dispatch_claim(plan).await.expect("messages are claimed");
        assert!(claimed.count() <= limit, "a claim takes more than it may");
        self.turns = claimed.turns.clone();
        claimed
    }

    /// How many messages of each of these accounts a claim takes. Accounts are recognised by
    /// `bodies`.
    async fn claim_of(&mut self, limit: usize, bodies: &[&str]) -> Vec<usize> {
        let claimed = self.claim(limit).await.messages;
        let of = |body: &&str| claimed.iter().filter(|text| text.body.as_str() == *body).count();
        bodies.iter().map(of).collect()
    }
}

/// An account of which `count` messages wait in this lane, all with this body.
async fn waiting(rig: &Rig, lane: Lane, body: &str, count: u16) -> Account {
    let account = rig.account(2_000).await;
    wait(rig, &account, lane, body, count).await;
    account
}

async fn wait(rig: &Rig, account: &Account, lane: Lane, body: &str, count: u16) {
    rig.send(account, &request_with_body(1..=count, body).priority(lane)).await;
}

fn ids(claimed: &Claimed) -> Vec<MessageId> {
    claimed.messages.iter().map(|text| text.message).collect()
}

scenarios! { Dispatch;
    /// The normal lane goes before bulk, however long that has been due; a claim that takes all
    /// that is due takes it in that order too.
    async fn what_somebody_waits_for_goes_first(rig: &Rig) {
        let account = rig.account(50).await;
        let bulk = rig.send(&account, &request(1..=20)).await.messages;
        rig.advance(seconds(1));
        let single = rig.text(&account, 30).await.id;
        let mut server = Server::start(rig).await;
        let claimed = server.claim(3).await;
        let (first, second) = (bulk[0].id.min(bulk[1].id), bulk[0].id.max(bulk[1].id));
        assert_eq!(claimed.messages[0].message, single);
        assert_eq!(claimed.messages[0].lane, Lane::Normal);
        assert!(claimed.messages[1..].iter().all(|text| text.lane == Lane::Bulk));
        assert_eq!(ids(&claimed)[1..], [first, second]);
        let late = rig.text(&account, 31).await.id;
        assert_eq!(server.claim(100).await.messages[0].message, late);
    }

    /// While both lanes wait, a fifth of each claim is bulk; over smaller claims too. While
    /// only one waits, it has all of it.
    async fn bulk_keeps_a_fifth(rig: &Rig) {
        let account = rig.account(500).await;
        wait(rig, &account, Lane::Bulk, "bulk", 40).await;
        for _ in 0..12 {
            rig.send(&account, &request(1..=10)).await;
        }
        let mut server = Server::start(rig).await;
        assert_eq!(server.claim_of(50, &["bulk"]).await, [10]);
        let mut bulk = 0;
        for _ in 0..10 {
            bulk += server.claim_of(2, &["bulk"]).await[0];
        }
        assert_eq!(bulk, 4, "a fifth of twenty");
        let lane = |lane| RouteLane::new(RouteName::new("simulator"), lane);
        let without = Wanted::AllBut(vec![lane(Lane::Normal)]);
        let claimed = server.claim_wanted(10, without).await;
        assert!(claimed.messages.iter().all(|text| text.lane == Lane::Bulk));
        assert_eq!(claimed.count(), 10, "the route has no room for the others");
        let without = Wanted::AllBut(vec![lane(Lane::Bulk)]);
        assert_eq!(server.claim_wanted(200, without).await.count(), 120 - 40 - 16);
    }

    /// An account with very many messages slows those of another by no more than its share, in
    /// either lane: each has half of every claim from the second on.
    async fn accounts_take_turns(rig: &Rig) {
        for (lane, bodies) in [(Lane::Normal, ["a", "b"]), (Lane::Bulk, ["c", "d"])] {
            waiting(rig, lane, bodies[0], 400).await;
            rig.advance(millis(1));
            waiting(rig, lane, bodies[1], 60).await;
            let mut server = Server::start(rig).await;
            assert_eq!(server.claim_of(40, &bodies).await, [40, 0], "they have been due longest");
            for _ in 0..3 {
                assert_eq!(server.claim_of(40, &bodies).await, [20, 20]);
            }
            assert_eq!(server.claim_of(40, &bodies).await, [40, 0], "nobody else waits");
            let third = if lane == Lane::Normal { "e" } else { "f" };
            let other = waiting(rig, lane, third, 12).await;
            assert_eq!(server.claim_of(20, &[bodies[0], third]).await, [10, 10]);
            assert_eq!(server.claim_of(20, &[bodies[0], third]).await, [10, 2]);
            wait(rig, &other, lane, third, 12).await;
            rig.leave_all().await;
        }
    }

    /// Within a claim accounts alternate, so the last of a few does not wait for the whole.
    async fn accounts_alternate_within_a_claim(rig: &Rig) {
        waiting(rig, Lane::Bulk, "a", 100).await;
        waiting(rig, Lane::Bulk, "b", 3).await;
        let mut server = Server::start(rig).await;
        server.claim(1).await;
        let claimed = server.claim(10).await.messages;
        let order: String = claimed.iter().map(|text| text.body.as_str()).collect();
        assert_eq!(order.matches('b').count(), 3);
        assert!(order.starts_with("ababab"), "{order}");
    }

    /// More accounts than a claim takes messages each get one before any gets two, whichever server
    /// claims.
    async fn every_account_has_its_turn(rig: &Rig) {
        let mut accounts: BTreeMap<AccountId, usize> = BTreeMap::new();
        for body in ["a", "b", "c", "d", "e", "f", "g"] {
            accounts.insert(waiting(rig, Lane::Bulk, body, 30).await.id, 0);
        }
        let mut server = Server::start(rig).await;
        server.claim(3).await;
        for round in 1..=6 {
            let mut seen = String::new();
            for _ in 0..7 {
                seen.extend(server.claim(3).await.messages.iter().map(|text| text.body.as_str()));
            }
            for body in ["a", "b", "c", "d", "e", "f", "g"] {
                assert_eq!(seen.matches(body).count(), 3, "round {round}: {seen}");
            }
        }
        let mut second = Server::start(rig).await;
        second.claim(1).await;
        let mut seen = String::new();
        for _ in 0..7 {
            seen.extend(second.claim(1).await.messages.iter().map(|text| text.body.as_str()));
        }
        assert_eq!(seen.len(), 7, "{seen}");
        assert!("abcdefg".chars().all(|body| seen.contains(body)), "{seen}");
        assert_eq!(accounts.len(), 7);
    }

    /// Of an account's messages that fell due at the same time, those accepted first take the first
    /// turns, even if a worker held them before.
    async fn what_fell_due_together_leaves_in_the_order_of_the_messages(rig: &Rig) {
        let account = rig.account(2_000).await;
        let mut server = Server::start(rig).await;
        let again = rig.now().plus(LEASE);
        let tried = rig.send(&account, &request(1..=12).priority(Lane::Bulk)).await.messages;
        let at_once = request(13..=24).priority(Lane::Bulk).schedule_at(again);
        let new = rig.send(&account, &at_once).await.messages;
        assert_eq!(rig.claim_all().await.messages.len(), 12, "their worker dies");
        rig.advance_to(again);
        let mut all: Vec<MessageId> = tried.iter().chain(&new).map(|text| text.id).collect();
        all.sort_unstable();
        let first = server.claim(1).await;
        assert!(server.turns.is_crowded());
        let mut claimed = ids(&first);
        while claimed.len() < all.len() {
            claimed.extend(ids(&server.claim(5).await));
        }
        assert_eq!(claimed, all);
    }

    /// An account's share weighs: with 3 it gets three times what one with 1 gets.
    async fn a_share_weighs(rig: &Rig) {
        waiting(rig, Lane::Bulk, "a", 200).await;
        let heavy = waiting(rig, Lane::Bulk, "b", 200).await;
        let change = AccountChange::default().share(Share::new(3).expect("a share"));
        let updated = rig.store().account_update(heavy.id, change, rig.now()).await;
        assert_eq!(updated.expect("updated").map(|account| account.share.get()), Some(3));
        assert_eq!(rig.account_now(heavy.id).await.share.get(), 3);
        let mut server = Server::start(rig).await;
        server.claim(4).await;
        assert_eq!(server.claim_of(40, &["a", "b"]).await, [10, 30]);
        assert_eq!(server.claim_of(40, &["a", "b"]).await, [10, 30]);
    }

    /// Accounts whose messages are due later are passed over, and do not keep a claim from what
    /// is due behind them.
    async fn what_is_due_later_takes_no_turn(rig: &Rig) {
        for _ in 0..5 {
            let account = rig.account(20).await;
            let later = request(1..=5).schedule_at(rig.now().plus(seconds(3_600)));
            rig.send(&account, &later.priority(Lane::Bulk)).await;
        }
        waiting(rig, Lane::Bulk, "a", 20).await;
        waiting(rig, Lane::Bulk, "b", 20).await;
        let mut server = Server::start(rig).await;
        server.claim(8).await;
        assert_eq!(server.claim_of(8, &["a", "b"]).await, [4, 4]);
        let mut left = 40 - 16;
        for _ in 0..30 {
            // Small claims may visit none but accounts that have nothing due; the next one goes by
            // time.
            left -= server.claim(2).await.count();
        }
        assert_eq!(left, 0);
    }

    /// Messages keep their lane when they are tried again, and go after those of their account that
    /// are due longer.
    async fn a_retry_stays_in_its_lane(rig: &Rig) {
        let account = rig.account(50).await;
        wait(rig, &account, Lane::Bulk, "bulk", 1).await;
        let hand = rig.claim_all().await;
        rig.finish(&hand, &crate::rig::try_later()).await;
        rig.advance(seconds(10));
        let single = rig.text(&account, 3).await.id;
        let mut server = Server::start(rig).await;
        let claimed = server.claim(10).await;
        assert_eq!(ids(&claimed)[0], single);
        assert_eq!(claimed.messages[1].lane, Lane::Bulk);
    }
}
