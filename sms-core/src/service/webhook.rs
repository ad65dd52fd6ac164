//! An account's webhook endpoints and their deliveries.

use std::collections::BTreeSet;

use super::account::AccountHandle;
use super::keyed::Keyed;
use super::reading::Read;
use super::sms::Sms;
use super::wake::Work;
use crate::dispatch::queue::Lease;
use crate::error::Error;
use crate::event::{Event, EventData, EventType, TestPing};
use crate::field_error::FieldError;
use crate::idempotency::{Born, Made, Settled};
use crate::ids::{DeliveryId, EndpointId};
use crate::page::{Page, PageRequest};
use crate::version::IfVersion;
use crate::webhook::attempt::{
    AttemptPlan, AttemptVerdict, ClaimedDelivery, DeliveryClaimPlan, RetryPlan, RetryVerdict, Room,
};
use crate::webhook::delivery::{Delivery, DeliveryStatus};
use crate::webhook::endpoint::{
    Endpoint, EndpointChange, EndpointInput, EndpointRefused, check_description, settle_creation,
};
use crate::webhook::retry::Jitter;
use crate::webhook::rotation::SecretChange;
use crate::webhook::sealing::SecretPlace;
use crate::webhook::secret::Secret;
use crate::webhook::sender::{UrlCheck, WebhookAnswer, WebhookRequest};
use crate::webhook::store::EndpointsWanted;

/// What an update does to the secrets of an endpoint.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Rotation {
    /// They stay as they are.
    #[default]
    Keep,
    /// A new secret is drawn. The one before it stays valid for a day.
    Rotate,
    /// A new secret is drawn. No other is valid from now on.
    RotateAtOnce,
    /// The secret stays. An old one that is still valid ends.
    EndOld,
}

impl Rotation {
    /// Whether it draws a new secret.
    pub fn draws(self) -> bool {
        matches!(self, Self::Rotate | Self::RotateAtOnce)
    }
}

impl AccountHandle {
    /// Creates an endpoint, and returns it with its secret; show that only this once.
    ///
    /// # Errors
    ///
    /// [`Error::Invalid`] with every bad field, such as a `url` that cannot or must not be called;
    /// [`Error::WebhookLimitReached`] for an eleventh endpoint.
    pub async fn webhook_create(&self, input: EndpointInput) -> Result<(Endpoint, Secret), Error> {
        Ok(self.keyed(None).webhook_create(input).await?.value)
    }

    /// All endpoints, newest first.
    pub async fn webhook_list(&self) -> Result<Vec<Endpoint>, Error> {
        let _turn = self.read_turn(Read::Page).await;
        Ok(self.sms.store().endpoint_list(EndpointsWanted::Of(self.id)).await?)
    }

    /// One endpoint of the account; [`Error::NotFound`] if there is none.
    pub async fn webhook_get(&self, id: EndpointId) -> Result<Endpoint, Error> {
        let found = self.sms.store().endpoint_get(self.id, id).await?;
        found.ok_or(Error::NotFound("webhook"))
    }

    /// Changes an endpoint, and returns it with the new secret if one was drawn.
    pub async fn webhook_update(
        &self,
        id: EndpointId,
        mut change: EndpointChange,
        rotation: Rotation,
    ) -> Result<(Endpoint, Option<Secret>), Error> {
        self.webhook_get(id).await?;
        let mut errors = self.webhook_check(change.url.as_deref(), change.events.as_ref()).await;
        errors.extend(check_description(change.description.as_ref().and_then(Option::as_deref)));
        valid(errors)?;
        let place = SecretPlace { account: self.id, endpoint: id };
        let drawn = rotation.draws().then(|| self.sms.draw_secret(place)).transpose()?;
        let (secret, stored) = drawn.unzip();
        change.secret = match (rotation, stored) {
            (Rotation::RotateAtOnce, Some(new)) => Some(SecretChange::ReplaceAtOnce(new)),
            (_, Some(new)) => Some(SecretChange::Replace(new)),
            (Rotation::EndOld, None) => Some(SecretChange::EndOld),
            (_, None) => None,
        };
        let at = self.sms.now();
        let updated = self.sms.store().endpoint_update(self.id, id, change, at).await?;
        Ok((updated.ok_or(Error::NotFound("webhook"))?, secret))
    }

