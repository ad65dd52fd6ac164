//! Which messages a claim takes, and which it fails.

use sms_core::account::AccountStatus;
use sms_core::credits::ledger::Kind;
use sms_core::dispatch::{ClaimPlan, LEASE, Lane, RouteLane, TEST_DELAY, VALIDITY, Wanted};
use sms_core::event::EventType;
use sms_core::message::{ErrorCode, MessageStatus};
use sms_core::route::{Look, OutboundMessage, RouteName};

use crate::Rig;
use crate::rig::{event_of, millis, request, seconds, taken};

scenarios! { Dispatch;
    /// Messages that are due are taken, the longest due first, whatever their ids; no others are.
    async fn the_longest_due_messages_are_claimed_first(rig: &Rig) {
        let account = rig.account(10).await;
        let begin = rig.now();
        let at = |after| request([1]).schedule_at(begin.plus(seconds(after)));
        let tenth = rig.send(&account, &at(10)).await.messages.remove(0).id;
        let fifth = rig.send(&account, &at(5)).await.messages.remove(0).id;
        rig.send(&account, &at(21)).await;
        rig.advance(seconds(7));
        let seventh = rig.text(&account, 1).await.id;
        rig.advance(seconds(13));
        assert_eq!(rig.claim(2).await.ids(), [fifth, seventh]);
        assert_eq!(rig.claim(10).await.ids(), [tenth]);
        assert_eq!(rig.claim(10).await.messages, []);
    }

    /// Messages of routes that have no room stay in the queue, and keep no others from being taken.
    async fn messages_of_routes_without_room_are_left(rig: &Rig) {
        let account = rig.account(20).await;
        let live = rig.text(&account, 1).await;
        rig.send_test(&account, &request([2])).await;
        let test = rig.send_test(&account, &request([3])).await.messages.remove(0);
        rig.advance(TEST_DELAY);
        rig.provide_our_number().await;
        let claim = async |without: &[&RouteName]| {
            let without = without.iter().flat_map(|route| RouteLane::both(route)).collect();
            let plan = ClaimPlan { wanted: Wanted::AllBut(without), ..rig.claim_plan(2) };
            let claimed = rig.store().dispatch_claim(plan).await.expect("messages are claimed");
            let messages = claimed.messages;
            messages.into_iter().map(|text| text.mode.is_test()).collect::<Vec<_>>()
        };
        assert!(claim(&[&live.route, &test.route]).await.is_empty());
        assert_eq!(rig.status(&account, live.id).await, MessageStatus::Queued);
        assert_eq!(claim(&[&live.route]).await, [true, true], "no live text took their places");
        assert_eq!(rig.next_dispatch().await, Some(live.due_at()));
        assert_eq!(claim(&[&test.route, &RouteName::new("unknown")]).await, [false]);
    }

    /// A message that is no longer valid fails and is refunded, though its route has no room: by a
    /// claim that looks for just those.
    async fn a_message_expires_though_its_route_has_no_room(rig: &Rig) {
        let account = rig.account(20).await;
        let text = rig.text(&account, 1).await;
        let test = rig.send_test(&account, &request([2])).await.messages.remove(0);
        rig.provide_our_number().await;
        let claim = async |wanted: Wanted| {
            let plan = ClaimPlan { wanted, ..rig.claim_plan(10) };
            let claimed = rig.store().dispatch_claim(plan).await.expect("claimed");
            (claimed.messages.len(), claimed.failed)
        };
        let of = |route: &RouteName| RouteLane::both(route).to_vec();
        rig.advance(VALIDITY - millis(1));
        assert_eq!(claim(Wanted::ExpiredOf(of(&text.route))).await, (0, 0));
        rig.advance(millis(1));
        let both = [of(&text.route), of(&test.route)].concat();
        assert_eq!(claim(Wanted::AllBut(both)).await, (0, 0));
        assert_eq!(claim(Wanted::ExpiredOf(of(&RouteName::new("unknown")))).await, (0, 0));
        assert_eq!(claim(Wanted::ExpiredOf(of(&text.route))).await, (0, 1), "and no test text");
        assert_eq!(rig.balance(&account).await, 20);
        assert_eq!(rig.message(&account, text.id).await.error, Some(ErrorCode::Expired));
    }

    /// A scheduled message is taken at its time and not before.
    async fn a_scheduled_message_does_not_leave_before_its_time(rig: &Rig) {
        let account = rig.account(10).await;
        let at = rig.now().plus(seconds(60));
        let message = rig.send(&account, &request([1]).schedule_at(at)).await.messages.remove(0);
        assert_eq!(message.status, MessageStatus::Scheduled);
        assert_eq!(rig.next_dispatch().await, Some(at));
        rig.advance_to(at.minus(millis(1)));
        assert_eq!(rig.claim_all().await.messages, []);
        rig.advance_to(at);
        assert_eq!(rig.claim_all().await.ids(), [message.id]);
        assert_eq!(
            rig.statuses(&account, message.id).await,
            [MessageStatus::Scheduled, MessageStatus::Sending]
        );
    }

    /// A test message is taken one second after acceptance, and says that it is one.
    async fn a_test_message_is_due_after_a_second(rig: &Rig) {
        let account = rig.account(0).await;
        let message = rig.send_test(&account, &request([1])).await.messages.remove(0);
        rig.advance(TEST_DELAY - millis(1));
        assert_eq!(rig.claim_all().await.messages, []);
        rig.advance(millis(1));
        let hand = rig.claim_all().await;
        assert_eq!(hand.ids(), [message.id]);
        assert!(hand.messages[0].mode.is_test());
    }

    /// A claimed message carries what its route needs, and is `sending` from then on.
    async fn a_claimed_message_carries_what_its_route_needs(rig: &Rig) {
        let account = rig.account(10).await;
        let mut request = request([7]);
        request.sender = Some("Bistro".to_owned());
        rig.approved_name(&account, "Bistro").await;
        let message = rig.send(&account, &request).await.messages.remove(0);
        let hand = rig.claim_all().await;
        assert_eq!(
            hand.messages,
            [OutboundMessage {
                message: message.id,
                to: message.to,
                from: message.from,
                sender: message.sender.clone(),
                body: message.body.clone(),
                encoding: message.encoding,
                segments: message.segments,
                route: message.route.clone(),
                mode: message.mode,
                lane: Lane::Normal,
                attempt: 0,
                expires_at: rig.now().plus(VALIDITY),
                look: Look::at(rig.now()),
            }]
        );
        let statuses = rig.statuses(&account, message.id).await;
        assert_eq!(statuses, [MessageStatus::Queued, MessageStatus::Sending]);
    }

    /// A claim takes messages of every account.
    async fn a_claim_takes_messages_of_every_account(rig: &Rig) {
        let mut expected = Vec::new();
        for _ in 0..3 {
            let account = rig.account(5).await;
            rig.advance(millis(1));
            expected.push(rig.text(&account, 1).await.id);
        }
        assert_eq!(rig.claim_all().await.ids(), expected);
    }

    /// The next moment for a claim is that of the message that can be claimed first: when it is
    /// due, when a lease expires, never when nothing waits.
    async fn the_next_moment_is_that_of_the_first_claimable_message(rig: &Rig) {
        assert_eq!(rig.next_dispatch().await, None);
        let account = rig.account(10).await;
        let begin = rig.now();
        let in_an_hour = begin.plus(seconds(3_600));
        rig.send(&account, &request([1]).schedule_at(in_an_hour)).await;
        assert_eq!(rig.next_dispatch().await, Some(in_an_hour));
        rig.text(&account, 1).await;
        assert_eq!(rig.next_dispatch().await, Some(begin));
        let hand = rig.claim_all().await;
        assert_eq!(rig.next_dispatch().await, Some(begin.plus(LEASE)));
        rig.finish(&hand, &taken()).await;
        assert_eq!(rig.next_dispatch().await, Some(in_an_hour));
        rig.advance_to(in_an_hour);
        rig.leave_all().await;
        assert_eq!(rig.next_dispatch().await, None);
    }

    /// A person who opted out after acceptance gets no message: it fails at the claim, is refunded,
    /// notifies the endpoints, and is claimed by no worker.
    async fn a_message_to_someone_who_opted_out_fails_at_the_claim(rig: &Rig) {
        let account = rig.account(10).await;
        let sent = rig.send(&account, &request([1, 2])).await;
        rig.opt_out(&account, 1).await;
        let endpoint = rig.endpoint(&account, &EventType::SUBSCRIBABLE).await;
        let now = rig.advance(millis(5));
        let hand = rig.claim_all().await;
        assert_eq!((hand.ids(), hand.failed), (vec![sent.messages[1].id], 1));
        let failed = rig.message(&account, sent.messages[0].id).await;
        assert_eq!(
            (failed.status, failed.error),
            (MessageStatus::Failed, Some(ErrorCode::OptedOut))
        );
        assert_eq!(failed.times.failed_at, Some(now));
        assert_eq!(rig.ledger_lines(&account).await[0], (Kind::Refund, 1, 9));
        let deliveries = rig.deliveries(&endpoint).await;
        assert_eq!((deliveries.len(), deliveries[0].event_type), (1, EventType::MessageFailed));
        let event = event_of(&deliveries[0].body);
        assert_eq!(event["data"]["error_code"], "opted_out");
        assert_eq!(event["data"]["id"], failed.id.to_string());
    }

    /// An opt-out counts for the account it was made to, and for test messages too.
    async fn an_opt_out_fails_the_messages_of_its_own_account_only(rig: &Rig) {
        let (account, other) = (rig.account(10).await, rig.account(10).await);
        rig.send(&account, &request([1])).await;
        rig.send_test(&account, &request([1])).await;
        let others = rig.text(&other, 1).await;
        rig.opt_out(&account, 1).await;
        rig.advance(TEST_DELAY);
        let hand = rig.claim_all().await;
        assert_eq!((hand.ids(), hand.failed), (vec![others.id], 2));
        assert_eq!(rig.balance(&account).await, 10);
    }

    /// Messages of an account that was suspended after acceptance fail when due, and are refunded;
    /// those that are not due yet wait.
    async fn messages_of_a_suspended_account_fail_when_due(rig: &Rig) {
        let (account, other) = (rig.account(10).await, rig.account(10).await);
        let due = rig.text(&account, 1).await;
        let in_an_hour = rig.now().plus(seconds(3_600));
        let later = rig.send(&account, &request([2]).schedule_at(in_an_hour)).await;
        let others = rig.text(&other, 1).await;
        rig.set_status(&account, AccountStatus::Suspended).await;
        let hand = rig.claim_all().await;
        assert_eq!((hand.ids(), hand.failed), (vec![others.id], 1));
        let failed = rig.message(&account, due.id).await;
        assert_eq!(failed.status, MessageStatus::Failed);
        assert_eq!(failed.error, Some(ErrorCode::AccountSuspended));
        assert_eq!(rig.balance(&account).await, 9);
        let later = rig.message(&account, later.messages[0].id).await;
        assert_eq!(later.status, MessageStatus::Scheduled);
    }

    /// A message that no worker took while it was valid fails as expired at that very moment.
    async fn a_message_past_its_validity_expires(rig: &Rig) {
        let account = rig.account(10).await;
        let [first, second] = [rig.text(&account, 1).await, rig.text(&account, 2).await];
        rig.advance(VALIDITY - millis(1));
        assert_eq!(rig.claim(1).await.ids(), [first.id]);
        rig.advance(millis(1));
        let hand = rig.claim_all().await;
        assert_eq!((hand.messages.len(), hand.failed), (0, 1));
        let expired = rig.message(&account, second.id).await;
        assert_eq!(expired.status, MessageStatus::Failed);
        assert_eq!(expired.error, Some(ErrorCode::Expired));
        assert_eq!(rig.balance(&account).await, 9);
    }

    /// Messages that fail at the claim are within its limit, and the rest is for the next claim.
    async fn messages_that_fail_at_the_claim_are_within_its_limit(rig: &Rig) {
        let account = rig.account(20).await;
        rig.send(&account, &request([1, 2])).await;
        for _ in 0..2 {
            rig.advance(millis(1));
            rig.send(&account, &request([1, 2, 3])).await;
        }
        rig.opt_out(&account, 1).await;
        let mut failed = 0;
        let mut claimed = 0;
        for _ in 0..4 {
            let hand = rig.claim(2).await;
            assert_eq!(hand.messages.len() + hand.failed as usize, 2);
            failed += hand.failed;
            claimed += hand.messages.len();
        }
        assert_eq!((failed, claimed), (3, 5));
        assert_eq!(rig.claim(2).await.messages, []);
    }
}
