//! Webhook endpoints and the attempts to reach them.

use std::collections::BTreeMap;

use async_trait::async_trait;
use sms_core::ids::{AccountId, DeliveryId, DeliveryKind, EndpointId};
use sms_core::page::{Page, PageRequest};
use sms_core::store::{CommitError, StoreError};
use sms_core::time::Timestamp;
use sms_core::webhook::attempt::{
    AttemptPlan, AttemptVerdict, ClaimedDelivery, DeliveryClaim, DeliveryClaimPlan, RetryPlan,
    RetryVerdict, Room, settle_claim,
};
use sms_core::webhook::delivery::{Delivery, DeliveryError, DeliveryStatus};
use sms_core::webhook::endpoint::{
    DisabledReason, Endpoint, EndpointChange, EndpointRefused, Power, Secret, settle_creation,
};
use sms_core::webhook::store::WebhookStore;
use sqlx::postgres::PgRow;
use sqlx::{PgConnection, Row};
use uuid::Uuid;

use crate::begin::{again_on_conflict, begin};
use crate::credits::lock_balances;
use crate::error::{commit_failed, failed};
use crate::row::{Read, time, uuid};
use crate::{PgStore, delivery};

/// How many endpoints with something due one claim looks at.
const MOST_ENDPOINTS: i64 = 1_000;

pub(crate) fn endpoint(row: &PgRow) -> sqlx::Result<Endpoint> {
    let wrong = |column: &str| sqlx::Error::ColumnNotFound(column.to_owned());
    let events = row.try_get::<Vec<String>, _>("events")?;
    let events: Result<_, ()> = events.iter().map(|name| name.parse()).collect();
    let power = match row.try_get::<Option<&str>, _>("disabled_reason")? {
        None => Power::On,
        Some("consecutive_failures") => Power::Off(DisabledReason::Failures),
        Some(_) => Power::Off(DisabledReason::ByOwner),
    };
    Ok(Endpoint {
        id: row.id("id")?,
        account: row.id("account_id")?,
        url: row.try_get("url")?,
        events: events.map_err(|()| wrong("events"))?,
        description: row.try_get("description")?,
        power,
        secret: Secret::from_stored(row.try_get("secret")?),
        consecutive_failures: row.count("consecutive_failures")?,
        last_delivered_at: row.maybe_at("last_delivered_at")?,
        created_at: row.at("created_at")?,
        updated_at: row.at("updated_at")?,
    })
}

fn reason(power: Power) -> Option<&'static str> {
    match power {
        Power::On => None,
        Power::Off(reason) => Some(reason.as_str()),
    }
}

fn event_names(endpoint: &Endpoint) -> Vec<&'static str> {
    endpoint.events.iter().map(|kind| kind.as_str()).collect()
}

async fn update_endpoint(connection: &mut PgConnection, endpoint: &Endpoint) -> sqlx::Result<()> {
    let update = sqlx::query(
        "UPDATE endpoint
         SET url = $3, events = $4, description = $5, disabled_reason = $6, secret = $7,
             consecutive_failures = $8, last_delivered_at = $9, updated_at = $10
         WHERE account_id = $1 AND id = $2",
    )
    .bind(uuid(endpoint.account))
    .bind(uuid(endpoint.id))
    .bind(&endpoint.url)
    .bind(event_names(endpoint))
    .bind(&endpoint.description)
    .bind(reason(endpoint.power))
    .bind(endpoint.secret.reveal())
    .bind(i32::try_from(endpoint.consecutive_failures).unwrap_or(i32::MAX))
    .bind(endpoint.last_delivered_at.map(time))
    .bind(time(endpoint.updated_at));
    update.execute(connection).await.map(|_| ())
}

async fn lock_endpoint(
    connection: &mut PgConnection,
    account: AccountId,
    id: EndpointId,
) -> sqlx::Result<Option<Endpoint>> {
    let row =
        sqlx::query("SELECT * FROM endpoint WHERE account_id = $1 AND id = $2 FOR NO KEY UPDATE")
            .bind(uuid(account))
            .bind(uuid(id))
            .fetch_optional(connection)
            .await?;
    row.as_ref().map(endpoint).transpose()
}