    /// Deletes an endpoint and its deliveries.
    pub async fn webhook_delete(&self, id: EndpointId) -> Result<(), Error> {
        self.webhook_delete_if(id, IfVersion::Any).await
    }

    /// Deletes an endpoint if it has this version, or one of these.
    ///
    /// # Errors
    ///
    /// [`Error::PreconditionFailed`] if it has another version.
    pub async fn webhook_delete_if(
        &self,
        id: EndpointId,
        version: impl Into<IfVersion>,
    ) -> Result<(), Error> {
        let deleted = self.sms.store().endpoint_delete(self.id, id, version.into()).await?;
        if deleted { Ok(()) } else { Err(Error::NotFound("webhook")) }
    }

    /// Sends a `webhook.test` event now and returns the endpoint's answer. The test is signed and
    /// logged, but not retried, and a failure does not count.
    pub async fn webhook_test(&self, id: EndpointId) -> Result<WebhookAnswer, Error> {
        let endpoint = self.webhook_get(id).await?;
        let at = self.sms.now();
        let mut ids = self.sms.ids(at);
        let ping = TestPing { message: "This is a test of your webhook endpoint." };
        let event = Event::new(self.id, EventData::WebhookTest(ping), at, &mut ids);
        let delivery = Delivery::of(&event, event.body(), id, &mut ids);
        let request = WebhookRequest {
            account: self.id,
            secrets: endpoint.signing_secrets(at),
            url: endpoint.url,
            delivery: delivery.id,
            event_type: delivery.event_type,
            body: delivery.body.clone(),
        };
        let request = self.sms.open_secrets(id, request)?;
        let answer = self.sms.inner.webhooks.send(request).await;
        self.sms.store().delivery_log(tested(delivery, &answer, self.sms.now())).await?;
        Ok(answer)
    }

    /// A page of an endpoint's deliveries, newest first.
    pub async fn delivery_list(
        &self,
        endpoint: EndpointId,
        page: PageRequest,
    ) -> Result<Page<Delivery>, Error> {
        self.webhook_get(endpoint).await?;
        let _turn = self.read_turn(Read::Page).await;
        Ok(self.sms.store().delivery_list(self.id, endpoint, page).await?)
    }

    /// Sends a delivery again now, in whatever state it is, and returns it as it is afterwards. A
    /// delivery that a worker is sending now is left to that worker.
    pub async fn delivery_retry(
        &self,
        endpoint: EndpointId,
        delivery: DeliveryId,
    ) -> Result<Delivery, Error> {
        let at = self.sms.now();
        let lease = self.sms.lease(at, self.sms.inner.attempt_lease);
        let plan = RetryPlan { account: self.id, endpoint, delivery, at, lease };
        let verdict = self.sms.store().delivery_retry(plan).await?;
        let claimed = match verdict.ok_or(Error::NotFound("delivery"))? {
            RetryVerdict::UnderWay(delivery) => return Ok(*delivery),
            RetryVerdict::Send(_, claimed) => claimed,
        };
        self.sms.delivery_attempt(*claimed).await?;
        let after = self.sms.store().delivery_get(self.id, endpoint, delivery).await?;
        after.ok_or(Error::NotFound("delivery"))
    }

    /// Every rule for single fields of a new endpoint that these values break. Resolves the host of
    /// `url`, unless the account has no room for another endpoint.
    pub async fn webhook_check_new(
        &self,
        url: Option<&str>,
        events: Option<&BTreeSet<EventType>>,
    ) -> Result<Vec<FieldError>, Error> {
        let existing = self.sms.store().endpoint_list(EndpointsWanted::Of(self.id)).await?.len();
        Ok(self.check_fields(url, events, url_check(settle_creation(existing))).await)
    }

    /// Every rule for single fields of an endpoint that these values break. Resolves the host of
    /// `url`.
    pub async fn webhook_check(
        &self,
        url: Option<&str>,
        events: Option<&BTreeSet<EventType>>,
    ) -> Vec<FieldError> {
        self.check_fields(url, events, UrlCheck::Address).await
    }

