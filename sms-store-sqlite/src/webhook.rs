//! Webhook endpoints and attempts to deliver to them.

use async_trait::async_trait;
use rusqlite::params;
use sms_core::idempotency::{Claim, Once};
use sms_core::ids::{AccountId, DeliveryId, EndpointId};
use sms_core::page::{Page, PageRequest};
use sms_core::store::{CommitError, StoreError};
use sms_core::time::Timestamp;
use sms_core::version::{Changed, IfVersion};
use sms_core::webhook::attempt::{
    AttemptPlan, AttemptVerdict, ClaimedDelivery, DeliveryClaim, DeliveryClaimPlan, RetryPlan,
    RetryVerdict, settle_claim,
};
use sms_core::webhook::delivery::Delivery;
use sms_core::webhook::endpoint::{Endpoint, EndpointChange, EndpointRefused, settle_creation};
use sms_core::webhook::replay::ReplayBegun;
use sms_core::webhook::replay::plan::{PortionPlan, ReplayPlan, ReplayRefused};
use sms_core::webhook::reseal::{EndpointSecrets, ResealPlan};
use sms_core::webhook::sealing::SecretPlace;
use sms_core::webhook::store::{EndpointsWanted, ReadsWebhooks, WebhookStore};

use crate::SqliteStore;
use crate::command::Size;
use crate::db::Db;
use crate::delivery::{delivery, select_deliveries};
use crate::endpoint::{endpoint, select_endpoints};
use crate::error::{SqlResult, all_failed};
use crate::giving_up::{Extent, shown_since};
use crate::page::{before, limit_of};
use crate::row::{id, size, time};

#[async_trait]
impl ReadsWebhooks for SqliteStore {
    async fn endpoint_get(
        &self,
        account: AccountId,
        of: EndpointId,
    ) -> Result<Option<Endpoint>, StoreError> {
        self.look("reading an endpoint", move |db| db.endpoint(account, of)).await
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
        of: DeliveryId,
    ) -> Result<Option<Delivery>, StoreError> {
        let doing = "reading a delivery";
        self.look(doing, move |db| db.delivery_of(account, endpoint, of)).await
    }

    async fn delivery_list(
        &self,
        account: AccountId,
        endpoint: EndpointId,
        page: PageRequest,
    ) -> Result<Page<Delivery>, StoreError> {
        let rows = self.read("listing deliveries", move |db| {
            if db.endpoint(account, endpoint)?.is_none() {
                return Ok(Vec::new());
            }
            let rows = db.all(
                concat!(
                    select_deliveries!(),
                    "INDEXED BY delivery_by_endpoint
                     WHERE endpoint_id = ?1 AND id < ?2 ORDER BY id DESC LIMIT ?3"
                ),
                params![id(endpoint), before(page), limit_of(page)],
                |c| delivery(db, c),
            )?;
            let off_since = db.giving_up(endpoint)?;
            Ok(rows.into_iter().map(|delivery| shown_since(off_since, delivery)).collect())
        });
        Ok(Page::of(rows.await?, page.limit, |delivery: &Delivery| delivery.id))
    }
}

#[async_trait]
impl WebhookStore for SqliteStore {
    async fn endpoint_create(
        &self,
        endpoint: Endpoint,
        claim: Option<&Claim>,
    ) -> Result<Once<Endpoint>, CommitError<EndpointRefused>> {
        self.once("creating an endpoint", claim, move |db| {
            let no = db.known_account(endpoint.account)?;
            if let Err(refused) = settle_creation(db.endpoints(no)?.len()) {
                return Ok(Err(refused));
            }
            db.put_endpoint(&endpoint)?;
            Ok(Ok(endpoint.clone()))
        })
        .await
    }

    async fn endpoints_reseal(&self, plans: Vec<ResealPlan>) -> Result<usize, StoreError> {
        self.write("resealing secrets", move |db| {
            let mut replaced = 0;
            for plan in &plans {
                let SecretPlace { account, endpoint } = plan.place;
                let Some(mut found) = db.endpoint(account, endpoint)? else { continue };
                let Some(after) = plan.settle(&EndpointSecrets::of(&found)) else { continue };
                let EndpointSecrets { secret, old } = after;
                (found.secret, found.old_secret) = (secret, old);
                db.put_endpoint(&found)?;
                replaced += 1;
            }
            Ok(replaced)
        })
        .await
    }

