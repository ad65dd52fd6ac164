//! Events become deliveries in the transaction that causes them.

use std::collections::BTreeSet;

use sms_core::event::Event;
use sms_core::ids::{AccountId, Ids};
use sms_core::webhook::delivery::fan_out;
use sms_core::webhook::endpoint::Endpoint;
use sqlx::PgConnection;

use crate::row::uuids;
use crate::{delivery, webhook};

/// Makes the deliveries of events, in order.
pub(crate) async fn raise(
    connection: &mut PgConnection,
    events: Vec<Event>,
    ids: &mut Ids,
) -> sqlx::Result<()> {
    let accounts: BTreeSet<AccountId> = events.iter().map(|event| event.account).collect();
    // Not locked: what becomes due for an endpoint that is removed meanwhile is nobody's.
    let rows = sqlx::query("SELECT * FROM endpoint WHERE account_id = ANY($1) ORDER BY id")
        .bind(uuids(accounts))
        .fetch_all(&mut *connection)
        .await?;
    if rows.is_empty() {
        return Ok(());
    }
    let endpoints: Vec<Endpoint> =
        rows.iter().map(webhook::endpoint::endpoint).collect::<sqlx::Result<_>>()?;
    let deliveries: Vec<_> = events
        .iter()
        .flat_map(|event| {
            let own = endpoints.iter().filter(|endpoint| endpoint.account == event.account);
            fan_out(event, own, ids)
        })
        .collect();
    delivery::insert(connection, deliveries).await
}
