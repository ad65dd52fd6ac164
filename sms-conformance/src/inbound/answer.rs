//! Answers that a simulated network brings back to messages.

use sms_core::account::Mode;
use sms_core::dispatch::FollowUp;
use sms_core::event::EventType;
use sms_core::inbound::{InboundMessage, InboundPlan, Origin, SHARED_REACH, TakenIn};
use sms_core::message::{Body, Direction, MessageFilter};
use sms_core::route::{Comeback, Simulated};

use crate::Rig;
use crate::rig::{done, millis, our_number, person, request, seconds, taken_with};

fn owed(words: &str) -> Simulated {
    Simulated { after: seconds(3), what: Comeback::Reply(Body::new(words)) }
}

/// Takes in what is owed, as a service does.
fn plan(rig: &Rig, row: FollowUp) -> InboundPlan {
    let FollowUp { id, message, number, person, route, due_at: _, what } = row;
    let Comeback::Reply(body) = what else { panic!("no receipt is owed") };
    let text = InboundMessage { from: person.into(), to: number, body, route };
    let origin = Origin::Answer { to: message, follow_up: id };
    InboundPlan::new(text, origin, rig.now(), rig.ids())
}

scenarios! { Inbound;
    /// An answer belongs to the account whose message it answers, even if another account has since
    /// sent the person a message and the number has no owner.
    async fn an_answer_belongs_to_the_account_of_the_message_it_answers(rig: &Rig) {
        let (account, other) = (rig.account(5).await, rig.account(5).await);
        let message = rig.message_that_brings(&account, 1, [owed("Hello")]).await;
        rig.advance(seconds(1));
        rig.message_that_left(&other, 1).await;
        rig.advance(SHARED_REACH);
        let row = rig.follow_ups().await.remove(0);
        let TakenIn::Routed(answer) = rig.take_in(plan(rig, row)).await else { panic!("lost") };
        assert_eq!((answer.account, answer.mode), (account.id, Mode::Live));
        assert_eq!((answer.from, answer.to), (message.to, message.from));
        assert_eq!((answer.direction, answer.body.as_str()), (Direction::Inbound, "Hello"));
        assert_eq!(rig.message(&account, answer.id).await, answer);
    }

    /// An answer to a test message is a test message.
    async fn an_answer_to_a_test_message_is_a_test_message(rig: &Rig) {
        let account = rig.account(0).await;
        rig.send_test(&account, &request([1])).await;
        rig.advance(seconds(1));
        let hand = rig.claim_all().await;
        rig.finish(&hand, &taken_with([owed("Hello")])).await;
        rig.advance(seconds(3));
        let row = rig.follow_ups().await.remove(0);
        let TakenIn::Routed(answer) = rig.take_in(plan(rig, row)).await else { panic!("lost") };
        assert_eq!((answer.account, answer.mode), (account.id, Mode::Test));
    }

    /// An answer is taken in once; the second time it was done already, and nothing is written.
    async fn an_answer_is_taken_in_once(rig: &Rig) {
        let account = rig.account(5).await;
        rig.message_that_brings(&account, 1, [owed("STOP")]).await;
        let endpoint = rig.endpoint(&account, &EventType::SUBSCRIBABLE).await;
        rig.advance(seconds(3) - millis(1));
        assert_eq!(rig.follow_ups().await, []);
        rig.advance(millis(1));
        let row = rig.follow_ups().await.remove(0);
        let taken = rig.take_in(plan(rig, row.clone())).await;
        assert!(matches!(taken, TakenIn::Routed(_)), "{taken:?}");
        assert_eq!(rig.follow_ups().await, []);
        assert_eq!(rig.take_in(plan(rig, row)).await, TakenIn::AlreadyDone);
        let kinds = rig.kinds(&endpoint).await;
        assert_eq!(kinds, [EventType::MessageReceived, EventType::OptOutCreated]);
        assert!(rig.has_opted_out(&account, 1).await);
        assert_eq!(rig.messages(account.id, &MessageFilter::default()).await.len(), 2);
    }

    /// An answer whose follow-up is unknown writes nothing, not even for the operator.
    async fn an_answer_that_nobody_owes_writes_nothing(rig: &Rig) {
        let account = rig.account(5).await;
        rig.dedicated_number(person(900), &account).await;
        let message = rig.message_that_left(&account, 1).await;
        let origin = Origin::Answer { to: message.id, follow_up: rig.id() };
        let plan = rig.inbound_plan(1, our_number(), "Hello", origin);
        assert_eq!(rig.take_in(plan).await, TakenIn::AlreadyDone);
        assert_eq!(rig.messages(account.id, &MessageFilter::default()).await.len(), 1);
        let unrouted = rig.store().unrouted_list(sms_core::page::PageRequest::default()).await;
        assert_eq!(unrouted.expect("read").items, []);
    }

    /// Many take in the same answers at once: each is taken in by one.
    async fn racing_takers_of_an_answer_take_it_in_once(rig: &Rig) {
        let account = rig.account(5).await;
        rig.send(&account, &request(1..=5)).await;
        let hand = rig.claim_all().await;
        rig.finish(&hand, &taken_with([owed("Hello")])).await;
        rig.advance(seconds(3));
        let due = rig.follow_ups().await;
        let plans: Vec<_> = due.iter().cycle().take(30).map(|row| plan(rig, row.clone())).collect();
        let taken = rig.race_each(plans, |store, plan| async move {
            done(store.inbound_take(plan, None).await).expect("taken in")
        });
        let routed = taken.iter().filter(|one| matches!(one, TakenIn::Routed(_))).count();
        let done = taken.iter().filter(|one| matches!(one, TakenIn::AlreadyDone)).count();
        assert_eq!((routed, done), (5, 25));
        let direction = Some(Direction::Inbound);
        let filter = MessageFilter { direction, ..MessageFilter::default() };
        assert_eq!(rig.messages(account.id, &filter).await.len(), 5);
    }
}
