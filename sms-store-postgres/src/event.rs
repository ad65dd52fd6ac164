//! Events become deliveries in the transaction that causes them.

use std::collections::BTreeSet;

use sms_core::commit::Raised;
use sms_core::ids::AccountId;
use sms_core::webhook::delivery::{Delivery, deliveries};
use sms_core::webhook::endpoint::Endpoint;
use sqlx::PgConnection;

use crate::error::PgResult;
use crate::row::uuids;
use crate::{delivery, webhook};

/// Inserts the deliveries of events, in order.
pub(crate) async fn raise(connection: &mut PgConnection, raised: Vec<Raised>) -> PgResult<()> {
    let raised = deliveries_of(connection, raised).await?;
    delivery::insert(connection, raised).await
}

/// The deliveries of events, in order, to the endpoints that their accounts have now.
pub(crate) async fn deliveries_of(
    connection: &mut PgConnection,
    raised: Vec<Raised>,
) -> PgResult<Vec<Delivery>> {
    let events = raised.iter().flat_map(|raised| &raised.events);
    let accounts: BTreeSet<AccountId> = events.map(|event| event.account).collect();
    if accounts.is_empty() {
        return Ok(Vec::new());
    }
    // Endpoints are not locked: a delivery to an endpoint that is deleted meanwhile is never
    // claimed.
    let rows = sqlx::query("SELECT * FROM endpoint WHERE account_id = ANY($1) ORDER BY id")
        .bind(uuids(accounts))
        .fetch_all(&mut *connection)
        .await?;
    if rows.is_empty() {
        return Ok(Vec::new());
    }
    let endpoints: Vec<Endpoint> =
        rows.iter().map(webhook::endpoint::endpoint).collect::<PgResult<_>>()?;
    Ok(deliveries(raised, &endpoints.iter()))
}
