//! Implements the core's [`WebhookSender`] over HTTP.

use std::time::Duration;

use async_trait::async_trait;
use sms_core::ids::AccountId;
use sms_core::webhook::sender::{
    UrlCheck, UrlRefused, WebhookAnswer, WebhookRequest, WebhookSender,
};

use crate::{ClientError, Delivery, Reach, WebhookClient, WebhookClientConfig};

/// Sends the webhooks of a service. Pass it to `SmsBuilder::webhooks`.
///
/// ```
/// use std::sync::Arc;
/// use std::time::Duration;
/// use sms_core::Sms;
/// use sms_store_memory::MemoryStore;
/// use sms_webhooks::{HttpSender, Reach};
///
/// let sender = HttpSender::new(Reach::PublicOnly, Duration::from_secs(8))?;
/// let sms = Sms::builder(MemoryStore::new()).webhooks(Arc::new(sender)).build();
/// # Ok::<(), sms_webhooks::ClientError>(())
/// ```
#[derive(Debug, Clone)]
pub struct HttpSender {
    client: WebhookClient,
}

impl HttpSender {
    /// A sender that may reach the addresses in `reach` and gives an endpoint `timeout` to answer.
    ///
    /// # Errors
    ///
    /// When TLS cannot be set up.
    pub fn new(reach: Reach, timeout: Duration) -> Result<Self, ClientError> {
        let config = WebhookClientConfig { timeout, reach, ..WebhookClientConfig::default() };
        Ok(Self::with_client(WebhookClient::new(config)?))
    }

    /// A sender that uses `client`.
    pub fn with_client(client: WebhookClient) -> Self {
        Self { client }
    }
}

#[async_trait]
impl WebhookSender for HttpSender {
    async fn check_url(
        &self,
        account: AccountId,
        url: &str,
        check: UrlCheck,
    ) -> Result<(), UrlRefused> {
        match check {
            UrlCheck::Form => self.client.check_form(url),
            UrlCheck::Address => self.client.check_url(account, url).await,
        }
    }

    async fn send(&self, request: WebhookRequest) -> WebhookAnswer {
        let delivery_id = request.delivery.to_string();
        let attempt = self
            .client
            .deliver(Delivery {
                account: request.account,
                url: &request.url,
                secrets: &request.secrets.reveal(),
                event_type: request.event_type.as_str(),
                delivery_id: &delivery_id,
                body: request.body.into_text(),
            })
            .await;
        WebhookAnswer {
            result: attempt.failure.map_or(Ok(()), Err),
            status_code: attempt.status_code,
            retry_after: attempt.retry_after,
            duration: attempt.duration,
            response_body: attempt.response_body,
        }
    }
}
