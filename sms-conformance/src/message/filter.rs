//! Every question that a list answers.

use sms_core::account::Account;
use sms_core::change::cancel::CancelPlan;
use sms_core::ids::MessageId;
use sms_core::message::filter::Search;
use sms_core::message::{Direction, Message, MessageFilter, MessageStatus};
use sms_core::sending::request::SendRequest;
use sms_core::upkeep::Chore;

use crate::Rig;
use crate::rig::{days, millis, person, read_all, refused, request, taken, try_later};

/// The messages that the filter leaves, read three at a time and, which is the same, all at once.
async fn filtered(rig: &Rig, account: &Account, filter: &MessageFilter) -> Vec<MessageId> {
    let read = async |page| {
        rig.store().message_list(account.id, filter, page).await.expect("messages are listed")
    };
    let by_three = ids(&read_all(3, read).await);
    assert_eq!(ids(&rig.messages(account.id, filter).await), by_three, "{filter:?}");
    by_three
}

fn ids(messages: &[Message]) -> Vec<MessageId> {
    messages.iter().map(|text| text.id).collect()
}

fn words(text: &str) -> MessageFilter {
    MessageFilter { search: Search::parse(text), ..MessageFilter::default() }
}

async fn say(rig: &Rig, account: &Account, to: u16, body: &str) -> MessageId {
    let request = SendRequest::new(body).to(person(to).to_string());
    rig.send(account, &request).await.messages[0].id
}

async fn cancel(rig: &Rig, account: &Account, message: MessageId) {
    let plan = CancelPlan { account: account.id, message, at: rig.now(), ids: rig.ids() };
    rig.store().message_cancel(plan).await.expect("cancelled");
}

/// An account with two messages of every status, of several batches, references and moments.
async fn account_with_everything(rig: &Rig) -> Account {
    let account = rig.account(100).await;
    let number = rig.dedicated_number(person(900), &account).await;
    for round in 0..2 {
        let reference = if round == 0 { "spring" } else { "summer" };
        let later = rig.now().plus(days(1));
        let scheduled = request([1, 2]).client_ref(reference).schedule_at(later);
        let scheduled = rig.send(&account, &scheduled).await;
        cancel(rig, &account, scheduled.messages[0].id).await;
        rig.advance(millis(1));
        rig.send(&account, &request([1, 2, 3, 4, 5, 6]).client_ref(reference)).await;
        let hand = rig.claim_all().await;
        let outcomes = [taken(), taken(), taken(), refused(), try_later()];
        for (text, outcome) in hand.messages.iter().zip(outcomes) {
            rig.record(text.message, hand.token, outcome).await;
        }
        rig.deliver(hand.messages[0].message).await;
        rig.undeliver(hand.messages[1].message).await;
        rig.advance(millis(1));
        rig.inbound_routed(2, number.phone, "Is my TABLE ready?").await;
        rig.send(&account, &request([3])).await;
        rig.advance(millis(1));
    }
    account
}

