//! Events become deliveries in the transaction that causes them.

use std::collections::BTreeSet;

use sms_core::event::Event;
use sms_core::ids::{AccountId, Ids};
use sms_core::webhook::delivery::fan_out;
use sms_core::webhook::endpoint::Endpoint;
use sqlx::PgConnection;

use crate::error::PgResult;
use crate::row::uuids;
use crate::{delivery, webhook};

/// Makes the deliveries of events, in order.
pub(crate) async fn raise(
    connection: &mut PgConnection,
    events: Vec<Event>,
    ids: &Ids,
) -> PgResult<()> {
    raise_all(connection, vec![(events, ids.clone())]).await
}

/// The same for events of several plans, whose deliveries are named by the ids that each has left.
pub(crate) async fn raise_all(
    connection: &mut PgConnection,
    plans: Vec<(Vec<Event>, Ids)>,
) -> PgResult<()> {
    let events = plans.iter().flat_map(|(events, _)| events);
    let accounts: BTreeSet<AccountId> = events.map(|event| event.account).collect();
    if accounts.is_empty() {
        return Ok(());
    }
    // Not locked: what becomes due for an endpoint that is removed meanwhile is nobody's.
    let rows = sqlx::query("SELECT * FROM endpoint WHERE account_id = ANY($1) ORDER BY id")
        .bind(uuids(accounts))
        .fetch_all(&mut *connection)
        .await?;
    if rows.is_empty() {
        return Ok(());
    }
    let endpoints: Vec<Endpoint> =
        rows.iter().map(webhook::endpoint::endpoint).collect::<PgResult<_>>()?;
    let mut deliveries = Vec::new();
    for (events, mut ids) in plans {
        for event in &events {
            let own = endpoints.iter().filter(|endpoint| endpoint.account == event.account);
            deliveries.extend(fan_out(event, own, &mut ids));
        }
    }
    delivery::insert(connection, deliveries).await
}
