//! Messages from short codes and names, which cannot be answered.

use sms_core::account::{Account, Mode};
use sms_core::contact::filter::ContactSearch;
use sms_core::contact::store::ContactsWanted;
use sms_core::conversation::{Conversation, ConversationFilter};
use sms_core::dispatch::VALIDITY;
use sms_core::event::EventType;
use sms_core::inbound::segment::{
    GaveUp, GiveUpPlan, InboundSegment, KEPT_FOR, Place, SegmentPlan, SegmentTaken, SegmentText,
};
use sms_core::inbound::{Origin, TakenIn, Unrouted};
use sms_core::keyword::reply_limit::ReplyLimits;
use sms_core::message::filter::Search;
use sms_core::message::{Direction, Message, MessageFilter};
use sms_core::originator::Originator;
use sms_core::phone::E164;
use sms_core::route::RouteName;

use crate::Rig;
use crate::rig::{event_of, millis, our_number, person, read_all, request};

const NAMES: [&str; 4] = ["ACME", "Acme", "60123", "Café & Co/24"];

fn named(name: &str) -> Originator {
    let originator = Originator::parse(name).expect("a name");
    assert!(originator.name().is_some(), "{name} is a number");
    originator
}

/// A message from a short code or a name.
async fn from_name(rig: &Rig, name: &str, to: E164, body: &str) -> TakenIn {
    let mut plan = rig.inbound_plan(1, to, body, Origin::Network);
    plan.text.from = named(name);
    rig.take_in(plan).await
}

async fn routed(rig: &Rig, name: &str, to: E164, body: &str) -> Message {
    match from_name(rig, name, to, body).await {
        TakenIn::Routed(message) => message,
        other => panic!("expected the message to be kept, and nothing else: {other:?}"),
    }
}

/// Segment `number` of a message in two.
fn segment(rig: &Rig, name: &str, to: E164, number: u8, body: &str) -> SegmentPlan {
    let part = InboundSegment {
        from: named(name),
        to,
        reference: 7,
        place: Place::new(number, 2).expect("a place"),
        text: SegmentText::whole(body),
        route: RouteName::new("smpp"),
        received_at: rig.now(),
    };
    SegmentPlan::new(part, VALIDITY, rig.now(), rig.ids())
}

async fn take(rig: &Rig, plan: SegmentPlan) -> SegmentTaken {
    rig.store().inbound_segment_take(plan).await.expect("the segment is taken in")
}

async fn unrouted(rig: &Rig) -> Vec<Unrouted> {
    read_all(2, async |page| rig.store().unrouted_list(page).await.expect("read")).await
}

async fn conversation(rig: &Rig, account: &Account, name: &str) -> Vec<Conversation> {
    let search = Some(ContactSearch::Number(named(name).number()));
    let filter = ConversationFilter { search, ..ConversationFilter::default() };
    rig.conversations_by(account.id, &filter, 2).await
}

async fn unread_of(rig: &Rig, account: &Account, name: &str) -> Option<u64> {
    let number = named(name).number();
    let read = rig.store().conversation_read(account.id, number, rig.now()).await;
    read.expect("the messages are marked")
}

async fn opted_out(rig: &Rig, account: &Account, name: &str) -> bool {
    let number = named(name).number();
    let among = rig.store().opt_outs_among(account.id, &[number]).await;
    !among.expect("opt-outs are read").is_empty()
}

