//! The receivers of webhooks: healthy, moody, slow and dead ones, by host.

use std::sync::Arc;
use std::time::Duration;

use async_trait::async_trait;
use sms_core::ids::AccountId;
use sms_core::webhook::delivery::DeliveryError;
use sms_core::webhook::sender::{
    UrlCheck, UrlRefused, WebhookAnswer, WebhookRequest, WebhookSender,
};

use super::dice::Dice;
use super::trace::Detail;
use super::visits::Mood;
use super::world::{Weather, World};

/// The longest time an endpoint may take to answer.
const TIMEOUT: Duration = Duration::from_secs(8);

/// Calls the simulated receivers.
#[derive(Debug)]
pub struct Receiver {
    world: Arc<World>,
}

impl Receiver {
    /// A sender into this world.
    pub fn new(world: Arc<World>) -> Self {
        Self { world }
    }

    /// How long the receiver takes, its answer, and how long it asks to wait.
    fn decide(&self, url: &str) -> (Duration, Result<u16, DeliveryError>, Option<Duration>) {
        let (duration, status) = self.decide_status(url);
        let retry_after = match status {
            Ok(429) => self.world.with(|state| {
                let seconds = state.dice.between(0, 400);
                state.dice.percent(70).then(|| Duration::from_secs(seconds))
            }),
            Ok(503) => Some(Duration::from_secs(30)),
            _ => None,
        };
        (duration, status, retry_after)
    }

    fn decide_status(&self, url: &str) -> (Duration, Result<u16, DeliveryError>) {
        self.world.with(|state| {
            state.visits.count += 1;
            let mood = state.visits.mood(url);
            let dice = &mut state.dice;
            let millis = |dice: &mut Dice, high| Duration::from_millis(dice.between(0, high));
            if state.weather == Weather::Calm && mood != Mood::Dead {
                return (Duration::ZERO, Ok(200));
            }
            match (mood, dice.below(10)) {
                (Mood::Dead, 0) | (Mood::Slow, 0..3) => (TIMEOUT, Err(DeliveryError::Timeout)),
                (Mood::Dead, _) => (Duration::ZERO, Err(DeliveryError::ConnectFailed)),
                (Mood::Moody, 0..2) => (millis(dice, 50), Ok(500)),
                (Mood::Moody, 2) => (millis(dice, 3_000), Ok(429)),
                (Mood::Moody, 3) => (millis(dice, 50), Ok(503)),
                (Mood::Moody, 4) => (Duration::ZERO, Err(DeliveryError::TlsFailed)),
                (Mood::Slow, _) => (millis(dice, 7_999), Ok(200)),
                (_, _) => (millis(dice, 100), Ok(204)),
            }
        })
    }
}

#[async_trait]
impl WebhookSender for Receiver {
    async fn check_url(
        &self,
        _account: AccountId,
        url: &str,
        _check: UrlCheck,
    ) -> Result<(), UrlRefused> {
        self.world.turn().await;
        if url.starts_with("https:") { Ok(()) } else { Err(UrlRefused::ForbiddenAddress) }
    }

    async fn send(&self, request: WebhookRequest) -> WebhookAnswer {
        self.world.judge(|model, _| model.saw_visit(&request));
        self.world.note("visits", Detail::Id(request.delivery.as_u128()));
        let (duration, status, retry_after) = self.decide(&request.url);
        self.world.sleep(duration).await;
        let result = match status {
            Ok(200..300) => Ok(()),
            Ok(_) => Err(DeliveryError::HttpStatus),
            Err(error) => Err(error),
        };
        WebhookAnswer {
            result,
            status_code: status.ok(),
            retry_after,
            duration,
            response_body: Vec::new(),
        }
    }
}