/// Gives up what [waits](Delivery::is_waiting) for an endpoint, as [`Delivery::given_up`] says: one
/// statement for any backlog.
async fn give_up_waiting(
    connection: &mut PgConnection,
    id: EndpointId,
    at: Timestamp,
) -> sqlx::Result<()> {
    let update = sqlx::query(
        "UPDATE delivery
         SET status = CASE WHEN delivered_at IS NULL THEN $3 ELSE $4 END, last_error = $5,
             next_attempt_at = NULL, lease = NULL, leased_until = NULL, claimable_at = NULL
         WHERE endpoint_id = $1 AND claimable_at IS NOT NULL
             AND (leased_until IS NULL OR leased_until <= $2)",
    )
    .bind(uuid(id))
    .bind(time(at))
    .bind(DeliveryStatus::GivenUp.as_str())
    .bind(DeliveryStatus::Delivered.as_str())
    .bind(DeliveryError::EndpointOff.as_str());
    update.execute(connection).await.map(|_| ())
}

/// Endpoints that have something to claim, the longest due first. Steps from endpoint to endpoint
/// through the index, so that a long backlog of one costs nothing.
async fn endpoints_due(
    connection: &mut PgConnection,
    at: Timestamp,
    room: &Room,
) -> sqlx::Result<Vec<Endpoint>> {
    let full = room.endpoints.iter().filter(|(_, room)| **room == 0);
    let full: Vec<Uuid> = full.map(|(id, _)| uuid(*id)).collect();
    let rows = sqlx::query(
        "WITH RECURSIVE waiting AS (
             (SELECT endpoint_id FROM delivery WHERE claimable_at IS NOT NULL
              ORDER BY endpoint_id LIMIT 1)
             UNION ALL
             SELECT (SELECT d.endpoint_id FROM delivery d
                     WHERE d.claimable_at IS NOT NULL AND d.endpoint_id > waiting.endpoint_id
                     ORDER BY d.endpoint_id LIMIT 1)
             FROM waiting WHERE waiting.endpoint_id IS NOT NULL
         )
         SELECT e.*, first.claimable_at
         FROM waiting
         CROSS JOIN LATERAL (
             SELECT d.claimable_at FROM delivery d
             WHERE d.endpoint_id = waiting.endpoint_id AND d.claimable_at IS NOT NULL
             ORDER BY d.claimable_at LIMIT 1
         ) AS first
         JOIN endpoint e ON e.id = waiting.endpoint_id
         WHERE first.claimable_at <= $1
             -- What there is no room for must not crowd out the others.
             AND e.id <> ALL($3) AND (e.consecutive_failures = 0 OR $4)
         ORDER BY first.claimable_at, e.id
         LIMIT $2",
    )
    .bind(time(at))
    .bind(MOST_ENDPOINTS)
    .bind(full)
    .bind(room.failing > 0)
    .fetch_all(connection)
    .await?;
    rows.iter().map(endpoint).collect()
}

