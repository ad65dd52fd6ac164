//! Disabling endpoints. The same commit gives up the waiting deliveries as
//! [`Delivery::given_up`](sms_core::webhook::Delivery::given_up) says, however many: the endpoint
//! begins a new run, and deliveries that are pending in an earlier run are given up. The commit
//! writes only the deliveries that workers hold, which are few.

use sms_core::ids::EndpointId;
use sms_core::time::Timestamp;
use sms_core::webhook::delivery::{DeliveryError, DeliveryStatus};
use sqlx::PgConnection;

use crate::error::PgResult;
use crate::row::{time, uuid, uuids};
use crate::rows_query::rows_query;

/// The columns of a delivery that is given up. [`given_up_values`] are bound as `$1` to `$3`.
macro_rules! given_up_columns {
    () => {
        "status = CASE WHEN delivered_at IS NULL THEN $1 ELSE $2 END, last_error = $3, \
         next_attempt_at = NULL, lease = NULL, leased_until = NULL, claimable_at = NULL"
    };
}
pub(super) use given_up_columns;

/// The values of `$1` to `$3`.
pub(super) fn given_up_values() -> [&'static str; 3] {
    [
        DeliveryStatus::GivenUp.as_str(),
        DeliveryStatus::Delivered.as_str(),
        DeliveryError::EndpointOff.as_str(),
    ]
}

/// Gives up the [waiting](sms_core::webhook::Delivery::is_waiting) deliveries of endpoints that
/// this transaction disables, each at its moment. Their rows are locked.
pub(super) async fn switched_off(
    connection: &mut PgConnection,
    off: &[(EndpointId, Timestamp)],
) -> PgResult<()> {
    if off.is_empty() {
        return Ok(());
    }
    sqlx::query("UPDATE endpoint SET run = run + 1 WHERE id = ANY($1)")
        .bind(uuids(off.iter().map(|(id, _)| *id)))
        .execute(&mut *connection)
        .await?;
    // An attempt under way is not disturbed: its delivery moves to the new run.
    let carried_over = rows_query!(
        "UPDATE delivery d SET run = e.run
         FROM " rows((id, at) in off) as off {
            id: uuid = uuid(*id),
            at: timestamptz = time(*at),
         } "
         JOIN endpoint e ON e.id = off.id
         WHERE d.endpoint_id = off.id AND d.lease IS NOT NULL AND d.leased_until > off.at"
    );
    carried_over.execute(&mut *connection).await?;
    // A delivery whose lease has run out is waiting too.
    let [given_up, delivered, reason] = given_up_values();
    let given_up = rows_query!(
        [given_up, delivered, reason]
        "UPDATE delivery d SET " given_up_columns!() "
         FROM " rows((id, at) in off) as off {
            id: uuid = uuid(*id),
            at: timestamptz = time(*at),
         } "
         WHERE d.endpoint_id = off.id AND d.lease IS NOT NULL AND d.leased_until <= off.at"
    );
    given_up.execute(connection).await?;
    Ok(())
}
