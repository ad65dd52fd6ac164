//! Opt-outs that are written, listed and removed by hand. Those that come by message are among the
//! scenarios of inbound messages.

use sms_core::account::Account;
use sms_core::event::EventType;
use sms_core::inbound::{InboundPlan, Origin};
use sms_core::message::filter::Search;
use sms_core::message::{ErrorCode, MessageStatus};
use sms_core::opt_out::{Added, OptOut, OptOutSource};
use sms_core::page::{Limit, OffsetPage, OffsetRequest};
use sms_core::sending::SendPlan;

use crate::Rig;
use crate::rig::{done, millis, person, request};

impl Rig {
    fn new_opt_out(&self, n: u16, note: Option<&str>) -> OptOut {
        let note = note.map(str::to_owned);
        OptOut { phone: person(n), source: OptOutSource::Api, note, created_at: self.now() }
    }

    async fn add_opt_out(&self, account: &Account, opt_out: &OptOut) -> Added {
        let store = self.store();
        done(store.opt_out_create(account.id, opt_out.clone(), None).await).expect("written")
    }

    async fn opt_outs(
        &self,
        account: &Account,
        q: Option<&str>,
        limit: u32,
        offset: u64,
    ) -> OffsetPage<OptOut> {
        let search = q.and_then(Search::parse);
        let wanted = OffsetRequest { limit: Limit::new(limit).expect("1 to 100"), offset };
        self.store().opt_out_list(account.id, search.as_ref(), wanted).await.expect("read")
    }
}

/// What races an opt-out.
enum Act {
    ByHand(OptOut),
    Text(Box<InboundPlan>),
    Send(Box<SendPlan>),
}

/// One page of everything.
async fn all(rig: &Rig, account: &Account) -> Vec<OptOut> {
    rig.opt_outs(account, None, 100, 0).await.items
}

