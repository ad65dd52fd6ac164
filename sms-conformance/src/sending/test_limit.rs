//! The 300 test messages that an account may make within an hour.

use std::time::Duration;

use sms_core::account::Account;
use sms_core::change::cancel::CancelPlan;
use sms_core::inbound::{Origin, TakenIn};
use sms_core::message::{Body, Direction};
use sms_core::route::{Comeback, Simulated};
use sms_core::sending::settle::{SendRefused, TEST_MESSAGES_PER_HOUR};
use sms_core::upkeep::Chore;

use crate::Rig;
use crate::rig::{minutes, our_number, refusal_of, request, seconds, taken_with};

/// Sends `count` test messages if there is room for them; else says how long to wait.
async fn try_test(rig: &Rig, account: &Account, count: u16) -> Result<(), Duration> {
    match rig.accept(rig.test_plan(account, &request(1..=count))).await {
        Ok(sent) => {
            assert_eq!(sent.messages.len(), usize::from(count));
            Ok(())
        }
        refused => match refusal_of(refused) {
            SendRefused::TestMessagesUsedUp { retry_after } => Err(retry_after),
            other => panic!("{other}"),
        },
    }
}

/// Fifty test messages a minute, until the hour's 300 are made.
async fn use_up(rig: &Rig, account: &Account) {
    for minute in 0..6 {
        if minute > 0 {
            rig.advance(minutes(1));
        }
        assert_eq!(try_test(rig, account, 50).await, Ok(()));
    }
}

