//! Keywords: how they are kept.

use sms_core::ids::{AccountId, KeywordId};
use sms_core::keyword::save::{KeywordPatch, KeywordRefused};
use sms_core::keyword::{Keyword, Listening};
use sms_core::message::Body;
use sms_core::page::Cursor;
use sms_core::version::IfVersion::Any;

use crate::Rig;
use crate::rig::{done, millis, page, read_all, refusal_of};

pub(crate) mod matching;
pub(crate) mod reply_limit;

fn patch() -> KeywordPatch {
    KeywordPatch::default()
}

async fn delete(rig: &Rig, account: AccountId, id: KeywordId) -> bool {
    rig.store().keyword_delete(account, id, Any).await.expect("answered")
}

async fn listed(rig: &Rig, account: AccountId, limit: u32) -> Vec<Keyword> {
    read_all(limit, async |page| {
        rig.store().keyword_list(account, page).await.expect("the keywords are read")
    })
    .await
}

scenarios! { Keyword;
    /// A keyword is kept as it was made, and listed newest first, only the account's own, while
    /// others are made.
    async fn keywords_are_kept_and_listed_newest_first(rig: &Rig) {
        let (account, other) = (rig.account(0).await, rig.account(0).await);
        let list = rig.list(&account).await;
        let mut made = Vec::new();
        for n in 0..5 {
            let reply = (n % 2 == 0).then_some("Grüße 🐦\n{first_name}");
            let word = format!("word{n}");
            made.insert(0, rig.keyword(&account, &word, reply, Some(list.id)).await);
            rig.keyword(&other, &word, reply, None).await;
            rig.advance(millis(n % 2));
        }
        for keyword in &made {
            let kept = rig.keyword_now(account.id, keyword.id).await;
            assert_eq!(kept.as_ref(), Some(keyword));
        }
        for limit in [1, 2, 4, 5, 100] {
            assert_eq!(listed(rig, account.id, limit).await, made, "by {limit}");
        }
        let end = page(5, Some(Cursor::after(made[4].id)));
        let rest = rig.store().keyword_list(account.id, end).await.expect("read");
        assert_eq!((rest.items, rest.next), (vec![], None));
        let first = rig.store().keyword_list(account.id, page(2, None)).await.expect("read");
        rig.keyword(&account, "newer", None, None).await;
        assert!(delete(rig, account.id, made[1].id).await);
        let next = rig.store().keyword_list(account.id, page(3, first.next)).await.expect("read");
        assert_eq!((next.items, next.next), (made[2..].to_vec(), None));
        assert_eq!(listed(rig, rig.id(), 5).await, []);
    }

    /// A change writes what it names and its time, and leaves the rest unchanged.
    async fn a_change_of_a_keyword_leaves_the_rest_alone(rig: &Rig) {
        let account = rig.account(0).await;
        let list = rig.list(&account).await;
        let neighbour = rig.keyword(&account, "pasta", None, None).await;
        let mut expected = rig.keyword(&account, "pizza", Some("Yum"), Some(list.id)).await;
        for (patch, list, after) in [
            (
                patch().keyword("PIE"),
                None,
                Keyword { word: "pie".parse().expect("a word"), ..expected.clone() },
            ),
            (
                patch().reply(Some("Mmh")).listening(Listening::Off),
                None,
                Keyword {
                    word: "pie".parse().expect("a word"),
                    reply: Some(Body::new("Mmh")),
                    listening: Listening::Off,
                    ..expected.clone()
                },
            ),
        ] {
            let updated_at = rig.advance(millis(5));
            let changed = rig.change_keyword(&expected, patch, list).await.expect("changed");
            expected = Keyword { updated_at, ..after };
            assert_eq!(changed, expected);
            assert_eq!(rig.keyword_now(account.id, expected.id).await.as_ref(), Some(&expected));
        }
        let cleared = patch().reply(None);
        let changed = rig.change_keyword(&expected, cleared, Some(None)).await.expect("changed");
        assert_eq!((changed.reply, changed.add_to_list_id), (None, None));
        assert_eq!(rig.keyword_now(account.id, neighbour.id).await, Some(neighbour));
    }

    /// A word is one keyword of an account, and free again when that is changed or removed.
    async fn a_word_is_one_keyword_of_an_account(rig: &Rig) {
        let (account, other) = (rig.account(0).await, rig.account(0).await);
        let pizza = rig.keyword(&account, "pizza", None, None).await;
        let pasta = rig.keyword(&account, "pasta", None, None).await;
        rig.keyword(&other, "pizza", None, None).await;
        let plan = rig.keyword_plan(&account, "Pizza", None, None);
        let again = done(rig.store().keyword_save(plan, None).await);
        assert_eq!(refusal_of(again), KeywordRefused::KeywordExists);
        let to = |word: &str| patch().keyword(word);
        let taken = rig.change_keyword(&pasta, to("pizza"), None).await;
        assert_eq!(refusal_of(taken), KeywordRefused::KeywordExists);
        assert_eq!(rig.keyword_now(account.id, pasta.id).await.as_ref(), Some(&pasta));
        rig.change_keyword(&pizza, to("PIZZA"), None).await.expect("its own word");
        rig.change_keyword(&pizza, to("pie"), None).await.expect("a free word");
        rig.change_keyword(&pasta, to("pizza"), None).await.expect("free again");
        assert!(delete(rig, account.id, pasta.id).await);
        rig.keyword(&account, "pizza", None, None).await;
        assert!(!delete(rig, account.id, pasta.id).await);
    }

    /// A keyword names a list of its account; one that is removed is cleared from the keywords that
    /// name it.
    async fn a_keywords_list_is_there_or_cleared(rig: &Rig) {
        let (account, other) = (rig.account(0).await, rig.account(0).await);
        let (list, kept) = (rig.list(&account).await, rig.list(&account).await);
        let others = rig.list(&other).await;
        for unknown in [others.id, rig.id()] {
            let plan = rig.keyword_plan(&account, "pizza", None, Some(unknown));
            let refused = done(rig.store().keyword_save(plan, None).await);
            assert_eq!(refusal_of(refused), KeywordRefused::NoSuchList(unknown));
        }
        let pizza = rig.keyword(&account, "pizza", None, Some(list.id)).await;
        let pasta = rig.keyword(&account, "pasta", None, Some(kept.id)).await;
        let refused = rig.change_keyword(&pizza, patch(), Some(Some(others.id))).await;
        assert_eq!(refusal_of(refused), KeywordRefused::NoSuchList(others.id));
        assert!(rig.store().list_delete(account.id, list.id, Any).await.expect("removed"));
        let cleared = Keyword { add_to_list_id: None, ..pizza };
        assert_eq!(rig.keyword_now(account.id, cleared.id).await, Some(cleared));
        assert_eq!(rig.keyword_now(account.id, pasta.id).await, Some(pasta));
    }

    /// A keyword is seen, changed and removed through its own account only, and needs one.
    async fn another_accounts_keyword_is_out_of_reach(rig: &Rig) {
        let (account, other) = (rig.account(0).await, rig.account(0).await);
        let keyword = rig.keyword(&account, "pizza", None, None).await;
        assert_eq!(rig.keyword_now(other.id, keyword.id).await, None);
        let mine = Keyword { account: other.id, ..keyword.clone() };
        let refused = rig.change_keyword(&mine, patch(), None).await;
        assert_eq!(refusal_of(refused), KeywordRefused::NoSuchKeyword);
        assert!(!delete(rig, other.id, keyword.id).await);
        assert_eq!(rig.keyword_now(account.id, keyword.id).await, Some(keyword));
        let nobodys = sms_core::account::Account { id: rig.id(), ..account };
        let plan = rig.keyword_plan(&nobodys, "pizza", None, None);
        done(rig.store().keyword_save(plan, None).await).expect_err("there is no such account");
    }

    /// Of many who ask for one word at once, one gets it.
    async fn of_racing_keywords_of_one_word_one_is_made(rig: &Rig) {
        let account = rig.account(0).await;
        for n in 0..6 {
            let word = format!("word{n}");
            let plans: Vec<_> =
                (0..6).map(|_| rig.keyword_plan(&account, &word, None, None)).collect();
            let made = rig.race_each(plans, |store, plan| async move {
                match done(store.keyword_save(plan, None).await) {
                    Ok(_) => true,
                    refused => {
                        assert_eq!(refusal_of(refused), KeywordRefused::KeywordExists);
                        false
                    }
                }
            });
            assert_eq!(made.iter().filter(|made| **made).count(), 1);
        }
    }

    /// A list is removed while keywords take it: none names it in the end.
    async fn a_list_that_is_removed_meanwhile_is_no_keywords(rig: &Rig) {
        let account = rig.account(0).await;
        for n in 0..6 {
            let list = rig.list(&account).await;
            let (owner, id) = (account.id, list.id);
            let plans = (0..4).map(|m| {
                let word = format!("word{n}x{m}");
                (m != 0).then(|| rig.keyword_plan(&account, &word, None, Some(id)))
            });
            let plans: Vec<_> = plans.collect();
            rig.race_each(plans, move |store, plan| async move {
                match plan {
                    Some(plan) => drop(done(store.keyword_save(plan, None).await)),
                    None => drop(store.list_delete(owner, id, Any).await.expect("removed")),
                }
            });
            let all = listed(rig, account.id, 100).await;
            assert!(all.iter().all(|keyword| keyword.add_to_list_id != Some(id)));
        }
    }
}
