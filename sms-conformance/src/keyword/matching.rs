//! Keywords: what a message that begins with one sets off.

use sms_core::account::{Account, AccountStatus};
use sms_core::contact::store::ContactsWanted;
use sms_core::credits::ledger::Kind;
use sms_core::event::EventType;
use sms_core::ids::ContactId;
use sms_core::inbound::{InboundMessage, InboundPlan, Origin, SHARED_REACH, TakenIn};
use sms_core::keyword::reply::{MOST_REPLIES, REPLY_WINDOW};
use sms_core::keyword::save::KeywordPatch;
use sms_core::keyword::{Keyword, Listening};
use sms_core::message::{Body, ErrorCode, Message, MessageFilter, MessageStatus};
use sms_core::phone::E164;
use sms_core::route::{Comeback, Simulated};
use sms_core::version::IfVersion::Any;

use crate::Rig;
use crate::rig::{
    done, event_of, millis, named, our_number, person, refused, request, seconds, taken_with,
};

/// An account with a dedicated number.
async fn inbox(rig: &Rig, credits: u64) -> (Account, E164) {
    let account = rig.account(credits).await;
    let number = rig.dedicated_number(person(900), &account).await;
    (account, number.phone)
}

/// Someone sends a message. Returns the message and the answers.
async fn texted(rig: &Rig, from: u16, ours: E164, body: &str) -> (Message, Option<Message>) {
    match rig.inbound(from, ours, body).await {
        TakenIn::Routed(text) => (text, None),
        TakenIn::Answered(text, answer) => (text, Some(*answer)),
        other => panic!("expected the text to belong to an account, not {other:?}"),
    }
}

async fn matches(rig: &Rig, keyword: &Keyword) -> u64 {
    let now = rig.keyword_now(keyword.account, keyword.id).await;
    now.expect("the keyword is there").match_count
}

async fn contact_of(rig: &Rig, account: &Account, n: u16) -> Option<ContactId> {
    let found = rig.store().contacts_among(account.id, ContactsWanted::Phones(&[person(n)])).await;
    found.expect("contacts are read").first().map(|contact| contact.id)
}

