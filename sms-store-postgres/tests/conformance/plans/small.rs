//! A database that was counted while it held some sixty texts, and whose connections have planned
//! what they do by then. It grows, and nobody counts again.

use std::collections::BTreeSet;

use sms_core::account::Account;
use sms_core::conformance::rig::{Rig, request, request_with_key};
use sms_core::event::EventType;
use sms_core::ids::MessageId;
use sms_core::receipt::ReceiptStatus::Delivered;
use sms_core::receipt::report::{NetworkId, NetworkReport, ReportPlan};
use sms_core::route::{HandOver, RouteName};
use sqlx::{Executor, PgConnection};

use super::Plans;

/// So many rows at most are touched by a step of what is about ten texts: a claim of deliveries
/// looks at the first thousand that are due.
const MOST: f64 = 1_000.0;

/// What workers and sends do is planned once, and stays right.
pub(super) async fn plans_stay_right_as_tables_grow(rig: &Rig, connection: &mut PgConnection) {
    let account = rig.account(100_000).await;
    let events = [EventType::MessageSent, EventType::MessageDelivered];
    rig.endpoint(&account, &events).await;
    rig.send(&account, &request(0..60)).await;
    let mut day = Day { rig, account: &account, sends: 0, hands: 0 };
    day.passes(20).await;
    connection.execute("ANALYZE").await.expect("all is counted");
    for _ in 0..8 {
        day.passes(5).await;
    }
    let keyed = |n: u16| rig.plan(&account, &request_with_key(n % 900, &format!("earlier-{n}")));
    let sent = rig.accept_all((0..1_500).map(keyed).collect()).await;
    assert!(sent.iter().all(Result::is_ok));
    for _ in 0..4 {
        rig.send(&account, &request(0..900)).await;
    }
    for _ in 0..3 {
        day.passes(500).await;
    }
    let _ = Plans::told();
    for _ in 0..4 {
        day.passes(5).await;
    }
    rig.store().health_check().await.expect("the server answers");
    Plans::told().judge_those_of("", "what is done with ten texts", MOST);
    while !rig.claim(500).await.texts.is_empty() {}
}

struct Day<'a> {
    rig: &'a Rig,
    account: &'a Account,
    sends: u16,
    hands: u32,
}

impl Day<'_> {
    /// Texts are sent, handed over, reported and told of, some in one part, some in two.
    async fn passes(&mut self, texts: usize) {
        let Self { rig, account, .. } = *self;
        self.sends += 1;
        let people = self.sends % 800..self.sends % 800 + 5;
        rig.send(account, &request(people)).await;
        let key = format!("new-{}", self.sends);
        rig.send(account, &request_with_key(self.sends % 900, &key)).await;
        rig.send(account, &request_with_key(self.sends % 900, &key)).await;
        self.hands += 1;
        let hand = rig.claim(texts).await;
        assert_eq!(hand.texts.len(), texts);
        let renewed = rig.store().dispatch_renew(hand.token, rig.now()).await;
        renewed.expect("renewed");
        let left = hand.texts.iter().enumerate().map(|(n, text)| {
            let parts = self.parts(n);
            rig.outcome(text.message, hand.token, HandOver::Submitted { parts })
        });
        rig.record_all(left.collect()).await;
        let (first, rest) = hand.texts.split_at(texts / 2);
        let receipts: BTreeSet<MessageId> = first.iter().map(|text| text.message).collect();
        let receipts = receipts.into_iter().map(|id| rig.receipt(id, Delivered));
        rig.record_receipts(receipts.collect()).await;
        let reports = (first.len()..first.len() + rest.len()).flat_map(|n| self.parts(n));
        let reports = reports.map(|id| ReportPlan {
            report: NetworkReport { id, status: Delivered },
            at: rig.now(),
            ids: rig.ids(),
        });
        let reported = rig.store().reports_record(reports.collect()).await;
        assert!(reported.iter().all(Result::is_ok));
        let claimed = rig.claim_any(texts).await;
        rig.succeed(&claimed).await;
        rig.store().dispatch_next().await.expect("read");
        rig.store().deliveries_next().await.expect("read");
    }

    fn parts(&self, n: usize) -> Vec<NetworkId> {
        let id = |part: usize| format!("hand-{}-{n}-{part}", self.hands);
        (0..=n % 2).map(|part| NetworkId::new(RouteName::new("main"), id(part))).collect()
    }
}
