use proptest::prelude::*;

use super::ReceiptStatus::{Delivered, Undelivered};
use super::*;
use crate::message::{ErrorCode, MessageStatus};
use crate::samples::{ids, message, now};

const ABSENT: ReceiptStatus = Undelivered(ErrorCode::AbsentSubscriber);
const EXPIRED: ReceiptStatus = Undelivered(ErrorCode::Expired);

fn network_id(n: usize) -> NetworkId {
    NetworkId::new(RouteName::new("main"), n.to_string())
}

fn parts(reports: &[Option<ReceiptStatus>]) -> Vec<SentSegment> {
    let part = |(n, report): (usize, &Option<ReceiptStatus>)| SentSegment {
        id: network_id(n),
        message: message(MessageStatus::Sent).id,
        total: reports.len(),
        report: *report,
        at: now(),
    };
    reports.iter().enumerate().map(part).collect()
}

fn plan(n: usize, status: ReceiptStatus) -> ReportPlan {
    let report = NetworkReport::new(network_id(n), status);
    ReportPlan { report, at: now(), ids: ids() }
}

#[test]
fn the_networks_id_of_a_segment_is_kept_for_7_days() {
    assert_eq!(KEPT_FOR.as_secs(), 7 * 24 * 60 * 60);
}

#[test]
fn the_status_of_a_message_follows_from_its_segments() {
    type Row = (usize, &'static [Option<ReceiptStatus>], Option<ReceiptStatus>);
    let table: [Row; 8] = [
        (1, &[None], None),
        (1, &[Some(Delivered)], Some(Delivered)),
        (1, &[Some(ABSENT)], Some(ABSENT)),
        (2, &[Some(Delivered), None], None),
        (2, &[Some(Delivered), Some(Delivered)], Some(Delivered)),
        (2, &[None, Some(EXPIRED)], Some(EXPIRED)),
        (2, &[Some(Delivered), Some(ABSENT)], Some(ABSENT)),
        // One of three segments is no longer recorded, or never was.
        (3, &[Some(Delivered), Some(Delivered)], None),
    ];
    for (total, reports, expected) in table {
        assert_eq!(of_whole(total, reports.iter().copied()), expected, "{reports:?}");
    }
}

/// Where a report that names these numbers belongs, given what is known.
fn place(numbers: &[E164], known: &[(NetworkId, Known)]) -> Place {
    let report = NetworkReport::new(network_id(0), Delivered).between(numbers.iter().copied());
    let find = |id: &NetworkId| known.iter().find(|(name, _)| name == id).map(|it| it.1.clone());
    report.place(|id| Ok::<_, std::convert::Infallible>(find(id))).unwrap()
}

#[test]
fn a_report_belongs_to_the_newest_message_with_its_id_and_its_recipient() {
    let [one, two, three]: [E164; 3] =
        ["+447700900001", "+447700900002", "+447700900003"].map(|number| number.parse().unwrap());
    let id = network_id(0);
    // The second has the id now; the first had it before.
    let known =
        [(id.clone(), Known::Segment { to: two }), (id.beside(one), Known::Segment { to: one })];
    let newest = Place::Segment(id.clone());
    for (numbers, expected) in [
        (vec![], newest.clone()),
        (vec![two], newest.clone()),
        (vec![three, two], newest.clone()),
        (vec![one, two], newest),
        (vec![one], Place::Segment(id.beside(one))),
        (vec![three, one], Place::Segment(id.beside(one))),
        (vec![three], Place::Early(id.beside(three))),
    ] {
        assert_eq!(place(&numbers, &known), expected, "{numbers:?}");
        assert_eq!(place(&numbers, &[]), Place::Early(id.clone()), "{numbers:?}");
    }
    let of_one = EarlyReport { status: Delivered, at: now(), numbers: vec![one] };
    let known = [(id.clone(), Known::Early(of_one))];
    for (numbers, expected) in [
        (vec![], Place::Early(id.clone())),
        (vec![one, two], Place::Early(id.clone())),
        (vec![two, one], Place::Early(id.beside(two))),
        (vec![two], Place::Early(id.beside(two))),
    ] {
        assert_eq!(place(&numbers, &known), expected, "{numbers:?}");
    }
}

#[test]
fn early_reports_on_two_people_differ_though_both_name_our_number() {
    let [one, two, ours]: [E164; 3] =
        ["+447700900001", "+447700900002", "+447700900003"].map(|number| number.parse().unwrap());
    let id = network_id(0);
    let report = |numbers: [E164; 2]| {
        NetworkReport::new(id.clone(), Delivered).between(numbers).naming_last(&[ours].into())
    };
    for (first, second) in [
        ([one, ours], [two, ours]),
        ([one, ours], [ours, two]),
        ([ours, one], [two, ours]),
        ([ours, one], [ours, two]),
    ] {
        let (first, second) = (report(first).early(now()), report(second));
        assert_eq!(first.makes_way(&id, two), Some(id.beside(one)));
        let known = [(id.clone(), Known::Early(first.clone()))];
        assert_eq!(place(&second.numbers, &known), Place::Early(id.beside(two)));
        for again in [[one, ours], [ours, one]] {
            assert!(first.may_be_of(&report(again).numbers), "{again:?}");
        }
    }
}

#[test]
fn a_report_keeps_all_of_its_numbers_whichever_are_ours() {
    let [one, two]: [E164; 2] =
        ["+447700900001", "+447700900002"].map(|number| number.parse().unwrap());
    for (ours, expected) in [
        (vec![], [one, two]),
        (vec![one], [two, one]),
        (vec![two], [one, two]),
        (vec![one, two], [one, two]),
    ] {
        let report = NetworkReport::new(network_id(0), Delivered).between([one, two]);
        let named = report.naming_last(&ours.iter().copied().collect()).numbers;
        assert_eq!(named, expected, "{ours:?}");
    }
}

#[test]
fn a_name_beside_an_id_keeps_what_the_network_told() {
    let one: E164 = "+447700900001".parse().unwrap();
    let id = network_id(17);
    let name = id.beside(one);
    assert_eq!((id.as_told(), name.as_told()), ("17", "17"));
    assert_eq!((id.is_beside(), name.is_beside()), (false, true));
    assert_eq!(name.beside(one), name);
    assert_eq!(format!("{name:?}"), "main/17 to 447700900001");
}

#[test]
fn a_report_on_a_segment_changes_the_message_only_with_its_overall_status() {
    let sent = message(MessageStatus::Sent);
    for (before, news, expected) in [
        ([None, None], Delivered, None),
        ([None, Some(Delivered)], Delivered, Some(MessageStatus::Delivered)),
        ([None, Some(Delivered)], ABSENT, Some(MessageStatus::Undelivered)),
        ([Some(ABSENT), Some(Delivered)], Delivered, Some(MessageStatus::Delivered)),
    ] {
        let verdict = plan(0, news).settle(&network_id(0), &sent, &parts(&before));
        let status = match verdict {
            ReportVerdict::Keep(kept) => {
                assert_eq!(kept, news);
                None
            }
            ReportVerdict::Change(kept, changed) => {
                assert_eq!(kept, news);
                Some(changed.message.status)
            }
            ReportVerdict::Repeat => panic!("{before:?} {news:?} is news of this message"),
        };
        assert_eq!(status, expected, "{before:?} {news:?}");
    }
}

#[test]
fn a_second_error_of_a_segment_does_not_replace_the_first() {
    let undelivered = message(MessageStatus::Undelivered);
    let verdict = plan(0, EXPIRED).settle(&network_id(0), &undelivered, &parts(&[Some(ABSENT)]));
    assert_eq!(verdict, ReportVerdict::Keep(EXPIRED));
}

#[test]
fn repeats_and_segments_of_other_messages_change_nothing() {
    let sent = message(MessageStatus::Sent);
    for (kept, news) in [(Delivered, Delivered), (Delivered, ABSENT), (ABSENT, ABSENT)] {
        let verdict = plan(0, news).settle(&network_id(0), &sent, &parts(&[Some(kept)]));
        assert_eq!(verdict, ReportVerdict::Repeat);
    }
    assert_eq!(
        plan(7, Delivered).settle(&network_id(7), &sent, &parts(&[None])),
        ReportVerdict::Repeat
    );
}

fn status() -> impl Strategy<Value = ReceiptStatus> {
    prop_oneof![Just(Delivered), Just(ABSENT), Just(EXPIRED)]
}

proptest! {
    #[test]
    fn a_message_is_delivered_once_all_segments_are_in_any_order_of_reports(
        total in 1_usize..6,
        before in prop::collection::vec((any::<prop::sample::Index>(), status()), 0..20),
        order in any::<prop::sample::Index>(),
        after in prop::collection::vec((any::<prop::sample::Index>(), status()), 0..10),
    ) {
        let mut kept = parts(&vec![None; total]);
        let mut text = message(MessageStatus::Sent);
        let pick = |list: &[(prop::sample::Index, ReceiptStatus)]| -> Vec<_> {
            list.iter().map(|(index, status)| (index.index(total), *status)).collect()
        };
        let mut all: Vec<usize> = (0..total).collect();
        all.rotate_left(order.index(total));
        let delivered = all.into_iter().map(|n| (n, Delivered));
        let mut refunds = 0;
        for (n, news) in pick(&before).into_iter().chain(delivered).chain(pick(&after)) {
            match plan(n, news).settle(&network_id(n), &text, &kept) {
                ReportVerdict::Repeat => {}
                ReportVerdict::Keep(news) => kept[n].report = Some(news),
                ReportVerdict::Change(news, changed) => {
                    kept[n].report = Some(news);
                    refunds += usize::from(changed.refund.is_some());
                    text = changed.message;
                }
            }
        }
        prop_assert_eq!((text.status, refunds), (MessageStatus::Delivered, 0));
    }
}
