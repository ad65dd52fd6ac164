//! Webhook endpoints that give a chosen answer and record what they receive.

use std::sync::Mutex;
use std::time::Duration;

use async_trait::async_trait;
use serde_json::Value;
use sms_core::ids::AccountId;
use sms_core::webhook::delivery::DeliveryError;
use sms_core::webhook::sender::{
    UrlCheck, UrlRefused, WebhookAnswer, WebhookRequest, WebhookSender,
};

/// Whatever is sent to any address.
#[derive(Debug, Default)]
pub(crate) struct Hooks {
    seen: Mutex<Vec<WebhookRequest>>,
    mood: Mutex<Mood>,
}

/// How the endpoints answer.
#[derive(Debug, Clone, Copy, Default)]
enum Mood {
    #[default]
    Well,
    Broken,
    Busy(Duration),
}

impl Hooks {
    /// From now on every endpoint answers 500.
    pub(crate) fn break_down(&self) {
        *self.mood.lock().unwrap() = Mood::Broken;
    }

    /// From now on every endpoint answers 429 and asks for this much time.
    pub(crate) fn ask_to_wait(&self, retry_after: Duration) {
        *self.mood.lock().unwrap() = Mood::Busy(retry_after);
    }

    /// From now on every endpoint answers 200.
    pub(crate) fn recover(&self) {
        *self.mood.lock().unwrap() = Mood::Well;
    }

    /// What came since it was last asked.
    pub(crate) fn take(&self) -> Vec<WebhookRequest> {
        std::mem::take(&mut *self.seen.lock().unwrap())
    }

    /// The bodies of what came since it was last asked.
    pub(crate) fn take_events(&self) -> Vec<Value> {
        let requests = self.take();
        requests
            .iter()
            .map(|request| serde_json::from_str(request.body.as_str()).unwrap())
            .collect()
    }
}

#[async_trait]
impl WebhookSender for Hooks {
    /// By the name alone: tests resolve nothing.
    async fn check_url(
        &self,
        _account: AccountId,
        url: &str,
        _check: UrlCheck,
    ) -> Result<(), UrlRefused> {
        match url {
            _ if url.chars().count() > 2_048 => Err(UrlRefused::TooLong),
            _ if url.starts_with("ftp:") => Err(UrlRefused::Scheme),
            _ if url.contains('@') => Err(UrlRefused::Credentials),
            _ if url.contains("127.0.0.1") => Err(UrlRefused::ForbiddenAddress),
            _ if url.contains(".invalid") => Err(UrlRefused::DnsFailed),
            _ if url.starts_with("http") => Ok(()),
            _ => Err(UrlRefused::Malformed),
        }
    }

    async fn send(&self, request: WebhookRequest) -> WebhookAnswer {
        self.seen.lock().unwrap().push(request);
        let (status_code, retry_after) = match *self.mood.lock().unwrap() {
            Mood::Well => (200, None),
            Mood::Broken => (500, None),
            Mood::Busy(retry_after) => (429, Some(retry_after)),
        };
        WebhookAnswer {
            result: if status_code == 200 { Ok(()) } else { Err(DeliveryError::HttpStatus) },
            status_code: Some(status_code),
            retry_after,
            duration: Duration::from_millis(12),
            response_body: b"thank you".to_vec(),
        }
    }
}
