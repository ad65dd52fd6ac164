//! Stores what the SMSC delivers, and acknowledges each `deliver_sm` only after that.

use std::sync::Arc;

use futures_util::future::join_all;
use sms_core::inbound::InboundMessage;
use sms_core::inbound::segment::{InboundSegment, Place};
use sms_core::message::Body;
use sms_core::receipt::ReceiptStatus;
use sms_core::receipt::report::{NetworkId, NetworkReport, Reported};
use sms_core::route::RouteSink;
use tokio::sync::mpsc;
use tokio::task::JoinSet;

use super::inner::Inner;
use crate::incoming::{Incoming, MessageFor};
use crate::pdu::ShortMessage;
use crate::report::Report;
use crate::session::{Answer, Arrival};

/// How many `deliver_sm`s are processed together; their receipts are recorded in one commit.
const TOGETHER: usize = 500;
/// How many such batches may be in progress; further `deliver_sm`s wait in their sessions.
const LOTS: usize = 4;
/// How many inbound messages are stored at once. Each is a commit, and takes a database connection
/// that other work needs too.
pub(super) const MESSAGES_AT_ONCE: usize = 8;

/// Processes what arrives, until the channel closes.
pub(super) async fn take_in(
    inner: &Arc<Inner>,
    mut arrivals: mpsc::Receiver<Arrival>,
    sink: &Arc<dyn RouteSink>,
) {
    let mut lots = JoinSet::new();
    let mut lot = Vec::with_capacity(TOGETHER);
    while arrivals.recv_many(&mut lot, TOGETHER).await > 0 {
        let (inner, sink) = (Arc::clone(inner), Arc::clone(sink));
        let arrived = std::mem::take(&mut lot);
        lots.spawn(async move { inner.keep(arrived, &*sink).await });
        while lots.len() >= LOTS {
            lots.join_next().await;
        }
    }
}

/// The name under which a receipt is counted.
fn what_came(status: ReceiptStatus, reported: &Reported) -> &'static str {
    match (reported, status) {
        (Reported::Early, _) => "receipt_early",
        (_, ReceiptStatus::Delivered) => "receipt_delivered",
        (_, ReceiptStatus::Undelivered(_)) => "receipt_undelivered",
    }
}

impl Inner {
    async fn keep(&self, arrived: Vec<Arrival>, sink: &dyn RouteSink) {
        let (mut reports, mut waiting, mut messages) = (Vec::new(), Vec::new(), Vec::new());
        for Arrival { message, answer } in arrived {
            match Incoming::read(&message, self.settings.style.septets) {
                Incoming::Receipt(report) => match self.network_report(&report, &message) {
                    Some(report) => {
                        waiting.push((report.status, answer));
                        reports.push(report);
                    }
                    None => answer.taken(),
                },
                Incoming::Notification => {
                    self.count("notification");
                    answer.taken();
                }
                Incoming::Text(text) => messages.push(self.keep_text(text, answer, sink)),
                Incoming::Useless(useless) => {
                    self.count("invalid");
                    let route = self.name.as_str();
                    tracing::warn!(route, reason = %useless, "ignored an incoming message");
                    answer.taken();
                }
            }
        }
        let record = async {
            if reports.is_empty() {
                return;
            }
            let recorded = sink.reports(reports).await;
            for (result, (status, answer)) in recorded.into_iter().zip(waiting) {
                if let Ok(reported) = &result {
                    self.count(what_came(status, reported));
                }
                self.answer(result.map(|_| ()), answer);
            }
        };
        tokio::join!(record, join_all(messages));
    }

    /// The receipt as the core's report; `None` for an intermediate receipt, which says only that
    /// the message is still under way.
    fn network_report(&self, report: &Report, message: &ShortMessage) -> Option<NetworkReport> {
        let Some(status) = report.outcome() else {
            self.count("receipt_under_way");
            return None;
        };
        let id = self.settings.ids.of_receipt(&report.id);
        let report = NetworkReport::new(NetworkId::new(self.name.clone(), id), status);
        // A receipt comes from the recipient (4.6.1). Some networks repeat the addresses of the
        // submit instead, and some hide the recipient's number.
        let Some(source) = message.source.to_number() else { return Some(report) };
        Some(report.between([Some(source), message.destination.to_number()].into_iter().flatten()))
    }

    async fn keep_text(&self, text: MessageFor, answer: Answer, sink: &dyn RouteSink) {
        // The semaphore is fair: messages enter the store in the order of arrival.
        let Ok(_place) = self.keeping.acquire().await else { return };
        let MessageFor { from, to, text, place } = text;
        let route = self.name.clone();
        let place = place.and_then(|it| Some((it.reference, Place::new(it.number, it.total)?)));
        let result = if let Some((reference, place)) = place {
            self.count("segment");
            let received_at = self.clock.now();
            let part = InboundSegment { from, to, reference, place, text, route, received_at };
            sink.inbound_segment(part).await
        } else {
            self.count("message");
            let body = Body::new(text.decode());
            sink.inbound(InboundMessage { from, to, body, route }).await
        };
        self.answer(result, answer);
    }

    /// Acknowledges the `deliver_sm`, or asks the SMSC to send it again later.
    fn answer(&self, result: Result<(), sms_core::Error>, answer: Answer) {
        match result {
            Ok(()) => answer.taken(),
            Err(error) => {
                self.count("not_kept");
                let route = self.name.as_str();
                tracing::warn!(
                    route, error = %error,
                    "cannot store a deliver_sm; asking the SMSC to send it again"
                );
                answer.later();
            }
        }
    }

    fn count(&self, what: &'static str) {
        self.carrier.counts.arrived(what);
    }
}
