//! Webhook endpoints and the attempts to reach them.
//!
//! Disabling an endpoint begins a new run, and removing one deletes its row alone: neither touches
//! its deliveries, however many. See [`power`] and [`tidy`].

use async_trait::async_trait;
use sms_core::idempotency::{Claim, Once};
use sms_core::ids::{AccountId, DeliveryId, DeliveryKind, EndpointId};
use sms_core::page::{Page, PageRequest};
use sms_core::store::{CommitError, StoreError};
use sms_core::time::Timestamp;
use sms_core::version::{Changed, IfVersion};
use sms_core::webhook::attempt::{
    AttemptPlan, AttemptVerdict, ClaimedDelivery, DeliveryClaimPlan, RetryPlan, RetryVerdict,
};
use sms_core::webhook::delivery::Delivery;
use sms_core::webhook::endpoint::{Endpoint, EndpointChange, EndpointRefused, settle_creation};
use sms_core::webhook::replay::ReplayBegun;
use sms_core::webhook::replay::plan::{PortionPlan, ReplayPlan, ReplayRefused};
use sms_core::webhook::reseal::ResealPlan;
use sms_core::webhook::sealing::SecretPlace;
use sms_core::webhook::store::{EndpointsWanted, ReadsWebhooks, WebhookStore};
use uuid::Uuid;

use crate::PgStore;
use crate::begin::{again_on_conflict, begin, give_up};
use crate::credits::lock_balances;
use crate::delivery::{self, Origin, deliveries_and_endpoints, delivery_columns};
use crate::error::{Context, PgResult};
use crate::row::{time, uuid};

pub(crate) mod attempt;
mod claim;
pub(crate) mod endpoint;
mod power;
mod replay;
mod tidy;

use endpoint::{endpoint as read_endpoint, endpoint_columns, event_names, reason};

#[async_trait]
impl ReadsWebhooks for PgStore {
    async fn endpoint_get(
        &self,
        account: AccountId,
        id: EndpointId,
    ) -> Result<Option<Endpoint>, StoreError> {
        let doing = "reading a webhook endpoint";
        let row = sqlx::query(concat!(
            "SELECT ",
            endpoint_columns!(),
            " FROM endpoint WHERE account_id = $1 AND id = $2"
        ))
        .bind(uuid(account))
        .bind(uuid(id))
        .fetch_optional(&self.pool)
        .await
        .context(doing)?;
        row.as_ref().map(read_endpoint).transpose().context(doing)
    }

    async fn endpoint_list(&self, wanted: EndpointsWanted) -> Result<Vec<Endpoint>, StoreError> {
        match wanted {
            EndpointsWanted::Of(account) => self.endpoints_of(account).await,
            EndpointsWanted::All { after, limit } => self.endpoints_after(after, limit).await,
            EndpointsWanted::ReplaysDue { at, limit } => self.replays_due(at, limit).await,
        }
    }

    async fn delivery_get(
        &self,
        account: AccountId,
        endpoint: EndpointId,
        id: DeliveryId,
    ) -> Result<Option<Delivery>, StoreError> {
        let doing = "reading a webhook delivery";
        let row = sqlx::query(concat!(
            "SELECT ",
            delivery_columns!(),
            deliveries_and_endpoints!(),
            "WHERE d.account_id = $1 AND d.endpoint_id = $2 AND d.id = $3",
        ))
        .bind(uuid(account))
        .bind(uuid(endpoint))
        .bind(uuid(id))
        .fetch_optional(&self.pool)
        .await
        .context(doing)?;
        row.as_ref().map(delivery::delivery).transpose().context(doing)
    }

    async fn delivery_list(
        &self,
        account: AccountId,
        endpoint: EndpointId,
        page: PageRequest,
    ) -> Result<Page<Delivery>, StoreError> {
        let doing = "listing webhook deliveries";
        let before = page.after.map_or(Uuid::max(), |cursor| uuid(cursor.id::<DeliveryKind>()));
        let rows = sqlx::query(concat!(
            "SELECT ",
            delivery_columns!(),
            // The account is one of a list, so that the ids of all are not in the wanted order; and
            // the page is found before its endpoint, so that no more is read.
            " FROM (SELECT * FROM delivery
                   WHERE account_id = ANY(ARRAY[$1]) AND endpoint_id = $2 AND id < $3
                   ORDER BY account_id DESC, id DESC LIMIT $4) AS d
             JOIN endpoint e ON e.account_id = d.account_id AND e.id = d.endpoint_id
             ORDER BY d.id DESC",
        ))
        .bind(uuid(account))
        .bind(uuid(endpoint))
        .bind(before)
        .bind(i64::try_from(page.limit.get() + 1).unwrap_or(i64::MAX))
        .fetch_all(&self.pool)
        .await
        .context(doing)?;
        let rows: PgResult<Vec<Delivery>> = rows.iter().map(delivery::delivery).collect();
        Ok(Page::of(rows.context(doing)?, page.limit, |delivery: &Delivery| delivery.id))
    }
}

