//! Webhook deliveries as rows.
//!
//! A delivery is there only while its endpoint is: every reading joins the two. One that is pending
//! in a run of its endpoint that is over is given up, whether or not that has been written yet.

use sms_core::event::{EventBody, EventType};
use sms_core::webhook::delivery::{Delivery, DeliveryError, DeliveryStatus};
use sqlx::postgres::PgRow;
use sqlx::{PgConnection, Row};

use crate::error::{PgError, PgResult};
use crate::row::{Read, time, token, uuids};

/// The columns of a delivery that is called `d`, with its endpoint as `e`.
macro_rules! delivery_columns {
    () => {
        "d.*, (d.claimable_at IS NOT NULL AND d.run < e.run AND d.lease IS NULL) AS run_is_over"
    };
}
pub(crate) use delivery_columns;

/// Deliveries with their endpoints.
macro_rules! deliveries_and_endpoints {
    () => {
        " FROM delivery d JOIN endpoint e ON e.account_id = d.account_id AND e.id = d.endpoint_id "
    };
}
pub(crate) use deliveries_and_endpoints;

/// Reads [`delivery_columns`].
pub(crate) fn delivery(row: &PgRow) -> PgResult<Delivery> {
    let kept = stored(row)?;
    Ok(if row.try_get("run_is_over")? { kept.given_up() } else { kept })
}

fn stored(row: &PgRow) -> PgResult<Delivery> {
    row.in_table("delivery", || {
        let event_type = match row.try_get::<&str, _>("event_type")? {
            "webhook.test" => EventType::WebhookTest,
            name => name.parse().map_err(|()| PgError::invalid("event_type"))?,
        };
        let status = match row.try_get::<&str, _>("status")? {
            "pending" => DeliveryStatus::Pending,
            "delivered" => DeliveryStatus::Delivered,
            "given_up" => DeliveryStatus::GivenUp,
            _ => return Err(PgError::invalid("status")),
        };
        let last_error = row.try_get::<Option<&str>, _>("last_error")?;
        let last_error =
            last_error.map(|name| error(name).ok_or_else(|| PgError::invalid("last_error")));
        let code = row.try_get::<Option<i32>, _>("last_status_code")?;
        let code =
            code.map(|code| u16::try_from(code).map_err(|_| PgError::invalid("last_status_code")));
        Ok(Delivery {
            id: row.id("id")?,
            account: row.id("account_id")?,
            endpoint: row.id("endpoint_id")?,
            event_id: row.id("event_id")?,
            event_type,
            body: EventBody::from_stored(row.try_get::<String, _>("body")?),
            status,
            attempts: row.count("attempts")?,
            last_status_code: code.transpose()?,
            last_error: last_error.transpose()?,
            last_attempt_at: row.maybe_at("last_attempt_at")?,
            next_attempt_at: row.maybe_at("next_attempt_at")?,
            delivered_at: row.maybe_at("delivered_at")?,
            lease: row.maybe_token("lease")?,
            leased_until: row.maybe_at("leased_until")?,
            created_at: row.at("created_at")?,
        })
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

/// Writes new deliveries, in their endpoints' runs: one statement for any number of them. What is
/// for an endpoint that is gone is left out.
pub(crate) async fn insert(
    connection: &mut PgConnection,
    deliveries: Vec<Delivery>,
) -> PgResult<()> {
    if deliveries.is_empty() {
        return Ok(());
    }
    let attempts = deliveries.iter().map(|d| i32::try_from(d.attempts).unwrap_or(i32::MAX));
    let insert = sqlx::query(
        "INSERT INTO delivery (account_id, endpoint_id, id, event_id, event_type, body, status,
             attempts, last_status_code, last_error, last_attempt_at, next_attempt_at,
             delivered_at, claimable_at, created_at, run)
         SELECT new.*, e.run FROM UNNEST($1::uuid[], $2::uuid[], $3::uuid[], $4::uuid[], $5::text[],
             $6::text[], $7::text[], $8::integer[], $9::integer[], $10::text[],
             $11::timestamptz[], $12::timestamptz[], $13::timestamptz[], $14::timestamptz[],
             $15::timestamptz[]) AS new (account_id, endpoint_id)
         JOIN endpoint e ON e.account_id = new.account_id AND e.id = new.endpoint_id",
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
    insert.execute(connection).await?;
    Ok(())
}

/// Writes deliveries over what they were, in their endpoints' runs: one statement for any number of
/// them.
pub(crate) async fn update(connection: &mut PgConnection, deliveries: &[Delivery]) -> PgResult<()> {
    if deliveries.is_empty() {
        return Ok(());
    }
    let attempts = deliveries.iter().map(|d| i32::try_from(d.attempts).unwrap_or(i32::MAX));
    let update = sqlx::query(
        "UPDATE delivery d
         SET status = new.status, attempts = new.attempts, last_status_code = new.last_status_code,
             last_error = new.last_error, last_attempt_at = new.last_attempt_at,
             next_attempt_at = new.next_attempt_at, delivered_at = new.delivered_at,
             lease = new.lease, leased_until = new.leased_until, claimable_at = new.claimable_at,
             run = e.run
         FROM UNNEST($1::uuid[], $2::uuid[], $3::uuid[], $4::text[], $5::integer[], $6::integer[],
                     $7::text[], $8::timestamptz[], $9::timestamptz[], $10::timestamptz[],
                     $11::uuid[], $12::timestamptz[], $13::timestamptz[])
              AS new (account_id, endpoint_id, id, status, attempts, last_status_code, last_error,
                      last_attempt_at, next_attempt_at, delivered_at, lease, leased_until,
                      claimable_at)
         JOIN endpoint e ON e.account_id = new.account_id AND e.id = new.endpoint_id
         WHERE d.account_id = new.account_id AND d.endpoint_id = new.endpoint_id
             AND d.id = new.id",
    )
    .bind(uuids(deliveries.iter().map(|d| d.account)))
    .bind(uuids(deliveries.iter().map(|d| d.endpoint)))
    .bind(uuids(deliveries.iter().map(|d| d.id)))
    .bind(deliveries.iter().map(|d| d.status.as_str()).collect::<Vec<_>>())
    .bind(attempts.collect::<Vec<_>>())
    .bind(deliveries.iter().map(|d| d.last_status_code.map(i32::from)).collect::<Vec<_>>())
    .bind(deliveries.iter().map(|d| d.last_error.map(DeliveryError::as_str)).collect::<Vec<_>>())
    .bind(deliveries.iter().map(|d| d.last_attempt_at.map(time)).collect::<Vec<_>>())
    .bind(deliveries.iter().map(|d| d.next_attempt_at.map(time)).collect::<Vec<_>>())
    .bind(deliveries.iter().map(|d| d.delivered_at.map(time)).collect::<Vec<_>>())
    .bind(deliveries.iter().map(|d| d.lease.map(token)).collect::<Vec<_>>())
    .bind(deliveries.iter().map(|d| d.leased_until.map(time)).collect::<Vec<_>>())
    .bind(deliveries.iter().map(|d| d.claimable_at().map(time)).collect::<Vec<_>>());
    update.execute(connection).await?;
    Ok(())
}
