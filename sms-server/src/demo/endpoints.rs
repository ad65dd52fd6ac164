//! The endpoints of the demo's webhooks, as they were in its history: one of them broke.

use std::sync::Arc;
use std::time::Duration;

use async_trait::async_trait;
use sms_core::clock::Clock;
use sms_core::ids::AccountId;
use sms_core::time::Timestamp;
use sms_core::webhook::delivery::DeliveryError;
use sms_core::webhook::sender::{
    UrlCheck, UrlRefused, WebhookAnswer, WebhookRequest, WebhookSender,
};

/// The endpoint that works.
pub(super) const WELL: &str = "https://bookings.example.com/sms";
/// The endpoint that breaks.
pub(super) const BREAKS: &str = "https://till.example.com/hooks/sms";

/// Answers as the endpoints did. Nothing leaves this program.
#[derive(Debug)]
pub(super) struct Endpoints {
    pub clock: Arc<dyn Clock>,
    /// When [`BREAKS`] broke.
    pub broken_from: Timestamp,
}

#[async_trait]
impl WebhookSender for Endpoints {
    async fn check_url(
        &self,
        _account: AccountId,
        _url: &str,
        _check: UrlCheck,
    ) -> Result<(), UrlRefused> {
        Ok(())
    }

    async fn send(&self, request: WebhookRequest) -> WebhookAnswer {
        let is_broken = request.url == BREAKS && self.clock.now() >= self.broken_from;
        let (result, status_code, body) = if is_broken {
            (Err(DeliveryError::HttpStatus), 503, "upstream connect error")
        } else {
            (Ok(()), 200, "ok")
        };
        WebhookAnswer {
            result,
            status_code: Some(status_code),
            retry_after: None,
            duration: Duration::from_millis(84),
            response_body: body.as_bytes().to_vec(),
        }
    }
}
