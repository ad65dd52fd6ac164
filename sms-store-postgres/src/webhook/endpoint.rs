//! Webhook endpoints as rows.

use sms_core::ids::{AccountId, EndpointId};
use sms_core::webhook::endpoint::{DisabledReason, Endpoint, Power};
use sms_core::webhook::pause::Pause;
use sms_core::webhook::replay::Replay;
use sms_core::webhook::reseal::ResealPlan;
use sms_core::webhook::rotation::OldSecret;
use sms_core::webhook::sealing::{SecretPlace, StoredSecret};
use sqlx::postgres::PgRow;
use sqlx::{PgConnection, PgPool, Row};

use crate::error::{PgError, PgResult};
use crate::row::{Read, integer, time, uuid};
use crate::rows_query::rows_query;

/// The columns of an endpoint.
macro_rules! endpoint_columns {
    () => {
        "id, account_id, url, events, description, disabled_reason, secret, old_secret, \
         old_secret_until, consecutive_failures, paused_since, paused_until, replay, replay_at, \
         last_delivered_at, created_at, updated_at"
    };
}
pub(crate) use endpoint_columns;

pub(crate) fn endpoint(row: &PgRow) -> PgResult<Endpoint> {
    row.in_table("endpoint", || {
        let events = row.try_get::<Vec<String>, _>("events")?;
        let events: Result<_, _> = events.iter().map(|name| name.parse()).collect();
        let power = match row.try_get::<Option<&str>, _>("disabled_reason")? {
            None => Power::On,
            Some("consecutive_failures") => Power::Off(DisabledReason::Failures),
            Some("disabled_by_owner") => Power::Off(DisabledReason::ByOwner),
            Some(_) => return Err(PgError::invalid("disabled_reason")),
        };
        let pause = row.maybe_at("paused_since")?.zip(row.maybe_at("paused_until")?);
        let old_secret = row.try_get::<Option<String>, _>("old_secret")?;
        let old_secret = old_secret.map(|text| secret(text, "old_secret")).transpose()?;
        let old_secret = old_secret.zip(row.maybe_at("old_secret_until")?);
        Ok(Endpoint {
            id: row.id("id")?,
            account: row.id("account_id")?,
            url: row.try_get("url")?,
            events: events.map_err(|_| PgError::invalid("events"))?,
            description: row.try_get("description")?,
            power,
            secret: secret(row.try_get("secret")?, "secret")?,
            old_secret: old_secret.map(|(secret, until)| OldSecret { secret, until }),
            consecutive_failures: row.count("consecutive_failures")?,
            pause: pause.map(|(since, until)| Pause { since, until }),
            replay: replay(row)?,
            last_delivered_at: row.maybe_at("last_delivered_at")?,
            created_at: row.at("created_at")?,
            updated_at: row.at("updated_at")?,
        })
    })
}

fn replay(row: &PgRow) -> PgResult<Option<Replay>> {
    let text = row.try_get::<Option<&str>, _>("replay")?;
    let Some((text, at)) = text.zip(row.maybe_at("replay_at")?) else { return Ok(None) };
    Replay::from_stored(text, at).map(Some).ok_or_else(|| PgError::invalid("replay"))
}

fn secret(text: String, column: &'static str) -> PgResult<StoredSecret> {
    StoredSecret::from_stored(text).ok_or_else(|| PgError::invalid(column))
}

pub(super) fn reason(power: Power) -> Option<&'static str> {
    match power {
        Power::On => None,
        Power::Off(reason) => Some(reason.as_str()),
    }
}

pub(super) fn event_names(endpoint: &Endpoint) -> Vec<&'static str> {
    endpoint.events.iter().map(|kind| kind.as_str()).collect()
}

/// Updates an endpoint.
pub(super) async fn update(connection: &mut PgConnection, endpoint: &Endpoint) -> PgResult<()> {
    let update = sqlx::query(
        "UPDATE endpoint
         SET url = $3, events = $4, description = $5, disabled_reason = $6, secret = $7,
             consecutive_failures = $8, last_delivered_at = $9, updated_at = $10,
             paused_since = $11, paused_until = $12, old_secret = $13, old_secret_until = $14,
             replay_at = $15, replay = $16
         WHERE account_id = $1 AND id = $2",
    )
    .bind(uuid(endpoint.account))
    .bind(uuid(endpoint.id))
    .bind(&endpoint.url)
    .bind(event_names(endpoint))
    .bind(&endpoint.description)
    .bind(reason(endpoint.power))
    .bind(endpoint.secret.to_stored())
    .bind(i32::try_from(endpoint.consecutive_failures).unwrap_or(i32::MAX))
    .bind(endpoint.last_delivered_at.map(time))
    .bind(time(endpoint.updated_at))
    .bind(endpoint.pause.map(|pause| time(pause.since)))
    .bind(endpoint.pause.map(|pause| time(pause.until)))
    .bind(endpoint.old_secret.as_ref().map(|old| old.secret.to_stored()))
    .bind(endpoint.old_secret.as_ref().map(|old| time(old.until)))
    .bind(endpoint.replay.map(|replay| time(replay.next_at)))
    .bind(endpoint.replay.map(|replay| replay.to_stored()));
    update.execute(connection).await?;
    Ok(())
}