scenarios! { Inbound;
    /// A message from a short code or a name to a dedicated number is kept with the name as it
    /// came, in every place that shows it.
    async fn a_message_from_a_name_is_kept_as_it_came(rig: &Rig) {
        let account = rig.account(5).await;
        let ours = rig.dedicated_number(person(900), &account).await.phone;
        let endpoint = rig.endpoint(&account, &[EventType::MessageReceived]).await;
        let mut all = Vec::new();
        for name in NAMES {
            rig.advance(millis(1));
            let message = routed(rig, name, ours, "Your code is 1234").await;
            assert_eq!((message.originator(), message.other_party()), (named(name), named(name)));
            assert_eq!((message.to, message.contact_id), (ours, None));
            assert_eq!(rig.message(&account, message.id).await, message);
            all.insert(0, message);
        }
        assert_eq!(rig.messages(account.id, &MessageFilter::default()).await, all);
        let by_name = |message: &Message| message.originator() == named("Acme");
        let found = Some(Search::Number(named("Acme").number()));
        let filter = MessageFilter { search: found, ..MessageFilter::default() };
        let of_acme: Vec<_> = all.iter().filter(|it| by_name(it)).cloned().collect();
        assert_eq!(rig.messages(account.id, &filter).await, of_acme);
        let shown = rig.deliveries(&endpoint).await;
        let shown: Vec<_> = shown.iter().map(|one| event_of(&one.body)["data"].clone()).collect();
        for message in &all {
            let data = serde_json::to_value(message).expect("a message is JSON");
            assert_eq!(data["from"], message.originator().to_string());
            assert!(shown.contains(&data), "an event tells of it: {data}");
        }
    }

    /// The words of a search go before the name that they are. If they find nothing, the name does.
    async fn a_search_finds_a_name_if_its_words_find_nothing(rig: &Rig) {
        let account = rig.account(5).await;
        let ours = rig.dedicated_number(person(900), &account).await.phone;
        let handle = rig.service().account(account.id, Mode::Live);
        for name in ["ACME", "Bank", "77009"] {
            rig.advance(millis(1));
            routed(rig, name, ours, "Your code is 1234").await;
        }
        rig.contact(&account, &crate::rig::named(1, "Acme Ltd")).await;
        rig.advance(millis(1));
        rig.inbound_routed(1, ours, "The bank in Street 77009").await;
        let (one, acme, bank) = (Originator::from(person(1)), named("ACME"), named("Bank"));
        for (q, expected) in [
            ("ACME", vec![one.clone()]),
            ("Bank", vec![bank.clone()]),
            ("bank", vec![]),
            ("77009", vec![one]),
        ] {
            let inbox = read_all(1, async |page| {
                handle.conversation_list(None, Some(q), page).await.expect("read").conversations
            });
            let found: Vec<_> = inbox.await.iter().map(Conversation::other_party).collect();
            assert_eq!(found, expected, "{q}");
        }
        let (inbound, outbound) = (Some(Direction::Inbound), Some(Direction::Outbound));
        for (q, direction, expected) in [
            ("ACME", None, Search::Number(acme.number())),
            ("ACME", inbound, Search::Number(acme.number())),
            ("acme", None, Search::Words("acme".to_owned())),
            ("Bank", None, Search::Words("bank".to_owned())),
            ("Bank", outbound, Search::Number(bank.number())),
            ("77009", inbound, Search::Words("77009".to_owned())),
        ] {
            let among = MessageFilter { direction, ..MessageFilter::default() };
            let search = handle.message_search(q, &among).await.expect("read");
            assert_eq!(search, Some(expected), "{q} {direction:?}");
        }
    }

    /// Each name has a conversation of its own, whose messages are marked as read like those of a
    /// number.
    async fn each_name_has_a_conversation(rig: &Rig) {
        let account = rig.account(5).await;
        let ours = rig.dedicated_number(person(900), &account).await.phone;
        for name in NAMES {
            rig.advance(millis(1));
            routed(rig, name, ours, "one").await;
            rig.advance(millis(1));
            let last = routed(rig, name, ours, "two").await;
            let shown = conversation(rig, &account, name).await;
            assert_eq!((shown.len(), shown[0].unread), (1, 2), "{name}");
            assert_eq!((shown[0].other_party(), &shown[0].last_message), (named(name), &last));
            assert_eq!(shown[0].contact, None);
        }
        let shown = rig.conversations(account.id).await;
        let names: Vec<_> = shown.iter().map(|one| one.other_party().to_string()).collect();
        assert_eq!(names, NAMES.into_iter().rev().collect::<Vec<_>>());
        assert_eq!(unread_of(rig, &account, "ACME").await, Some(2));
        assert_eq!(unread_of(rig, &account, "ACME").await, Some(0));
        assert_eq!(unread_of(rig, &account, "acme").await, None, "case matters");
        assert_eq!(rig.unread_total(&account).await, 6);
    }

    /// No word of a short code or a name opts it out or in, matches a keyword, makes a contact or
    /// is answered.
    async fn no_word_of_a_name_does_anything(rig: &Rig) {
        let account = rig.account(5).await;
        let ours = rig.dedicated_number(person(900), &account).await.phone;
        let list = rig.list(&account).await;
        let keyword = rig.keyword(&account, "pizza", Some("Yum"), Some(list.id)).await;
        for word in ["STOP", "UNSUBSCRIBE", "START", "pizza", "Pizza, please"] {
            let message = routed(rig, "ACME", ours, word).await;
            assert_eq!(message.contact_id, None, "{word}");
            assert!(!opted_out(rig, &account, "ACME").await, "{word}");
        }
        let now = rig.keyword_now(account.id, keyword.id).await.expect("the keyword is there");
        assert_eq!((now.match_count, rig.balance(&account).await), (0, 5));
        let number = named("ACME").number();
        let wanted = [number];
        let contacts = rig.store().contacts_among(account.id, ContactsWanted::Phones(&wanted));
        let contacts = contacts.await;
        assert_eq!(contacts.expect("contacts are read"), []);
    }

    /// On a shared number a message from a name belongs to no account: it is kept for the operator,
    /// with its name.
    async fn on_a_shared_number_a_name_is_unrouted(rig: &Rig) {
        let account = rig.account(5).await;
        rig.shared_number(our_number()).await;
        rig.send(&account, &request([1])).await;
        rig.leave_all().await;
        for name in ["ACME", "60123"] {
            rig.advance(millis(1));
            let taken = from_name(rig, name, our_number(), "Hello").await;
            let TakenIn::Unrouted(text) = taken else { panic!("{name} has no account: {taken:?}") };
            assert_eq!(text.from, named(name));
            assert_eq!(unrouted(rig).await[0], text);
        }
        rig.advance(millis(1));
        rig.inbound(2, our_number(), "Hello").await;
        let kept: Vec<_> = unrouted(rig).await.into_iter().map(|text| text.from).collect();
        assert_eq!(kept, [person(2).into(), named("60123"), named("ACME")]);
        assert_eq!(rig.conversations(account.id).await, []);
    }

    /// The segments of a long message from a name are joined, or given up after a day, and the name
    /// stays; segments of another name are none of it.
    async fn segments_of_a_name_are_joined_and_given_up(rig: &Rig) {
        let account = rig.account(5).await;
        let ours = rig.dedicated_number(person(900), &account).await.phone;
        for name in ["ACME", "60123", "Acme"] {
            let taken = take(rig, segment(rig, name, ours, 2, "OP")).await;
            assert_eq!(taken, SegmentTaken::Waiting, "{name}");
        }
        let taken = take(rig, segment(rig, "ACME", ours, 1, "ST")).await;
        let SegmentTaken::Joined(TakenIn::Routed(joined)) = taken else { panic!("{taken:?}") };
        assert_eq!((joined.originator(), joined.body.as_str()), (named("ACME"), "STOP"));
        assert_eq!(take(rig, segment(rig, "ACME", ours, 1, "ST")).await, SegmentTaken::Repeat);
        assert!(!opted_out(rig, &account, "ACME").await);
        rig.advance(KEPT_FOR);
        rig.advance(millis(1));
        let mut given_up = Vec::new();
        for _ in 0..3 {
            let (validity, reply_limits) = (VALIDITY, ReplyLimits::default());
            let before = rig.now().minus(KEPT_FOR);
            let plan = GiveUpPlan { before, validity, reply_limits, at: rig.now(), ids: rig.ids() };
            let gave_up = rig.store().inbound_segment_give_up(plan).await.expect("answered");
            if let GaveUp::TakenIn(TakenIn::Routed(message)) = gave_up {
                assert_eq!(rig.message(&account, message.id).await, message);
                assert_eq!(message.body.as_str(), "[...]OP");
                given_up.push(message.originator().to_string());
            }
        }
        given_up.sort();
        assert_eq!(given_up, ["60123", "Acme"]);
    }

    /// A segment of a name to a number without a holder is kept for the operator, with its name.
    async fn an_unrouted_message_in_segments_keeps_its_name(rig: &Rig) {
        take(rig, segment(rig, "ACME", our_number(), 1, "a")).await;
        let taken = take(rig, segment(rig, "ACME", our_number(), 2, "b")).await;
        let SegmentTaken::Joined(TakenIn::Unrouted(text)) = taken else { panic!("{taken:?}") };
        assert_eq!((&text.from, text.body.as_str()), (&named("ACME"), "ab"));
        assert_eq!(unrouted(rig).await, [text]);
    }
}
