//! What an accepted send writes.

use sms_core::credits::ledger::{Cause, Kind};
use sms_core::message::{MessageFilter, MessageStatus};
use sms_core::phone::E164;
use sms_core::sending::recipients::{Rejection, RejectionReason};
use sms_core::sending::request::SendRequest;
use sms_core::sending::settle::{Replay, SendRefused};

use crate::Rig;
use crate::rig::{
    days, key, our_number, person, refusal_of, request, request_with_body, request_with_key,
};

scenarios! { Sending;
    /// An accepted send writes its messages, one ledger entry and the balance, and answers in the
    /// order of the recipients.
    async fn an_accepted_send_writes_its_messages_its_entry_and_the_balance(rig: &Rig) {
        let account = rig.account(10).await;
        let plan = rig.plan(&account, &request([3, 1, 2]));
        let sent = rig.accept(plan.clone()).await.expect("accepted");
        let order: Vec<E164> = sent.messages.iter().map(|text| text.to).collect();
        assert_eq!(order, [person(3), person(1), person(2)]);
        assert_eq!((sent.batch, &sent.messages), (plan.batch, &plan.messages));
        assert_eq!((sent.credits.get(), sent.balance.get(), sent.replay), (3, 7, Replay::First));
        assert_eq!(sent.rejected, []);
        for message in &plan.messages {
            let (kept, timeline) = rig.message_and_timeline(account.id, message.id).await;
            assert_eq!(kept, *message);
            assert_eq!((timeline.len(), timeline[0].status), (1, MessageStatus::Queued));
            assert_eq!(timeline[0].at, plan.at);
        }
        assert_eq!(rig.balance(&account).await, 7);
        let entry = rig.ledger(account.id).await.remove(0);
        assert_eq!(entry.cause, Cause::Send { batch: plan.batch, campaign: None });
        assert_eq!((entry.id, entry.created_at), (plan.entry_id, plan.at));
        assert_eq!(rig.ledger_lines(&account).await, [(Kind::Send, -3, 7), (Kind::TopUp, 10, 10)]);
        assert_eq!(rig.claim_all().await.messages.len(), 3);
    }

    /// A message keeps everything it was accepted with, whatever its alphabet.
    async fn a_message_keeps_everything_it_was_accepted_with(rig: &Rig) {
        let account = rig.account(10).await;
        let body = "Café “Жар-птица” \\ %_'\"$1 {phone}\r\n\t🐦".repeat(2);
        let request = SendRequest::new(body).to("07700 900123").client_ref("tisch-№ 42 ");
        let mut request = request.append_opt_out();
        request.sender = Some("Bistro & Co".to_owned());
        let plan = rig.plan(&account, &request.schedule_at(rig.now().plus(days(1))));
        assert!(plan.messages[0].segments.get() > 1);
        let sent = rig.accept(plan.clone()).await.expect("accepted");
        assert_eq!(sent.messages, plan.messages);
        let (kept, timeline) = rig.message_and_timeline(account.id, plan.messages[0].id).await;
        assert_eq!(kept, plan.messages[0]);
        assert_eq!(timeline[0].status, MessageStatus::Scheduled);
        assert_eq!(rig.balance(&account).await, 10 - u64::from(kept.segments.get()));
    }

    /// Recipients that cannot be sent messages are named with the reason, and cost nothing.
    async fn rejected_recipients_are_named_and_cost_nothing(rig: &Rig) {
        let account = rig.account(10).await;
        let long = "nonsense".repeat(100);
        let others = ", 07700 900001, 020 7946 0000, +33 6 12 34 56 78";
        let request = request([1]).to(long.clone() + others);
        let sent = rig.send(&account, &request.clone().idempotency_key(key("k"))).await;
        let expected = [
            (&long[..100], RejectionReason::InvalidNumber),
            ("+447700900001", RejectionReason::Duplicate),
            ("+442079460000", RejectionReason::NotMobile),
            ("+33612345678", RejectionReason::UnsupportedDestination),
        ]
        .map(|(to, reason)| Rejection::as_given(to, reason));
        assert_eq!(sent.rejected, expected);
        assert_eq!((sent.messages.len(), sent.balance.get()), (1, 9));
        let again = rig.send(&account, &request.idempotency_key(key("k"))).await;
        assert_eq!((again.replay, again.rejected), (Replay::Repeated, expected.to_vec()));
    }

    /// A send whose recipients are all rejected is accepted without a message or an entry, and a
    /// retry of it is known again.
    async fn a_send_that_rejects_everybody_is_accepted_and_known_again(rig: &Rig) {
        let account = rig.account(0).await;
        let request = SendRequest::new("Hello").to("nonsense").idempotency_key(key("k"));
        let first = rig.send(&account, &request).await;
        assert_eq!((first.messages.len(), first.rejected.len()), (0, 1));
        assert_eq!((first.credits.get(), first.balance.get()), (0, 0));
        let again = rig.send(&account, &request).await;
        assert_eq!((again.replay, again.batch), (Replay::Repeated, first.batch));
        assert_eq!((again.messages.len(), again.rejected), (0, first.rejected));
        assert_eq!(rig.ledger(account.id).await, []);
        assert_eq!(rig.next_dispatch().await, None);
    }

    /// A test send takes no credit and leaves no ledger entry, and needs no balance.
    async fn a_test_send_takes_nothing_and_leaves_no_entry(rig: &Rig) {
        let account = rig.account(0).await;
        let sent = rig.send_test(&account, &request([1, 2])).await;
        assert_eq!((sent.credits.get(), sent.balance.get(), sent.messages.len()), (0, 0, 2));
        assert!(sent.messages.iter().all(|text| text.credits.get() == 0 && text.mode.is_test()));
        assert_eq!(rig.ledger(account.id).await, []);
        let kept = rig.message(&account, sent.messages[1].id).await;
        assert_eq!((&kept, kept.segments.get()), (&sent.messages[1], 1));
    }

    /// Several plans in one call are settled in turn: each sees the balance that the ones before it
    /// left, and one that is refused takes nothing from its neighbours.
    async fn plans_of_one_call_are_settled_in_turn(rig: &Rig) {
        let account = rig.account(5).await;
        let plans: Vec<_> = [[1, 2, 3].as_slice(), &[4, 5, 6], &[7, 8]]
            .map(|people| rig.plan(&account, &request(people.iter().copied())))
            .into();
        let refused = plans[1].clone();
        let mut answers = rig.accept_all(plans.clone()).await;
        let third = answers.remove(2).expect("the third is accepted");
        let first = answers.remove(0).expect("the first is accepted");
        assert_eq!((first.batch, first.balance.get()), (plans[0].batch, 2));
        assert_eq!((third.batch, third.balance.get()), (plans[2].batch, 0));
        match refusal_of(answers.remove(0)) {
            SendRefused::InsufficientCredit { needed, balance } => {
                assert_eq!((needed.get(), balance.get()), (3, 2));
            }
            other => panic!("{other}"),
        }
        for message in &refused.messages {
            let found = rig.store().message_get(account.id, message.id).await;
            assert_eq!(found.expect("read"), None);
        }
        assert_eq!(rig.claim_all().await.messages.len(), 5);
        assert_eq!(rig.ledger(account.id).await.len(), 3);
    }

    /// Plans of several accounts in one call are answered in the order given.
    async fn plans_of_several_accounts_are_answered_in_the_order_given(rig: &Rig) {
        let (rich, poor) = (rig.account(10).await, rig.account(0).await);
        let unknown = rig.new_account(rich.status, 10).account;
        let accounts = [&rich, &unknown, &poor, &rich];
        let plans = accounts.map(|account| rig.plan(account, &request([1])));
        let batches = plans.clone().map(|plan| plan.batch);
        let answers = rig.accept_all(plans.into()).await;
        let [first, second, third, fourth] = <[_; 4]>::try_from(answers).expect("one for each");
        let first = first.expect("accepted");
        let fourth = fourth.expect("accepted");
        assert_eq!((first.batch, first.balance.get()), (batches[0], 9));
        assert_eq!((fourth.batch, fourth.balance.get()), (batches[3], 8));
        assert_eq!(refusal_of(second), SendRefused::NoSuchAccount);
        assert!(matches!(refusal_of(third), SendRefused::InsufficientCredit { .. }));
    }

    /// The same key twice in one call sends once.
    async fn one_key_twice_in_one_call_sends_once(rig: &Rig) {
        let account = rig.account(5).await;
        let request = request_with_key(1, "k");
        let plans = vec![rig.plan(&account, &request), rig.plan(&account, &request)];
        let batch = plans[0].batch;
        let answers = rig.accept_all(plans).await.into_iter().map(|answer| answer.expect("sent"));
        let seen: Vec<_> =
            answers.map(|sent| (sent.batch, sent.balance.get(), sent.replay)).collect();
        assert_eq!(seen, [(batch, 4, Replay::First), (batch, 4, Replay::Repeated)]);
        assert_eq!(rig.claim_all().await.messages.len(), 1);
    }

    /// A call without plans answers nothing and writes nothing.
    async fn a_call_without_plans_answers_nothing(rig: &Rig) {
        assert_eq!(rig.accept_all(Vec::new()).await.len(), 0);
    }

    /// A thousand recipients are one send, one entry, and keep their order.
    async fn a_thousand_recipients_are_one_send_in_their_order(rig: &Rig) {
        let account = rig.account(5_000).await;
        let everybody = (0..1_000).rev();
        let request = request_with_body(everybody, "a".repeat(161)).idempotency_key(key("k"));
        let plan = rig.plan(&account, &request);
        let sent = rig.accept(plan.clone()).await.expect("accepted");
        assert_eq!((sent.credits.get(), sent.balance.get()), (2_000, 3_000));
        assert_eq!(sent.messages, plan.messages);
        assert_eq!((sent.messages[0].to, sent.messages[999].to), (person(999), our_number()));
        let again = rig.accept(plan.clone()).await.expect("replayed");
        assert_eq!((again.replay, &again.messages), (Replay::Repeated, &plan.messages));
        let filter = MessageFilter { batch_id: Some(sent.batch), ..MessageFilter::default() };
        let listed = rig.messages(account.id, &filter).await;
        assert!(listed.iter().rev().eq(&plan.messages), "newest first is the order turned round");
        assert_eq!(rig.ledger(account.id).await.len(), 2);
    }
}
