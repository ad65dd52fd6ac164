//! Endpoints that go off. What waits for one is given up as
//! [`Delivery::given_up`](sms_core::webhook::Delivery::given_up) says, in the same commit however
//! much it is: the endpoint begins a new run, and what is pending in an earlier one is over. Only
//! what workers have is touched, which is little.

use sms_core::ids::EndpointId;
use sms_core::time::Timestamp;
use sms_core::webhook::delivery::{DeliveryError, DeliveryStatus};
use sqlx::PgConnection;

use crate::error::PgResult;
use crate::row::{time, uuids};

/// What a delivery that is given up has in its columns; `$1` to `$3` are bound by
/// [`bind_given_up`].
macro_rules! given_up_columns {
    () => {
        "status = CASE WHEN delivered_at IS NULL THEN $1 ELSE $2 END, last_error = $3, \
         next_attempt_at = NULL, lease = NULL, leased_until = NULL, claimable_at = NULL"
    };
}
pub(super) use given_up_columns;

type Query = sqlx::query::Query<'static, sqlx::Postgres, sqlx::postgres::PgArguments>;

pub(super) fn bind_given_up(query: Query) -> Query {
    query
        .bind(DeliveryStatus::GivenUp.as_str())
        .bind(DeliveryStatus::Delivered.as_str())
        .bind(DeliveryError::EndpointOff.as_str())
}

/// Gives up what [waits](sms_core::webhook::Delivery::is_waiting) for endpoints that went off just
/// now, each at its moment. Their rows are locked.
pub(super) async fn switched_off(
    connection: &mut PgConnection,
    off: &[(EndpointId, Timestamp)],
) -> PgResult<()> {
    if off.is_empty() {
        return Ok(());
    }
    let ids = uuids(off.iter().map(|(id, _)| *id));
    let moments: Vec<_> = off.iter().map(|(_, at)| time(*at)).collect();
    sqlx::query("UPDATE endpoint SET run = run + 1 WHERE id = ANY($1)")
        .bind(&ids)
        .execute(&mut *connection)
        .await?;
    // An attempt under way is not disturbed: it goes over into the new run.
    sqlx::query(
        "UPDATE delivery d SET run = e.run
         FROM UNNEST($1::uuid[], $2::timestamptz[]) AS off (id, at)
         JOIN endpoint e ON e.id = off.id
         WHERE d.endpoint_id = off.id AND d.lease IS NOT NULL AND d.leased_until > off.at",
    )
    .bind(&ids)
    .bind(&moments)
    .execute(&mut *connection)
    .await?;
    // What a worker had whose lease has run out waits as well.
    let given_up = bind_given_up(sqlx::query(concat!(
        "UPDATE delivery d SET ",
        given_up_columns!(),
        " FROM UNNEST($4::uuid[], $5::timestamptz[]) AS off (id, at)
         WHERE d.endpoint_id = off.id AND d.lease IS NOT NULL AND d.leased_until <= off.at",
    )));
    given_up.bind(ids).bind(moments).execute(connection).await?;
    Ok(())
}
