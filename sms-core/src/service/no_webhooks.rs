//! What stands in for a webhook sender that was not given: no endpoint can be saved.

use std::time::Duration;

use async_trait::async_trait;

use crate::webhook::delivery::DeliveryError;
use crate::webhook::sender::{UrlRefused, WebhookAnswer, WebhookRequest, WebhookSender};

/// A sender that reaches nobody.
#[derive(Debug, Clone, Copy, Default)]
pub struct NoWebhooks;

#[async_trait]
impl WebhookSender for NoWebhooks {
    async fn check_url(&self, _url: &str) -> Result<(), UrlRefused> {
        Err(UrlRefused::DnsFailed)
    }

    async fn send(&self, _request: WebhookRequest) -> WebhookAnswer {
        WebhookAnswer {
            result: Err(DeliveryError::DnsFailed),
            status_code: None,
            duration: Duration::ZERO,
            response_body: Vec::new(),
        }
    }
}