    async fn endpoint_update(
        &self,
        account: AccountId,
        of: EndpointId,
        change: EndpointChange,
        at: Timestamp,
    ) -> Result<Option<Endpoint>, CommitError<Changed>> {
        self.decide("changing an endpoint", move |db| {
            let Some(before) = db.endpoint(account, of)? else { return Ok(Ok(None)) };
            let was_on = before.power.is_on();
            let after = match change.clone().apply(before, at) {
                Ok(after) => after,
                Err(changed) => return Ok(Err(CommitError::Refused(changed))),
            };
            if was_on && !after.power.is_on() {
                db.give_up_waiting(of, at)?;
            } else if after.power.is_on() {
                // What waited before stays given up, and what comes from now on is delivered.
                db.give_up_more(of, Extent::All)?;
            }
            db.put_endpoint(&after)?;
            Ok(Ok(Some(after)))
        })
        .await
    }

    async fn endpoint_delete(
        &self,
        account: AccountId,
        of: EndpointId,
        if_version: IfVersion,
    ) -> Result<bool, CommitError<Changed>> {
        self.decide("deleting an endpoint", move |db| {
            let Some(endpoint) = db.endpoint(account, of)? else { return Ok(Ok(false)) };
            if let Err(changed) = if_version.check(&endpoint) {
                return Ok(Err(CommitError::Refused(changed)));
            }
            db.run("DELETE FROM endpoint WHERE id = ?1", [id(of)])?;
            db.run("DELETE FROM giving_up WHERE endpoint_id = ?1", [id(of)])?;
            db.note_gone(id(of))?;
            Ok(Ok(true))
        })
        .await
    }

    async fn deliveries_claim(
        &self,
        plan: DeliveryClaimPlan,
    ) -> Result<Vec<ClaimedDelivery>, StoreError> {
        let size = Size::Small(plan.room.total.min(500));
        self.write_sized("claiming deliveries", size, move |db| claim(db, plan.clone())).await
    }

    async fn deliveries_record(
        &self,
        plans: Vec<AttemptPlan>,
    ) -> Vec<Result<AttemptVerdict, StoreError>> {
        let count = plans.len();
        let recorded = self.write_sized("recording attempts", Size::Small(count), move |db| {
            plans.iter().map(|plan| record(db, plan)).collect::<SqlResult<Vec<_>>>()
        });
        match recorded.await {
            Ok(recorded) => recorded.into_iter().map(Ok).collect(),
            Err(error) => all_failed(count, &error),
        }
    }

    async fn delivery_retry(&self, plan: RetryPlan) -> Result<Option<RetryVerdict>, StoreError> {
        self.write("retrying a delivery", move |db| {
            let delivery = db.delivery_of(plan.account, plan.endpoint, plan.delivery)?;
            let endpoint = db.endpoint(plan.account, plan.endpoint)?;
            let Some((delivery, endpoint)) = delivery.zip(endpoint) else { return Ok(None) };
            let verdict = plan.settle(&delivery, &endpoint);
            if let RetryVerdict::Send(held, _) = &verdict {
                db.put_delivery(held)?;
            }
            Ok(Some(verdict))
        })
        .await
    }

    async fn delivery_log(&self, delivery: Delivery) -> Result<(), StoreError> {
        self.write("logging a delivery", move |db| {
            if db.endpoint(delivery.account, delivery.endpoint)?.is_some() {
                db.put_delivery(&delivery)?;
            }
            Ok(())
        })
        .await
    }

    async fn replay_begin(
        &self,
        plan: ReplayPlan,
        claim: Option<&Claim>,
    ) -> Result<Once<ReplayBegun>, CommitError<ReplayRefused>> {
        self.once("beginning a replay", claim, move |db| {
            let found = db.endpoint(plan.account, plan.endpoint)?;
            let after = match plan.settle(found.as_ref()) {
                Ok(after) => after,
                Err(refused) => return Ok(Err(refused)),
            };
            db.put_endpoint(&after)?;
            Ok(Ok(plan.begun))
        })
        .await
    }

    async fn replay_portion(&self, plan: PortionPlan) -> Result<usize, StoreError> {
        let size = Size::Small(plan.events.len());
        let doing = "writing a portion of a replay";
        self.write_sized(doing, size, move |db| db.replay_portion(&plan)).await
    }
}