scenarios! { Keyword;
    /// A match is counted; the sender becomes a contact, is put on the list, and is answered from
    /// the number that the message was sent to, by a message like any other: queued, charged, and
    /// reported.
    async fn a_match_makes_a_contact_puts_it_on_the_list_and_answers(rig: &Rig) {
        let (account, ours) = inbox(rig, 10).await;
        let endpoint = rig.endpoint(&account, &EventType::SUBSCRIBABLE).await;
        let list = rig.list(&account).await;
        let keyword = rig.keyword(&account, "pizza", Some("Yum {phone}"), Some(list.id)).await;
        let at = rig.advance(millis(5));
        let (text, answer) = texted(rig, 1, ours, "  «Pizza!» for two").await;
        let answer = answer.expect("it is answered");
        let contact = contact_of(rig, &account, 1).await;
        assert!(contact.is_some() && text.contact_id == contact && answer.contact_id == contact);
        let contact_id = serde_json::to_value(contact).expect("an id is JSON");
        assert_eq!(rig.members(&list).await.len(), 1);
        let now = rig.keyword_now(account.id, keyword.id).await;
        let expected = Keyword { match_count: 1, last_matched_at: Some(at), ..keyword.clone() };
        assert_eq!(now, Some(expected));
        assert_eq!((answer.from, answer.to), (ours, person(1)));
        assert_eq!(answer.body.as_str(), format!("Yum {}", person(1)));
        assert_eq!((answer.status, answer.credits.get()), (MessageStatus::Queued, 1));
        assert_eq!(rig.message(&account, answer.id).await, answer);
        assert_eq!(rig.ledger_lines(&account).await[0], (Kind::Send, -1, 9));
        let told = rig.deliveries(&endpoint).await;
        assert_eq!((told.len(), told[0].event_type), (1, EventType::MessageReceived));
        assert_eq!(event_of(&told[0].body)["data"]["contact_id"], contact_id);
        rig.leave_all().await;
        assert_eq!(rig.status(&account, answer.id).await, MessageStatus::Sent);
        rig.advance(millis(5));
        let (again, _) = texted(rig, 1, ours, "PIZZA").await;
        assert_eq!((again.contact_id, matches(rig, &keyword).await), (contact, 2));
        assert_eq!(rig.members(&list).await.len(), 1);
    }

    /// A contact that was there stays as it is, and its fields fill the reply.
    async fn a_reply_is_filled_from_the_contact(rig: &Rig) {
        let (account, ours) = inbox(rig, 10).await;
        let mut input = named(1, "Ann");
        let points = sms_core::contact::CustomValue::Number(5.into());
        input.custom.insert("points".to_owned(), Some(points));
        let ann = rig.contact(&account, &input).await;
        rig.keyword(&account, "hi", Some("{first_name}: {points} {none}"), None).await;
        let (text, answer) = texted(rig, 1, ours, "hi").await;
        assert_eq!(text.contact_id, Some(ann.id));
        assert_eq!(answer.expect("answered").body.as_str(), "Ann: 5 {none}");
        assert_eq!(rig.contact_now(&ann).await.expect("there").0, ann);
        let (_, answer) = texted(rig, 2, ours, "hi").await;
        assert_eq!(answer.expect("answered").body.as_str(), ":  {none}");
    }

    /// Only an enabled keyword of the account matches, and only as the first word.
    async fn only_an_enabled_keyword_matches_the_first_word(rig: &Rig) {
        let (account, ours) = inbox(rig, 10).await;
        let other = rig.account(10).await;
        rig.keyword(&other, "pasta", Some("x"), None).await;
        let keyword = rig.keyword(&account, "pizza", Some("Yum"), None).await;
        for body in ["a pizza", "pizzas", "pasta", "", "?!"] {
            let (text, answer) = texted(rig, 1, ours, body).await;
            assert_eq!((text.contact_id, answer), (None, None), "{body}");
        }
        let off = KeywordPatch::default().listening(Listening::Off);
        rig.change_keyword(&keyword, off, None).await.expect("changed");
        assert_eq!(texted(rig, 1, ours, "pizza").await.1, None);
        assert_eq!((matches(rig, &keyword).await, contact_of(rig, &account, 1).await), (0, None));
        let on = KeywordPatch::default().listening(Listening::On);
        rig.change_keyword(&keyword, on, None).await.expect("changed");
        assert!(texted(rig, 1, ours, "p-i-z-z-a").await.1.is_some());
        assert!(rig.store().keyword_delete(account.id, keyword.id, Any).await.expect("removed"));
        assert_eq!(texted(rig, 1, ours, "pizza").await.1, None);
    }

    /// REVOKE and REMOVE opt out, unless the account has them as keywords that are on; STOP and
    /// START always do what they say.
    async fn revoke_and_remove_opt_out_unless_they_are_keywords(rig: &Rig) {
        let (account, ours) = inbox(rig, 10).await;
        let keyword = rig.keyword(&account, "remove", Some("Gone"), None).await;
        assert!(texted(rig, 1, ours, "Remove me").await.1.is_some());
        assert!(!rig.has_opted_out(&account, 1).await);
        assert_eq!(texted(rig, 1, ours, "revoke").await.1, None);
        assert!(rig.has_opted_out(&account, 1).await);
        texted(rig, 1, ours, "START").await;
        assert!(!rig.has_opted_out(&account, 1).await);
        let off = KeywordPatch::default().listening(Listening::Off);
        rig.change_keyword(&keyword, off, None).await.expect("changed");
        assert_eq!(texted(rig, 1, ours, "remove").await.1, None);
        assert!(rig.has_opted_out(&account, 1).await);
    }

    /// A person who opted out still matches, and gets no answer; nor does anybody where credit is
    /// short, the account may not send, or there is no reply.
    async fn a_match_without_an_answer_still_counts(rig: &Rig) {
        let (account, ours) = inbox(rig, 1).await;
        let list = rig.list(&account).await;
        let keyword = rig.keyword(&account, "pizza", Some("Yum"), Some(list.id)).await;
        rig.opt_out(&account, 1).await;
        assert_eq!(texted(rig, 1, ours, "pizza").await.1, None);
        assert!(texted(rig, 2, ours, "pizza").await.1.is_some());
        assert_eq!(rig.balance(&account).await, 0);
        assert_eq!(texted(rig, 3, ours, "pizza").await.1, None);
        rig.adjust(&account, 5).await.expect("topped up");
        for status in [AccountStatus::Pending, AccountStatus::Suspended] {
            rig.set_status(&account, status).await;
            assert_eq!(texted(rig, 4, ours, "pizza").await.1, None);
        }
        rig.set_status(&account, AccountStatus::Active).await;
        let silent = KeywordPatch::default().reply(None);
        rig.change_keyword(&keyword, silent, None).await.expect("changed");
        assert_eq!(texted(rig, 5, ours, "pizza").await.1, None);
        assert_eq!(rig.members(&list).await.len(), 5);
        assert_eq!((matches(rig, &keyword).await, rig.balance(&account).await), (6, 5));
    }

    /// An answer that fails before it leaves is refunded, and one to a number that opts out
    /// meanwhile never leaves.
    async fn an_answer_is_refunded_like_any_message(rig: &Rig) {
        let (account, ours) = inbox(rig, 5).await;
        rig.keyword(&account, "pizza", Some("Yum"), None).await;
        texted(rig, 1, ours, "pizza").await;
        let (_, answer) = texted(rig, 2, ours, "pizza").await;
        assert_eq!(rig.balance(&account).await, 3);
        texted(rig, 2, ours, "STOP").await;
        let hand = rig.claim_all().await;
        assert_eq!((hand.messages.len(), hand.failed), (1, 1));
        rig.finish(&hand, &refused()).await;
        let answer = rig.message(&account, answer.expect("answered").id).await;
        let failed = (MessageStatus::Failed, Some(ErrorCode::OptedOut));
        assert_eq!((answer.status, answer.error), failed);
        assert_eq!(rig.balance(&account).await, 5);
    }

    /// On a shared number a keyword works for people to whom the account sent a message within 30
    /// days.
    async fn on_a_shared_number_a_keyword_reaches_who_was_texted_lately(rig: &Rig) {
        let account = rig.account(10).await;
        rig.shared_number(our_number()).await;
        let keyword = rig.keyword(&account, "pizza", Some("Yum"), None).await;
        rig.message_that_left(&account, 1).await;
        rig.advance(SHARED_REACH);
        assert!(texted(rig, 1, our_number(), "pizza").await.1.is_some());
        rig.advance(millis(1));
        for from in [1, 2] {
            let taken = rig.inbound(from, our_number(), "pizza").await;
            assert!(matches!(taken, TakenIn::Unrouted(_)), "{from}: {taken:?}");
        }
        assert_eq!(matches(rig, &keyword).await, 1);
    }

    /// One number gets a bounded number of answers an hour, of all keywords together. Other numbers
    /// and the next hour are not affected.
    async fn answers_to_one_number_are_limited_by_the_hour(rig: &Rig) {
        let (account, ours) = inbox(rig, 100).await;
        let keyword = rig.keyword(&account, "pizza", Some("Yum"), None).await;
        rig.keyword(&account, "pasta", Some("Mmh"), None).await;
        let began = rig.now();
        for n in 0..MOST_REPLIES {
            let word = ["pizza", "pasta"][n % 2];
            assert!(texted(rig, 1, ours, word).await.1.is_some(), "answer {n}");
            rig.advance(seconds(1));
        }
        assert_eq!(texted(rig, 1, ours, "pasta").await.1, None);
        assert!(texted(rig, 2, ours, "pasta").await.1.is_some());
        rig.advance_to(began.plus(REPLY_WINDOW).minus(millis(1)));
        assert_eq!(texted(rig, 1, ours, "pizza").await.1, None);
        rig.advance(millis(1));
        assert!(texted(rig, 1, ours, "pizza").await.1.is_some());
        assert_eq!(texted(rig, 1, ours, "pizza").await.1, None);
        let matched = u64::try_from(MOST_REPLIES / 2).expect("few") + 3;
        assert_eq!(matches(rig, &keyword).await, matched);
    }

    /// The operator's own numbers are never answered, so that two accounts never talk for ever.
    async fn our_own_numbers_are_not_answered(rig: &Rig) {
        let (account, ours) = inbox(rig, 10).await;
        rig.shared_number(our_number()).await;
        let keyword = rig.keyword(&account, "pizza", Some("pizza"), None).await;
        assert_eq!(texted(rig, 0, ours, "pizza").await.1, None);
        assert_eq!(matches(rig, &keyword).await, 1);
    }

    /// A test message's simulated answer is answered by a test message: free, and within the hour's
    /// limit of them.
    async fn a_test_message_is_answered_by_a_test_message(rig: &Rig) {
        let (account, _) = inbox(rig, 0).await;
        rig.keyword(&account, "pizza", Some("Yum"), None).await;
        rig.send_test(&account, &request([1])).await;
        rig.advance(seconds(1));
        let hand = rig.claim_all().await;
        let echo = Simulated { after: seconds(3), what: Comeback::Reply(Body::new("Pizza")) };
        rig.finish(&hand, &taken_with([echo])).await;
        rig.advance(seconds(3));
        let row = rig.follow_ups().await.remove(0);
        let Comeback::Reply(body) = row.what else { panic!("no receipt is owed") };
        let (from, to, route) = (row.person.into(), row.number, row.route);
        let text = InboundMessage { from, to, body, route };
        let origin = Origin::Answer { to: row.message, follow_up: row.id };
        let plan = InboundPlan::new(text, origin, rig.now(), rig.ids());
        let TakenIn::Answered(text, answer) = rig.take_in(plan).await else { panic!("silent") };
        assert!(text.mode.is_test() && answer.mode.is_test());
        assert_eq!((answer.credits.get(), answer.route.as_str()), (0, "test"));
    }

    /// Messages that match race: each is counted, the sender is one contact on the list, and no
    /// more answers go out than there is credit for.
    async fn racing_matches_are_counted_exactly(rig: &Rig) {
        let (account, ours) = inbox(rig, 5).await;
        let list = rig.list(&account).await;
        let keyword = rig.keyword(&account, "pizza", Some("Yum"), Some(list.id)).await;
        let plans: Vec<_> =
            (0..12).map(|n| rig.inbound_plan(1 + n % 4, ours, "pizza", Origin::Network)).collect();
        let taken = rig.race_each(plans, |store, plan| async move {
            done(store.inbound_take(plan, None).await).expect("taken in")
        });
        let answered = taken.iter().filter(|one| matches!(one, TakenIn::Answered(..))).count();
        assert_eq!((answered, rig.balance(&account).await), (5, 0));
        assert_eq!((matches(rig, &keyword).await, rig.members(&list).await.len()), (12, 4));
        let all = rig.messages(account.id, &MessageFilter::default()).await;
        assert_eq!(all.len(), 17);
    }

    /// Matches race with changes of the keyword, of its list and of contacts, and with sends: no
    /// match is lost while the keyword is on, and nothing stands in another's way for ever.
    async fn matches_race_with_changes_of_what_they_depend_on(rig: &Rig) {
        let (account, ours) = inbox(rig, 1_000).await;
        for round in 0..4_u16 {
            let list = rig.list(&account).await;
            let word = format!("word{round}");
            let keyword = rig.keyword(&account, &word, Some("Yum"), Some(list.id)).await;
            let (owner, id) = (account.id, list.id);
            let items: Vec<_> = (0..15_u16)
                .map(|n| {
                    let from = 100 * round + 100 + n;
                    let text = rig.inbound_plan(from, ours, &word, Origin::Network);
                    let joined = rig.join_plan(&list, &[], &[from]);
                    (n, text, joined, rig.plan(&account, &request([from])))
                })
                .collect();
            rig.race_each(items, move |store, (n, text, joined, send)| async move {
                match n % 5 {
                    0 => drop(store.list_join(joined).await),
                    1 => drop(store.send_accept(vec![send]).await.remove(0).expect("accepted")),
                    2 if n == 2 => drop(store.list_delete(owner, id, Any).await.expect("removed")),
                    _ => drop(done(store.inbound_take(text, None).await).expect("taken in")),
                }
            });
            let now = rig.keyword_now(owner, keyword.id).await.expect("there");
            assert_eq!((now.match_count, now.add_to_list_id), (8, None), "round {round}");
        }
    }
}
