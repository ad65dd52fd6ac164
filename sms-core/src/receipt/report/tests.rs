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
    let report = NetworkReport { id: network_id(n), status };
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

#[test]
fn a_report_on_a_segment_changes_the_message_only_with_its_overall_status() {
    let sent = message(MessageStatus::Sent);
    for (before, news, expected) in [
        ([None, None], Delivered, None),
        ([None, Some(Delivered)], Delivered, Some(MessageStatus::Delivered)),
        ([None, Some(Delivered)], ABSENT, Some(MessageStatus::Undelivered)),
        ([Some(ABSENT), Some(Delivered)], Delivered, Some(MessageStatus::Delivered)),
    ] {
        let verdict = plan(0, news).settle(&sent, &parts(&before));
        let status = match verdict {
            ReportVerdict::Keep(kept) => {
                assert_eq!(kept, news);
                None
            }
            ReportVerdict::Change(kept, changed) => {
                assert_eq!(kept, news);
                Some(changed.message.status)
            }
            ReportVerdict::Repeat => panic!("{before:?} {news:?} is no repeat"),
        };
        assert_eq!(status, expected, "{before:?} {news:?}");
    }
}

#[test]
fn a_second_error_of_a_segment_does_not_replace_the_first() {
    let undelivered = message(MessageStatus::Undelivered);
    let verdict = plan(0, EXPIRED).settle(&undelivered, &parts(&[Some(ABSENT)]));
    assert_eq!(verdict, ReportVerdict::Keep(EXPIRED));
}

#[test]
fn repeats_and_segments_of_other_messages_change_nothing() {
    let sent = message(MessageStatus::Sent);
    for (kept, news) in [(Delivered, Delivered), (Delivered, ABSENT), (ABSENT, ABSENT)] {
        let verdict = plan(0, news).settle(&sent, &parts(&[Some(kept)]));
        assert_eq!(verdict, ReportVerdict::Repeat);
    }
    assert_eq!(plan(7, Delivered).settle(&sent, &parts(&[None])), ReportVerdict::Repeat);
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
            match plan(n, news).settle(&text, &kept) {
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
