//! Messages that a worker gives back, because they waited too long for their route: the next claim
//! looks at everything that may stand in their way.

use sms_core::account::{Account, AccountStatus};
use sms_core::ids::MessageId;
use sms_core::message::{ErrorCode, MessageStatus};
use sms_core::route::HandOver;
use sms_core::sender_name::review::Decision;

use crate::Rig;
use crate::rig::{Hand, person, request, seconds, taken};

/// What comes in the way of a message.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Obstacle {
    OptOut,
    Suspension,
    Rejection,
    Release,
    Cancel,
}

impl Obstacle {
    const ALL: [Self; 5] =
        [Self::OptOut, Self::Suspension, Self::Rejection, Self::Release, Self::Cancel];

    /// How a message ends that was not submitted.
    fn end(self) -> (MessageStatus, Option<ErrorCode>) {
        match self {
            Self::OptOut => (MessageStatus::Failed, Some(ErrorCode::OptedOut)),
            Self::Suspension => (MessageStatus::Failed, Some(ErrorCode::AccountSuspended)),
            Self::Rejection => (MessageStatus::Failed, Some(ErrorCode::SenderNotApproved)),
            Self::Release => (MessageStatus::Failed, Some(ErrorCode::NoNumber)),
            Self::Cancel => (MessageStatus::Cancelled, None),
        }
    }
}

/// A message that a worker has claimed, of an account of its own that meets this obstacle then.
async fn caught(rig: &Rig, n: u16, obstacle: Obstacle) -> (Account, MessageId, Hand) {
    let account = rig.account(10).await;
    let number = rig.dedicated_number(person(900 + n), &account).await;
    let name = rig.approved_name(&account, "Bistro").await;
    let campaign = if obstacle == Obstacle::Cancel {
        Some(rig.launched(&account, [n]).await)
    } else {
        let mut wanted = request([n]);
        wanted.sender = Some("Bistro".to_owned());
        rig.send(&account, &wanted).await;
        None
    };
    let hand = rig.claim_as_it_is(10).await;
    match obstacle {
        Obstacle::OptOut => rig.opt_out(&account, n).await,
        Obstacle::Suspension => rig.set_status(&account, AccountStatus::Suspended).await,
        Obstacle::Rejection => drop(rig.review(&name, Decision::Reject).await),
        Obstacle::Release => rig.release(&number).await,
        Obstacle::Cancel => {
            rig.cancel_campaign(&campaign.expect("it was launched")).await;
        }
    }
    (account, hand.ids()[0], hand)
}

scenarios! { Dispatch;
    /// Whatever came in the way of a message while it waited for its route is found when it is
    /// given back: none is submitted, and each is refunded once. Those that nothing stands in the
    /// way of are claimed again, and their timelines do not show it.
    async fn whatever_came_in_the_way_is_found_when_a_message_is_given_back(rig: &Rig) {
        let mut all = Vec::new();
        for (n, obstacle) in (1..).zip(Obstacle::ALL) {
            all.push((obstacle, caught(rig, n, obstacle).await));
        }
        let free = rig.account(10).await;
        rig.dedicated_number(person(990), &free).await;
        let goes_on = rig.text(&free, 1).await;
        let hand = rig.claim_as_it_is(10).await;
        for hand in all.iter().map(|(_, (_, _, hand))| hand).chain([&hand]) {
            rig.finish(hand, &HandOver::GivenBack).await;
        }
        let found = rig.claim_as_it_is(100).await;
        assert_eq!((found.ids(), found.failed, found.given_up), (vec![goes_on.id], 4, 0));
        for (obstacle, (account, message, hand)) in all {
            let ended = rig.message(&account, message).await;
            assert_eq!((ended.status, ended.error), obstacle.end(), "{obstacle:?}");
            assert_eq!(rig.balance(&account).await, 10, "{obstacle:?}");
            rig.finish(&hand, &taken()).await;
            assert_eq!(rig.balance(&account).await, 10, "{obstacle:?}: the lease was lost");
        }
        let path = [MessageStatus::Queued, MessageStatus::Sending];
        assert_eq!(rig.statuses(&free, goes_on.id).await, path);
    }

    /// What is given back goes before what fell due later, however much that is, whether a claim
    /// took it or a worker held it from the start.
    async fn what_is_given_back_keeps_its_place(rig: &Rig) {
        let account = rig.account(20).await;
        rig.dedicated_number(person(900), &account).await;
        let (sent, held) = rig.send_held(&account, &request([1])).await;
        let mut expected = vec![sent.messages[0].id];
        for n in 2..=4 {
            rig.advance(seconds(1));
            expected.push(rig.text(&account, n).await.id);
        }
        let claimed = rig.claim_as_it_is(2).await;
        assert_eq!(claimed.ids(), expected[1..3]);
        for n in 5..=7 {
            rig.advance(seconds(1));
            expected.push(rig.text(&account, n).await.id);
        }
        rig.advance(seconds(1));
        for hand in [&claimed, &held] {
            rig.finish(hand, &HandOver::GivenBack).await;
        }
        assert_eq!(rig.next_dispatch().await, Some(sent.messages[0].due_at()));
        let again = rig.claim_as_it_is(2).await;
        assert_eq!(again.ids(), expected[..2]);
        rig.finish(&again, &HandOver::GivenBack).await;
        assert_eq!(rig.claim_as_it_is(10).await.ids(), expected);
    }

    /// The same when the lease ran out: then the message may have been sent, so it is not refunded.
    async fn whatever_came_in_the_way_is_found_when_a_lease_ran_out(rig: &Rig) {
        for (n, obstacle) in (1..).zip(Obstacle::ALL) {
            let (account, message, _) = caught(rig, n, obstacle).await;
            rig.advance(sms_core::dispatch::LEASE);
            let found = rig.claim_as_it_is(100).await;
            assert_eq!((found.ids(), found.given_up), (vec![], 1), "{obstacle:?}");
            let ended = rig.message(&account, message).await;
            let error = Some(ErrorCode::NetworkError);
            assert_eq!((ended.status, ended.error), (MessageStatus::Undelivered, error));
            assert_eq!(rig.balance(&account).await, 9, "{obstacle:?}");
        }
    }
}
