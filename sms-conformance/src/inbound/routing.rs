//! Whose an inbound message is.

use sms_core::account::{Account, Mode};
use sms_core::event::EventType;
use sms_core::ids::AccountId;
use sms_core::inbound::{Origin, SHARED_REACH, TakenIn, Unrouted};
use sms_core::message::{Direction, MessageFilter, MessageStatus, Times};
use sms_core::upkeep::Chore;

use crate::Rig;
use crate::rig::{
    event_of, millis, our_number, page, person, read_all, refused, request, seconds, taken,
};

/// The account that a message from this person to the shared number belongs to.
async fn owner(rig: &Rig, from: u16) -> Option<AccountId> {
    match rig.inbound(from, our_number(), "Hello").await {
        TakenIn::Routed(message) | TakenIn::Answered(message, _) => Some(message.account),
        TakenIn::Unrouted(_) => None,
        TakenIn::AlreadyDone => panic!("a text of a network is never done already"),
    }
}

async fn unrouted(rig: &Rig) -> Vec<Unrouted> {
    read_all(2, async |page| rig.store().unrouted_list(page).await.expect("read")).await
}

/// Sends from this number, and has the message leave.
async fn leave_from(rig: &Rig, account: &Account, number: u16, to: u16) {
    let plan = rig.plan_from(person(number), account, Mode::Live, &request([to]));
    rig.accept(plan).await.expect("accepted");
    rig.leave_all().await;
}

