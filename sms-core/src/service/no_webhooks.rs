//! The webhook sender of a service built without one: no endpoint can be saved.

use std::time::Duration;

use async_trait::async_trait;

use crate::ids::AccountId;
use crate::webhook::delivery::DeliveryError;
use crate::webhook::sender::{UrlCheck, UrlRefused, WebhookAnswer, WebhookRequest, WebhookSender};

/// A sender that calls nothing and refuses every URL.
#[derive(Debug, Clone, Copy, Default)]
pub struct NoWebhooks;

#[async_trait]
impl WebhookSender for NoWebhooks {
    async fn check_url(
        &self,
        _account: AccountId,
        _url: &str,
        _check: UrlCheck,
    ) -> Result<(), UrlRefused> {
        Err(UrlRefused::DnsFailed)
    }

    async fn send(&self, _request: WebhookRequest) -> WebhookAnswer {
        WebhookAnswer {
            result: Err(DeliveryError::DnsFailed),
            status_code: None,
            retry_after: None,
            duration: Duration::ZERO,
            response_body: Vec::new(),
        }
    }
}