scenarios! { Message;
    /// Sent and received messages are distinguished.
    async fn a_filter_by_direction_leaves_sent_or_received_messages(rig: &Rig) {
        let account = rig.account(5).await;
        let number = rig.dedicated_number(person(900), &account).await;
        let sent = rig.text(&account, 1).await;
        let received = rig.inbound_routed(1, number.phone, "Hello").await;
        for (direction, id) in [(Direction::Outbound, sent.id), (Direction::Inbound, received.id)] {
            let filter = MessageFilter { direction: Some(direction), ..MessageFilter::default() };
            assert_eq!(filtered(rig, &account, &filter).await, [id]);
        }
    }

    /// A message is found under its present status and under no earlier one, through every step.
    async fn a_filter_by_status_follows_every_step(rig: &Rig) {
        let account = rig.account(5).await;
        let message = rig.text(&account, 1).await;
        let found_only_as = async |status: MessageStatus| {
            for wanted in MessageStatus::ALL {
                let filter = MessageFilter { status: Some(wanted), ..MessageFilter::default() };
                let found = filtered(rig, &account, &filter).await;
                assert_eq!(!found.is_empty(), wanted == status, "{wanted} of a text {status}");
            }
        };
        found_only_as(MessageStatus::Queued).await;
        let hand = rig.claim_all().await;
        found_only_as(MessageStatus::Sending).await;
        rig.finish(&hand, &taken()).await;
        found_only_as(MessageStatus::Sent).await;
        rig.undeliver(message.id).await;
        found_only_as(MessageStatus::Undelivered).await;
        rig.deliver(message.id).await;
        found_only_as(MessageStatus::Delivered).await;
    }

    /// A batch is all messages of one send.
    async fn a_filter_by_batch_leaves_one_send(rig: &Rig) {
        let (account, other) = (rig.account(9).await, rig.account(9).await);
        let first = rig.send(&account, &request([1, 2, 3, 4])).await;
        rig.send(&account, &request([1])).await;
        let filter = MessageFilter { batch_id: Some(first.batch), ..MessageFilter::default() };
        let mut expected = ids(&first.messages);
        expected.reverse();
        assert_eq!(filtered(rig, &account, &filter).await, expected);
        assert_eq!(filtered(rig, &other, &filter).await, []);
        let unknown = MessageFilter { batch_id: Some(rig.id()), ..MessageFilter::default() };
        assert_eq!(filtered(rig, &account, &unknown).await, []);
        let campaign = MessageFilter { campaign_id: Some(rig.id()), ..MessageFilter::default() };
        assert_eq!(filtered(rig, &account, &campaign).await, []);
    }

    /// A reference is compared exactly.
    async fn a_filter_by_client_ref_is_exact(rig: &Rig) {
        let account = rig.account(9).await;
        let sent = rig.send(&account, &request([1, 2]).client_ref("Order_1")).await;
        for other in ["order_1", "Order_10", "OrderX1", "Order_1 "] {
            rig.send(&account, &request([3]).client_ref(other)).await;
        }
        rig.text(&account, 4).await;
        let client_ref = Some("Order_1".to_owned());
        let filter = MessageFilter { client_ref, ..MessageFilter::default() };
        let expected = [sent.messages[1].id, sent.messages[0].id];
        assert_eq!(filtered(rig, &account, &filter).await, expected);
    }

    /// A number is looked for in any format, and means the other party, not a number of ours.
    async fn a_search_for_a_number_means_the_other_party(rig: &Rig) {
        let account = rig.account(9).await;
        let number = rig.dedicated_number(person(900), &account).await;
        let sent = rig.text(&account, 1).await;
        let received = rig.inbound_routed(1, number.phone, "From 07700 900002").await;
        rig.text(&account, 2).await;
        rig.inbound_routed(2, number.phone, "Hello").await;
        for typed in ["07700 900001", "+44 (0)7700 900001", " 7700900001 "] {
            assert_eq!(filtered(rig, &account, &words(typed)).await, [received.id, sent.id]);
        }
        assert_eq!(filtered(rig, &account, &words("07700 900900")).await, []);
        assert_eq!(filtered(rig, &account, &words("07700 900000")).await, []);
    }

    /// Words are found whatever their case, beyond ASCII too, anywhere in the body.
    async fn a_search_for_words_ignores_case(rig: &Rig) {
        let account = rig.account(50).await;
        let loud = say(rig, &account, 1, "SOIRÉE AU CAFÉ ÖZIL").await;
        let soft = say(rig, &account, 2, "Une soirée au café özil").await;
        say(rig, &account, 3, "Une soiree au cafe ozil").await;
        for typed in ["soirée", "SOIRÉE", "rée au Ca", " Café ", "öZIL"] {
            assert_eq!(filtered(rig, &account, &words(typed)).await, [soft, loud], "{typed}");
        }
        let cyrillic = say(rig, &account, 4, "Ваш СТОЛ готов").await;
        assert_eq!(filtered(rig, &account, &words("ваш стол")).await, [cyrillic]);
        assert_eq!(filtered(rig, &account, &words("nowhere")).await, []);
    }

    /// Words are looked for as they stand: no character of them is a pattern.
    async fn a_search_for_words_knows_no_patterns(rig: &Rig) {
        let account = rig.account(50).await;
        let bodies =
            ["50% off", "50 off", "a_b", "axb", "back\\slash", "quote ' and \"", "[a-z]*", "x.y"];
        let mut made = Vec::new();
        for body in bodies {
            made.push(say(rig, &account, 1, body).await);
        }
        let searches =
            [("0%", 0), ("a_b", 2), ("k\\s", 4), ("' and \"", 5), ("[a-z]*", 6), ("x.y", 7)];
        for (typed, position) in searches {
            assert_eq!(filtered(rig, &account, &words(typed)).await, [made[position]], "{typed}");
        }
    }

    /// Preparing searches changes no answer, for messages before and after.
    async fn preparing_searches_changes_no_answer(rig: &Rig) {
        let account = rig.account(50).await;
        let first = say(rig, &account, 1, "A table for two").await;
        say(rig, &account, 2, "A chair").await;
        for _ in 0..3 {
            let tidied = rig.store().tidy(Chore::Search { before: rig.now().plus(millis(1)) }, 1);
            tidied.await.expect("prepared");
            assert_eq!(filtered(rig, &account, &words("TABLE")).await, [first]);
        }
        rig.advance(millis(10));
        let second = say(rig, &account, 3, "Another table").await;
        assert_eq!(filtered(rig, &account, &words("table")).await, [second, first]);
    }

    /// `since` includes its moment and `until` does not.
    async fn since_is_inclusive_and_until_exclusive(rig: &Rig) {
        let account = rig.account(9).await;
        let mut made = Vec::new();
        for _ in 0..3 {
            made.push(rig.text(&account, 1).await);
            rig.advance(millis(1));
        }
        let at = |position: usize| Some(made[position].created_at());
        let between = |since, until| MessageFilter { since, until, ..MessageFilter::default() };
        let all = [made[2].id, made[1].id, made[0].id];
        assert_eq!(filtered(rig, &account, &between(at(0), None)).await, all);
        assert_eq!(filtered(rig, &account, &between(at(1), None)).await, all[..2]);
        assert_eq!(filtered(rig, &account, &between(None, at(2))).await, all[1..]);
        assert_eq!(filtered(rig, &account, &between(at(1), at(2))).await, all[1..2]);
        assert_eq!(filtered(rig, &account, &between(at(1), at(1))).await, []);
        assert_eq!(filtered(rig, &account, &between(at(2), at(0))).await, []);
        let before = Some(made[0].created_at().minus(millis(1)));
        assert_eq!(filtered(rig, &account, &between(before, before)).await, []);
        let after = Some(made[2].created_at().plus(millis(1)));
        assert_eq!(filtered(rig, &account, &between(before, after)).await, all);
    }

    /// A message has to answer every question with yes: each combination of questions leaves what
    /// `MessageFilter::accepts` accepts, newest first.
    async fn every_combination_of_questions_leaves_what_the_filter_accepts(rig: &Rig) {
        let account = account_with_everything(rig).await;
        let everything = rig.messages(account.id, &MessageFilter::default()).await;
        let statuses = [None].into_iter().chain(MessageStatus::ALL.map(Some));
        let found = everything.iter().map(|text| text.status).collect::<Vec<_>>();
        assert!(MessageStatus::ALL.iter().all(|status| found.contains(status)), "{found:?}");
        let middle = everything[everything.len() / 2].clone();
        let searches = ["", "table", "07700 900002"].map(Search::parse);
        for status in statuses {
            for search in &searches {
                for question in 0..32 {
                    let asked = |bit: u32| question & (1 << bit) != 0;
                    let filter = MessageFilter {
                        direction: asked(0).then_some(Direction::Outbound),
                        status,
                        search: search.clone(),
                        campaign_id: None,
                        batch_id: middle.batch_id.filter(|_| asked(1)),
                        client_ref: asked(2).then(|| "summer".to_owned()),
                        since: asked(3).then(|| middle.created_at()),
                        until: asked(4).then(|| middle.created_at().plus(millis(2))),
                    };
                    let expected: Vec<MessageId> = everything
                        .iter()
                        .filter(|text| filter.accepts(text))
                        .map(|text| text.id)
                        .collect();
                    let listed = ids(&rig.messages(account.id, &filter).await);
                    assert_eq!(listed, expected, "{filter:?}");
                }
            }
        }
    }

    /// A page of a filtered list is full when there are more, however sparse they are.
    async fn pages_of_a_filtered_list_are_full(rig: &Rig) {
        let account = account_with_everything(rig).await;
        let everything = rig.messages(account.id, &MessageFilter::default()).await;
        for status in MessageStatus::ALL {
            let filter = MessageFilter { status: Some(status), ..MessageFilter::default() };
            let expected: Vec<MessageId> = everything
                .iter()
                .filter(|text| text.status == status)
                .map(|text| text.id)
                .collect();
            let read = async |page| {
                rig.store().message_list(account.id, &filter, page).await.expect("listed")
            };
            assert_eq!(ids(&read_all(1, read).await), expected, "{status}");
        }
    }
}
