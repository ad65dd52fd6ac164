//! Webhook deliveries as rows.

use sms_core::event::{EventBody, EventType};
use sms_core::webhook::delivery::{Delivery, DeliveryError, DeliveryStatus};
use sqlx::postgres::PgRow;
use sqlx::{PgConnection, Row};

use crate::row::{Read, time, token, uuid, uuids};

pub(crate) fn delivery(row: &PgRow) -> sqlx::Result<Delivery> {
    let wrong = |column: &str| sqlx::Error::ColumnNotFound(column.to_owned());
    let event_type = match row.try_get::<&str, _>("event_type")? {
        "webhook.test" => EventType::WebhookTest,
        name => name.parse().map_err(|()| wrong("event_type"))?,
    };
    let status = match row.try_get::<&str, _>("status")? {
        "pending" => DeliveryStatus::Pending,
        "delivered" => DeliveryStatus::Delivered,
        _ => DeliveryStatus::GivenUp,
    };
    let last_error = row.try_get::<Option<&str>, _>("last_error")?;
    let last_error = last_error.map(|name| error(name).ok_or_else(|| wrong("last_error")));
    let code = row.try_get::<Option<i32>, _>("last_status_code")?;
    Ok(Delivery {
        id: row.id("id")?,
        account: row.id("account_id")?,
        endpoint: row.id("endpoint_id")?,
        event_id: row.id("event_id")?,
        event_type,
        body: EventBody::from_stored(row.try_get::<String, _>("body")?),
        status,
        attempts: row.count("attempts")?,
        last_status_code: code.and_then(|code| u16::try_from(code).ok()),
        last_error: last_error.transpose()?,
        last_attempt_at: row.maybe_at("last_attempt_at")?,
        next_attempt_at: row.maybe_at("next_attempt_at")?,
        delivered_at: row.maybe_at("delivered_at")?,
        lease: row.maybe_token("lease")?,
        leased_until: row.maybe_at("leased_until")?,
        created_at: row.at("created_at")?,
    })
}

fn error(name: &str) -> Option<DeliveryError> {
    use DeliveryError as E;
    [
        E::DnsFailed,
        E::ForbiddenAddress,
        E::ConnectFailed,
        E::TlsFailed,
        E::Timeout,
        E::HttpStatus,
        E::EndpointOff,
    ]
    .into_iter()
    .find(|error| error.as_str() == name)
}

/// Writes new deliveries: one statement for any number of them.
pub(crate) async fn insert(
    connection: &mut PgConnection,
    deliveries: Vec<Delivery>,
) -> sqlx::Result<()> {
    if deliveries.is_empty() {
        return Ok(());
    }
    let attempts = deliveries.iter().map(|d| i32::try_from(d.attempts).unwrap_or(i32::MAX));
    let insert = sqlx::query(
        "INSERT INTO delivery (account_id, endpoint_id, id, event_id, event_type, body, status,
             attempts, last_status_code, last_error, last_attempt_at, next_attempt_at,
             delivered_at, claimable_at, created_at)
         SELECT * FROM UNNEST($1::uuid[], $2::uuid[], $3::uuid[], $4::uuid[], $5::text[],
             $6::text[], $7::text[], $8::integer[], $9::integer[], $10::text[],
             $11::timestamptz[], $12::timestamptz[], $13::timestamptz[], $14::timestamptz[],
             $15::timestamptz[])",
    )
    .bind(uuids(deliveries.iter().map(|d| d.account)))
    .bind(uuids(deliveries.iter().map(|d| d.endpoint)))
    .bind(uuids(deliveries.iter().map(|d| d.id)))
    .bind(uuids(deliveries.iter().map(|d| d.event_id)))
    .bind(deliveries.iter().map(|d| d.event_type.as_str()).collect::<Vec<_>>())
    .bind(deliveries.iter().map(|d| d.body.as_str()).collect::<Vec<_>>())
    .bind(deliveries.iter().map(|d| d.status.as_str()).collect::<Vec<_>>())
    .bind(attempts.collect::<Vec<_>>())
    .bind(deliveries.iter().map(|d| d.last_status_code.map(i32::from)).collect::<Vec<_>>())
    .bind(deliveries.iter().map(|d| d.last_error.map(DeliveryError::as_str)).collect::<Vec<_>>())
    .bind(deliveries.iter().map(|d| d.last_attempt_at.map(time)).collect::<Vec<_>>())
    .bind(deliveries.iter().map(|d| d.next_attempt_at.map(time)).collect::<Vec<_>>())
    .bind(deliveries.iter().map(|d| d.delivered_at.map(time)).collect::<Vec<_>>())
    .bind(deliveries.iter().map(|d| d.claimable_at().map(time)).collect::<Vec<_>>())
    .bind(deliveries.iter().map(|d| time(d.created_at)).collect::<Vec<_>>());
    insert.execute(connection).await.map(|_| ())
}

/// Writes a delivery over what it was.
pub(crate) async fn update(connection: &mut PgConnection, delivery: &Delivery) -> sqlx::Result<()> {
    let update = sqlx::query(
        "UPDATE delivery
         SET status = $4, attempts = $5, last_status_code = $6, last_error = $7,
             last_attempt_at = $8, next_attempt_at = $9, delivered_at = $10, lease = $11,
             leased_until = $12, claimable_at = $13
         WHERE account_id = $1 AND endpoint_id = $2 AND id = $3",
    )
    .bind(uuid(delivery.account))
    .bind(uuid(delivery.endpoint))
    .bind(uuid(delivery.id))
    .bind(delivery.status.as_str())
    .bind(i32::try_from(delivery.attempts).unwrap_or(i32::MAX))
    .bind(delivery.last_status_code.map(i32::from))
    .bind(delivery.last_error.map(DeliveryError::as_str))
    .bind(delivery.last_attempt_at.map(time))
    .bind(delivery.next_attempt_at.map(time))
    .bind(delivery.delivered_at.map(time))
    .bind(delivery.lease.map(token))
    .bind(delivery.leased_until.map(time))
    .bind(delivery.claimable_at().map(time));
    update.execute(connection).await.map(|_| ())
}
