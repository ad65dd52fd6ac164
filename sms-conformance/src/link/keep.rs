//! Links as they are written with their messages, and read.

use sms_core::ids::{CampaignId, MessageId};
use sms_core::link::store::{LinkWanted, ReadsLinks};
use sms_core::link::{Link, LinkCode, LinkFilter};
use sms_core::sending::SendPlan;
use sms_core::sending::settle::SendRefused;
use sms_core::store::CommitError;

use crate::Rig;
use crate::rig::{key, millis, person, refusal_of, request, tracked};

const BODY: &str = "https://example.com/menu?a=%20&b='ü', https://example.com/map";

/// The filter for the links of one message.
fn of(message: MessageId) -> LinkFilter {
    LinkFilter { message: Some(message), ..LinkFilter::default() }
}

fn every() -> LinkFilter {
    LinkFilter::default()
}

async fn by_code(store: &dyn ReadsLinks, code: LinkCode) -> Option<Link> {
    store.link_get(LinkWanted::Code(code)).await.expect("the link is read")
}

/// A plan for one message with one link that has this code.
fn plan_with(rig: &Rig, account: &sms_core::account::Account, to: u16, code: LinkCode) -> SendPlan {
    let mut plan = rig.plan(account, &tracked("https://example.com/menu", [to]));
    plan.links[0].code = code;
    plan
}