#[async_trait]
impl WebhookStore for PgStore {
    async fn endpoint_create(
        &self,
        endpoint: Endpoint,
    ) -> Result<(), CommitError<EndpointRefused>> {
        let doing = commit_failed("making a webhook endpoint");
        let mut tx = begin(&self.pool).await.map_err(&doing)?;
        // The account's row is what keeps two of them from being counted as one.
        lock_balances(&mut tx, [endpoint.account]).await.map_err(&doing)?;
        let existing: i64 =
            sqlx::query_scalar("SELECT count(*) FROM endpoint WHERE account_id = $1")
                .bind(uuid(endpoint.account))
                .fetch_one(&mut *tx)
                .await
                .map_err(&doing)?;
        let existing = usize::try_from(existing).unwrap_or(usize::MAX);
        settle_creation(existing).map_err(CommitError::Refused)?;
        sqlx::query(
            "INSERT INTO endpoint (account_id, id, url, events, description, disabled_reason,
                 secret, consecutive_failures, last_delivered_at, created_at, updated_at)
             VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11)",
        )
        .bind(uuid(endpoint.account))
        .bind(uuid(endpoint.id))
        .bind(&endpoint.url)
        .bind(event_names(&endpoint))
        .bind(&endpoint.description)
        .bind(reason(endpoint.power))
        .bind(endpoint.secret.reveal())
        .bind(i32::try_from(endpoint.consecutive_failures).unwrap_or(i32::MAX))
        .bind(endpoint.last_delivered_at.map(time))
        .bind(time(endpoint.created_at))
        .bind(time(endpoint.updated_at))
        .execute(&mut *tx)
        .await
        .map_err(&doing)?;
        tx.commit().await.map_err(&doing)
    }

    async fn endpoint_get(
        &self,
        account: AccountId,
        id: EndpointId,
    ) -> Result<Option<Endpoint>, StoreError> {
        let doing = failed("reading a webhook endpoint");
        let row = sqlx::query("SELECT * FROM endpoint WHERE account_id = $1 AND id = $2")
            .bind(uuid(account))
            .bind(uuid(id))
            .fetch_optional(&self.pool)
            .await
            .map_err(&doing)?;
        row.as_ref().map(endpoint).transpose().map_err(&doing)
    }

    async fn endpoint_list(&self, account: AccountId) -> Result<Vec<Endpoint>, StoreError> {
        let doing = failed("listing webhook endpoints");
        let rows = sqlx::query("SELECT * FROM endpoint WHERE account_id = $1 ORDER BY id DESC")
            .bind(uuid(account))
            .fetch_all(&self.pool)
            .await
            .map_err(&doing)?;
        rows.iter().map(endpoint).collect::<sqlx::Result<_>>().map_err(&doing)
    }

    async fn endpoint_update(
        &self,
        account: AccountId,
        id: EndpointId,
        change: EndpointChange,
        at: Timestamp,
    ) -> Result<Option<Endpoint>, StoreError> {
        let doing = failed("changing a webhook endpoint");
        let mut tx = begin(&self.pool).await.map_err(&doing)?;
        let before = lock_endpoint(&mut tx, account, id).await.map_err(&doing)?;
        let Some(before) = before else { return Ok(None) };
        let was_on = before.power.is_on();
        let after = change.apply(before, at);
        update_endpoint(&mut tx, &after).await.map_err(&doing)?;
        if was_on && !after.power.is_on() {
            give_up_waiting(&mut tx, id, at).await.map_err(&doing)?;
        }
        tx.commit().await.map_err(&doing)?;
        Ok(Some(after))
    }

    async fn endpoint_delete(
        &self,
        account: AccountId,
        id: EndpointId,
    ) -> Result<bool, StoreError> {
        let doing = failed("removing a webhook endpoint");
        let mut tx = begin(&self.pool).await.map_err(&doing)?;
        let deleted = sqlx::query("DELETE FROM endpoint WHERE account_id = $1 AND id = $2")
            .bind(uuid(account))
            .bind(uuid(id))
            .execute(&mut *tx)
            .await
            .map_err(&doing)?;
        sqlx::query("DELETE FROM delivery WHERE account_id = $1 AND endpoint_id = $2")
            .bind(uuid(account))
            .bind(uuid(id))
            .execute(&mut *tx)
            .await
            .map_err(&doing)?;
        tx.commit().await.map_err(&doing)?;
        Ok(deleted.rows_affected() == 1)
    }

    async fn deliveries_claim(
        &self,
        plan: DeliveryClaimPlan,
    ) -> Result<Vec<ClaimedDelivery>, StoreError> {
        again_on_conflict!(self.claim_deliveries_once(plan.clone()))
    }

    async fn deliveries_record(
        &self,
        plans: Vec<AttemptPlan>,
    ) -> Result<Vec<AttemptVerdict>, StoreError> {
        again_on_conflict!(self.record_attempts_once(plans.clone()))
    }

    async fn delivery_retry(&self, plan: RetryPlan) -> Result<Option<RetryVerdict>, StoreError> {
        let doing = failed("sending a webhook delivery again");
        let mut tx = begin(&self.pool).await.map_err(&doing)?;
        let endpoint = lock_endpoint(&mut tx, plan.account, plan.endpoint).await.map_err(&doing)?;
        let Some(endpoint) = endpoint else { return Ok(None) };
        let row = sqlx::query(
            "SELECT * FROM delivery WHERE account_id = $1 AND endpoint_id = $2 AND id = $3
             FOR UPDATE",
        )
        .bind(uuid(plan.account))
        .bind(uuid(plan.endpoint))
        .bind(uuid(plan.delivery))
        .fetch_optional(&mut *tx)
        .await
        .map_err(&doing)?;
        let Some(row) = row else { return Ok(None) };
        let found = delivery::delivery(&row).map_err(&doing)?;
        let verdict = plan.settle(&found, &endpoint);
        if let RetryVerdict::Send(held, _) = &verdict {
            delivery::update(&mut tx, held).await.map_err(&doing)?;
        }
        tx.commit().await.map_err(&doing)?;
        Ok(Some(verdict))
    }

    async fn delivery_log(&self, logged: Delivery) -> Result<(), StoreError> {
        let doing = failed("logging a webhook delivery");
        let mut tx = begin(&self.pool).await.map_err(&doing)?;
        let known = lock_endpoint(&mut tx, logged.account, logged.endpoint).await;
        if known.map_err(&doing)?.is_some() {
            delivery::insert(&mut tx, vec![logged]).await.map_err(&doing)?;
        }
        tx.commit().await.map_err(&doing)
    }

    async fn delivery_get(
        &self,
        account: AccountId,
        endpoint: EndpointId,
        id: DeliveryId,
    ) -> Result<Option<Delivery>, StoreError> {
        let doing = failed("reading a webhook delivery");
        let row = sqlx::query(
            "SELECT * FROM delivery WHERE account_id = $1 AND endpoint_id = $2 AND id = $3",
        )
        .bind(uuid(account))
        .bind(uuid(endpoint))
        .bind(uuid(id))
        .fetch_optional(&self.pool)
        .await
        .map_err(&doing)?;
        row.as_ref().map(delivery::delivery).transpose().map_err(&doing)
    }

    async fn delivery_list(
        &self,
        account: AccountId,
        endpoint: EndpointId,
        page: PageRequest,
    ) -> Result<Page<Delivery>, StoreError> {
        let doing = failed("listing webhook deliveries");
        let before = page.after.map_or(Uuid::max(), |cursor| uuid(cursor.id::<DeliveryKind>()));
        let rows = sqlx::query(
            // The account is one of a list, so that the ids of all are not in the wanted order.
            "SELECT * FROM delivery
             WHERE account_id = ANY(ARRAY[$1]) AND endpoint_id = $2 AND id < $3
             ORDER BY account_id DESC, id DESC LIMIT $4",
        )
        .bind(uuid(account))
        .bind(uuid(endpoint))
        .bind(before)
        .bind(i64::try_from(page.limit.get() + 1).unwrap_or(i64::MAX))
        .fetch_all(&self.pool)
        .await
        .map_err(&doing)?;
        let rows: sqlx::Result<Vec<Delivery>> = rows.iter().map(delivery::delivery).collect();
        Ok(Page::of(rows.map_err(&doing)?, page.limit, |delivery: &Delivery| delivery.id))
    }

    async fn deliveries_tidy(&self, before: Timestamp, limit: usize) -> Result<usize, StoreError> {
        let deleted = sqlx::query(
            "DELETE FROM delivery WHERE id IN (
                 SELECT id FROM delivery WHERE created_at < $1
                 ORDER BY created_at, id LIMIT $2 FOR UPDATE SKIP LOCKED)",
        )
        .bind(time(before))
        .bind(i64::try_from(limit).unwrap_or(i64::MAX))
        .execute(&self.pool)
        .await
        .map_err(failed("tidying webhook deliveries"))?;
        Ok(usize::try_from(deleted.rows_affected()).unwrap_or(usize::MAX))
    }

    async fn deliveries_next(&self) -> Result<Option<Timestamp>, StoreError> {
        let doing = failed("looking for the next webhook delivery");
        let row = sqlx::query(
            "SELECT d.claimable_at AS next FROM delivery d
             WHERE d.claimable_at IS NOT NULL
                 AND EXISTS (SELECT FROM endpoint e WHERE e.id = d.endpoint_id)
             ORDER BY d.claimable_at LIMIT 1",
        )
        .fetch_optional(&self.pool)
        .await
        .map_err(&doing)?;
        row.map(|row| row.at("next")).transpose().map_err(&doing)
    }
}

