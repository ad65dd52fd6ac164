//! Long messages that come in part by part.

use sms_core::dispatch::VALIDITY;
use sms_core::inbound::TakenIn;
use sms_core::inbound::segment::{
    Alphabet, GaveUp, GiveUpPlan, InboundSegment, KEPT_FOR, Place, SegmentPlan, SegmentTaken,
    SegmentText,
};
use sms_core::keyword::reply_limit::ReplyLimits;
use sms_core::message::{Message, MessageFilter};
use sms_core::phone::E164;
use sms_core::route::RouteName;

use crate::Rig;
use crate::rig::{days, millis, person, seconds};

/// Part `number` of `total` of the message with this reference.
fn plan(rig: &Rig, to: E164, reference: u16, place: (u8, u8), body: &str) -> SegmentPlan {
    raw(rig, to, reference, place, SegmentText::whole(body))
}

fn raw(
    rig: &Rig,
    to: E164,
    reference: u16,
    (number, total): (u8, u8),
    text: SegmentText,
) -> SegmentPlan {
    let part = InboundSegment {
        from: person(1).into(),
        to,
        reference,
        place: Place::new(number, total).expect("a place"),
        text,
        route: RouteName::new("smpp"),
        received_at: rig.now(),
    };
    SegmentPlan::new(part, VALIDITY, rig.now(), rig.ids())
}

async fn take(rig: &Rig, plan: SegmentPlan) -> SegmentTaken {
    rig.store().inbound_segment_take(plan).await.expect("the part is taken in")
}

fn joined(taken: SegmentTaken) -> Message {
    let SegmentTaken::Joined(TakenIn::Routed(text)) = taken else {
        panic!("not joined: {taken:?}")
    };
    text
}

async fn give_up(rig: &Rig) -> GaveUp {
    let before = rig.now().minus(KEPT_FOR);
    let (validity, reply_limits) = (VALIDITY, ReplyLimits::default());
    let plan = GiveUpPlan { before, validity, reply_limits, at: rig.now(), ids: rig.ids() };
    rig.store().inbound_segment_give_up(plan).await.expect("answered")
}

