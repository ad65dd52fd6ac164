//! Claims and cancellations while very many messages wait: they read and lock what they take, and
//! nothing else of what waits.

use sms_core::campaign::cancel::SweepPlan;
use sms_core::dispatch::{ClaimPlan, Lane, RouteLane, Turns, Wanted};
use sms_core::ids::{AccountId, CampaignId};
use sms_core::route::RouteName;
use sms_core::store::Store;
use sms_core::upkeep::Due;
use sqlx::{Connection, Executor};

use super::Plans;
use super::hot::{connect, judge, nth};

const LIMIT: usize = 500;
/// A step reads the accounts that it visits, twice at most where it goes round, or the rows that it
/// takes of them.
const MOST: f64 = 1_250.0;

/// What waits for a route without room is not read.
pub(super) async fn past_a_full_route(store: &dyn Store, rig: &sms_conformance::Rig) {
    judge!(store, "a claim past a route that takes nothing", ["queue_by_route"], 300.0, {
        let wanted = Wanted::AllBut(RouteLane::both(&RouteName::new("slow")).to_vec());
        let plan = ClaimPlan { wanted, ..rig.claim_plan(50) };
        let claimed = store.dispatch_claim(plan).await.expect("claimed").messages;
        assert_eq!(claimed.len(), 50);
    });
}

/// A portion of a cancelled campaign reads the messages of the portion.
pub(super) async fn portions_of_a_cancelled_campaign(
    store: &dyn Store,
    rig: &sms_conformance::Rig,
    account: AccountId,
) {
    let campaign = CampaignId::from_u128(nth(5, 19));
    let mut after = None;
    judge!(store, "a portion of a cancelled campaign", ["message_by_campaign"], 150.0, {
        let (limit, at, ids) = (50, rig.now(), rig.ids());
        let plan = SweepPlan { account, campaign, after, limit, at, ids };
        let swept = store.campaign_sweep(plan).await.expect("swept");
        assert!(swept.last > after, "there are more");
        after = swept.last;
    });
}

/// Adds what waits to the filled tables.
pub(super) async fn fill(url: &str) {
    let mut connection = connect(url).await;
    connection.execute(include_str!("waiting.sql")).await.expect("they wait");
    connection.close().await.expect("closed");
}

pub(super) async fn claims(store: &dyn Store, rig: &sms_conformance::Rig) {
    let others = ["simulator", "slow"].map(RouteName::new);
    let left: Vec<RouteLane> = others.iter().flat_map(RouteLane::both).collect();
    let crowded = RouteLane::new(RouteName::new("crowded"), Lane::Bulk);
    for (what, after) in [("from the first", 0), ("in the middle", nth(1, 700))] {
        let what = format!("a claim in turns, {what}");
        judge!(store, &what, ["queue_by_turn"], MOST, {
            let after = AccountId::from_u128(after);
            let turns = Turns::default().going_on_after(crowded.clone(), after);
            let wanted = Wanted::AllBut(left.clone());
            let plan = ClaimPlan { wanted, turns, ..rig.claim_plan(LIMIT) };
            store.dispatch_claim(plan).await.expect("claimed");
        });
    }
    judge!(store, "a claim by time among a million", ["queue_by_route"], MOST, {
        let wanted = Wanted::AllBut(left.clone());
        let plan = ClaimPlan { wanted, ..rig.claim_plan(LIMIT) };
        store.dispatch_claim(plan).await.expect("claimed");
    });
    judge!(
        store,
        "the next of a million",
        ["queue_by_route"],
        8.0,
        store.next(Due::Messages).await.expect("read")
    );
}