#[async_trait]
impl WebhookStore for PgStore {
    async fn endpoint_create(
        &self,
        endpoint: Endpoint,
        claim: Option<&Claim>,
    ) -> Result<Once<Endpoint>, CommitError<EndpointRefused>> {
        let doing = "creating a webhook endpoint";
        let mut tx = begin(&self.pool).await.context(doing)?;
        // The lock on the account's row makes two creations count each other.
        lock_balances(&mut tx, [endpoint.account]).await.context(doing)?;
        let existing: i64 =
            sqlx::query_scalar("SELECT count(*) FROM endpoint WHERE account_id = $1")
                .bind(uuid(endpoint.account))
                .fetch_one(&mut *tx)
                .await
                .context(doing)?;
        let existing = usize::try_from(existing).unwrap_or(usize::MAX);
        if let Err(refused) = settle_creation(existing) {
            tx.rollback().await.context(doing)?;
            return self.refused(claim, CommitError::Refused(refused)).await;
        }
        sqlx::query(
            "INSERT INTO endpoint (account_id, id, url, events, description, disabled_reason,
                 secret, consecutive_failures, last_delivered_at, created_at, updated_at,
                 paused_since, paused_until, old_secret, old_secret_until)
             VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11, $12, $13, $14, $15)",
        )
        .bind(uuid(endpoint.account))
        .bind(uuid(endpoint.id))
        .bind(&endpoint.url)
        .bind(event_names(&endpoint))
        .bind(&endpoint.description)
        .bind(reason(endpoint.power))
        .bind(endpoint.secret.to_stored())
        .bind(i32::try_from(endpoint.consecutive_failures).unwrap_or(i32::MAX))
        .bind(endpoint.last_delivered_at.map(time))
        .bind(time(endpoint.created_at))
        .bind(time(endpoint.updated_at))
        .bind(endpoint.pause.map(|pause| time(pause.since)))
        .bind(endpoint.pause.map(|pause| time(pause.until)))
        .bind(endpoint.old_secret.as_ref().map(|old| old.secret.to_stored()))
        .bind(endpoint.old_secret.as_ref().map(|old| time(old.until)))
        .execute(&mut *tx)
        .await
        .context(doing)?;
        Ok(self.conclude(tx, claim, endpoint).await.context(doing)?)
    }

    async fn endpoints_reseal(&self, plans: Vec<ResealPlan>) -> Result<usize, StoreError> {
        let reseal =
            async || endpoint::reseal(&self.pool, &plans).await.context("sealing webhook secrets");
        again_on_conflict!(reseal())
    }

    async fn endpoint_update(
        &self,
        account: AccountId,
        id: EndpointId,
        change: EndpointChange,
        at: Timestamp,
    ) -> Result<Option<Endpoint>, CommitError<Changed>> {
        let doing = "updating a webhook endpoint";
        let mut tx = begin(&self.pool).await.context(doing)?;
        let before = endpoint::lock(&mut tx, account, id).await.context(doing)?;
        let Some(before) = before else { return Ok(give_up(tx, None).await) };
        let was_on = before.power.is_on();
        let after = match change.apply(before, at) {
            Ok(after) => after,
            Err(changed) => return Err(give_up(tx, CommitError::Refused(changed)).await),
        };
        endpoint::update(&mut tx, &after).await.context(doing)?;
        if was_on && !after.power.is_on() {
            power::switched_off(&mut tx, &[(id, at)]).await.context(doing)?;
        }
        tx.commit().await.context(doing)?;
        Ok(Some(after))
    }

    async fn endpoint_delete(
        &self,
        account: AccountId,
        id: EndpointId,
        if_version: IfVersion,
    ) -> Result<bool, CommitError<Changed>> {
        let doing = "deleting a webhook endpoint";
        let mut tx = begin(&self.pool).await.context(doing)?;
        if !if_version.is_any() {
            let found = endpoint::lock(&mut tx, account, id).await.context(doing)?;
            let Some(found) = found else { return Ok(give_up(tx, false).await) };
            if let Err(changed) = if_version.check(&found) {
                return Err(give_up(tx, CommitError::Refused(changed)).await);
            }
        }
        let deleted = sqlx::query("DELETE FROM endpoint WHERE account_id = $1 AND id = $2")
            .bind(uuid(account))
            .bind(uuid(id))
            .execute(&mut *tx)
            .await
            .context(doing)?;
        let was_there = deleted.rows_affected() == 1;
        if was_there {
            tidy::remember_removed(&mut tx, account, id).await.context(doing)?;
        }
        tx.commit().await.context(doing)?;
        Ok(was_there)
    }

    async fn deliveries_claim(
        &self,
        plan: DeliveryClaimPlan,
    ) -> Result<Vec<ClaimedDelivery>, StoreError> {
        again_on_conflict!(claim::claim(&self.pool, plan.clone()))
    }

    async fn deliveries_record(
        &self,
        plans: Vec<AttemptPlan>,
    ) -> Vec<Result<AttemptVerdict, StoreError>> {
        self.attempts.settle(plans).await
    }

    async fn delivery_retry(&self, plan: RetryPlan) -> Result<Option<RetryVerdict>, StoreError> {
        let doing = "redelivering a webhook event";
        let mut tx = begin(&self.pool).await.context(doing)?;
        let endpoint = endpoint::lock(&mut tx, plan.account, plan.endpoint).await.context(doing)?;
        let Some(endpoint) = endpoint else { return Ok(give_up(tx, None).await) };
        let row = sqlx::query(concat!(
            "SELECT ",
            delivery_columns!(),
            deliveries_and_endpoints!(),
            "WHERE d.account_id = $1 AND d.endpoint_id = $2 AND d.id = $3 FOR UPDATE OF d",
        ))
        .bind(uuid(plan.account))
        .bind(uuid(plan.endpoint))
        .bind(uuid(plan.delivery))
        .fetch_optional(&mut *tx)
        .await
        .context(doing)?;
        let Some(row) = row else { return Ok(give_up(tx, None).await) };
        let found = delivery::delivery(&row).context(doing)?;
        let verdict = plan.settle(&found, &endpoint);
        if let RetryVerdict::Send(held, _) = &verdict {
            delivery::update(&mut tx, std::slice::from_ref(held)).await.context(doing)?;
        }
        tx.commit().await.context(doing)?;
        Ok(Some(verdict))
    }

    async fn delivery_log(&self, logged: Delivery) -> Result<(), StoreError> {
        let doing = "logging a webhook delivery";
        let mut tx = begin(&self.pool).await.context(doing)?;
        let known = endpoint::lock(&mut tx, logged.account, logged.endpoint).await;
        if known.context(doing)?.is_some() {
            delivery::insert(&mut tx, vec![logged], Origin::Event).await.context(doing)?;
        }
        tx.commit().await.context(doing)
    }

    async fn replay_begin(
        &self,
        plan: ReplayPlan,
        claim: Option<&Claim>,
    ) -> Result<Once<ReplayBegun>, CommitError<ReplayRefused>> {
        replay::begin_replay(self, plan, claim).await
    }

    async fn replay_portion(&self, plan: PortionPlan) -> Result<usize, StoreError> {
        let doing = "writing a portion of a replay";
        let portion = async || replay::portion(&self.pool, plan.clone()).await.context(doing);
        again_on_conflict!(portion())
    }
}

