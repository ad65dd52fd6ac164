//! Reading one message, and pages of them.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use futures_util::FutureExt;
use sms_core::dispatch::retry_delay;
use sms_core::ids::MessageId;
use sms_core::message::{Message, MessageFilter, MessageStatus};
use sms_core::page::{Cursor, Limit, Page, PageRequest};
use sms_core::sending::plan::SendPlan;

use crate::Rig;
use crate::rig::{millis, page, person, read_all, request, try_later};

const ALL: &MessageFilter = &MessageFilter {
    direction: None,
    status: None,
    search: None,
    campaign_id: None,
    batch_id: None,
    client_ref: None,
    since: None,
    until: None,
};

async fn list(rig: &Rig, of: &Message, wanted: PageRequest) -> Page<Message> {
    rig.store().message_list(of.account, ALL, wanted).await.expect("messages are listed")
}

fn ids(messages: &[Message]) -> Vec<MessageId> {
    messages.iter().map(|text| text.id).collect()
}

scenarios! { Message;
    /// A message is read through its own account and no other.
    async fn a_message_is_read_through_its_own_account_only(rig: &Rig) {
        let (account, other) = (rig.account(5).await, rig.account(5).await);
        let message = rig.text(&account, 1).await;
        let own = rig.store().message_get(account.id, message.id).await.expect("read");
        assert_eq!(own.map(|(text, _)| text), Some(message.clone()));
        let foreign = rig.store().message_get(other.id, message.id).await.expect("read");
        assert_eq!(foreign, None);
        let unknown = rig.store().message_get(account.id, rig.id()).await.expect("read");
        assert_eq!(unknown, None);
        assert_eq!(rig.messages(other.id, ALL).await, []);
    }

    /// The timeline shows every step with its moment, oldest first.
    async fn the_timeline_tells_every_step(rig: &Rig) {
        let account = rig.account(5).await;
        let begin = rig.now();
        let message = rig.text(&account, 1).await;
        rig.advance(millis(10));
        let hand = rig.claim_all().await;
        rig.advance(millis(10));
        rig.record(message.id, hand.token, try_later()).await;
        let later = retry_delay(0);
        rig.advance(later);
        rig.leave_all().await;
        rig.advance(millis(10));
        rig.deliver(message.id).await;
        let (_, timeline) = rig.message_and_timeline(account.id, message.id).await;
        let told: Vec<_> = timeline
            .iter()
            .map(|line| (line.status, line.detail.is_some(), line.at.since(begin)))
            .collect();
        assert_eq!(
            told,
            [
                (MessageStatus::Queued, false, millis(0)),
                (MessageStatus::Sending, false, millis(10)),
                (MessageStatus::Sending, true, millis(20)),
                (MessageStatus::Sent, false, later + millis(20)),
                (MessageStatus::Delivered, false, later + millis(30)),
            ]
        );
    }

    /// Messages are listed newest first, sent and received ones together, each with its newest
    /// state.
    async fn messages_are_listed_newest_first(rig: &Rig) {
        let account = rig.account(5).await;
        let number = rig.dedicated_number(person(900), &account).await;
        let first = rig.text(&account, 1).await;
        let second = rig.inbound_routed(1, number.phone, "Hello").await;
        rig.advance(millis(1));
        let third = rig.text(&account, 2).await;
        rig.leave_all().await;
        let listed = rig.messages(account.id, ALL).await;
        assert_eq!(ids(&listed), [third.id, second.id, first.id]);
        let statuses: Vec<_> = listed.iter().map(|text| text.status).collect();
        assert_eq!(statuses, [MessageStatus::Sent, MessageStatus::Received, MessageStatus::Sent]);
    }

    /// A page holds as many as its limit, and the last one, full or not, has no next.
    async fn the_last_page_has_no_next(rig: &Rig) {
        let account = rig.account(5).await;
        let sent = rig.send(&account, &request([1, 2, 3, 4])).await;
        let any = &sent.messages[0];
        let first = list(rig, any, page(3, None)).await;
        let second = list(rig, any, page(3, first.next)).await;
        assert_eq!((first.items.len(), second.items.len(), second.next), (3, 1, None));
        let first = list(rig, any, page(2, None)).await;
        let second = list(rig, any, page(2, first.next)).await;
        assert_eq!((first.items.len(), second.items.len(), second.next), (2, 2, None));
        let only = list(rig, any, page(4, None)).await;
        assert_eq!((only.items.len(), only.next), (4, None));
        let export = list(rig, any, PageRequest { limit: Limit::EXPORT, after: None }).await;
        assert_eq!((export.items.len(), export.next), (4, None));
        let after_the_end = Some(Cursor::after(any.id));
        assert_eq!(
            list(rig, any, page(2, after_the_end)).await,
            Page { items: vec![], next: None }
        );
    }

    /// Pages neither repeat nor miss a message while newer ones arrive between them.
    async fn pages_stay_whole_while_newer_messages_arrive(rig: &Rig) {
        let account = rig.account(100).await;
        let sent = rig.send(&account, &request(1..=11)).await;
        let read = async |wanted| {
            let page = list(rig, &sent.messages[0], wanted).await;
            rig.send(&account, &request([1, 2])).await;
            page
        };
        let seen = read_all(3, read).await;
        assert!(seen.iter().rev().eq(&sent.messages));
    }

    /// A page by status holds no message twice while newer ones arrive: also if the store reads it
    /// in several portions, as where few of many messages have the status.
    async fn a_page_by_status_stays_whole_while_newer_messages_arrive(rig: &Rig) {
        let account = rig.account(10_000).await;
        rig.send(&account, &request(1..=900)).await;
        rig.leave_all().await;
        for _ in 0..2 {
            rig.send(&account, &request(1..=800)).await;
        }
        let plan = |_| rig.plan(&account, &request(1..=10));
        let plans: Vec<SendPlan> = (0..39).map(plan).collect();
        let sent = MessageFilter { status: Some(MessageStatus::Sent), ..ALL.clone() };
        let (of, is_sending) = (account.id, Arc::new(AtomicBool::new(true)));
        let (store, sending) = (Arc::clone(rig.store()), Arc::clone(&is_sending));
        let send = async move {
            for plan in plans {
                for answer in store.send_accept(vec![plan]).await {
                    answer.expect("the send is accepted");
                }
            }
            sending.store(false, Ordering::SeqCst);
        };
        let store = Arc::clone(rig.store());
        let read = async move {
            while is_sending.load(Ordering::SeqCst) {
                let wanted = PageRequest { limit: Limit::EXPORT, after: None };
                let page = store.message_list(of, &sent, wanted).await.expect("listed");
                let ids = ids(&page.items);
                assert!(ids.is_sorted_by(|newer, older| newer > older), "each is there once");
                assert_eq!(ids.len(), 900);
            }
        };
        rig.race(vec![send.boxed(), read.boxed()]);
    }

    /// Pages of every size together hold the same list.
    async fn pages_of_every_size_hold_the_same_list(rig: &Rig) {
        let account = rig.account(100).await;
        let sent = rig.send(&account, &request(1..=12)).await;
        for limit in 1..=13 {
            let read = async |wanted| list(rig, &sent.messages[0], wanted).await;
            let listed: Vec<Message> = read_all(limit, read).await;
            assert!(listed.iter().rev().eq(&sent.messages), "by {limit}");
        }
    }

    /// An account that does not exist has no messages.
    async fn an_unknown_account_has_no_messages(rig: &Rig) {
        rig.account(5).await;
        assert_eq!(rig.messages(rig.id(), ALL).await, []);
    }
}
