//! Conversations.

use sms_core::account::Account;
use sms_core::contact::ContactPatch;
use sms_core::conversation::{ConversationFilter, ReadState};
use sms_core::inbound::Origin;
use sms_core::message::Message;
use sms_core::phone::E164;

use crate::Rig;
use crate::rig::{done, millis, named, page, person, read_all, request, seconds};

fn people(numbers: &[u16]) -> Vec<E164> {
    numbers.iter().map(|n| person(*n)).collect()
}

/// An account with a dedicated number.
async fn inbox(rig: &Rig, credits: u64) -> (Account, E164) {
    let account = rig.account(credits).await;
    let number = rig.dedicated_number(person(900), &account).await;
    (account, number.phone)
}

/// These people send a message, one after another.
async fn texted(rig: &Rig, ours: E164, numbers: &[u16]) {
    for n in numbers {
        rig.advance(millis(u64::from(n % 2)));
        rig.inbound_routed(*n, ours, "Hello").await;
    }
}

scenarios! { Conversation;
    /// A conversation begins when a number sends the account a message, not when it receives one,
    /// and shows the newest message.
    async fn a_conversation_begins_with_a_message_that_comes_in(rig: &Rig) {
        let (account, ours) = inbox(rig, 10).await;
        assert_eq!(rig.conversations(account.id).await, []);
        rig.text(&account, 1).await;
        assert_eq!(rig.conversations(account.id).await, []);
        assert_eq!(rig.unread_total(&account).await, 0);
        rig.advance(seconds(1));
        let came = rig.inbound_routed(1, ours, "Hello").await;
        let shown = rig.conversations(account.id).await.remove(0);
        assert_eq!((shown.number, shown.unread, shown.contact), (person(1), 1, None));
        assert_eq!(shown.last_message, came);
        rig.advance(seconds(1));
        let answer = rig.text(&account, 1).await;
        let shown = rig.conversations(account.id).await.remove(0);
        assert_eq!((shown.unread, shown.last_message), (1, answer));
    }

    /// Every message from a number or to it moves its conversation to the front, test messages and
    /// messages for later too; what is refused moves nothing.
    async fn every_message_moves_its_conversation_to_the_front(rig: &Rig) {
        let (account, ours) = inbox(rig, 10).await;
        texted(rig, ours, &[1, 2, 3]).await;
        assert_eq!(rig.talkers(&account, None, "").await, people(&[3, 2, 1]));
        rig.advance(seconds(1));
        rig.text(&account, 2).await;
        assert_eq!(rig.talkers(&account, None, "").await, people(&[2, 3, 1]));
        rig.advance(seconds(1));
        rig.send_test(&account, &request([1, 9])).await;
        assert_eq!(rig.talkers(&account, None, "").await, people(&[1, 2, 3]));
        let later = request([3]).schedule_at(rig.now().plus(seconds(3_600)));
        rig.send(&account, &later).await;
        assert_eq!(rig.talkers(&account, None, "").await, people(&[3, 1, 2]));
        let too_much = rig.plan(&account, &request((1..=20).collect::<Vec<_>>()));
        rig.accept(too_much).await.expect_err("it costs more than there is");
        assert_eq!(rig.talkers(&account, None, "").await, people(&[3, 1, 2]));
        texted(rig, ours, &[1]).await;
        assert_eq!(rig.talkers(&account, None, "").await, people(&[1, 3, 2]));
    }

    /// Each account has separate conversations with the same number.
    async fn conversations_are_an_accounts_own(rig: &Rig) {
        let (account, ours) = inbox(rig, 10).await;
        let other = rig.account(10).await;
        let others = rig.dedicated_number(person(901), &other).await;
        texted(rig, ours, &[1, 2]).await;
        texted(rig, others.phone, &[2]).await;
        rig.text(&other, 1).await;
        assert_eq!(rig.talkers(&account, None, "").await, people(&[2, 1]));
        assert_eq!(rig.talkers(&other, None, "").await, people(&[2]));
        assert_eq!(rig.read(&other, 2).await, Some(1));
        assert_eq!(rig.read(&other, 1).await, None);
        assert_eq!((rig.unread_total(&account).await, rig.unread_total(&other).await), (2, 0));
        assert_eq!(rig.conversations(rig.id()).await, []);
    }

    /// A page continues where the previous one ended. A conversation with a new message moves ahead
    /// of every page still to come. No conversation that stays in its place is missed, and none is
    /// shown twice.
    async fn pages_of_conversations_miss_nobody_who_does_not_move(rig: &Rig) {
        let (account, ours) = inbox(rig, 10).await;
        texted(rig, ours, &[1, 2, 3, 4, 5, 6]).await;
        let all = ConversationFilter::default();
        let store = rig.store();
        let first = store.conversation_list(account.id, &all, page(2, None)).await.expect("read");
        rig.advance(seconds(1));
        texted(rig, ours, &[2, 6, 7]).await;
        let second = page(2, first.next);
        let second = store.conversation_list(account.id, &all, second).await.expect("read");
        rig.text(&account, 3).await;
        let third = page(2, second.next);
        let third = store.conversation_list(account.id, &all, third).await.expect("read");
        let shown = [first, second, third].map(|page| {
            page.items.iter().map(|one| one.number).collect::<Vec<_>>()
        });
        assert_eq!(shown, [people(&[6, 5]), people(&[4, 3]), people(&[1])]);
        let moving = read_all(1, async |wanted| {
            texted(rig, ours, &[8]).await;
            store.conversation_list(account.id, &all, wanted).await.expect("read")
        });
        let shown: Vec<E164> = moving.await.iter().map(|one| one.number).collect();
        assert_eq!(shown, people(&[8, 3, 7, 6, 2, 5, 4, 1]));
    }

    /// Marking as read marks every message of the number that came in and is not read, once.
    async fn marking_as_read_marks_what_came_in_once(rig: &Rig) {
        let (account, ours) = inbox(rig, 10).await;
        texted(rig, ours, &[1, 1, 2]).await;
        let sent = rig.text(&account, 1).await;
        let read_at = rig.advance(seconds(1));
        assert_eq!(rig.read(&account, 1).await, Some(2));
        rig.advance(seconds(1));
        assert_eq!(rig.read(&account, 1).await, Some(0));
        texted(rig, ours, &[1]).await;
        let messages = rig.messages(account.id, &sms_core::message::MessageFilter::default()).await;
        let marked = |text: &&Message| text.times.read_at == Some(read_at);
        assert_eq!(messages.iter().filter(marked).count(), 2);
        assert_eq!(rig.message(&account, sent.id).await.times.read_at, None);
        assert_eq!(rig.unread_total(&account).await, 2);
        assert_eq!(rig.talkers(&account, Some(ReadState::Unread), "").await, people(&[1, 2]));
        assert_eq!(rig.read(&account, 1).await, Some(1));
        assert_eq!(rig.talkers(&account, Some(ReadState::Unread), "").await, people(&[2]));
        assert_eq!(rig.talkers(&account, Some(ReadState::Read), "").await, people(&[1]));
        assert_eq!(rig.read(&account, 3).await, None);
    }

    /// Conversations are found by a number, a part of one, or words of the name that their contact
    /// has now.
    async fn conversations_are_found_by_number_and_name(rig: &Rig) {
        let (account, ours) = inbox(rig, 10).await;
        texted(rig, ours, &[101, 102, 103]).await;
        let ann = rig.contact(&account, &named(101, "Ann-Äther")).await;
        rig.contact(&account, &named(103, "Bea 101%")).await;
        rig.contact(&account, &named(104, "Ann")).await;
        for (q, found) in [
            ("07700 900102", vec![102]),
            ("+44 7700 900999", vec![]),
            ("900 10", vec![103, 102, 101]),
            ("101", vec![103, 101]),
            ("äTHER", vec![101]),
            ("101%", vec![103]),
            ("_", vec![]),
            ("' OR 1=1 --", vec![]),
            (" ", vec![103, 102, 101]),
        ] {
            assert_eq!(rig.talkers(&account, None, q).await, people(&found), "{q}");
        }
        let renamed = ContactPatch::default().first_name(None);
        rig.update_contact(&ann, renamed).await.expect("changed");
        assert_eq!(rig.talkers(&account, None, "äther").await, people(&[]));
        rig.remove_contact(&ann).await;
        let shown = rig.conversations(account.id).await;
        assert_eq!(shown.iter().filter(|one| one.contact.is_some()).count(), 1);
    }

    /// A message that comes in says which saved contact it is from.
    async fn a_message_of_a_saved_contact_says_so(rig: &Rig) {
        let (account, ours) = inbox(rig, 10).await;
        assert_eq!(rig.inbound_routed(1, ours, "Hello").await.contact_id, None);
        let contact = rig.contact(&account, &named(1, "Ann")).await;
        let text = rig.inbound_routed(1, ours, "Hello").await;
        assert_eq!(text.contact_id, Some(contact.id));
        assert_eq!(rig.message(&account, text.id).await, text);
        rig.remove_contact(&contact).await;
        assert_eq!(rig.inbound_routed(1, ours, "Hello").await.contact_id, None);
        assert_eq!(rig.message(&account, text.id).await.contact_id, Some(contact.id));
    }

    /// Messages in, messages out and markings of one number race: place and counts are exact, and
    /// every message is marked once.
    async fn racing_messages_and_markings_are_counted_exactly(rig: &Rig) {
        let (account, ours) = inbox(rig, 1_000).await;
        for round in 0..4 {
            let before = rig.unread_total(&account).await;
            let (owner, at) = (account.id, rig.advance(millis(5)));
            let plans: Vec<_> = (0..24)
                .map(|n| {
                    let talk = rig.inbound_plan(1 + n % 2, ours, "Hello", Origin::Network);
                    (n, talk, rig.plan(&account, &request([1, 2])))
                })
                .collect();
            let marked = rig.race_each(plans, move |store, (n, talk, send)| async move {
                match n % 3 {
                    0 => store.conversation_read(owner, person(1), at).await.expect("marked"),
                    1 => {
                        done(store.inbound_take(talk, None).await).expect("taken in");
                        None
                    }
                    _ => {
                        store.send_accept(vec![send]).await.remove(0).expect("accepted");
                        None
                    }
                }
            });
            let marked: u64 = marked.into_iter().flatten().sum();
            let left = rig.unread_total(&account).await;
            assert_eq!(left + marked, before + 8, "round {round}");
        }
    }

    /// The first message of a number races with sends to it: the conversation ends with the newest
    /// of them, whichever came first.
    async fn a_conversation_that_begins_while_it_is_texted_has_its_place(rig: &Rig) {
        let (account, ours) = inbox(rig, 1_000).await;
        for n in 1..=12 {
            let first = rig.inbound_plan(n, ours, "Hello", Origin::Network);
            let sends = (0..4).map(|_| (None, rig.plan(&account, &request([n]))));
            let mut all: Vec<_> = sends.collect();
            all.push((Some(first), rig.plan(&account, &request([n]))));
            rig.race_each(all, |store, (talk, send)| async move {
                match talk {
                    Some(talk) => {
                        drop(done(store.inbound_take(talk, None).await).expect("taken in"));
                    }
                    None => drop(store.send_accept(vec![send]).await.remove(0).expect("accepted")),
                }
            });
            let shown = rig.conversations(account.id).await.remove(0);
            assert_eq!(shown.last_message, rig.newest_message(&account).await);
        }
    }
}