impl PgStore {
    async fn endpoints_of(&self, account: AccountId) -> Result<Vec<Endpoint>, StoreError> {
        let doing = "listing webhook endpoints";
        let rows = sqlx::query(concat!(
            "SELECT ",
            endpoint_columns!(),
            " FROM endpoint WHERE account_id = $1 ORDER BY id DESC"
        ))
        .bind(uuid(account))
        .fetch_all(&self.pool)
        .await
        .context(doing)?;
        rows.iter().map(read_endpoint).collect::<PgResult<_>>().context(doing)
    }

    async fn endpoints_after(
        &self,
        after: Option<SecretPlace>,
        limit: usize,
    ) -> Result<Vec<Endpoint>, StoreError> {
        endpoint::after(&self.pool, after, limit).await.context("reading webhook endpoints")
    }

    async fn replays_due(&self, at: Timestamp, limit: usize) -> Result<Vec<Endpoint>, StoreError> {
        replay::due(&self.pool, at, limit).await.context("looking for replays that go on")
    }

    pub(crate) async fn replays_next(&self) -> Result<Option<Timestamp>, StoreError> {
        replay::next(&self.pool).await.context("finding when the next replay goes on")
    }

    pub(crate) async fn deliveries_tidy(
        &self,
        before: Timestamp,
        limit: usize,
    ) -> Result<usize, StoreError> {
        tidy::tidy(&self.pool, before, limit).await.context("tidying webhook deliveries")
    }

    pub(crate) async fn deliveries_next(&self) -> Result<Option<Timestamp>, StoreError> {
        let doing = "finding when the next webhook delivery is due";
        claim::next(&self.pool).await.context(doing)
    }
}
