//! Webhook deliveries as rows.
//!
//! A delivery exists only while its endpoint does: every query joins the two. A delivery that is
//! pending in a run that is over is given up, whether or not that has been written yet.

use sms_core::event::{EventBody, EventType};
use sms_core::webhook::delivery::{Delivery, DeliveryError, DeliveryStatus};
use sqlx::postgres::PgRow;
use sqlx::{PgConnection, Row};

use crate::error::{PgError, PgResult};
use crate::row::{Read, integer, time, token, uuid};
use crate::rows_query::rows_query;

/// The columns of a delivery with the alias `d`, whose endpoint has the alias `e`.
macro_rules! delivery_columns {
    () => {
        "d.account_id, d.endpoint_id, d.id, d.event_id, d.event_type, d.body, d.status, \
         d.attempts, d.last_status_code, d.last_error, d.last_attempt_at, d.next_attempt_at, \
         d.delivered_at, d.lease, d.leased_until, d.created_at, \
         (d.claimable_at IS NOT NULL AND d.run < e.run AND d.lease IS NULL) AS run_is_over"
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
            name => name.parse().map_err(|_| PgError::invalid("event_type"))?,
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

/// What wrote a delivery.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Origin {
    /// The commit of its event, or a test.
    Event,
    /// A replay.
    Replay,
}

/// Inserts deliveries in their endpoints' runs: one statement for any number of them. Leaves out
/// those of removed endpoints.
pub(crate) async fn insert(
    connection: &mut PgConnection,
    deliveries: Vec<Delivery>,
    origin: Origin,
) -> PgResult<()> {
    if deliveries.is_empty() {
        return Ok(());
    }
    let insert = rows_query!(
        [origin == Origin::Replay]
        "INSERT INTO delivery (account_id, endpoint_id, id, event_id, event_type, body, status,
             attempts, last_status_code, last_error, last_attempt_at, next_attempt_at,
             delivered_at, claimable_at, created_at, run, replayed)
         SELECT new.*, e.run, $1 FROM " rows(delivery in &deliveries) as new {
            account_id: uuid = uuid(delivery.account),
            endpoint_id: uuid = uuid(delivery.endpoint),
            id: uuid = uuid(delivery.id),
            event_id: uuid = uuid(delivery.event_id),
            event_type: text = delivery.event_type.as_str(),
            body: text = delivery.body.as_str(),
            status: text = delivery.status.as_str(),
            attempts: integer = integer(delivery.attempts),
            last_status_code: integer = delivery.last_status_code.map(i32::from),
            last_error: text = delivery.last_error.map(DeliveryError::as_str),
            last_attempt_at: timestamptz = delivery.last_attempt_at.map(time),
            next_attempt_at: timestamptz = delivery.next_attempt_at.map(time),
            delivered_at: timestamptz = delivery.delivered_at.map(time),
            claimable_at: timestamptz = delivery.claimable_at().map(time),
            created_at: timestamptz = time(delivery.created_at),
         } "
         JOIN endpoint e ON e.account_id = new.account_id AND e.id = new.endpoint_id"
    );
    insert.execute(connection).await?;
    Ok(())
}

/// Updates deliveries, whose rows this transaction has locked, in their endpoints' runs: one
/// statement for any number of them. Each is looked up by itself: a plan that was made while there
/// were few may read all of an endpoint for a join.
pub(crate) async fn update(connection: &mut PgConnection, deliveries: &[Delivery]) -> PgResult<()> {
    if deliveries.is_empty() {
        return Ok(());
    }
    let update = rows_query!(
        "UPDATE delivery d
         SET status = new.status, attempts = new.attempts, last_status_code = new.last_status_code,
             last_error = new.last_error, last_attempt_at = new.last_attempt_at,
             next_attempt_at = new.next_attempt_at, delivered_at = new.delivered_at,
             lease = new.lease, leased_until = new.leased_until, claimable_at = new.claimable_at,
             run = e.run
         FROM " rows(delivery in deliveries) as new {
            account_id: uuid = uuid(delivery.account),
            endpoint_id: uuid = uuid(delivery.endpoint),
            id: uuid = uuid(delivery.id),
            status: text = delivery.status.as_str(),
            attempts: integer = integer(delivery.attempts),
            last_status_code: integer = delivery.last_status_code.map(i32::from),
            last_error: text = delivery.last_error.map(DeliveryError::as_str),
            last_attempt_at: timestamptz = delivery.last_attempt_at.map(time),
            next_attempt_at: timestamptz = delivery.next_attempt_at.map(time),
            delivered_at: timestamptz = delivery.delivered_at.map(time),
            lease: uuid = delivery.lease.map(token),
            leased_until: timestamptz = delivery.leased_until.map(time),
            claimable_at: timestamptz = delivery.claimable_at().map(time),
         } "
         CROSS JOIN LATERAL (
             SELECT run FROM endpoint
             WHERE account_id = new.account_id AND id = new.endpoint_id LIMIT 1) AS e
         CROSS JOIN LATERAL (
             SELECT ctid AS place FROM delivery
             WHERE account_id = new.account_id AND endpoint_id = new.endpoint_id
                 AND id = new.id LIMIT 1) AS old
         WHERE d.ctid = old.place"
    );
    update.execute(connection).await?;
    Ok(())
}
