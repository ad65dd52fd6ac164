//! Sender names and their review.

use sms_core::account::Account;
use sms_core::ids::AccountId;
use sms_core::page::{Page, PageRequest};
use sms_core::sender_name::review::{Decision, ReviewPlan, ReviewRefused};
use sms_core::sender_name::store::NamesWanted;
use sms_core::sender_name::{ReviewStatus, SenderName, SenderNameExists};
use sms_core::store::CommitError;

use crate::Rig;
use crate::rig::{done, millis, page, read_all, refusal_of};

impl Rig {
    fn requested(&self, account: AccountId, value: &str) -> SenderName {
        let value = value.parse().expect("a sender name");
        let purpose = Some("Küche 🐦".to_owned());
        SenderName::requested(self.id(), account, value, purpose, self.now())
    }

    /// Requests a name, which is pending then.
    pub(crate) async fn sender_name(&self, account: &Account, value: &str) -> SenderName {
        let name = self.requested(account.id, value);
        done(self.store().sender_name_create(name.clone(), None).await).expect("the name is free");
        name
    }

    fn review_plan(&self, name: &SenderName, decision: Decision) -> ReviewPlan {
        let reason = (decision == Decision::Reject).then(|| "looks like a bank".to_owned());
        ReviewPlan { id: name.id, decision, reason, at: self.now() }
    }

    /// Decides on a name.
    pub(crate) async fn review(&self, name: &SenderName, decision: Decision) -> SenderName {
        let plan = self.review_plan(name, decision);
        self.store().sender_name_review(plan).await.expect("decided")
    }

    /// Requests a name and has it approved.
    pub(crate) async fn approved_name(&self, account: &Account, value: &str) -> SenderName {
        let name = self.sender_name(account, value).await;
        self.review(&name, Decision::Approve).await
    }

    async fn sender_names(&self, account: AccountId) -> Vec<SenderName> {
        self.store().sender_name_list(account, NamesWanted::All).await.expect("read")
    }

    async fn approved_values(&self, account: AccountId) -> Vec<String> {
        let names =
            self.store().sender_name_list(account, NamesWanted::Approved).await.expect("read");
        let mut values: Vec<String> = names.iter().map(|name| name.value.to_string()).collect();
        values.sort();
        values
    }

    async fn for_review(
        &self,
        status: Option<ReviewStatus>,
        wanted: PageRequest,
    ) -> Page<SenderName> {
        self.store().sender_names_for_review(status, wanted).await.expect("read")
    }
}

/// What races for a name.
enum Act {
    Ask(SenderName),
    Decide(ReviewPlan),
}

