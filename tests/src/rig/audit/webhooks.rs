//! The deliveries, compared with the messages and with what the receiver accepted.

use std::collections::BTreeMap;

use sms_core::ids::{DeliveryId, MessageId};
use sms_core::message::MessageStatus;
use sms_core::webhook::delivery::DeliveryStatus;
use sqlx::{PgConnection, Row};
use uuid::Uuid;

use super::messages::Text;
use crate::rig::RigFailed;
use crate::rig::report::{Report, Violation};

/// An endpoint, as far as the audit is concerned.
pub(super) struct Endpoint {
    pub(super) id: Uuid,
    pub(super) account: Uuid,
    pub(super) events: Vec<String>,
    pub(super) is_on: bool,
}

/// A delivery, as far as the audit is concerned.
pub(super) struct Made {
    pub(super) id: DeliveryId,
    pub(super) endpoint: Uuid,
    pub(super) event: String,
    /// What its event is about.
    pub(super) message: Option<MessageId>,
    pub(super) status: DeliveryStatus,
}

/// All endpoints and deliveries.
pub(in crate::rig) struct Webhooks {
    pub(super) endpoints: Vec<Endpoint>,
    pub(super) deliveries: Vec<Made>,
}

/// An endpoint, an event type and a message.
type Told = (Uuid, String, MessageId);

/// Reads all endpoints and deliveries.
pub(super) async fn read(db: &mut PgConnection) -> Result<Webhooks, RigFailed> {
    let endpoints = endpoints(db).await?;
    let rows = sqlx::query(
        "SELECT d.id, endpoint_id, event_type, body::jsonb -> 'data' ->> 'id' AS message,
                CASE WHEN status = 'pending' AND d.run < e.run THEN 'given_up' ELSE status END
                    AS status
         FROM delivery d LEFT JOIN endpoint e ON e.id = d.endpoint_id ORDER BY d.id",
    );
    let mut deliveries = Vec::new();
    for row in rows.fetch_all(db).await? {
        let message: Option<&str> = row.try_get("message")?;
        let status: &str = row.try_get("status")?;
        let unknown = || sqlx::Error::Decode("a status of a delivery has no meaning".into());
        deliveries.push(Made {
            id: DeliveryId::from_u128(row.try_get::<Uuid, _>("id")?.as_u128()),
            endpoint: row.try_get("endpoint_id")?,
            event: row.try_get("event_type")?,
            message: message.and_then(|id| id.parse().ok()),
            status: DeliveryStatus::ALL
                .into_iter()
                .find(|known| known.to_string() == status)
                .ok_or_else(unknown)?,
        });
    }
    Ok(Webhooks { endpoints, deliveries })
}

/// Checks that each event of a message made one delivery for each subscribed endpoint, and that
/// every delivery recorded as accepted was accepted.
pub(in crate::rig) fn audit(
    webhooks: &Webhooks,
    messages: &[Text],
    taken: &BTreeMap<String, u32>,
    report: &mut Report,
) {
    let Webhooks { endpoints, deliveries } = webhooks;
    let mut found = Vec::new();
    let mut made: BTreeMap<Told, u32> = BTreeMap::new();
    let mut given_up = 0;
    for Made { id, endpoint, event, message, status } in deliveries {
        if *status == DeliveryStatus::Delivered && !taken.contains_key(&id.to_string()) {
            let rule = "a delivery recorded as accepted was accepted";
            found.push(Violation::new(rule, format!("delivery {id}")));
        }
        given_up += usize::from(*status == DeliveryStatus::GivenUp);
        if let Some(message) = message {
            *made.entry((*endpoint, event.clone(), *message)).or_default() += 1;
        }
    }
    for endpoint in endpoints {
        for text in messages.iter().filter(|text| text.account == endpoint.account) {
            for event in ["message.sent", "message.delivered", "message.failed"] {
                let owed = endpoint.events.iter().any(|wanted| wanted == event);
                let owed = u32::from(owed && raises(text, event));
                let count = made.get(&(endpoint.id, event.to_owned(), text.id)).copied();
                let count = count.unwrap_or_default();
                // A disabled endpoint gets no deliveries from then on.
                if count > owed || (endpoint.is_on && count < owed) {
                    let told = format!("{count} of {event} of message {}", text.id);
                    let rule = "an event makes one delivery for each subscribed endpoint";
                    found.push(Violation::new(rule, told));
                }
            }
        }
    }
    report.figure("deliveries", deliveries.len());
    report.figure("deliveries accepted twice", taken.values().filter(|times| **times > 1).count());
    report.figure("deliveries given up", given_up);
    report.violations.append(&mut found);
}

fn raises(text: &Text, event: &str) -> bool {
    text.history.iter().any(|(status, _)| match status {
        MessageStatus::Sent => event == "message.sent",
        MessageStatus::Delivered => event == "message.delivered",
        MessageStatus::Failed | MessageStatus::Undelivered => event == "message.failed",
        _ => false,
    })
}

async fn endpoints(db: &mut PgConnection) -> Result<Vec<Endpoint>, RigFailed> {
    let rows = sqlx::query("SELECT id, account_id, events, disabled_reason FROM endpoint");
    let rows = rows.fetch_all(db).await?;
    let read = |row: &sqlx::postgres::PgRow| {
        let reason: Option<String> = row.try_get("disabled_reason")?;
        Ok(Endpoint {
            id: row.try_get("id")?,
            account: row.try_get("account_id")?,
            events: row.try_get("events")?,
            is_on: reason.is_none(),
        })
    };
    rows.iter().map(read).collect()
}