    async fn check_fields(
        &self,
        url: Option<&str>,
        events: Option<&BTreeSet<EventType>>,
        check: UrlCheck,
    ) -> Vec<FieldError> {
        let mut errors = Vec::new();
        let webhooks = &self.sms.inner.webhooks;
        if let Some(url) = url
            && let Err(refused) = webhooks.check_url(self.id, url, check).await
        {
            errors.push(FieldError::new("url", refused.as_str(), refused.to_string()));
        }
        if events.is_some_and(BTreeSet::is_empty) {
            errors.push(FieldError::new(
                "events",
                "too_few",
                "subscribe to at least one kind of event",
            ));
        }
        errors
    }
}

/// An account without room for another endpoint does not resolve its host.
fn url_check(has_room: Result<(), EndpointRefused>) -> UrlCheck {
    if has_room.is_ok() { UrlCheck::Address } else { UrlCheck::Form }
}

impl Keyed<AccountHandle> {
    /// [`AccountHandle::webhook_create`], once for the key. A repetition returns the endpoint as it
    /// was created, but with the secret that it has now.
    ///
    /// # Errors
    ///
    /// Those of [`AccountHandle::webhook_create`]; [`Error::NotFound`] for a repetition if the
    /// endpoint was deleted.
    pub async fn webhook_create(
        &self,
        input: EndpointInput,
    ) -> Result<Made<(Endpoint, Secret)>, Error> {
        let claim = self.claim("webhook_create", |fields| input.meaning(fields));
        let claim = claim.as_ref();
        let account = &self.handle;
        if let Some(born) = self.earlier::<Endpoint>(claim).await? {
            return account.webhook_again(input, born).await;
        }
        let store = account.sms.store();
        let has_room =
            settle_creation(store.endpoint_list(EndpointsWanted::Of(account.id)).await?.len());
        let check = url_check(has_room);
        let mut errors = account.check_fields(Some(&input.url), Some(&input.events), check).await;
        errors.extend(check_description(input.description.as_deref()));
        valid(errors)?;
        if let Err(EndpointRefused::LimitReached) = has_room {
            // The same request may have made the last one meanwhile.
            return match self.earlier::<Endpoint>(claim).await? {
                Some(born) => account.webhook_again(input, born).await,
                None => Err(Error::WebhookLimitReached),
            };
        }
        let at = account.sms.now();
        let id = account.sms.ids(at).next();
        let place = SecretPlace { account: account.id, endpoint: id };
        let (secret, stored) = account.sms.draw_secret(place)?;
        let endpoint = input.clone().into_endpoint(id, account.id, stored, at);
        match store.endpoint_create(endpoint, claim).await?.settle(claim)? {
            Settled::First(endpoint) => Ok(Made::first((endpoint, secret))),
            Settled::Again(born) => account.webhook_again(input, born).await,
        }
    }
}

impl AccountHandle {
    /// The endpoint as it was created. Its secret is read from the endpoint, because no other place
    /// keeps it.
    async fn webhook_again(
        &self,
        input: EndpointInput,
        born: Born<EndpointId>,
    ) -> Result<Made<(Endpoint, Secret)>, Error> {
        let stored = self.webhook_get(born.id).await?.secret;
        let place = SecretPlace { account: self.id, endpoint: born.id };
        let secret = self.sms.open_secret(place, &stored)?;
        Ok(Made::again((input.into_endpoint(born.id, self.id, stored, born.at), secret)))
    }
}

fn valid(errors: Vec<FieldError>) -> Result<(), Error> {
    if errors.is_empty() { Ok(()) } else { Err(Error::Invalid(errors)) }
}

/// The delivery of a test, as it is logged.
fn tested(delivery: Delivery, answer: &WebhookAnswer, at: crate::time::Timestamp) -> Delivery {
    let delivered = answer.result.is_ok();
    Delivery {
        status: if delivered { DeliveryStatus::Delivered } else { DeliveryStatus::GivenUp },
        attempts: 1,
        last_status_code: answer.status_code,
        last_error: answer.result.err(),
        last_attempt_at: Some(at),
        next_attempt_at: None,
        delivered_at: delivered.then_some(at),
        ..delivery
    }
}