scenarios! { OptOut;
    /// An opt-out is kept as it was made, and the number is sent no more messages.
    async fn an_opt_out_is_kept_and_counts(rig: &Rig) {
        let (account, other) = (rig.account(5).await, rig.account(5).await);
        let opt_out = rig.new_opt_out(1, Some("asked on the phone 🐦"));
        assert_eq!(rig.add_opt_out(&account, &opt_out).await, Added::New(opt_out.clone()));
        assert_eq!(all(rig, &account).await, [opt_out]);
        assert!(rig.has_opted_out(&account, 1).await);
        assert!(!rig.has_opted_out(&other, 1).await);
        assert_eq!(all(rig, &other).await, []);
        let plan = rig.plan(&account, &request([1]));
        assert!(rig.accept(plan).await.is_err(), "who has opted out is not texted");
    }

    /// The first opt-out of a number stays as it is, whether it came by hand or by message.
    async fn the_first_opt_out_stays(rig: &Rig) {
        let account = rig.account(5).await;
        let number = rig.dedicated_number(person(900), &account).await;
        let first = rig.new_opt_out(1, None);
        rig.add_opt_out(&account, &first).await;
        rig.advance(millis(5));
        let again = rig.new_opt_out(1, Some("again"));
        assert_eq!(rig.add_opt_out(&account, &again).await, Added::Existing(first.clone()));
        rig.inbound_routed(1, number.phone, "STOP").await;
        assert_eq!(all(rig, &account).await, std::slice::from_ref(&first));
        rig.inbound_routed(2, number.phone, "STOP").await;
        let by_text = OptOut { source: OptOutSource::Sms, ..rig.new_opt_out(2, None) };
        rig.advance(millis(5));
        let again = rig.new_opt_out(2, Some("again"));
        assert_eq!(rig.add_opt_out(&account, &again).await, Added::Existing(by_text.clone()));
        assert_eq!(all(rig, &account).await, [by_text, first]);
    }

    /// An opt-out by hand notifies no endpoint.
    async fn an_opt_out_by_hand_is_no_event(rig: &Rig) {
        let account = rig.account(5).await;
        let number = rig.dedicated_number(person(900), &account).await;
        let endpoint = rig.endpoint(&account, &EventType::SUBSCRIBABLE).await;
        rig.add_opt_out(&account, &rig.new_opt_out(1, None)).await;
        assert_eq!(rig.kinds(&endpoint).await, []);
        rig.inbound_routed(1, number.phone, "STOP").await;
        assert_eq!(rig.kinds(&endpoint).await, [EventType::MessageReceived]);
    }

    /// A message that was accepted before its recipient was opted out does not leave, and is
    /// refunded.
    async fn a_message_accepted_before_does_not_leave(rig: &Rig) {
        let account = rig.account(5).await;
        let message = rig.text(&account, 1).await;
        rig.add_opt_out(&account, &rig.new_opt_out(1, None)).await;
        let hand = rig.claim_all().await;
        assert!(hand.messages.is_empty());
        let after = rig.message(&account, message.id).await;
        assert_eq!((after.status, after.error), (MessageStatus::Failed, Some(ErrorCode::OptedOut)));
        assert_eq!(rig.balance(&account).await, 5);
    }

    /// An opt-out that is removed is gone, and the number can be sent messages, and can opt out,
    /// again.
    async fn a_removed_opt_out_is_gone(rig: &Rig) {
        let (account, other) = (rig.account(5).await, rig.account(5).await);
        let neighbour = rig.new_opt_out(2, None);
        for opt_out in [rig.new_opt_out(1, None), neighbour.clone()] {
            rig.add_opt_out(&account, &opt_out).await;
        }
        let delete = async |of: &Account, n| {
            rig.store().opt_out_delete(of.id, person(n)).await.expect("answered")
        };
        assert!(!delete(&other, 1).await);
        assert!(!delete(&account, 3).await);
        assert!(delete(&account, 1).await);
        assert!(!delete(&account, 1).await);
        assert_eq!(all(rig, &account).await, [neighbour]);
        assert_eq!(rig.send(&account, &request([1])).await.messages.len(), 1);
        let again = rig.new_opt_out(1, Some("again"));
        assert_eq!(rig.add_opt_out(&account, &again).await, Added::New(again));
    }

    /// Opt-outs are listed newest first, of one moment the highest number first, any part of the
    /// list with the length of the whole.
    async fn opt_outs_are_listed_newest_first(rig: &Rig) {
        let (account, other) = (rig.account(0).await, rig.account(0).await);
        let mut expected = Vec::new();
        for people in [[7, 3, 5], [2, 9, 4]] {
            let mut made = Vec::new();
            for n in people {
                let opt_out = rig.new_opt_out(n, None);
                rig.add_opt_out(&account, &opt_out).await;
                rig.add_opt_out(&other, &opt_out).await;
                made.push(opt_out);
            }
            made.sort_by_key(|opt_out| std::cmp::Reverse(opt_out.phone));
            expected.splice(0..0, made);
            rig.advance(millis(1));
        }
        for limit in [1, 2, 4, 6, 100] {
            for offset in 0..8_usize {
                let page = rig.opt_outs(&account, None, limit, offset as u64).await;
                let part = expected.iter().skip(offset).take(limit as usize).cloned();
                assert_eq!(page.items, part.collect::<Vec<_>>(), "{limit} from {offset}");
                assert_eq!(page.total, 6, "{limit} from {offset}");
            }
        }
        let beyond = rig.opt_outs(&account, None, 1, u64::MAX).await;
        assert_eq!((beyond.items, beyond.total), (vec![], 6));
    }

    /// Reading on while others are added may show one twice, and misses none that was there.
    async fn reading_on_while_others_are_added_misses_none(rig: &Rig) {
        let account = rig.account(0).await;
        for n in 1..=6 {
            rig.add_opt_out(&account, &rig.new_opt_out(n, None)).await;
            rig.advance(millis(1));
        }
        let there = all(rig, &account).await;
        let mut seen = Vec::new();
        for (offset, newer) in [(0, 11), (2, 12), (4, 13), (6, 14), (8, 15)] {
            seen.extend(rig.opt_outs(&account, None, 2, offset).await.items);
            rig.add_opt_out(&account, &rig.new_opt_out(newer, None)).await;
            rig.advance(millis(1));
        }
        seen.extend(rig.opt_outs(&account, None, 2, 10).await.items);
        assert!(there.iter().all(|opt_out| seen.contains(opt_out)), "{seen:?}");
    }

    /// A search finds a number in any format and words of a note, whatever their case, and counts
    /// what it finds.
    async fn a_search_finds_numbers_and_words_of_notes(rig: &Rig) {
        let account = rig.account(0).await;
        let first = rig.new_opt_out(1, Some("Asked on the PHONE, für immer"));
        let second = rig.new_opt_out(2, Some("100% _sure_ by phone"));
        let third = rig.new_opt_out(3, None);
        for opt_out in [&first, &second, &third] {
            rig.add_opt_out(&account, opt_out).await;
        }
        for (q, found) in [
            ("07700 900001", vec![&first]),
            ("+447700900003", vec![&third]),
            ("07700 900004", vec![]),
            ("phone", vec![&second, &first]),
            ("FÜR", vec![&first]),
            ("%", vec![&second]),
            ("_sure", vec![&second]),
            ("900001", vec![]),
            ("'", vec![]),
            (" ", vec![&third, &second, &first]),
        ] {
            let page = rig.opt_outs(&account, Some(q), 100, 0).await;
            let found: Vec<OptOut> = found.into_iter().cloned().collect();
            assert_eq!((page.total, page.items.as_slice()), (found.len() as u64, &*found), "{q}");
            let second_only = rig.opt_outs(&account, Some(q), 1, 1).await;
            let expected: Vec<OptOut> = found.iter().skip(1).take(1).cloned().collect();
            assert_eq!((second_only.total, second_only.items), (page.total, expected), "{q}");
        }
    }

    /// Many opt-outs are added at once: those of numbers that have none, once each.
    async fn many_opt_outs_are_added_and_earlier_ones_stay(rig: &Rig) {
        let (account, other) = (rig.account(5).await, rig.account(5).await);
        let first = rig.new_opt_out(1, Some("first"));
        rig.add_opt_out(&account, &first).await;
        rig.advance(millis(5));
        let two = rig.new_opt_out(2, Some("brought along 🐦"));
        let three = rig.new_opt_out(3, None);
        let many = vec![rig.new_opt_out(1, Some("again")), two.clone(), three.clone()];
        let store = rig.store();
        let new = store.opt_outs_add(account.id, many.clone()).await.expect("written");
        assert_eq!(new, [person(2), person(3)].into());
        assert_eq!(all(rig, &account).await, [three, two, first]);
        assert_eq!(all(rig, &other).await, []);
        let plan = rig.plan(&account, &request([2]));
        assert!(rig.accept(plan).await.is_err(), "who has opted out is not texted");
        let again = store.opt_outs_add(account.id, many).await.expect("written");
        assert!(again.is_empty());
        let none = store.opt_outs_add(account.id, Vec::new()).await.expect("written");
        assert!(none.is_empty());
        assert!(store.opt_outs_add(rig.id(), vec![rig.new_opt_out(1, None)]).await.is_err());
    }

    /// An opt-out needs an account that exists.
    async fn an_opt_out_needs_its_account(rig: &Rig) {
        let opt_out = rig.new_opt_out(1, None);
        let added = done(rig.store().opt_out_create(rig.id(), opt_out, None).await);
        assert!(added.is_err());
    }

    /// However often a number is opted out at once, by hand and by message, it is one opt-out, and
    /// one event at most: one if a message came first.
    async fn racing_opt_outs_and_stops_are_one_row_and_one_event(rig: &Rig) {
        for round in 1..=4_u16 {
            let account = rig.account(5).await;
            let number = rig.dedicated_number(person(900 + round), &account).await;
            let endpoint = rig.endpoint(&account, &[EventType::OptOutCreated]).await;
            let by_hand = |_| Act::ByHand(rig.new_opt_out(1, Some("by hand")));
            let stop = || rig.inbound_plan(1, number.phone, "STOP", Origin::Network);
            let messages = (0..4).map(|_| Act::Text(Box::new(stop())));
            let acts: Vec<_> = (0..4).map(by_hand).chain(messages).collect();
            let id = account.id;
            let news = rig.race_each(acts, move |store, act| async move {
                match act {
                    Act::ByHand(opt_out) => {
                        let added = done(store.opt_out_create(id, opt_out, None).await);
                        let added = added.expect("written");
                        usize::from(matches!(added, Added::New(_)))
                    }
                    Act::Text(plan) => {
                        done(store.inbound_take(*plan, None).await).expect("taken in");
                        0
                    }
                    Act::Send(_) => 0,
                }
            });
            let by_hand: usize = news.iter().sum();
            let kept = all(rig, &account).await;
            let source = if by_hand == 1 { OptOutSource::Api } else { OptOutSource::Sms };
            assert_eq!((kept.len(), kept[0].source), (1, source));
            assert_eq!(rig.deliveries(&endpoint).await.len() + by_hand, 1);
        }
    }

    /// A send that races an opt-out is either accepted before it or refused; what was accepted
    /// does not leave.
    async fn a_send_that_races_an_opt_out_never_leaves(rig: &Rig) {
        let account = rig.account(50).await;
        let sends = (0..8).map(|_| Act::Send(Box::new(rig.plan(&account, &request([1])))));
        let by_hand = Act::ByHand(rig.new_opt_out(1, None));
        let acts: Vec<_> = [by_hand].into_iter().chain(sends).collect();
        let id = account.id;
        rig.race_each(acts, move |store, act| async move {
            match act {
                Act::ByHand(opt_out) => {
                    done(store.opt_out_create(id, opt_out, None).await).expect("written");
                }
                Act::Send(plan) => drop(store.send_accept(vec![*plan]).await),
                Act::Text(_) => {}
            }
        });
        let hand = rig.claim_all().await;
        assert!(hand.messages.is_empty(), "nothing is handed to a route");
        assert_eq!(rig.balance(&account).await, 50);
    }
}