/// Updates what attempts change about endpoints: one statement for any number of them.
pub(super) async fn update_counts(
    connection: &mut PgConnection,
    endpoints: &[Endpoint],
) -> PgResult<()> {
    if endpoints.is_empty() {
        return Ok(());
    }
    let update = rows_query!(
        "UPDATE endpoint e
         SET disabled_reason = new.disabled_reason,
             consecutive_failures = new.consecutive_failures,
             last_delivered_at = new.last_delivered_at,
             paused_since = new.paused_since, paused_until = new.paused_until,
             replay_at = new.replay_at, replay = new.replay
         FROM " rows(endpoint in endpoints) as new {
            account_id: uuid = uuid(endpoint.account),
            id: uuid = uuid(endpoint.id),
            disabled_reason: text = reason(endpoint.power),
            consecutive_failures: integer = integer(endpoint.consecutive_failures),
            last_delivered_at: timestamptz = endpoint.last_delivered_at.map(time),
            paused_since: timestamptz = endpoint.pause.map(|pause| time(pause.since)),
            paused_until: timestamptz = endpoint.pause.map(|pause| time(pause.until)),
            replay_at: timestamptz = endpoint.replay.map(|replay| time(replay.next_at)),
            replay: text = endpoint.replay.map(|replay| replay.to_stored()),
         } "
         WHERE e.account_id = new.account_id AND e.id = new.id"
    );
    update.execute(connection).await?;
    Ok(())
}

/// One endpoint, locked.
pub(super) async fn lock(
    connection: &mut PgConnection,
    account: AccountId,
    id: EndpointId,
) -> PgResult<Option<Endpoint>> {
    let row = sqlx::query(concat!(
        "SELECT ",
        endpoint_columns!(),
        " FROM endpoint WHERE account_id = $1 AND id = $2 FOR NO KEY UPDATE"
    ))
    .bind(uuid(account))
    .bind(uuid(id))
    .fetch_optional(connection)
    .await?;
    row.as_ref().map(endpoint).transpose()
}

/// A portion of all endpoints, in the order of their key.
pub(super) async fn after(
    pool: &PgPool,
    after: Option<SecretPlace>,
    limit: usize,
) -> PgResult<Vec<Endpoint>> {
    // No id is nil.
    let (account, id) =
        after.map_or_else(Default::default, |place| (uuid(place.account), uuid(place.endpoint)));
    let rows = sqlx::query(concat!(
        "SELECT ",
        endpoint_columns!(),
        " FROM endpoint WHERE (account_id, id) > ($1, $2)
         ORDER BY account_id, id LIMIT $3",
    ))
    .bind(account)
    .bind(id)
    .bind(i64::try_from(limit).unwrap_or(i64::MAX))
    .fetch_all(pool)
    .await?;
    rows.iter().map(endpoint).collect()
}

/// Replaces secrets that are still as the plans found them: one statement for any number of them.
pub(super) async fn reseal(pool: &PgPool, plans: &[ResealPlan]) -> PgResult<usize> {
    if plans.is_empty() {
        return Ok(0);
    }
    let text = |old: &Option<OldSecret>| old.as_ref().map(|old| old.secret.to_stored());
    let until = |old: &Option<OldSecret>| old.as_ref().map(|old| time(old.until));
    let update = rows_query!(
        "UPDATE endpoint e
         SET secret = new.secret, old_secret = new.old_secret,
             old_secret_until = new.old_secret_until
         FROM " rows(ResealPlan { place, before, after } in plans) as new {
            account_id: uuid = uuid(place.account),
            id: uuid = uuid(place.endpoint),
            read_secret: text = before.secret.to_stored(),
            read_old_secret: text = text(&before.old),
            read_old_secret_until: timestamptz = until(&before.old),
            secret: text = after.secret.to_stored(),
            old_secret: text = text(&after.old),
            old_secret_until: timestamptz = until(&after.old),
         } "
         WHERE e.account_id = new.account_id AND e.id = new.id AND e.secret = new.read_secret
             AND e.old_secret IS NOT DISTINCT FROM new.read_old_secret
             AND e.old_secret_until IS NOT DISTINCT FROM new.read_old_secret_until"
    );
    let updated = update.execute(pool).await?;
    Ok(usize::try_from(updated.rows_affected()).unwrap_or(usize::MAX))
}