impl Sms {
    /// Claims due deliveries, as many as there is room for. Send each with
    /// [`Sms::delivery_attempt`], or with [`Sms::delivery_send`] and [`Sms::attempts_record`],
    /// before its lease runs out.
    pub async fn deliveries_claim(&self, room: Room) -> Result<Vec<ClaimedDelivery>, Error> {
        let at = self.now();
        let plan = DeliveryClaimPlan { at, lease: self.lease(at, self.inner.attempt_lease), room };
        Ok(self.store().deliveries_claim(plan).await?)
    }

    /// Makes one attempt and records its result.
    ///
    /// # Errors
    ///
    /// Those of [`Sms::delivery_send`], and of the store.
    pub async fn delivery_attempt(&self, claimed: ClaimedDelivery) -> Result<Attempted, Error> {
        let plan = self.delivery_send(claimed).await?;
        self.attempts_record(vec![plan]).await.pop().unwrap_or(Ok(Attempted::LeaseLost))
    }

    /// Makes one attempt, and returns what [`Sms::attempts_record`] has to record of it. If it is
    /// never recorded, the delivery is sent again when its lease expires.
    ///
    /// # Errors
    ///
    /// [`Error::Seal`] if the secrets cannot be opened: nothing is sent, and the delivery is due
    /// again when its lease expires.
    pub async fn delivery_send(&self, claimed: ClaimedDelivery) -> Result<AttemptPlan, Error> {
        let ClaimedDelivery { account, endpoint, token, request } = claimed;
        let delivery = request.delivery;
        let request = self.open_secrets(endpoint, request)?;
        let began = self.now();
        let answer = self.inner.webhooks.send(request).await;
        Ok(AttemptPlan {
            account,
            delivery,
            token,
            result: answer.result,
            status_code: answer.status_code,
            retry_after: answer.retry_after,
            began,
            at: self.now(),
            schedule: self.inner.retries.clone(),
            jitter: Jitter(self.jitter()),
        })
    }

    /// Records attempts together, in this order. Answers in the same order; one that cannot be
    /// recorded does not affect the others.
    pub async fn attempts_record(&self, plans: Vec<AttemptPlan>) -> Vec<Result<Attempted, Error>> {
        let successes: Vec<bool> = plans.iter().map(|plan| plan.result.is_ok()).collect();
        let verdicts = self.store().deliveries_record(plans).await;
        self.inner.replays.recorded(self.now());
        let attempted = |(verdict, is_success): (Result<AttemptVerdict, _>, bool)| {
            Ok(match verdict? {
                AttemptVerdict::Record { .. } if is_success => Attempted::Delivered,
                AttemptVerdict::Record { .. } => Attempted::Failed,
                AttemptVerdict::LeaseLost => Attempted::LeaseLost,
            })
        };
        verdicts.into_iter().zip(successes).map(attempted).collect()
    }

    /// Claims up to `limit` due deliveries and sends them all at once. It takes as long as the
    /// slowest endpoint, which suits tests and small programs. The worker in `sms-webhooks` does
    /// not wait for slow endpoints.
    pub async fn deliver_webhooks(&self, limit: usize) -> Result<usize, Error> {
        let claimed = self.deliveries_claim(Room::any(limit)).await?;
        let count = claimed.len();
        let attempts = claimed.into_iter().map(|claimed| self.delivery_attempt(claimed));
        for attempted in futures_util::future::join_all(attempts).await {
            attempted?;
        }
        Ok(count)
    }

    fn jitter(&self) -> u32 {
        (self.inner.random.next_u64() >> 32) as u32
    }

    pub(super) fn lease(&self, at: crate::time::Timestamp, length: std::time::Duration) -> Lease {
        let random = &self.inner.random;
        let token = (u128::from(random.next_u64()) << 64) | u128::from(random.next_u64());
        Lease { token: crate::dispatch::LeaseToken(token), until: at.plus(length) }
    }

    pub(super) fn wake(&self, work: Work) {
        self.inner.signals.found(work);
    }
}

/// How an attempt was recorded.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Attempted {
    /// The endpoint received the delivery.
    Delivered,
    /// The endpoint did not receive the delivery, which is retried or was given up.
    Failed,
    /// The attempt took longer than its lease; nothing was recorded.
    LeaseLost,
}
