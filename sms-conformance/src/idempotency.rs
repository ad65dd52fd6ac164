//! Idempotency keys: every command that makes something does it once for its key.

use std::sync::Arc;

use futures_util::FutureExt;
use futures_util::future::BoxFuture;
use sms_core::account::Account;
use sms_core::idempotency::{Claim, Earlier, KEPT_FOR, Kept, Owner};
use sms_core::sending::idempotency::IdempotencyKey;
use sms_core::sending::settle::SendRefused;
use sms_core::store::Store;
use sms_core::upkeep::Chore;

use crate::Rig;
use crate::rig::{key, millis, refusal_of, request_with_key};

mod command;
mod said;

use command::{Command, commands};
use said::Said;

impl Rig {
    async fn remembered(&self, owner: Owner, key: &IdempotencyKey) -> Option<Earlier> {
        self.store().idempotency_find(owner, key, self.now()).await.expect("found or not")
    }

    /// Runs a command with a claim.
    async fn run_once(&self, command: &Command, account: &Account, claim: &Claim) -> Said {
        (command.plan)(self, account)(Arc::clone(self.store()), Some(claim.clone())).await
    }

    async fn effects(&self, command: &Command, account: &Account) -> usize {
        (command.effects)(Arc::clone(self.store()), account.clone()).await
    }
}

fn owner(command: &Command, account: &Account) -> Owner {
    match command.owner {
        command::Whose::Account => Owner::Account(account.id),
        command::Whose::Operator => Owner::Operator,
    }
}