scenarios! { SenderName;
    /// A name is kept as it was asked for, and listed newest first, only the account's own.
    async fn names_are_kept_and_listed_newest_first(rig: &Rig) {
        let (account, other) = (rig.account(0).await, rig.account(0).await);
        let mut expected = Vec::new();
        for (n, value) in ["Bistro & Co", "a-1", "Till.9"].into_iter().enumerate() {
            expected.insert(0, rig.sender_name(&account, value).await);
            rig.sender_name(&other, value).await;
            rig.advance(millis(n as u64 % 2));
        }
        assert_eq!(rig.sender_names(account.id).await, expected);
        assert_eq!(rig.sender_names(rig.id()).await, []);
    }

    /// A name that waits or is approved is not given twice, whatever its case; one that was
    /// rejected may be asked for again; another account's name is no obstacle.
    async fn a_name_exists_once_unless_it_was_rejected(rig: &Rig) {
        let (account, other) = (rig.account(0).await, rig.account(0).await);
        let ask = async |value: &str| {
            let name = rig.requested(account.id, value);
            done(rig.store().sender_name_create(name, None).await)
        };
        let first = rig.sender_name(&account, "Bistro").await;
        assert_eq!(refusal_of(ask("Bistro").await), SenderNameExists);
        assert_eq!(refusal_of(ask("BISTRO").await), SenderNameExists);
        rig.review(&first, Decision::Approve).await;
        assert_eq!(refusal_of(ask("bistro").await), SenderNameExists);
        assert_eq!(rig.sender_names(account.id).await.len(), 1);
        rig.sender_name(&other, "Bistro").await;
        rig.review(&first, Decision::Reject).await;
        let again = rig.sender_name(&account, "bistrO").await;
        assert_eq!(refusal_of(ask("Bistro").await), SenderNameExists);
        let listed = rig.sender_names(account.id).await;
        assert_eq!((listed[0].clone(), listed[1].id), (again, first.id));
    }

    /// However many ask for a name at once, one gets it.
    async fn of_racing_requests_for_a_name_one_wins(rig: &Rig) {
        let account = rig.account(0).await;
        for round in 1..=8 {
            let spelt = ["Bistro", "BISTRO", "bistro", "bIstro"].into_iter().cycle().take(12);
            let names = spelt.map(|value| rig.requested(account.id, &format!("{value}-{round}")));
            let answers = rig.race_each(names.collect::<Vec<_>>(), |store, name| async move {
                done(store.sender_name_create(name, None).await)
            });
            assert_eq!(answers.iter().filter(|answer| answer.is_ok()).count(), 1);
            for answer in answers.into_iter().filter(Result::is_err) {
                assert_eq!(refusal_of(answer), SenderNameExists);
            }
            assert_eq!(rig.sender_names(account.id).await.len(), round);
        }
    }

    /// A decision is written with its reason and its moment, and the last one counts.
    async fn the_last_decision_counts(rig: &Rig) {
        let account = rig.account(0).await;
        let name = rig.sender_name(&account, "Bistro").await;
        let neighbour = rig.sender_name(&account, "Till").await;
        let mut expected = name.clone();
        let (approve, reject) = (Decision::Approve, Decision::Reject);
        for decision in [reject, approve, approve, reject, reject] {
            rig.advance(millis(5));
            let plan = rig.review_plan(&name, decision);
            expected = plan.settle(Some(&expected), []).expect("nothing stands in its way");
            assert_eq!(rig.review(&name, decision).await, expected);
            assert_eq!(rig.sender_names(account.id).await, [neighbour.clone(), expected.clone()]);
        }
    }

    /// Only approved names are for sending, from the moment of the decision on.
    async fn only_approved_names_are_for_sending(rig: &Rig) {
        let (account, other) = (rig.account(0).await, rig.account(0).await);
        let first = rig.sender_name(&account, "Bistro").await;
        let second = rig.sender_name(&account, "Till").await;
        assert_eq!(rig.approved_values(account.id).await, [""; 0]);
        rig.review(&first, Decision::Approve).await;
        assert_eq!(rig.approved_values(account.id).await, ["Bistro"]);
        rig.review(&second, Decision::Approve).await;
        assert_eq!(rig.approved_values(account.id).await, ["Bistro", "Till"]);
        rig.review(&first, Decision::Reject).await;
        assert_eq!(rig.approved_values(account.id).await, ["Till"]);
        assert_eq!(rig.approved_values(other.id).await, [""; 0]);
    }

    /// A rejected name is not approved once its account has asked for it again, and is when that
    /// was rejected, too.
    async fn a_name_asked_for_again_stands_in_the_way_of_the_first(rig: &Rig) {
        let account = rig.account(0).await;
        let first = rig.sender_name(&account, "Bistro").await;
        rig.review(&first, Decision::Reject).await;
        let again = rig.sender_name(&account, "BISTRO").await;
        let approve = async || {
            let plan = rig.review_plan(&first, Decision::Approve);
            rig.store().sender_name_review(plan).await
        };
        let before = rig.sender_names(account.id).await;
        assert_eq!(refusal_of(approve().await), ReviewRefused::AskedForAgain);
        rig.review(&again, Decision::Approve).await;
        assert_eq!(refusal_of(approve().await), ReviewRefused::AskedForAgain);
        rig.review(&again, Decision::Reject).await;
        assert_eq!(rig.sender_names(account.id).await[1], before[1], "what is refused is not done");
        assert_eq!(approve().await.expect("decided").status, ReviewStatus::Approved);
        assert_eq!(rig.approved_values(account.id).await, ["Bistro"]);
    }

    /// The names that an account may use are those approved now.
    async fn the_names_in_use_are_those_approved_now(rig: &Rig) {
        let account = rig.account(0).await;
        assert_eq!(rig.approved_values(account.id).await, [""; 0]);
        let name = rig.sender_name(&account, "Bistro").await;
        assert_eq!(rig.approved_values(account.id).await, [""; 0]);
        for (decision, expected) in [
            (Decision::Approve, &["Bistro"][..]),
            (Decision::Reject, &[]),
            (Decision::Approve, &["Bistro"]),
        ] {
            rig.review(&name, decision).await;
            assert_eq!(rig.approved_values(account.id).await, expected);
        }
    }

    /// A name is never both asked for again and approved, whichever comes first.
    async fn a_request_that_races_an_approval_never_makes_two(rig: &Rig) {
        let account = rig.account(0).await;
        for round in 1..=8 {
            let first = rig.sender_name(&account, &format!("Bistro-{round}")).await;
            rig.review(&first, Decision::Reject).await;
            let again = rig.requested(account.id, &format!("bistro-{round}"));
            let plan = rig.review_plan(&first, Decision::Approve);
            let done = rig.race_each([Act::Ask(again), Act::Decide(plan)], |store, act| async move {
                match act {
                    Act::Ask(name) => match done(store.sender_name_create(name, None).await) {
                        Ok(_) => true,
                        Err(CommitError::Refused(SenderNameExists)) => false,
                        other => panic!("{other:?}"),
                    },
                    Act::Decide(plan) => match store.sender_name_review(plan).await {
                        Ok(_) => true,
                        Err(CommitError::Refused(ReviewRefused::AskedForAgain)) => false,
                        other => panic!("{other:?}"),
                    },
                }
            });
            assert_eq!(done.iter().filter(|done| **done).count(), 1);
            let live = rig.sender_names(account.id).await;
            assert_eq!(live.iter().filter(|name| name.is_live()).count(), round);
        }
    }

    /// Nothing is decided about a name that does not exist.
    async fn a_name_that_is_not_there_is_not_decided_about(rig: &Rig) {
        let name = rig.requested(rig.id(), "Bistro");
        for decision in [Decision::Approve, Decision::Reject] {
            let plan = rig.review_plan(&name, decision);
            let refused = refusal_of(rig.store().sender_name_review(plan).await);
            assert_eq!(refused, ReviewRefused::NoSuchSenderName);
        }
    }

    /// The operator reads the names of all accounts, newest first, page by page, also by status.
    async fn the_operator_reads_the_names_of_all_accounts(rig: &Rig) {
        let (account, other) = (rig.account(0).await, rig.account(0).await);
        let mut made = Vec::new();
        for (n, value) in ["One", "Two", "Three", "Four", "Five"].into_iter().enumerate() {
            let owner = if n % 2 == 0 { &account } else { &other };
            made.insert(0, rig.sender_name(owner, value).await);
            rig.advance(millis(n as u64 % 2));
        }
        made[1] = rig.review(&made[1], Decision::Approve).await;
        made[3] = rig.review(&made[3], Decision::Reject).await;
        let of = |status: Option<ReviewStatus>| -> Vec<SenderName> {
            let wanted = |name: &&SenderName| status.is_none_or(|status| name.status == status);
            made.iter().filter(wanted).cloned().collect()
        };
        for status in ReviewStatus::ALL.map(Some).into_iter().chain([None]) {
            for limit in [1, 2, 100] {
                let read = async |wanted| rig.for_review(status, wanted).await;
                assert_eq!(read_all(limit, read).await, of(status), "{status:?}");
            }
        }
        let first = rig.for_review(None, page(2, None)).await;
        rig.sender_name(&account, "Newer").await;
        let rest = rig.for_review(None, page(100, first.next)).await;
        assert_eq!((first.items.as_slice(), rest.items.as_slice()), (&made[..2], &made[2..]));
    }

    /// A name needs an account that exists.
    async fn a_name_needs_its_account(rig: &Rig) {
        let name = rig.requested(rig.id(), "Bistro");
        assert!(done(rig.store().sender_name_create(name, None).await).is_err());
        assert_eq!(rig.for_review(None, PageRequest::default()).await.items, []);
    }
}
