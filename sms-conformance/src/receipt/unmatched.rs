//! Receipts that match no message, kept for the operator.

use sms_core::message::{ErrorCode, MessageStatus};
use sms_core::receipt::ReceiptStatus::{Delivered, Undelivered};
use sms_core::receipt::report::{EARLY_FOR, KEPT_FOR, NetworkId, NetworkReport};
use sms_core::receipt::unmatched::Unmatched;
use sms_core::route::RouteName;
use sms_core::time::Timestamp;
use sms_core::upkeep::Chore;

use super::report::{ABSENT, message_to, report, report_to, submitted};
use crate::Rig;
use crate::rig::{days, person, request, seconds};

fn route() -> RouteName {
    RouteName::new("main")
}

async fn unmatched(rig: &Rig, before: Timestamp, limit: usize) -> Unmatched {
    rig.store().reports_unmatched(&route(), before, limit).await.expect("listed")
}

/// The ids as the network wrote them, newest first.
async fn ids(rig: &Rig) -> Vec<String> {
    let found = unmatched(rig, rig.now().plus(seconds(1)), 100).await;
    assert_eq!(found.count, found.newest.len());
    found.newest.iter().map(|report| report.id.as_told().to_owned()).collect()
}

async fn trimmed(rig: &Rig, keep: usize, limit: usize) -> usize {
    let before = rig.now().plus(seconds(1)).minus(EARLY_FOR);
    rig.store()
        .tidy(Chore::UnmatchedReports { route: route(), before, keep }, limit)
        .await
        .expect("trimmed")
}

scenarios! { Receipt;
    /// Reports that match no message are listed by route with what they say, newest first.
    async fn reports_that_match_no_message_are_listed(rig: &Rig) {
        let account = rig.account(10).await;
        message_to(rig, &account, 1, &["known"]).await;
        report(rig, "a", Delivered).await;
        rig.advance(seconds(1));
        report_to(rig, "b", ABSENT, &[person(7), person(8)]).await;
        rig.advance(seconds(1));
        // Its message went to another person.
        report_to(rig, "known", Delivered, &[person(9)]).await;
        let last = rig.now();
        report(rig, "known", Delivered).await;
        let found = unmatched(rig, last.plus(seconds(1)), 2).await;
        assert_eq!(found.count, 3);
        let told: Vec<_> = found
            .newest
            .iter()
            .map(|it| (it.id.as_told(), it.status, it.numbers.clone()))
            .collect();
        let absent = Undelivered(ErrorCode::AbsentSubscriber);
        assert_eq!(told, [
            ("known", Delivered, vec![person(9)]),
            ("b", absent, vec![person(7), person(8)]),
        ]);
        assert_eq!(found.newest[0].at, last);
        let earlier = unmatched(rig, last, 10).await;
        assert_eq!((earlier.count, earlier.newest.len()), (2, 2), "later ones may be early");
        let backup = RouteName::new("backup");
        let other = rig.store().reports_unmatched(&backup, last.plus(seconds(1)), 10).await;
        assert_eq!(other.expect("listed"), Unmatched::default());
    }

    /// A report that came early after all is no longer among them once its message is recorded.
    async fn a_report_that_was_early_is_not_unmatched(rig: &Rig) {
        let account = rig.account(10).await;
        message_to(rig, &account, 1, &["x"]).await;
        let sent = rig.send(&account, &request(2..=3)).await;
        let hand = rig.claim_all().await;
        report(rig, "a", Delivered).await;
        report_to(rig, "x", Delivered, &[person(3)]).await;
        assert_eq!(ids(rig).await, ["x", "a"]);
        rig.record(sent.messages[0].id, hand.token, submitted(&["a"])).await;
        rig.record(sent.messages[1].id, hand.token, submitted(&["x"])).await;
        assert_eq!(ids(rig).await, [""; 0]);
        for message in sent.messages {
            assert_eq!(rig.status(&account, message.id).await, MessageStatus::Delivered);
        }
    }

    /// No more are kept of a route than its bound, but those that may still be early.
    async fn unmatched_reports_are_trimmed_to_the_newest(rig: &Rig) {
        let account = rig.account(10).await;
        let old = message_to(rig, &account, 1, &["known"]).await;
        for n in 0..6 {
            report(rig, &format!("old-{n}"), Delivered).await;
            rig.advance(seconds(1));
        }
        rig.advance(EARLY_FOR);
        report(rig, "new", Delivered).await;
        assert_eq!(trimmed(rig, 6, 100).await, 0);
        assert_eq!(trimmed(rig, 2, 1).await, 1);
        assert_eq!(trimmed(rig, 2, 100).await, 3);
        assert_eq!(trimmed(rig, 2, 100).await, 0);
        assert_eq!(ids(rig).await, ["new", "old-5", "old-4"]);
        assert_eq!(trimmed(rig, 0, 100).await, 2);
        report(rig, "known", Delivered).await;
        assert_eq!(rig.status(&account, old).await, MessageStatus::Delivered);
    }

    /// Of several reports from one moment, those with the greater ids count as the newer ones: the
    /// bound may lie between them.
    async fn unmatched_reports_of_one_moment_are_trimmed_to_the_bound(rig: &Rig) {
        for id in ["c", "a", "d", "b"] {
            report(rig, id, Delivered).await;
        }
        rig.advance(seconds(1));
        report(rig, "later", Delivered).await;
        rig.advance(EARLY_FOR);
        assert_eq!(trimmed(rig, 5, 100).await, 0);
        assert_eq!(trimmed(rig, 3, 1).await, 1);
        assert_eq!(trimmed(rig, 3, 100).await, 1);
        assert_eq!(trimmed(rig, 3, 100).await, 0);
        assert_eq!(ids(rig).await, ["later", "d", "c"]);
        assert_eq!(trimmed(rig, 2, 100).await, 1);
        assert_eq!(ids(rig).await, ["later", "d"]);
    }

    /// Unmatched reports are forgotten after their time.
    async fn unmatched_reports_are_kept_for_their_time(rig: &Rig) {
        report(rig, "a", Delivered).await;
        rig.advance(KEPT_FOR);
        let tidy = || async {
            let chore = Chore::Reports { before: rig.now().minus(KEPT_FOR) };
            let tidied = rig.store().tidy(chore, 100);
            tidied.await.expect("tidied")
        };
        assert_eq!((tidy().await, ids(rig).await.len()), (0, 1));
        rig.advance(days(1));
        assert_eq!((tidy().await, ids(rig).await.len()), (1, 0));
    }

    /// The store finds by id and recipient which segments were sent, and changes nothing.
    async fn segments_that_were_sent_are_told_by_id_and_recipient(rig: &Rig) {
        let account = rig.account(10).await;
        message_to(rig, &account, 1, &["a"]).await;
        report(rig, "early", Delivered).await;
        let asked = |id: &str, numbers: &[u16]| {
            let report = NetworkReport::new(NetworkId::new(route(), id), Delivered);
            report.between(numbers.iter().map(|n| person(*n)))
        };
        let reports = vec![
            asked("a", &[]),
            asked("a", &[2]),
            asked("b", &[]),
            asked("a", &[2, 1]),
            asked("early", &[]),
        ];
        let sent = rig.store().segments_sent(reports).await.expect("read");
        assert_eq!(sent, [true, false, false, true, false]);
        assert_eq!(rig.store().segments_sent(Vec::new()).await.expect("read"), [false; 0]);
    }
}