scenarios! { Sending;
    /// An account makes 300 test messages in an hour and not one more, learns when there is room
    /// again, and that is true.
    async fn an_hour_holds_300_test_messages(rig: &Rig) {
        let account = rig.account(0).await;
        use_up(rig, &account).await;
        assert_eq!(try_test(rig, &account, 1).await, Err(minutes(55)));
        rig.advance(minutes(54));
        assert_eq!(try_test(rig, &account, 1).await, Err(minutes(1)));
        rig.advance(minutes(1));
        assert_eq!(try_test(rig, &account, 1).await, Ok(()));
        assert_eq!(try_test(rig, &account, 49).await, Ok(()));
        assert_eq!(try_test(rig, &account, 1).await, Err(minutes(1)));
    }

    /// A send larger than what the oldest messages make room for has to wait for the next ones.
    async fn the_wait_is_for_as_much_room_as_is_wanted(rig: &Rig) {
        let account = rig.account(0).await;
        use_up(rig, &account).await;
        assert_eq!(try_test(rig, &account, 60).await, Err(minutes(56)));
        rig.advance(minutes(55));
        assert_eq!(try_test(rig, &account, 60).await, Err(minutes(1)));
        rig.advance(minutes(1));
        assert_eq!(try_test(rig, &account, 60).await, Ok(()));
    }

    /// Only what was accepted counts, and only of this account's test messages.
    async fn only_an_accounts_own_accepted_test_messages_count(rig: &Rig) {
        let (account, other) = (rig.account(100).await, rig.account(0).await);
        rig.send(&account, &request(1..=100)).await;
        assert_eq!(try_test(rig, &other, 300).await, Ok(()));
        assert_eq!(try_test(rig, &account, 299).await, Ok(()));
        assert_eq!(try_test(rig, &account, 2).await, Err(minutes(60)));
        assert_eq!(try_test(rig, &account, 1).await, Ok(()));
    }

    /// Test sends that count no more are forgotten in portions; those that count stay.
    async fn test_sends_past_the_hour_are_forgotten_in_portions(rig: &Rig) {
        let (one, two) = (rig.account(0).await, rig.account(0).await);
        for account in [&one, &two, &one] {
            assert_eq!(try_test(rig, account, 100).await, Ok(()));
        }
        let younger = rig.advance(minutes(30));
        assert_eq!(try_test(rig, &two, 200).await, Ok(()));
        let tidy = async || {
            let tidied = rig.store().tidy(Chore::TestSends { before: younger }, 2);
            tidied.await.expect("tidied")
        };
        assert_eq!([tidy().await, tidy().await, tidy().await], [2, 1, 0]);
        rig.advance(minutes(30));
        assert_eq!(try_test(rig, &two, 101).await, Err(minutes(30)));
        assert_eq!(try_test(rig, &two, 100).await, Ok(()));
    }

    /// A send that is committed after one that was made later still counts what was made within the
    /// hour before itself.
    async fn a_send_that_comes_late_counts_the_hour_before_itself(rig: &Rig) {
        let account = rig.account(0).await;
        assert_eq!(try_test(rig, &account, 300).await, Ok(()));
        rig.advance(minutes(30));
        let late = rig.test_plan(&account, &request([1]));
        rig.advance(minutes(31));
        assert_eq!(try_test(rig, &account, 1).await, Ok(()));
        let retry_after = minutes(30);
        let refused = refusal_of(rig.accept(late).await);
        assert_eq!(refused, SendRefused::TestMessagesUsedUp { retry_after });
        let another = rig.test_plan(&account, &request([1]));
        assert!(rig.accept(another).await.is_ok());
    }

    /// A send that was committed after a younger one is forgotten before it.
    async fn a_send_that_came_late_is_forgotten_in_its_time(rig: &Rig) {
        let account = rig.account(0).await;
        let late = rig.test_plan(&account, &request([1]));
        let younger = rig.advance(minutes(10));
        assert_eq!(try_test(rig, &account, 1).await, Ok(()));
        assert!(rig.accept(late).await.is_ok());
        let tidy = async || {
            let tidied = rig.store().tidy(Chore::TestSends { before: younger }, 10);
            tidied.await.expect("tidied")
        };
        assert_eq!([tidy().await, tidy().await], [1, 0]);
    }

    /// A test message that was cancelled or has left still counts as made.
    async fn a_test_message_counts_whatever_became_of_it(rig: &Rig) {
        let account = rig.account(0).await;
        let later = request(1..=150).schedule_at(rig.now().plus(minutes(90)));
        let scheduled = rig.send_test(&account, &later).await;
        for message in &scheduled.messages {
            let (at, ids) = (rig.now(), rig.ids());
            let plan = CancelPlan { account: account.id, message: message.id, at, ids };
            rig.store().message_cancel(plan).await.expect("cancelled");
        }
        assert_eq!(try_test(rig, &account, 150).await, Ok(()));
        rig.advance(seconds(1));
        rig.leave_all().await;
        assert_eq!(try_test(rig, &account, 1).await, Err(minutes(60) - seconds(1)));
    }

    /// The answers that come back to test messages are not test messages that the account made.
    async fn answers_to_test_messages_do_not_count(rig: &Rig) {
        let account = rig.account(0).await;
        let echo = Simulated { after: seconds(3), what: Comeback::Reply(Body::new("Hello")) };
        rig.send_test(&account, &request([1])).await;
        rig.advance(seconds(1));
        let hand = rig.claim_all().await;
        rig.finish(&hand, &taken_with(vec![echo])).await;
        rig.advance(seconds(3));
        for row in rig.follow_ups().await {
            let origin = Origin::Answer { to: row.message, follow_up: row.id };
            let taken = rig.take_in(rig.inbound_plan(1, our_number(), "Hello", origin)).await;
            let TakenIn::Routed(answer) = taken else { panic!("{taken:?}") };
            assert_eq!((answer.direction, answer.mode.is_test()), (Direction::Inbound, true));
        }
        assert_eq!(try_test(rig, &account, 299).await, Ok(()));
        assert_eq!(try_test(rig, &account, 1).await, Err(minutes(60) - seconds(4)));
    }

    /// However many test sends race, no more than 300 messages are made.
    async fn racing_test_sends_make_no_more_than_300(rig: &Rig) {
        let account = rig.account(0).await;
        let plans: Vec<_> = (0..12).map(|_| rig.test_plan(&account, &request(1..=50))).collect();
        let answers =
            rig.race_each(plans, |store, plan| async move { store.send_accept(vec![plan]).await });
        let accepted = answers.iter().flatten().filter(|answer| answer.is_ok()).count();
        assert_eq!(accepted * 50, TEST_MESSAGES_PER_HOUR as usize);
    }
}