scenarios! { Idempotency;
    /// A command takes effect once for its key. A repetition writes nothing and gets what is
    /// remembered, which stays as the first request left it.
    async fn a_command_takes_effect_once_for_its_key(rig: &Rig) {
        for command in commands() {
            let account = rig.account(50).await;
            let name = command.name;
            let claim = rig.key_claim(owner(&command, &account), name, "this");
            assert_eq!(rig.remembered(claim.owner, &claim.key).await, None, "{name}");
            let before = rig.effects(&command, &account).await;
            assert_eq!(rig.run_once(&command, &account, &claim).await, Said::Done, "{name}");
            assert_eq!(rig.effects(&command, &account).await, before + 1, "{name}");
            let kept = rig.remembered(claim.owner, &claim.key).await.expect("it is remembered");
            assert_eq!((kept.fingerprint, kept.accepted_at), (claim.fingerprint, claim.at));
            assert!(matches!(kept.kept, Kept::Answer(_)), "{name}");
            rig.advance(millis(5));
            let later = Claim { at: rig.now(), ..claim.clone() };
            let again = rig.run_once(&command, &account, &later).await.earlier();
            assert_eq!(again, kept, "{name}");
            assert_eq!(rig.effects(&command, &account).await, before + 1, "{name}");
        }
    }

    /// A key that was used for another request is recognised by its fingerprint, and nothing is
    /// written.
    async fn a_key_of_another_request_does_nothing(rig: &Rig) {
        for command in commands() {
            let account = rig.account(50).await;
            let name = command.name;
            let claim = rig.key_claim(owner(&command, &account), name, "this");
            assert_eq!(rig.run_once(&command, &account, &claim).await, Said::Done, "{name}");
            let before = rig.effects(&command, &account).await;
            let other = rig.key_claim(owner(&command, &account), name, "that");
            let found = rig.run_once(&command, &account, &other).await.earlier();
            assert_eq!(found.fingerprint, claim.fingerprint, "{name}");
            assert_eq!(rig.effects(&command, &account).await, before, "{name}");
        }
    }

    /// The keys of an account are one space: a key that a command used is a conflict for a send,
    /// and the other way round.
    async fn sends_and_commands_share_the_keys_of_an_account(rig: &Rig) {
        for command in commands() {
            if matches!(command.owner, command::Whose::Operator) {
                continue;
            }
            let account = rig.account(50).await;
            let name = command.name;
            let claim = rig.key_claim(Owner::Account(account.id), "command", "this");
            assert_eq!(rig.run_once(&command, &account, &claim).await, Said::Done, "{name}");
            let plan = rig.plan(&account, &request_with_key(1, "command"));
            assert_eq!(refusal_of(rig.accept(plan).await), SendRefused::IdempotencyConflict);
            let earlier = rig.store().send_earlier(account.id, &key("command"), rig.now()).await;
            assert_eq!(earlier.expect("looked up"), None, "{name}");
            rig.send(&account, &request_with_key(2, "send")).await;
            let before = rig.effects(&command, &account).await;
            let claim = rig.key_claim(Owner::Account(account.id), "send", "this");
            let found = rig.run_once(&command, &account, &claim).await.earlier();
            assert_eq!(found.kept, Kept::Send, "{name}");
            assert_eq!(rig.effects(&command, &account).await, before, "{name}");
        }
    }

    /// The keys of the operator and of each account are apart.
    async fn keys_of_different_owners_do_not_meet(rig: &Rig) {
        let (one, two) = (rig.account(50).await, rig.account(50).await);
        let command = commands().remove(0);
        for owner in [Owner::Operator, Owner::Account(one.id), Owner::Account(two.id)] {
            let claim = rig.key_claim(owner, "same", "this");
            assert_eq!(rig.run_once(&command, &one, &claim).await, Said::Done, "{owner:?}");
        }
    }

    /// A key is kept for seven days and then free, also when it was not tidied away; what takes it
    /// next is remembered from then on.
    async fn a_key_of_a_command_is_free_after_seven_days(rig: &Rig) {
        for command in commands() {
            let account = rig.account(50).await;
            let name = command.name;
            let claim = rig.key_claim(owner(&command, &account), name, "this");
            assert_eq!(rig.run_once(&command, &account, &claim).await, Said::Done, "{name}");
            rig.advance(KEPT_FOR - millis(1));
            let late = rig.key_claim(claim.owner, name, "that");
            rig.run_once(&command, &account, &late).await.earlier();
            rig.advance(millis(1));
            assert_eq!(rig.remembered(claim.owner, &claim.key).await, None, "{name}");
            let next = rig.key_claim(claim.owner, name, "that");
            let other = rig.account(50).await;
            assert_eq!(rig.run_once(&command, &other, &next).await, Said::Done, "{name}");
            let kept = rig.remembered(claim.owner, &claim.key).await;
            assert_eq!(kept.map(|kept| kept.fingerprint), Some(next.fingerprint), "{name}");
        }
    }

    /// A send takes over the expired key of a command, and a command that of a send.
    async fn an_expired_key_changes_its_operation(rig: &Rig) {
        let account = rig.account(50).await;
        let command = commands().remove(0);
        let owner = Owner::Account(account.id);
        let claim = |rig: &Rig| rig.key_claim(owner, "k", "this");
        assert_eq!(rig.run_once(&command, &account, &claim(rig)).await, Said::Done);
        rig.advance(KEPT_FOR);
        rig.send(&account, &request_with_key(1, "k")).await;
        assert_eq!(rig.remembered(owner, &key("k")).await.map(|it| it.kept), Some(Kept::Send));
        rig.advance(KEPT_FOR);
        assert_eq!(rig.run_once(&command, &account, &claim(rig)).await, Said::Done);
        let plan = rig.plan(&account, &request_with_key(1, "k"));
        assert_eq!(refusal_of(rig.accept(plan).await), SendRefused::IdempotencyConflict);
    }

    /// Sixteen copies of one request race: one takes effect, and all others get what it remembered.
    async fn racing_copies_of_a_command_take_effect_once(rig: &Rig) {
        for command in commands() {
            let account = rig.account(50).await;
            let name = command.name;
            let claim = rig.key_claim(owner(&command, &account), name, "this");
            let before = rig.effects(&command, &account).await;
            let plans = (0..16).map(|_| (command.plan)(rig, &account));
            let said = rig.race_each(plans.collect::<Vec<_>>(), |store, run| {
                let claim = claim.clone();
                async move { run(store, Some(claim)).await }
            });
            let (first, again): (Vec<_>, Vec<_>) =
                said.into_iter().partition(|said| *said == Said::Done);
            assert_eq!((first.len(), again.len()), (1, 15), "{name}");
            let kept = rig.remembered(claim.owner, &claim.key).await.expect("it is remembered");
            for said in again {
                assert_eq!(said.earlier(), kept, "{name}");
            }
            assert_eq!(rig.effects(&command, &account).await, before + 1, "{name}");
        }
    }

    /// Different requests race for one key, a send among them: one takes effect.
    async fn racing_requests_for_one_key_take_effect_once(rig: &Rig) {
        for command in commands() {
            if matches!(command.owner, command::Whose::Operator) {
                continue;
            }
            let account = rig.account(50).await;
            let before = rig.effects(&command, &account).await;
            let mut runs: Vec<BoxFuture<'static, bool>> = Vec::new();
            for n in 0..8 {
                let store = Arc::clone(rig.store());
                if n % 2 == 0 {
                    let plan = rig.plan(&account, &request_with_key(1, "k"));
                    runs.push(sends(store, plan).boxed());
                    continue;
                }
                let claim = rig.key_claim(Owner::Account(account.id), "k", &n.to_string());
                let run = (command.plan)(rig, &account)(store, Some(claim));
                runs.push(async move { run.await == Said::Done }.boxed());
            }
            let won = rig.race(runs).into_iter().filter(|won| *won).count();
            let made = rig.effects(&command, &account).await - before;
            let sent = usize::from(rig.balance(&account).await != 50);
            assert_eq!(made + sent, 1, "{}", command.name);
            assert!(won == 1 || sent == 1, "{}: replays of the send", command.name);
        }
    }

    /// What was refused is not remembered: its key stays free.
    async fn a_refused_command_leaves_its_key_free(rig: &Rig) {
        let account = rig.account(5).await;
        let claim = rig.key_claim(Owner::Operator, "k", "this");
        let refused = rig.adjust_plan(account.id, -6);
        refusal_of(rig.store().credits_adjust(refused, Some(&claim)).await);
        assert_eq!(rig.remembered(claim.owner, &claim.key).await, None);
        let accepted = rig.adjust_plan(account.id, -5);
        let said = Said::of(rig.store().credits_adjust(accepted, Some(&claim)).await);
        assert_eq!(said, Said::Done);
        // The same request is refused by now, but it repeats an accepted one.
        let again = rig.adjust_plan(account.id, -5);
        Said::of(rig.store().credits_adjust(again, Some(&claim)).await).earlier();
    }

    /// Tidying removes old keys of every owner, in portions.
    async fn tidying_removes_old_keys_of_every_owner(rig: &Rig) {
        let account = rig.account(50).await;
        let command = commands().remove(0);
        for owner in [Owner::Operator, Owner::Account(account.id)] {
            let claim = rig.key_claim(owner, "old", "this");
            assert_eq!(rig.run_once(&command, &account, &claim).await, Said::Done);
        }
        let younger = rig.advance(millis(1));
        let claim = rig.key_claim(Owner::Operator, "young", "this");
        assert_eq!(rig.run_once(&command, &account, &claim).await, Said::Done);
        let mut removed = Vec::new();
        for _ in 0..3 {
            let count = rig.store().tidy(Chore::IdempotencyKeys { before: younger }, 1);
            let count = count.await.expect("tidied");
            removed.push(count);
        }
        assert_eq!(removed, [1, 1, 0]);
        assert!(rig.remembered(Owner::Operator, &key("young")).await.is_some());
        assert_eq!(rig.remembered(Owner::Operator, &key("old")).await, None);
    }
}

/// Whether a send is the first with its key.
async fn sends(store: Arc<dyn Store>, plan: sms_core::sending::SendPlan) -> bool {
    store.send_accept(vec![plan]).await.remove(0).is_ok()
}