impl PgStore {
    async fn claim_deliveries_once(
        &self,
        plan: DeliveryClaimPlan,
    ) -> Result<Vec<ClaimedDelivery>, StoreError> {
        let doing = failed("claiming webhook deliveries");
        let DeliveryClaimPlan { at, lease, mut room } = plan;
        let mut tx = begin(&self.pool).await.map_err(&doing)?;
        let mut taken = Vec::new();
        for endpoint in endpoints_due(&mut tx, at, &room).await.map_err(&doing)? {
            let most = room.of(&endpoint);
            if room.total == 0 {
                break;
            }
            if most == 0 {
                continue;
            }
            let rows = sqlx::query(
                "SELECT * FROM delivery WHERE endpoint_id = $1 AND claimable_at <= $2
                 ORDER BY claimable_at, id LIMIT $3 FOR UPDATE SKIP LOCKED",
            )
            .bind(uuid(endpoint.id))
            .bind(time(at))
            .bind(i64::try_from(most).unwrap_or(i64::MAX))
            .fetch_all(&mut *tx)
            .await
            .map_err(&doing)?;
            room.take(&endpoint, rows.len());
            for row in &rows {
                let due = delivery::delivery(row).map_err(&doing)?;
                match settle_claim(due, &endpoint, lease) {
                    DeliveryClaim::Take(held, claimed) => {
                        delivery::update(&mut tx, &held).await.map_err(&doing)?;
                        taken.push(*claimed);
                    }
                    DeliveryClaim::GiveUp(given_up) => {
                        delivery::update(&mut tx, &given_up).await.map_err(&doing)?;
                    }
                }
            }
        }
        tx.commit().await.map_err(&doing)?;
        Ok(taken)
    }