scenarios! { Inbound;
    /// Parts in any order, some of them twice, make one message like any other.
    async fn parts_in_any_order_make_one_message(rig: &Rig) {
        let account = rig.account(5).await;
        let ours = rig.dedicated_number(person(900), &account).await.phone;
        for (number, body, expected) in [
            (3, "!", SegmentTaken::Waiting),
            (1, "Grüße ", SegmentTaken::Waiting),
            (3, "!", SegmentTaken::Repeat),
            (1, "Grüße ", SegmentTaken::Repeat),
        ] {
            let taken = take(rig, plan(rig, ours, 7, (number, 3), body)).await;
            assert_eq!(taken, expected, "{number} {body}");
        }
        assert_eq!(rig.messages(account.id, &MessageFilter::default()).await, []);
        rig.advance(seconds(5));
        let text = joined(take(rig, plan(rig, ours, 7, (2, 3), "🐦\0")).await);
        assert_eq!((text.account, text.body.as_str()), (account.id, "Grüße 🐦!"));
        assert_eq!((text.from, text.to, text.route.as_str()), (person(1), ours, "smpp"));
        assert_eq!(text.times.received_at, Some(rig.now()));
        assert_eq!(rig.message(&account, text.id).await, text);
        for number in 1..=3 {
            let body = ["Grüße ", "🐦\0", "!"][usize::from(number) - 1];
            let taken = take(rig, plan(rig, ours, 7, (number, 3), body)).await;
            assert_eq!(taken, SegmentTaken::Repeat, "{number} again");
        }
        let next = take(rig, plan(rig, ours, 7, (1, 3), "Noch ")).await;
        assert_eq!(next, SegmentTaken::Waiting, "another text of the same reference");
    }

    /// Messages are distinguished by their numbers, reference and number of parts.
    async fn messages_in_parts_are_told_apart(rig: &Rig) {
        let account = rig.account(5).await;
        let ours = rig.dedicated_number(person(900), &account).await.phone;
        let other = rig.dedicated_number(person(901), &account).await.phone;
        let kinds = [(ours, 7, 2), (other, 7, 2), (ours, 8, 2), (ours, 7, 3), (ours, 65_535, 255)];
        for (to, reference, total) in kinds {
            let taken = take(rig, plan(rig, to, reference, (1, total), "a")).await;
            assert_eq!(taken, SegmentTaken::Waiting, "{reference} {total}");
        }
        let text = joined(take(rig, plan(rig, ours, 7, (2, 2), "b")).await);
        assert_eq!((text.to, text.body.as_str()), (ours, "ab"));
        let single = joined(take(rig, plan(rig, ours, 9, (1, 1), "alone")).await);
        assert_eq!(single.body.as_str(), "alone");
    }

    /// A joined message is routed, opts out and matches keywords as any other; one without an
    /// account is kept for the operator.
    async fn a_joined_message_does_what_any_message_does(rig: &Rig) {
        let account = rig.account(5).await;
        let ours = rig.dedicated_number(person(900), &account).await.phone;
        rig.keyword(&account, "pizza", Some("Yum"), None).await;
        take(rig, plan(rig, ours, 1, (2, 2), "zza, please")).await;
        let taken = take(rig, plan(rig, ours, 1, (1, 2), "pi")).await;
        assert!(matches!(taken, SegmentTaken::Joined(TakenIn::Answered(..))), "{taken:?}");
        take(rig, plan(rig, ours, 2, (2, 2), "OP")).await;
        joined(take(rig, plan(rig, ours, 2, (1, 2), "ST")).await);
        assert!(rig.has_opted_out(&account, 1).await);
        take(rig, plan(rig, person(800), 1, (1, 2), "a")).await;
        let taken = take(rig, plan(rig, person(800), 1, (2, 2), "b")).await;
        let SegmentTaken::Joined(TakenIn::Unrouted(text)) = taken else { panic!("{taken:?}") };
        assert_eq!(text.body.as_str(), "ab");
    }

    /// After a day what came of a message is taken in, in order, and what was joined is forgotten;
    /// the oldest first, and nothing younger.
    async fn what_came_of_a_message_is_taken_in_after_a_day(rig: &Rig) {
        let account = rig.account(5).await;
        let ours = rig.dedicated_number(person(900), &account).await.phone;
        take(rig, plan(rig, ours, 1, (3, 3), "c")).await;
        rig.advance(millis(1));
        for number in [2, 1] {
            take(rig, plan(rig, ours, 2, (number, 2), "x")).await;
        }
        take(rig, plan(rig, ours, 1, (1, 3), "a")).await;
        rig.advance(days(1) - millis(1));
        take(rig, plan(rig, ours, 3, (1, 2), "young")).await;
        assert_eq!(give_up(rig).await, GaveUp::Nothing, "a day to the millisecond");
        rig.advance(millis(1));
        let GaveUp::TakenIn(TakenIn::Routed(text)) = give_up(rig).await else { panic!("lost") };
        assert_eq!((text.body.as_str(), text.account), ("a[...]c", account.id));
        let found = rig.store().message_get(account.id, text.id).await.expect("read");
        let (_, lines) = found.expect("there");
        let told: Vec<_> = lines.iter().filter_map(|line| line.detail.as_deref()).collect();
        assert_eq!(told, ["Incomplete: 2 of its 3 segments arrived in a day."]);
        assert_eq!(give_up(rig).await, GaveUp::Nothing);
        rig.advance(millis(1));
        assert_eq!([give_up(rig).await, give_up(rig).await], [GaveUp::Forgotten, GaveUp::Nothing]);
        let again = take(rig, plan(rig, ours, 2, (1, 2), "x")).await;
        assert_eq!(again, SegmentTaken::Waiting, "what is forgotten is no repeat");
    }

    /// A message may be cut within a character.
    async fn parts_are_joined_before_they_are_read(rig: &Rig) {
        let account = rig.account(5).await;
        let ours = rig.dedicated_number(person(900), &account).await.phone;
        let cases: [(Alphabet, [&[u8]; 2], &str); 4] = [
            (Alphabet::Utf16, [b"\xD8\x3D", b"\xDE\x31"], "😱"),
            (Alphabet::Gsm7, [b"5\x1B", b"\x650"], "5€0"),
            (Alphabet::Utf8, [b"\xC3", b"\xA9"], "é"),
            (Alphabet::Gsm7, [b"", b"\0\xFF"], "@\u{FFFD}"),
        ];
        for (reference, (alphabet, [first, last], text)) in (0..).zip(cases) {
            for (number, octets) in [(2, last), (1, first)] {
                let part = SegmentText::new(alphabet, octets);
                let taken = take(rig, raw(rig, ours, reference, (number, 2), part)).await;
                if number == 1 {
                    assert_eq!(joined(taken).body.as_str(), text);
                }
            }
        }
    }

    /// A phone that gives each message the same reference is understood, though a part is lost:
    /// what came of each message is there in the end.
    async fn a_lost_part_does_not_spoil_the_next_message(rig: &Rig) {
        let account = rig.account(5).await;
        let ours = rig.dedicated_number(person(900), &account).await.phone;
        for (number, body) in [(1, "lost "), (1, "Once "), (2, "more"), (2, "late")] {
            take(rig, plan(rig, ours, 7, (number, 3), body)).await;
            rig.advance(seconds(1));
        }
        joined(take(rig, plan(rig, ours, 7, (3, 3), ".")).await);
        rig.advance(seconds(600));
        take(rig, plan(rig, ours, 9, (2, 2), "end")).await;
        rig.advance(seconds(600));
        take(rig, plan(rig, ours, 9, (1, 2), "new ")).await;
        joined(take(rig, plan(rig, ours, 9, (2, 2), "text")).await);
        rig.advance(days(2));
        while give_up(rig).await != GaveUp::Nothing {}
        let messages = rig.messages(account.id, &MessageFilter::default()).await;
        let mut texts: Vec<_> = messages.iter().map(|text| text.body.as_str()).collect();
        texts.sort_unstable();
        assert_eq!(texts, ["Once more.", "[...]end", "lost late[...]", "new text"]);
    }

    /// The parts of a message come through several programs at once, each of them twice: the
    /// message is there once, and whole.
    async fn racing_parts_make_one_message(rig: &Rig) {
        let account = rig.account(5).await;
        let ours = rig.dedicated_number(person(900), &account).await.phone;
        for reference in 0..8 {
            let bodies = ["a", "b", "c", "d"];
            let both = [1, 2, 3, 4, 1, 2, 3, 4];
            let plans: Vec<_> = both
                .into_iter()
                .map(|n| plan(rig, ours, reference, (n, 4), bodies[usize::from(n) - 1]))
                .collect();
            let taken = rig.race_each(plans, |store, plan| async move {
                store.inbound_segment_take(plan).await.expect("taken in")
            });
            let whole: Vec<_> = taken
                .into_iter()
                .filter(|one| matches!(one, SegmentTaken::Joined(_)))
                .map(joined)
                .collect();
            assert_eq!(whole.len(), 1, "text {reference}");
            assert_eq!(whole[0].body.as_str(), "abcd");
        }
        assert_eq!(rig.messages(account.id, &MessageFilter::default()).await.len(), 8);
    }

    /// Several programs give up at once, while the missing part comes: every message is taken in
    /// once.
    async fn racing_give_ups_take_each_message_in_once(rig: &Rig) {
        let account = rig.account(5).await;
        let ours = rig.dedicated_number(person(900), &account).await.phone;
        for reference in 0..6 {
            take(rig, plan(rig, ours, reference, (1, 2), "a")).await;
        }
        rig.advance(days(1) + millis(1));
        let runs: Vec<_> = (0..12)
            .map(|n| {
                let before = rig.now().minus(KEPT_FOR);
                let (at, ids) = (rig.now(), rig.ids());
                let (validity, reply_limits) = (VALIDITY, ReplyLimits::default());
                let give_up = GiveUpPlan { before, validity, reply_limits, at, ids };
                (n >= 6, give_up, plan(rig, ours, n % 6, (2, 2), "b"))
            })
            .collect();
        rig.race_each(runs, |store, (comes, give_up, part)| async move {
            if comes {
                store.inbound_segment_take(part).await.expect("taken in");
            } else {
                store.inbound_segment_give_up(give_up).await.expect("given up");
            }
        });
        while give_up(rig).await != GaveUp::Nothing {}
        rig.advance(days(1) + millis(1));
        while give_up(rig).await != GaveUp::Nothing {}
        let messages = rig.messages(account.id, &MessageFilter::default()).await;
        let firsts = messages.iter().filter(|text| text.body.as_str().contains('a')).count();
        let seconds = messages.iter().filter(|text| text.body.as_str().contains('b')).count();
        assert_eq!((firsts, seconds), (6, 6), "no part is lost, none is there twice");
    }
}
