//! Links and their clicks, statistics and rent.

use sms_core::ids::{AccountId, CampaignId, IdSource};
use sms_core::link::click::ClickPlan;
use sms_core::link::store::LinkWanted;
use sms_core::link::{LinkCode, LinkFilter};
use sms_core::number::rent::{RentPlan, RentScope};
use sms_core::number::store::NumbersWanted;
use sms_core::page::{Cursor, PageRequest};
use sms_core::random::SeededRandom;
use sms_core::statistics::Period;
use sms_core::store::Store;
use sms_core::time::Timestamp;
use sms_core::upkeep::{Chore, Due};

use super::Plans;
use super::hot::{A_PAGE, judge, nth, text_id};

pub(super) async fn links(store: &dyn Store, account: AccountId) {
    let deep =
        PageRequest { after: Some(Cursor::after(text_id(300_000))), ..PageRequest::default() };
    let all = LinkFilter::default();
    let of_text = LinkFilter { message: Some(text_id(500_000)), ..all };
    let of_campaign = LinkFilter { campaign: Some(CampaignId::from_u128(nth(5, 3))), ..all };
    for page in [PageRequest::default(), deep] {
        for (what, index, filter) in
            [("links", "link_pkey", all), ("links of a campaign", "link_by_campaign", of_campaign)]
        {
            judge!(
                store,
                what,
                [index],
                A_PAGE,
                store.link_list(account, filter, page).await.expect("listed")
            );
        }
    }
    let page = PageRequest::default();
    judge!(
        store,
        "links of a text",
        ["link_by_message"],
        3.0,
        store.link_list(account, of_text, page).await.expect("listed")
    );
    let code: LinkCode = "aaaaa12345".parse().expect("a code");
    judge!(
        store,
        "a link by its code",
        ["link_by_code"],
        1.0,
        store.link_get(LinkWanted::Code(code)).await.expect("read")
    );
    let at = Timestamp::from_millis(1_795_244_830_123);
    let ids = IdSource::default().draw(at, &SeededRandom::new(5));
    judge!(
        store,
        "a hit",
        ["link_by_code", "link_pkey"],
        20.0,
        store.links_click(vec![ClickPlan { code, at, ids: ids.clone() }]).await
    );
}

/// A year by days, and a period with arbitrary ends: the query reads hours, and few minutes and
/// milliseconds.
pub(super) async fn statistics(store: &dyn Store, account: AccountId) {
    let at = |text: &str| text.parse::<Timestamp>().expect("a moment");
    let midnight = at("2026-11-22T00:00:00Z");
    let days = |n: u64| midnight.minus(std::time::Duration::from_hours(24 * n));
    let year: Vec<Period> = (0..366).map(|n| Period { from: days(n + 1), to: days(n) }).collect();
    judge!(
        store,
        "a year of days",
        ["statistic_pkey", "statistic_change_by_time"],
        9_000.0,
        store.statistics_within(account, &year).await.expect("read")
    );
    let (from, to) = (at("2026-11-01T06:30:30.500Z"), at("2026-11-21T06:30:30.500Z"));
    judge!(
        store,
        "any period",
        ["statistic_pkey", "statistic_change_by_time"],
        600.0,
        store.statistics_within(account, &[Period { from, to }]).await.expect("read")
    );
    judge!(store, "adding up", [], 310.0, store.tidy(Chore::Statistics, 100).await.expect("added"));
}

pub(super) async fn rents(store: &dyn Store, rig: &sms_conformance::Rig) {
    let holder = AccountId::from_u128(nth(1, 50));
    judge!(
        store,
        "an account's own numbers",
        ["number_by_account"],
        1.0,
        store.number_list(NumbersWanted::HeldBy(holder)).await.expect("read")
    );
    judge!(
        store,
        "the next rent",
        ["number_by_next_rent"],
        1.0,
        store.next(Due::Rents).await.expect("read")
    );
    let plan = |scope| RentPlan { at: rig.now(), scope, ids: rig.ids() };
    judge!(
        store,
        "rent that is due",
        ["number_by_next_rent", "account_pkey", "number_pkey"],
        30.0,
        store.rents_charge(plan(RentScope::Due(10))).await.expect("taken")
    );
    judge!(
        store,
        "an account's rent",
        ["number_by_account"],
        1.0,
        store.rents_charge(plan(RentScope::Account(holder))).await.expect("taken")
    );
}
