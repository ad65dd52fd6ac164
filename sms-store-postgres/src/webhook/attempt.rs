//! Records attempts. Attempts that end at about the same time share a commit.

use std::collections::{BTreeMap, BTreeSet};

use async_trait::async_trait;
use sms_core::ids::{DeliveryId, EndpointId};
use sms_core::store::StoreError;
use sms_core::time::Timestamp;
use sms_core::webhook::attempt::{AttemptPlan, AttemptVerdict};
use sms_core::webhook::delivery::Delivery;
use sms_core::webhook::endpoint::Endpoint;
use sqlx::{PgConnection, PgPool};
use uuid::Uuid;

use super::endpoint::endpoint_columns;
use super::{endpoint, power};
use crate::begin::begin;
use crate::delivery::{self, deliveries_and_endpoints, delivery_columns};
use crate::error::{Context, PgResult};
use crate::group_commit::pooled::Shared;
use crate::row::uuids;

/// The command that records attempts.
pub(crate) struct Attempts;

#[async_trait]
impl Shared for Attempts {
    type Plan = AttemptPlan;
    type Answer = AttemptVerdict;
    const DOING: &'static str = "recording webhook attempts";

    async fn commit(
        pool: &PgPool,
        plans: Vec<AttemptPlan>,
    ) -> Result<Vec<AttemptVerdict>, StoreError> {
        let doing = Self::DOING;
        let mut tx = begin(pool).await.context(doing)?;
        let ids = uuids(plans.iter().map(|plan| plan.delivery));
        let mut found = Found::lock(&mut tx, &ids).await.context(doing)?;
        let verdicts = plans.iter().map(|plan| found.settle(plan)).collect();
        found.write(&mut tx).await.context(doing)?;
        tx.commit().await.context(doing)?;
        Ok(verdicts)
    }
}

/// Locked deliveries and their endpoints, as the attempts settled so far leave them.
struct Found {
    endpoints: BTreeMap<EndpointId, Endpoint>,
    deliveries: BTreeMap<DeliveryId, Delivery>,
    changed_endpoints: BTreeSet<EndpointId>,
    changed_deliveries: BTreeSet<DeliveryId>,
    switched_off: Vec<(EndpointId, Timestamp)>,
}

impl Found {
    async fn lock(connection: &mut PgConnection, ids: &[Uuid]) -> PgResult<Self> {
        let endpoints = sqlx::query(concat!(
            "SELECT ",
            endpoint_columns!(),
            " FROM endpoint
             WHERE id = ANY(ARRAY(SELECT endpoint_id FROM delivery WHERE id = ANY($1)))
             ORDER BY id FOR NO KEY UPDATE",
        ))
        .bind(ids)
        .fetch_all(&mut *connection)
        .await?;
        let endpoints: PgResult<Vec<Endpoint>> = endpoints.iter().map(endpoint::endpoint).collect();
        let deliveries = sqlx::query(concat!(
            "SELECT ",
            delivery_columns!(),
            deliveries_and_endpoints!(),
            "WHERE d.id = ANY($1) ORDER BY d.id FOR UPDATE OF d",
        ))
        .bind(ids)
        .fetch_all(connection)
        .await?;
        let deliveries: PgResult<Vec<Delivery>> =
            deliveries.iter().map(delivery::delivery).collect();
        Ok(Self {
            endpoints: endpoints?.into_iter().map(|endpoint| (endpoint.id, endpoint)).collect(),
            deliveries: deliveries?.into_iter().map(|one| (one.id, one)).collect(),
            changed_endpoints: BTreeSet::new(),
            changed_deliveries: BTreeSet::new(),
            switched_off: Vec::new(),
        })
    }

    fn settle(&mut self, plan: &AttemptPlan) -> AttemptVerdict {
        let own = self.deliveries.get(&plan.delivery).filter(|own| own.account == plan.account);
        let found = own.and_then(|own| Some((own, self.endpoints.get(&own.endpoint)?)));
        let verdict = plan.settle(found);
        if let AttemptVerdict::Record { delivery, endpoint, switched_off } = &verdict {
            self.changed_deliveries.insert(delivery.id);
            self.deliveries.insert(delivery.id, (**delivery).clone());
            self.changed_endpoints.insert(endpoint.id);
            self.endpoints.insert(endpoint.id, (**endpoint).clone());
            if *switched_off {
                self.switch_off(endpoint.id, plan.at);
            }
        }
        verdict
    }

    /// Gives up the waiting deliveries of an endpoint among those that are locked here.
    /// [`power::switched_off`] gives up the others.
    fn switch_off(&mut self, endpoint: EndpointId, at: Timestamp) {
        self.switched_off.push((endpoint, at));
        for delivery in self.deliveries.values_mut() {
            if delivery.endpoint == endpoint && delivery.is_waiting(at) {
                self.changed_deliveries.insert(delivery.id);
                *delivery = delivery.clone().given_up();
            }
        }
    }

    async fn write(self, connection: &mut PgConnection) -> PgResult<()> {
        let Self { endpoints, deliveries, changed_endpoints, changed_deliveries, switched_off } =
            self;
        let changed = |endpoint: &Endpoint| changed_endpoints.contains(&endpoint.id);
        let endpoints: Vec<Endpoint> = endpoints.into_values().filter(changed).collect();
        let changed = |delivery: &Delivery| changed_deliveries.contains(&delivery.id);
        let deliveries: Vec<Delivery> = deliveries.into_values().filter(changed).collect();
        endpoint::update_counts(connection, &endpoints).await?;
        delivery::update(connection, &deliveries).await?;
        power::switched_off(connection, &switched_off).await
    }
}