scenarios! { Link;
    /// The links of an accepted send are kept as they were planned, one for each URL and person,
    /// found by id, by code and by message.
    async fn links_are_kept_with_their_messages(rig: &Rig) {
        let account = rig.account(100).await;
        let plan = rig.plan(&account, &tracked(BODY, [1, 2]));
        let planned = plan.links.clone();
        assert_eq!(planned.len(), 4);
        let sent = rig.accept(plan).await.expect("accepted");
        for link in &planned {
            assert_eq!(rig.link_now(account.id, link.id).await.as_ref(), Some(link));
            assert_eq!(by_code(&**rig.store(), link.code).await.as_ref(), Some(link));
        }
        for (message, own) in sent.messages.iter().zip(planned.chunks(2)) {
            let found = rig.links(account.id, of(message.id), 100).await;
            assert_eq!(found, [own[1].clone(), own[0].clone()], "newest first");
            assert!(own.iter().all(|link| message.body.as_str().contains(link.code.as_str())));
            assert!(own.iter().all(|link| link.contact_number == message.to));
        }
        assert_eq!(rig.link_now(account.id, rig.id()).await, None);
        let unknown = "0000000000".parse().expect("a code");
        assert_eq!(by_code(&**rig.store(), unknown).await, None);
    }

    /// A code is known by every letter in its own case.
    async fn codes_differ_by_case(rig: &Rig) {
        let account = rig.account(100).await;
        let code = |text: &str| text.parse::<LinkCode>().expect("a code");
        for (to, text) in [(1, "aaaaaaaaaA"), (2, "aaaaaaaaaa"), (3, "Aaaaaaaaaa")] {
            rig.accept(plan_with(rig, &account, to, code(text))).await.expect("accepted");
            let found = by_code(&**rig.store(), code(text)).await.expect("found");
            assert_eq!(found.contact_number, person(to));
        }
        assert_eq!(by_code(&**rig.store(), code("AAAAAAAAAA")).await, None);
    }

    /// Links are listed newest first, page by page, and only the account's own; filters by words
    /// and by campaign narrow the list down together.
    async fn links_are_listed_newest_first(rig: &Rig) {
        let (account, other) = (rig.account(100).await, rig.account(100).await);
        let campaign = |n| Some(CampaignId::from_u128(n));
        let mut expected: Vec<Link> = Vec::new();
        for n in 0..6_u16 {
            let mut plan = rig.plan(&account, &tracked(BODY, [n]));
            for link in &mut plan.links {
                link.campaign = campaign((n % 3).into()).filter(|_| n % 3 > 0);
            }
            for link in plan.links.clone() {
                expected.insert(0, link);
            }
            rig.accept(plan).await.expect("accepted");
            let mut theirs = rig.plan(&other, &tracked(BODY, [n]));
            theirs.links[0].campaign = campaign(1);
            rig.accept(theirs).await.expect("accepted");
            rig.advance(millis(u64::from(n % 2)));
        }
        let message = expected[4].message;
        let filters = [
            every(),
            of(message),
            LinkFilter { campaign: campaign(1), message: None },
            LinkFilter { campaign: campaign(2), message: None },
            LinkFilter { campaign: campaign(3), message: None },
            LinkFilter { campaign: expected[4].campaign, message: Some(message) },
            LinkFilter { campaign: campaign(9), message: Some(message) },
        ];
        for filter in filters {
            let wanted: Vec<Link> =
                expected.iter().filter(|link| filter.accepts(link)).cloned().collect();
            for limit in [1, 2, 4, 5, 100] {
                let listed = rig.links(account.id, filter, limit).await;
                assert_eq!(listed, wanted, "{filter:?} {limit}");
            }
        }
        assert_eq!(rig.links(rig.id(), every(), 5).await, []);
    }

    /// Reading on from a cursor shows every older link once, whatever is sent meanwhile.
    async fn pages_of_links_go_on_where_they_ended(rig: &Rig) {
        let account = rig.account(100).await;
        let mut made = Vec::new();
        for n in 0..6 {
            made.insert(0, rig.link(&account, n).await);
        }
        let first = rig.link_page(account.id, every(), 2, None).await;
        assert_eq!(first.items, made[..2]);
        rig.link(&account, 7).await;
        let second = rig.link_page(account.id, every(), 2, first.next).await;
        assert_eq!(second.items, made[2..4]);
        rig.link(&account, 8).await;
        let third = rig.link_page(account.id, every(), 2, second.next).await;
        assert_eq!((third.items.as_slice(), third.next), (&made[4..], None));
    }

    /// A link is read through its own account only.
    async fn another_accounts_link_is_out_of_reach(rig: &Rig) {
        let (account, other) = (rig.account(10).await, rig.account(10).await);
        let link = rig.link(&account, 1).await;
        assert_eq!(rig.link_now(other.id, link.id).await, None);
        assert_eq!(rig.links(other.id, of(link.message), 5).await, []);
        assert_eq!(rig.links(other.id, every(), 5).await, []);
    }

    /// A refused send leaves no link, whether the account was refused before or not, and what is
    /// accepted after refusals has its links.
    async fn a_refused_send_leaves_no_link(rig: &Rig) {
        let account = rig.account(0).await;
        for _ in 0..2 {
            let plan = rig.plan(&account, &tracked(BODY, [1, 2]));
            let links = plan.links.clone();
            let refused = refusal_of(rig.accept(plan).await);
            assert!(matches!(refused, SendRefused::InsufficientCredit { .. }));
            assert_eq!(rig.links(account.id, every(), 5).await, []);
            assert_eq!(by_code(&**rig.store(), links[0].code).await, None);
        }
        rig.adjust(&account, 10).await.expect("topped up");
        let link = rig.link(&account, 1).await;
        assert_eq!(rig.links(account.id, every(), 5).await, [link]);
    }

    /// In one call, what is refused leaves no link and what is accepted has all of its own.
    async fn a_shared_commit_keeps_the_links_of_what_it_accepts(rig: &Rig) {
        let (rich, poor) = (rig.account(10).await, rig.account(0).await);
        let plans =
            vec![rig.plan(&rich, &tracked(BODY, [1])), rig.plan(&poor, &tracked(BODY, [1]))];
        let kept: Vec<Link> = plans[0].links.iter().rev().cloned().collect();
        let answers = rig.accept_all(plans).await;
        assert_eq!((answers[0].is_ok(), answers[1].is_ok()), (true, false));
        assert_eq!(rig.links(rich.id, every(), 5).await, kept);
        assert_eq!(rig.links(poor.id, every(), 5).await, []);
    }

    /// A repeated request shows the same words, short URLs included, and makes no other links.
    async fn a_replay_shows_the_same_links(rig: &Rig) {
        let account = rig.account(10).await;
        let request = tracked(BODY, [1, 2]).idempotency_key(key("k"));
        let first = rig.send(&account, &request).await;
        let links = rig.links(account.id, every(), 100).await;
        assert_eq!(links.len(), 4);
        let again = rig.send(&account, &request).await;
        assert_eq!(again, first.repeated());
        assert_eq!(rig.links(account.id, every(), 100).await, links);
    }

    /// A plan with a code that another link has, of whatever account, is out of date: nothing of
    /// it is written, and the other link stays as it is.
    async fn a_code_that_is_taken_makes_a_plan_stale(rig: &Rig) {
        let (account, other) = (rig.account(10).await, rig.account(10).await);
        let link = rig.link(&account, 1).await;
        for owner in [&account, &other] {
            let balance = rig.balance(owner).await;
            let mut plan = rig.plan(owner, &tracked(BODY, [2, 3]));
            plan.links[2].code = link.code;
            let (first, batch) = (plan.links[0].clone(), plan.batch);
            assert!(matches!(rig.accept(plan).await, Err(CommitError::Stale)));
            assert_eq!(rig.balance(owner).await, balance);
            assert_eq!(rig.link_now(owner.id, first.id).await, None);
            let filter = sms_core::message::MessageFilter {
                batch_id: Some(batch),
                ..sms_core::message::MessageFilter::default()
            };
            assert_eq!(rig.messages(owner.id, &filter).await, []);
        }
        assert_eq!(by_code(&**rig.store(), link.code).await, Some(link.clone()));
        assert_eq!(rig.links(account.id, every(), 5).await, [link]);
        assert_eq!(rig.claim_all().await.messages.len(), 1);
    }

    /// A plan that has one code twice is out of date, too.
    async fn one_code_twice_makes_a_plan_stale(rig: &Rig) {
        let account = rig.account(10).await;
        let mut plan = rig.plan(&account, &tracked(BODY, [1]));
        plan.links[1].code = plan.links[0].code;
        assert!(matches!(rig.accept(plan).await, Err(CommitError::Stale)));
        assert_eq!(rig.links(account.id, every(), 5).await, []);
        assert_eq!(rig.balance(&account).await, 10);
    }

    /// Of plans in one call that have the same code the first is accepted, and the others take
    /// nothing from their neighbours.
    async fn of_plans_with_one_code_the_first_is_accepted(rig: &Rig) {
        let (account, other) = (rig.account(10).await, rig.account(10).await);
        let code = "aZ09xY12bQ".parse().expect("a code");
        let plans = vec![
            plan_with(rig, &account, 1, code),
            plan_with(rig, &other, 2, code),
            plan_with(rig, &account, 3, code),
            rig.plan(&other, &request([4])),
        ];
        let answers = rig.accept_all(plans).await;
        let accepted: Vec<bool> = answers.iter().map(Result::is_ok).collect();
        assert_eq!(accepted, [true, false, false, true]);
        let found = by_code(&**rig.store(), code).await.expect("found");
        assert_eq!((found.account, found.contact_number), (account.id, person(1)));
    }

    /// Sends that drew the same code race: one has it, and the others are out of date.
    async fn of_racing_sends_with_one_code_one_has_it(rig: &Rig) {
        let accounts = [rig.account(100).await, rig.account(100).await];
        for round in 0..4_u16 {
            let code: LinkCode = format!("aZ09xY12b{round}").parse().expect("a code");
            let plans: Vec<SendPlan> = (0..8)
                .map(|n| plan_with(rig, &accounts[usize::from(n % 2)], n + 1, code))
                .collect();
            let answers = rig.race_each(plans, |store, plan| async move {
                store.send_accept(vec![plan]).await.remove(0)
            });
            let (won, lost): (Vec<_>, Vec<_>) = answers.into_iter().partition(Result::is_ok);
            assert_eq!((won.len(), lost.len()), (1, 7));
            assert!(lost.iter().all(|answer| matches!(answer, Err(CommitError::Stale))));
            let found = by_code(&**rig.store(), code).await.expect("found");
            let winner = won.into_iter().flatten().next().expect("one won");
            assert_eq!(found.message, winner.messages[0].id);
        }
        let left = rig.balance(&accounts[0]).await + rig.balance(&accounts[1]).await;
        assert_eq!(left, 196);
    }
}
