//! Webhook secrets, sealed before the store gets them and opened when they sign.

use super::sms::Sms;
use crate::error::Error;
use crate::ids::EndpointId;
use crate::webhook::endpoint::Endpoint;
use crate::webhook::reseal::ResealPlan;
use crate::webhook::sealing::{SealError, SecretPlace, StoredSecret};
use crate::webhook::secret::Secret;
use crate::webhook::sender::WebhookRequest;
use crate::webhook::store::EndpointsWanted;

/// How many endpoints are read and written at once.
const PORTION: usize = 500;

impl Sms {
    /// Opens every webhook secret that is stored, and seals those that are not sealed with the
    /// current key. Returns how many endpoints it changed.
    ///
    /// Call it at the start. It works in portions and can run in several programs at once. A
    /// program that ends in the middle leaves nothing half done.
    ///
    /// # Errors
    ///
    /// [`Error::Seal`] names the key that is missing or wrong. The service could not sign
    /// deliveries.
    pub async fn seal_secrets(&self) -> Result<usize, Error> {
        let (mut after, mut sealed) = (None, 0);
        loop {
            let wanted = EndpointsWanted::All { after, limit: PORTION };
            let endpoints = self.store().endpoint_list(wanted).await?;
            let Some(last) = endpoints.last() else { return Ok(sealed) };
            after = Some(last.secret_place());
            let plans = endpoints.iter().map(|endpoint| self.reseal(endpoint));
            let plans = plans.filter_map(Result::transpose).collect::<Result<Vec<_>, _>>()?;
            if !plans.is_empty() {
                sealed += self.store().endpoints_reseal(plans).await?;
            }
        }
    }

    fn reseal(&self, endpoint: &Endpoint) -> Result<Option<ResealPlan>, SealError> {
        ResealPlan::of(endpoint, &*self.inner.sealer, &*self.inner.random, self.now())
    }

    /// Draws a secret: as it is shown, and as it is stored.
    pub(super) fn draw_secret(
        &self,
        place: SecretPlace,
    ) -> Result<(Secret, StoredSecret), SealError> {
        let random = &*self.inner.random;
        let secret = Secret::generate(random);
        let stored = self.inner.sealer.seal(place, &secret, random)?;
        Ok((secret, stored))
    }

    /// A secret as it is shown.
    pub(super) fn open_secret(
        &self,
        place: SecretPlace,
        stored: &StoredSecret,
    ) -> Result<Secret, SealError> {
        self.inner.sealer.open(place, stored)
    }

    /// The request with its secrets opened.
    pub(super) fn open_secrets(
        &self,
        endpoint: EndpointId,
        request: WebhookRequest<StoredSecret>,
    ) -> Result<WebhookRequest, SealError> {
        let WebhookRequest { account, url, secrets, delivery, event_type, body } = request;
        let secrets = secrets.open(&*self.inner.sealer, SecretPlace { account, endpoint })?;
        Ok(WebhookRequest { account, url, secrets, delivery, event_type, body })
    }
}
