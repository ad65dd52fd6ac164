//! Events of messages that were sent, read by those who follow the log.

use std::collections::BTreeSet;

use futures_util::FutureExt;
use futures_util::future::BoxFuture;
use sms_core::event::EventType;
use sms_core::event::kinds::Kinds;
use sms_core::event::log::{EventPage, EventRequest, ReadFrom};
use sms_core::event::position::Position;
use sms_core::event::row::ROW_EVENTS;
use sms_core::ids::{EventId, MessageId};
use sms_core::message::MessageStatus;
use sms_core::page::Limit;
use sms_core::upkeep::Chore;

use crate::Rig;
use crate::rig::{days, events_from, message_of, millis, refused, request, taken};

const FROM_START: ReadFrom = ReadFrom::After(Position::START);

scenarios! { Event;
    /// An event is kept without any endpoint, shows the message as it was then, and keeps its id,
    /// its words and its position.
    async fn an_event_is_kept_as_it_was_raised(rig: &Rig) {
        let account = rig.account(100).await;
        let message = rig.message_that_left(&account, 1).await;
        let first = rig.events(account.id).await;
        let [sent] = &first[..] else { panic!("one event, not {first:?}") };
        assert_eq!(sent.event.data.kind(), EventType::MessageSent);
        assert_eq!(sent.event.created_at, rig.now());
        assert_eq!(message_of(sent), Some(&message));
        rig.advance(millis(9));
        let id = rig.text(&account, 2).await.id;
        let hand = rig.claim_all().await;
        rig.finish(&hand, &refused()).await;
        let failed = rig.message(&account, id).await;
        assert_eq!(failed.status, MessageStatus::Failed);
        let events = rig.events(account.id).await;
        assert_eq!(events.len(), 2);
        assert_eq!(&events[0], sent, "it stays as it was");
        assert_eq!(events[1].event.data.kind(), EventType::MessageFailed);
        assert_eq!(message_of(&events[1]), Some(&failed));
    }

    /// An event is found by its id, only in its account.
    async fn an_event_is_found_by_its_id(rig: &Rig) {
        let (account, other) = (rig.account(100).await, rig.account(100).await);
        for to in 1..=3 {
            rig.message_that_left(&account, to).await;
            rig.message_that_left(&other, to).await;
            rig.advance(millis(1));
        }
        for event in rig.events(account.id).await {
            let id = event.event.id;
            let get = async |of| rig.store().event_get(of, id).await.expect("read");
            assert_eq!(get(account.id).await, Some(event));
            assert_eq!(get(other.id).await, None);
        }
        let unknown = rig.store().event_get(account.id, rig.id()).await.expect("read");
        assert_eq!(unknown, None);
    }

    /// Pages of any size, in both directions, show each event once, and a follower that continues
    /// from the last position gets what is new and nothing else.
    async fn a_follower_goes_on_where_it_stopped(rig: &Rig) {
        let account = rig.account(1_000).await;
        rig.send(&account, &request(1..=97)).await;
        rig.leave_all().await;
        let all = rig.events(account.id).await;
        assert_eq!(all.len(), 97);
        for limit in [1, 2, 39, 40, 41, 96, 97, 98] {
            let request = events_from(FROM_START, limit);
            assert_eq!(rig.events_by(account.id, request).await, all, "{limit}");
            let request = events_from(ReadFrom::Newest(None), limit);
            let mut back = rig.events_by(account.id, request).await;
            back.reverse();
            assert_eq!(back, all, "{limit}");
        }
        let last = all[96].position;
        let end = rig.event_end(account.id).await;
        assert_eq!(end, Position::end_of(last.commit), "it names the commit that is read last");
        for after in [last, end] {
            let page = rig.event_page(account.id, events_from(ReadFrom::After(after), 100)).await;
            assert_eq!(page, EventPage { items: Vec::new(), next: None });
            let waiting = rig.store().events_after(vec![(account.id, after)]).await;
            assert_eq!(waiting.expect("read"), []);
        }
        let new = rig.message_that_left(&account, 99).await;
        for after in [last, end] {
            let page = rig.event_page(account.id, events_from(ReadFrom::After(after), 100)).await;
            let found: Vec<_> = page.items.iter().filter_map(message_of).collect();
            assert_eq!(found, [&new]);
            let waiting = rig.store().events_after(vec![(account.id, after)]).await;
            assert_eq!(waiting.expect("read"), [account.id]);
        }
    }

    /// Other accounts' events do not move the end of an account's log. An empty log ends where it
    /// starts.
    async fn the_end_of_a_log_is_that_of_its_last_commit(rig: &Rig) {
        let (account, other) = (rig.account(100).await, rig.account(100).await);
        assert_eq!(rig.event_end(account.id).await, Position::START);
        rig.message_that_left(&account, 1).await;
        let end = rig.event_end(account.id).await;
        rig.message_that_left(&other, 1).await;
        let both = vec![other.id, account.id, other.id];
        let ends = rig.store().event_ends(both).await.expect("read");
        assert_eq!(ends[1], end);
        assert!(ends[0] > end && ends[2] == ends[0], "{ends:?}");
    }

    /// A client may ask for what comes after, or before, any position at all.
    async fn any_position_can_be_named(rig: &Rig) {
        let account = rig.account(100).await;
        for to in 1..=3 {
            rig.message_that_left(&account, to).await;
        }
        let all = rig.events(account.id).await;
        let back: Vec<_> = all.iter().rev().cloned().collect();
        let signed = u64::try_from(i64::MAX).expect("it is positive");
        let after_all = [all[2].position.commit + 1, signed - 1, signed, signed + 1, u64::MAX];
        let ends = [0, 1, ROW_EVENTS, i32::MAX.unsigned_abs(), u32::MAX - 1, u32::MAX];
        for (commit, place) in after_all.into_iter().flat_map(|c| ends.map(|place| (c, place))) {
            let far = Position { commit, place };
            let page = rig.event_page(account.id, events_from(ReadFrom::After(far), 9)).await;
            assert_eq!(page, EventPage { items: Vec::new(), next: None }, "{far:?}");
            let page = events_from(ReadFrom::Newest(Some(far)), 9);
            assert_eq!(rig.event_page(account.id, page).await.items, back, "{far:?}");
            let grown = rig.store().events_after(vec![(account.id, far)]).await.expect("read");
            assert_eq!(grown, [], "{far:?}");
        }
        for place in ends {
            let first = Position { commit: 0, place };
            let page = events_from(ReadFrom::After(first), 9);
            assert_eq!(rig.event_page(account.id, page).await.items, all, "{first:?}");
            let page = events_from(ReadFrom::Newest(Some(first)), 9);
            assert_eq!(rig.event_page(account.id, page).await.items, [], "{first:?}");
            let grown = rig.store().events_after(vec![(account.id, first)]).await.expect("read");
            assert_eq!(grown, [account.id], "{first:?}");
        }
    }

    /// A filter by kind keeps positions and order.
    async fn kinds_are_told_apart(rig: &Rig) {
        let account = rig.account(1_000).await;
        for to in 1..=6 {
            rig.text(&account, to).await;
            let hand = rig.claim_all().await;
            let result = if to % 3 == 0 { refused() } else { taken() };
            rig.finish(&hand, &result).await;
        }
        let all = rig.events(account.id).await;
        for kind in EventType::SUBSCRIBABLE {
            let own: Vec<_> =
                all.iter().filter(|event| event.event.data.kind() == kind).cloned().collect();
            for limit in [1, 2, 100] {
                let kinds = Kinds::from_iter([kind]);
                let limit = Limit::new(limit).expect("1 to 100");
                let request = EventRequest { kinds, from: FROM_START, limit };
                assert_eq!(rig.events_by(account.id, request).await, own, "{kind}");
            }
        }
    }

    /// Events past their retention are removed, oldest first and in portions, and positions after
    /// them still lead on.
    async fn old_events_are_removed(rig: &Rig) {
        let account = rig.account(100).await;
        for to in 1..=3 {
            rig.message_that_left(&account, to).await;
            rig.advance(days(1));
        }
        let all = rig.events(account.id).await;
        let before = rig.now().minus(days(1));
        let tidy = async |before, limit| {
            rig.store().tidy(Chore::Events { before }, limit).await.expect("events are tidied")
        };
        assert_eq!(tidy(rig.now().minus(days(4)), 9).await, 0);
        assert_eq!(rig.events(account.id).await, all);
        assert_eq!(tidy(before, 1).await, 1);
        assert_eq!(rig.events(account.id).await, all[1..]);
        assert_eq!((tidy(before, 9).await, tidy(before, 9).await), (1, 0));
        let left = rig.events(account.id).await;
        assert_eq!(left, all[2..]);
        let gone = &all[0];
        let on = events_from(ReadFrom::After(gone.position), 9);
        assert_eq!(rig.event_page(account.id, on).await.items, left);
        let found = rig.store().event_get(account.id, gone.event.id).await.expect("read");
        assert_eq!(found, None);
        rig.note_events_removed(account.id);
    }

    /// While many commits race, followers that read again and again see every event once, in an
    /// order that never changes.
    async fn racing_commits_are_followed_without_a_gap(rig: &Rig) {
        let account = rig.account(10_000).await;
        let sent = rig.send(&account, &request(1..=200)).await.messages;
        let hand = rig.claim_all().await;
        let mut futures: Vec<BoxFuture<'static, Vec<EventId>>> = Vec::new();
        for portion in sent.chunks(3) {
            let outcome = |id: MessageId| rig.outcome(id, hand.token, taken());
            let plans: Vec<_> = portion.iter().map(|message| outcome(message.id)).collect();
            let store = rig.store().clone();
            let record = async move {
                store.dispatch_record(plans).await.expect("recorded");
                Vec::new()
            };
            futures.push(record.boxed());
        }
        for limit in [1, 7, 100] {
            let (store, of) = (rig.store().clone(), account.id);
            let follow = async move {
                let (mut seen, mut after) = (Vec::new(), Position::START);
                while seen.len() < 200 {
                    let request = events_from(ReadFrom::After(after), limit);
                    let page = store.event_list(of, request).await.expect("read");
                    seen.extend(page.items.iter().map(|event| event.event.id));
                    after = page.items.last().map_or(after, |event| event.position);
                    sms_core::store::let_others_run().await;
                }
                seen
            };
            futures.push(follow.boxed());
        }
        let followed: Vec<Vec<EventId>> =
            rig.race(futures).into_iter().filter(|seen| !seen.is_empty()).collect();
        let events = rig.events(account.id).await;
        let all: Vec<EventId> = events.iter().map(|event| event.event.id).collect();
        assert_eq!(all.iter().collect::<BTreeSet<_>>().len(), 200);
        assert_eq!(followed, vec![all; 3]);
    }
}