scenarios! { Inbound;
    /// A message to a dedicated number belongs to its account, whatever its sender; it is kept
    /// whole, and notifies the endpoints.
    async fn a_message_to_a_dedicated_number_belongs_to_its_account(rig: &Rig) {
        let (account, other) = (rig.account(0).await, rig.account(0).await);
        let number = rig.dedicated_number(person(900), &account).await;
        let endpoint = rig.endpoint(&account, &EventType::SUBSCRIBABLE).await;
        let others = rig.endpoint(&other, &EventType::SUBSCRIBABLE).await;
        let body = "Grüße 🐦 %_\\' ".repeat(12);
        let plan = rig.inbound_plan(1, number.phone, &body, Origin::Network);
        let TakenIn::Routed(message) = rig.take_in(plan.clone()).await else { panic!("unrouted") };
        assert_eq!((message.id, message.account), (plan.id, account.id));
        assert_eq!((message.direction, message.mode), (Direction::Inbound, Mode::Live));
        assert_eq!((message.to, message.from), (number.phone, person(1)));
        assert_eq!((message.body.as_str(), &message.route), (body.as_str(), &plan.text.route));
        assert!(message.segments == plan.segments && message.segments.get() > 1);
        let received_at = Some(rig.now());
        assert_eq!(message.times, Times { received_at, ..Times::default() });
        let (kept, timeline) = rig.message_and_timeline(account.id, message.id).await;
        assert_eq!(kept, message);
        assert_eq!((timeline.len(), timeline[0].status), (1, MessageStatus::Received));
        let deliveries = rig.deliveries(&endpoint).await;
        assert_eq!((deliveries.len(), deliveries[0].event_type), (1, EventType::MessageReceived));
        let event = event_of(&deliveries[0].body);
        assert_eq!(event["data"], serde_json::to_value(&message).expect("a text is JSON"));
        assert_eq!(rig.deliveries(&others).await, []);
        assert_eq!(unrouted(rig).await, []);
    }

    /// A message to a shared number belongs to the account that last sent the person a message.
    async fn a_message_to_a_shared_number_belongs_to_who_texted_last(rig: &Rig) {
        let (one, two) = (rig.account(10).await, rig.account(10).await);
        rig.shared_number(our_number()).await;
        assert_eq!(owner(rig, 1).await, None);
        for account in [&one, &two, &one] {
            rig.advance(seconds(1));
            rig.message_that_left(account, 1).await;
            assert_eq!(owner(rig, 1).await, Some(account.id));
        }
        assert_eq!(owner(rig, 2).await, None, "nobody texted this person");
    }

    /// Thirty days lead an answer back, and not a millisecond more.
    async fn a_shared_number_leads_back_for_thirty_days(rig: &Rig) {
        let account = rig.account(10).await;
        rig.shared_number(our_number()).await;
        rig.message_that_left(&account, 1).await;
        rig.advance(SHARED_REACH);
        assert_eq!(owner(rig, 1).await, Some(account.id));
        rig.advance(millis(1));
        assert_eq!(owner(rig, 1).await, None);
    }

    /// The thirty days count from when a message left, not from when it was accepted.
    async fn thirty_days_count_from_when_a_message_left(rig: &Rig) {
        let account = rig.account(10).await;
        rig.shared_number(our_number()).await;
        let later = request([1]).schedule_at(rig.now().plus(SHARED_REACH));
        rig.send(&account, &later).await;
        rig.advance(SHARED_REACH);
        rig.leave_all().await;
        rig.advance(SHARED_REACH);
        assert_eq!(owner(rig, 1).await, Some(account.id));
    }

    /// Who sent messages to whom too long ago is forgotten in portions, the younger contacts stay,
    /// and a message of someone forgotten is kept for the operator.
    async fn contacts_past_their_reach_are_forgotten_in_portions(rig: &Rig) {
        let account = rig.account(10).await;
        rig.shared_number(our_number()).await;
        for person in 1..=3 {
            rig.message_that_left(&account, person).await;
        }
        let younger = rig.advance(millis(1));
        rig.message_that_left(&account, 4).await;
        let tidy = async || {
            let tidied = rig.store().tidy(Chore::LastContacts { before: younger }, 2);
            tidied.await.expect("tidied")
        };
        assert_eq!([tidy().await, tidy().await, tidy().await], [2, 1, 0]);
        assert_eq!(owner(rig, 4).await, Some(account.id));
        assert_eq!(owner(rig, 1).await, None);
        assert_eq!(unrouted(rig).await.len(), 1);
    }

    /// Only live messages that left count: none that waits, is in a worker's hands or failed, and
    /// no test message.
    async fn only_live_messages_that_left_lead_back(rig: &Rig) {
        let (account, other) = (rig.account(10).await, rig.account(10).await);
        rig.shared_number(our_number()).await;
        rig.message_that_left(&account, 1).await;
        rig.advance(seconds(1));
        rig.send_test(&other, &request([1])).await;
        rig.advance(seconds(1));
        rig.leave_all().await;
        assert_eq!(owner(rig, 1).await, Some(account.id), "a test text leaves nowhere");
        rig.text(&other, 1).await;
        assert_eq!(owner(rig, 1).await, Some(account.id), "it waits");
        let hand = rig.claim_all().await;
        assert_eq!(owner(rig, 1).await, Some(account.id), "it is in a worker's hands");
        rig.finish(&hand, &refused()).await;
        assert_eq!(owner(rig, 1).await, Some(account.id), "it failed");
        rig.message_that_left(&other, 1).await;
        assert_eq!(owner(rig, 1).await, Some(other.id));
    }

    /// A receipt that overtook the outcome also shows that a message was sent.
    async fn a_message_known_by_its_receipt_to_have_left_leads_back(rig: &Rig) {
        let account = rig.account(10).await;
        rig.shared_number(our_number()).await;
        let message = rig.text(&account, 1).await;
        rig.claim_all().await;
        rig.deliver(message.id).await;
        assert_eq!(owner(rig, 1).await, Some(account.id));
    }

    /// What became of a message after it left does not matter.
    async fn an_undelivered_message_leads_back_too(rig: &Rig) {
        let account = rig.account(10).await;
        rig.shared_number(our_number()).await;
        let message = rig.message_that_left(&account, 1).await;
        rig.undeliver(message.id).await;
        assert_eq!(owner(rig, 1).await, Some(account.id));
    }

    /// Each shared number leads back separately.
    async fn each_shared_number_leads_back_by_itself(rig: &Rig) {
        let (one, two) = (rig.account(10).await, rig.account(10).await);
        rig.shared_number(our_number()).await;
        let second = rig.shared_number(person(900)).await;
        leave_from(rig, &one, 0, 1).await;
        rig.advance(seconds(1));
        leave_from(rig, &two, 900, 1).await;
        assert_eq!(owner(rig, 1).await, Some(one.id));
        let other = rig.inbound_routed(1, second.phone, "Hello").await;
        assert_eq!(other.account, two.id);
    }

    /// Of two messages the one that left last counts, also when workers record them in the other
    /// order.
    async fn the_message_that_left_last_counts_in_whatever_order_it_was_recorded(rig: &Rig) {
        let (one, two) = (rig.account(10).await, rig.account(10).await);
        rig.shared_number(our_number()).await;
        let first = rig.text(&one, 1).await;
        let second = rig.text(&two, 1).await;
        let hand = rig.claim_all().await;
        let earlier = rig.outcome(first.id, hand.token, taken());
        rig.advance(seconds(1));
        let later = rig.outcome(second.id, hand.token, taken());
        rig.record_all(vec![later]).await;
        rig.record_all(vec![earlier]).await;
        assert_eq!(owner(rig, 1).await, Some(two.id));
    }

    /// A message to a number that is not ours, or no longer, belongs to no account and is kept for
    /// the operator.
    async fn a_message_to_an_unknown_number_is_kept_for_the_operator(rig: &Rig) {
        let account = rig.account(10).await;
        let number = rig.dedicated_number(person(900), &account).await;
        rig.inbound_routed(1, number.phone, "Hello").await;
        rig.release(&number).await;
        let plan = rig.inbound_plan(1, number.phone, "STOP 🐦", Origin::Network);
        let TakenIn::Unrouted(text) = rig.take_in(plan.clone()).await else { panic!("routed") };
        assert_eq!(text, plan.unrouted());
        assert_eq!(unrouted(rig).await, [text]);
        assert!(!rig.has_opted_out(&account, 1).await);
        assert_eq!(rig.messages(account.id, &MessageFilter::default()).await.len(), 1);
    }

    /// The operator's list is newest first, and pages neither repeat nor miss any.
    async fn unrouted_messages_are_listed_newest_first(rig: &Rig) {
        let mut expected = Vec::new();
        for n in 1..=5 {
            let TakenIn::Unrouted(text) = rig.inbound(n, person(900), "Hello").await else {
                panic!("routed")
            };
            expected.insert(0, text);
            rig.advance(millis(u64::from(n % 2)));
        }
        assert_eq!(unrouted(rig).await, expected);
        let first = rig.store().unrouted_list(page(5, None)).await.expect("read");
        assert_eq!((first.items.len(), first.next), (5, None));
    }
}