    async fn record_attempts_once(
        &self,
        plans: Vec<AttemptPlan>,
    ) -> Result<Vec<AttemptVerdict>, StoreError> {
        let doing = failed("recording webhook attempts");
        let mut tx = begin(&self.pool).await.map_err(&doing)?;
        let ids: Vec<Uuid> = plans.iter().map(|plan| uuid(plan.delivery)).collect();
        let mut endpoints = lock_endpoints_of(&mut tx, &ids).await.map_err(&doing)?;
        let mut deliveries = lock_deliveries(&mut tx, &ids).await.map_err(&doing)?;
        let mut verdicts = Vec::with_capacity(plans.len());
        for plan in &plans {
            let own = deliveries.get(&plan.delivery).filter(|own| own.account == plan.account);
            let found = own.and_then(|own| Some((own, endpoints.get(&own.endpoint)?)));
            let verdict = plan.settle(found);
            if let AttemptVerdict::Record { delivery, endpoint, switched_off } = &verdict {
                delivery::update(&mut tx, delivery).await.map_err(&doing)?;
                update_endpoint(&mut tx, endpoint).await.map_err(&doing)?;
                if *switched_off {
                    give_up_waiting(&mut tx, endpoint.id, plan.at).await.map_err(&doing)?;
                }
                deliveries.insert(delivery.id, (**delivery).clone());
                endpoints.insert(endpoint.id, (**endpoint).clone());
            }
            verdicts.push(verdict);
        }
        tx.commit().await.map_err(&doing)?;
        Ok(verdicts)
    }
}

async fn lock_endpoints_of(
    connection: &mut PgConnection,
    deliveries: &[Uuid],
) -> sqlx::Result<BTreeMap<EndpointId, Endpoint>> {
    let rows = sqlx::query(
        "SELECT * FROM endpoint WHERE id IN (SELECT endpoint_id FROM delivery WHERE id = ANY($1))
         ORDER BY id FOR NO KEY UPDATE",
    )
    .bind(deliveries)
    .fetch_all(connection)
    .await?;
    rows.iter().map(|row| endpoint(row).map(|endpoint| (endpoint.id, endpoint))).collect()
}

async fn lock_deliveries(
    connection: &mut PgConnection,
    ids: &[Uuid],
) -> sqlx::Result<BTreeMap<DeliveryId, Delivery>> {
    let rows = sqlx::query("SELECT * FROM delivery WHERE id = ANY($1) ORDER BY id FOR UPDATE")
        .bind(ids)
        .fetch_all(connection)
        .await?;
    rows.iter().map(|row| delivery::delivery(row).map(|found| (found.id, found))).collect()
}
