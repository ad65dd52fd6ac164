//! What networks report under ids that they use again.

use sms_core::dispatch::OutcomeRecorded;
use sms_core::message::MessageStatus;
use sms_core::receipt::ReceiptStatus::Delivered;
use sms_core::receipt::report::{NetworkId, NetworkReport, Reported};
use sms_core::route::{HandOver, RouteName};

use super::report::{
    ABSENT, Call, message_of_segments, message_to, plan_to, report, report_to, status, submitted,
};
use crate::Rig;
use crate::rig::{all_recorded, our_number, person, request};

scenarios! { Receipt;
    /// A receipt that names another recipient than that of the message with its id changes nothing,
    /// and waits for a message to its recipient.
    async fn a_report_for_another_recipient_changes_nothing(rig: &Rig) {
        let account = rig.account(10).await;
        let text = message_of_segments(rig, &account, &["a"]).await;
        let recipient = rig.message(&account, text).await.to;
        assert_eq!(report_to(rig, "a", ABSENT, &[person(77)]).await, Reported::Early);
        assert_eq!(rig.status(&account, text).await, MessageStatus::Sent);
        // Beside others in one commit, too.
        let both = vec![
            plan_to(rig, "a", ABSENT, &[person(78)]),
            plan_to(rig, "a", Delivered, &[recipient]),
        ];
        let told = all_recorded(rig.store().reports_record(both).await);
        assert_eq!(told[0], Reported::Early);
        assert_eq!(status(&told[1]), Some(MessageStatus::Delivered));
        assert_eq!(rig.status(&account, text).await, MessageStatus::Delivered);
    }

    /// Of several messages that once had an id, a report is about the newest to its recipient, and
    /// without a recipient about the newest.
    async fn a_report_is_about_the_newest_message_with_its_id_and_its_recipient(rig: &Rig) {
        let account = rig.account(20).await;
        let first = message_to(rig, &account, 1, &["x"]).await;
        let second = message_to(rig, &account, 2, &["x"]).await;
        assert_eq!(report_to(rig, "x", Delivered, &[person(7)]).await, Reported::Early);
        let told = report_to(rig, "x", ABSENT, &[person(1)]).await;
        assert_eq!(status(&told), Some(MessageStatus::Undelivered));
        assert_eq!(rig.status(&account, first).await, MessageStatus::Undelivered);
        assert_eq!(rig.status(&account, second).await, MessageStatus::Sent);
        assert_eq!(report_to(rig, "x", ABSENT, &[person(1)]).await, Reported::Repeat);
        let told = report_to(rig, "x", Delivered, &[person(2)]).await;
        assert_eq!(status(&told), Some(MessageStatus::Delivered));
        assert_eq!(rig.status(&account, second).await, MessageStatus::Delivered);
        // To the first again, to the second again, and so on.
        let mut newest = Vec::new();
        for n in [1, 2, 1, 2, 3] {
            newest.push(message_to(rig, &account, n, &["x"]).await);
        }
        for (n, expected) in [(1, newest[2]), (2, newest[3])] {
            let told = report_to(rig, "x", Delivered, &[person(9), person(n)]).await;
            assert_eq!(status(&told), Some(MessageStatus::Delivered), "{n}");
            assert_eq!(rig.status(&account, expected).await, MessageStatus::Delivered, "{n}");
        }
        for untouched in [newest[0], newest[1], newest[4]] {
            assert_eq!(rig.status(&account, untouched).await, MessageStatus::Sent);
        }
        assert_eq!(status(&report(rig, "x", ABSENT).await), Some(MessageStatus::Undelivered));
        assert_eq!(rig.status(&account, newest[4]).await, MessageStatus::Undelivered);
    }

    /// One commit may record the same id for two messages. Each gets the receipt of its recipient.
    async fn messages_of_one_commit_with_the_same_id_have_their_own_reports(rig: &Rig) {
        let account = rig.account(20).await;
        let old = message_to(rig, &account, 5, &["x"]).await;
        let sent = rig.send(&account, &request(1..=2)).await;
        let hand = rig.claim_all().await;
        let outcome = |n: usize| {
            rig.outcome(sent.messages[n].id, hand.token, submitted(&["x"]))
        };
        rig.record_all(vec![outcome(0), outcome(1)]).await;
        for (n, text) in [(1, sent.messages[0].id), (2, sent.messages[1].id), (5, old)] {
            let told = report_to(rig, "x", Delivered, &[person(n)]).await;
            assert_eq!(status(&told), Some(MessageStatus::Delivered), "{n}");
            assert_eq!(rig.status(&account, text).await, MessageStatus::Delivered, "{n}");
        }
    }

    /// Segments of a long message whose ids other messages have since got still count together.
    async fn segments_whose_ids_are_used_again_still_add_up(rig: &Rig) {
        let account = rig.account(20).await;
        let long = message_to(rig, &account, 1, &["x", "y", "z"]).await;
        let other = message_to(rig, &account, 2, &["x", "y"]).await;
        for (id, n, expected) in [
            ("z", 1, None),
            ("x", 2, None),
            ("x", 1, None),
            ("y", 2, Some(MessageStatus::Delivered)),
            ("y", 1, Some(MessageStatus::Delivered)),
        ] {
            let told = report_to(rig, id, Delivered, &[person(n)]).await;
            assert_eq!(status(&told), expected, "{id} {n}");
        }
        for text in [long, other] {
            assert_eq!(rig.status(&account, text).await, MessageStatus::Delivered);
        }
    }

    /// A report that comes before its hand-over is recorded counts even while another message, or a
    /// report on one, has its id.
    async fn an_early_report_waits_beside_what_else_has_its_id(rig: &Rig) {
        let account = rig.account(20).await;
        let former = message_to(rig, &account, 1, &["x"]).await;
        let sent = rig.send(&account, &request(2..=4)).await;
        let hand = rig.claim_all().await;
        // A network that repeats the addresses of the submit names the sender first.
        let ours = sent.messages[1].from;
        for (id, numbers) in [
            ("x", &[person(2)][..]),
            ("x", &[ours, person(3)]),
            ("y", &[person(9)]),
            ("y", &[person(4)]),
        ] {
            assert_eq!(report_to(rig, id, Delivered, numbers).await, Reported::Early);
        }
        let delivered = OutcomeRecorded::Done(MessageStatus::Delivered);
        for (message, id) in sent.messages.iter().zip(["x", "x", "y"]) {
            let recorded = rig.record(message.id, hand.token, submitted(&[id])).await;
            assert_eq!(recorded, delivered, "{id} {}", message.to);
        }
        assert_eq!(report_to(rig, "x", Delivered, &[person(2)]).await, Reported::Repeat);
        assert_eq!(rig.status(&account, former).await, MessageStatus::Sent);
        let told = report_to(rig, "x", Delivered, &[person(1)]).await;
        assert_eq!(status(&told), Some(MessageStatus::Delivered));
    }

    /// Early reports on two people are two, though both name our number, before them or after them.
    async fn early_reports_on_two_people_differ_though_both_name_our_number(rig: &Rig) {
        let account = rig.account(20).await;
        rig.provide_our_number().await;
        let sms = rig.service();
        let (ours, nine, four) = (our_number(), person(9), person(4));
        let orders = [
            [[nine, ours], [four, ours]],
            [[ours, nine], [ours, four]],
            [[nine, ours], [ours, four]],
            [[ours, nine], [four, ours]],
        ];
        for (nth, (numbers, people)) in
            orders.into_iter().flat_map(|it| [(it, [9, 4]), (it, [4, 9])]).enumerate()
        {
            let id = NetworkId::new(RouteName::new("main"), format!("x-{nth}"));
            let [one, other] = people;
            let sent = [rig.text(&account, one).await, rig.text(&account, other).await];
            let hand = rig.claim_all().await;
            for numbers in numbers {
                let report = NetworkReport::new(id.clone(), Delivered).between(numbers);
                let told = sms.record_reports(vec![report]).await.remove(0);
                assert_eq!(told.expect("it is recorded"), Reported::Early);
            }
            for message in sent {
                let submitted = HandOver::Submitted { parts: vec![id.clone()] };
                let recorded = rig.record(message.id, hand.token, submitted).await;
                let delivered = OutcomeRecorded::Done(MessageStatus::Delivered);
                assert_eq!(recorded, delivered, "{numbers:?}, to {}", message.to);
            }
        }
    }

    /// Reports that race with the records of messages which get the same id all count.
    async fn reports_that_race_for_one_id_all_count(rig: &Rig) {
        let account = rig.account(100).await;
        let sent = rig.send(&account, &request(1..=20)).await;
        let hand = rig.claim_all().await;
        let mut calls = Vec::new();
        for message in &sent.messages {
            calls.push(Call::Record(rig.outcome(message.id, hand.token, submitted(&["x"]))));
            calls.push(Call::Report(plan_to(rig, "x", Delivered, &[message.to])));
        }
        rig.race_each(calls, |store, call| async move {
            match call {
                Call::Record(plan) => {
                    store.dispatch_record(vec![plan]).await.expect("recorded");
                }
                Call::Report(plan) => {
                    all_recorded(store.reports_record(vec![plan]).await);
                }
            }
        });
        for message in sent.messages {
            let status = rig.status(&account, message.id).await;
            assert_eq!(status, MessageStatus::Delivered, "{}", message.to);
        }
    }
}