impl SqliteStore {
    async fn endpoints_of(&self, account: AccountId) -> Result<Vec<Endpoint>, StoreError> {
        self.look("listing endpoints", move |db| {
            let Some(no) = db.account_no(account)? else { return Ok(Vec::new()) };
            db.endpoints(no)
        })
        .await
    }

    async fn endpoints_after(
        &self,
        after: Option<SecretPlace>,
        limit: usize,
    ) -> Result<Vec<Endpoint>, StoreError> {
        self.read("reading endpoints", move |db| {
            // Endpoints are few, and this is done once for a change of keys.
            let mut all = db.all(select_endpoints!(), [], |c| endpoint(db, c))?;
            all.retain(|endpoint| Some(endpoint.secret_place()) > after);
            all.sort_unstable_by_key(Endpoint::secret_place);
            all.truncate(limit);
            Ok(all)
        })
        .await
    }

    async fn replays_due(&self, at: Timestamp, limit: usize) -> Result<Vec<Endpoint>, StoreError> {
        self.look("looking for replays that go on", move |db| db.replays_due(at, limit)).await
    }

    pub(crate) async fn replays_next(&self) -> Result<Option<Timestamp>, StoreError> {
        self.look("finding when the next replay goes on", Db::replays_next).await
    }

    pub(crate) async fn deliveries_tidy(
        &self,
        before: Timestamp,
        limit: usize,
    ) -> Result<usize, StoreError> {
        self.write("tidying deliveries", move |db| {
            let removed = db.run(
                "DELETE FROM delivery WHERE no IN (
                     SELECT no FROM delivery INDEXED BY delivery_by_age
                     WHERE created_at < ?1 ORDER BY created_at LIMIT ?2)",
                [time(before), size(limit)],
            )?;
            Ok(db.note_tidied(removed))
        })
        .await
    }

    pub(crate) async fn deliveries_next(&self) -> Result<Option<Timestamp>, StoreError> {
        self.look("looking for the next delivery", next).await
    }
}

/// When the first delivery can be claimed. The deliveries of a paused endpoint wait for it.
fn next(db: &Db) -> SqlResult<Option<Timestamp>> {
    let mut next: Option<Timestamp> = None;
    for (due, of) in db.first_due()? {
        if next.is_some_and(|next| next <= due) {
            break;
        }
        let Some(endpoint) = db.endpoint_of(of)? else { continue };
        let claimable = endpoint.pause.map_or(due, |pause| pause.until.max(due));
        next = Some(next.map_or(claimable, |next| next.min(claimable)));
    }
    Ok(next)
}

fn claim(db: &Db, plan: DeliveryClaimPlan) -> SqlResult<Vec<ClaimedDelivery>> {
    let DeliveryClaimPlan { at, lease, mut room } = plan;
    let mut taken = Vec::new();
    for (due, of) in db.first_due()? {
        if room.total == 0 || due > at {
            break;
        }
        let Some(endpoint) = db.endpoint_of(of)? else { continue };
        let due = db.claimable_deliveries(of, at, room.of(&endpoint, at))?;
        room.take(&endpoint, due.len());
        for delivery in due {
            match settle_claim(delivery, &endpoint, lease, at) {
                DeliveryClaim::Take(held, claimed) => {
                    db.put_delivery(&held)?;
                    taken.push(*claimed);
                }
                DeliveryClaim::GiveUp(delivery) => db.put_delivery(&delivery)?,
            }
        }
    }
    Ok(taken)
}

fn record(db: &Db, plan: &AttemptPlan) -> SqlResult<AttemptVerdict> {
    let delivery = db.delivery(plan.delivery)?.filter(|found| found.account == plan.account);
    let delivery = delivery.map(|delivery| db.shown(delivery)).transpose()?;
    let endpoint = match &delivery {
        Some(delivery) => db.endpoint(plan.account, delivery.endpoint)?,
        None => None,
    };
    let verdict = plan.settle(delivery.as_ref().zip(endpoint.as_ref()));
    if let AttemptVerdict::Record { delivery, endpoint, switched_off } = &verdict {
        db.put_delivery(delivery)?;
        db.put_endpoint(endpoint)?;
        if *switched_off {
            db.give_up_waiting(endpoint.id, plan.at)?;
        }
    }
    Ok(verdict)
}
