//! `sms listen`: events, delivered to a program on this machine as webhooks would be.

use std::sync::Arc;
use std::time::Duration;

use clap::Args;
use futures_util::StreamExt as _;
use serde_json::json;
use sms_client::WebhookSecret;
use sms_client::event::Event;
use sms_core::ids::AccountId;
use sms_core::random::SystemRandom;
use sms_core::webhook::secret::Secret;
use sms_webhooks::{Attempt, Delivery, DeliveryError, Reach, WebhookClient, WebhookClientConfig};

use crate::context::{Context, secret};
use crate::failure::Failure;
use crate::output::{DIM, Form, GREEN, RED, YELLOW, paint, say, say_json};
use crate::profile::Profiles;
use crate::tail::{Which, told};

/// How long the program may take, as long as an endpoint may.
const TIMEOUT: Duration = Duration::from_secs(8);
/// Names a secret of your own, instead of the one in the profile.
const SECRET_VARIABLE: &str = "SMS_WEBHOOK_SECRET";

/// Deliver events to a program on this machine, signed as webhooks are.
#[derive(Debug, Args)]
#[command(after_help = "No tunnel is needed: the events come over this command's own connection.
Each is posted once, with the headers and signatures of a webhook: X-Connect-Signature, and
webhook-id, webhook-timestamp and webhook-signature of Standard Webhooks.
The secret stays the same for a profile; SMS_WEBHOOK_SECRET has your own.

Examples:
  sms listen --forward-to http://localhost:3000/hooks
  sms listen --forward-to http://localhost:3000/hooks --type message.received
  sms listen --print-secret")]
pub(crate) struct Listen {
    /// Where to post events
    #[arg(long, value_name = "ENDPOINT", required_unless_present = "print_secret")]
    forward_to: Option<String>,
    #[command(flatten)]
    which: Which,
    /// Print the secret that deliveries are signed with, and exit
    #[arg(long, conflicts_with = "forward_to")]
    print_secret: bool,
    /// Stop after this many events
    #[arg(long, value_name = "NUMBER")]
    limit: Option<usize>,
}

impl Listen {
    pub(crate) async fn run(self, context: &Context) -> Result<(), Failure> {
        let secret = secret_of(context)?;
        let Some(target) = self.forward_to else {
            return match context.form {
                Form::Json => say_json(&json!({ "secret": secret })),
                Form::Text => say(secret.as_str()),
            };
        };
        let webhooks = sender()?;
        webhooks.check_form(&target).map_err(|_| {
            Failure::Usage(format!("{target:?} is not an http or https URL to post to"))
        })?;
        let client = context.client()?;
        let events = client.event_stream(&self.which.into()).await?;
        match context.form {
            Form::Json => say_json(&json!({ "forward_to": target, "secret": secret }))?,
            Form::Text => say(&format!(
                "{} from {} to {target}\nsigned with {}\nCtrl-C to stop",
                paint(GREEN, "forwarding"),
                client.server(),
                secret.as_str(),
            ))?,
        }
        let mut events = events.take(self.limit.unwrap_or(usize::MAX));
        while let Some(event) = events.next().await {
            let event = event?;
            let attempt = deliver(&webhooks, &target, &secret, &event).await?;
            say_attempt(context.form, &event, &attempt)?;
        }
        Ok(())
    }
}

/// Sends what the server would send, to any address, once.
fn sender() -> Result<WebhookClient, Failure> {
    let config = WebhookClientConfig {
        timeout: TIMEOUT,
        reach: Reach::AnyAddress,
        ..WebhookClientConfig::default()
    };
    WebhookClient::new(config).map_err(|error| Failure::Webhooks(error.to_string()))
}

/// The secret of the environment, or of the profile, which gets one if it has none. Without a
/// profile, one that ends with the command.
fn secret_of(context: &Context) -> Result<WebhookSecret, Failure> {
    if let Some(secret) = secret(SECRET_VARIABLE)? {
        return Ok(WebhookSecret::from(secret));
    }
    let fresh = || WebhookSecret::from(Secret::generate(&SystemRandom).reveal());
    let mut profiles = Profiles::read()?;
    let Some(mut profile) = profiles.get(&context.profile).cloned() else {
        return Ok(fresh());
    };
    if let Some(secret) = profile.listen_secret {
        return Ok(secret);
    }
    let secret = fresh();
    profile.listen_secret = Some(secret.clone());
    profiles.set(&context.profile, profile);
    profiles.write()?;
    Ok(secret)
}

async fn deliver(
    webhooks: &WebhookClient,
    target: &str,
    secret: &WebhookSecret,
    event: &Event,
) -> Result<Attempt, Failure> {
    let body: Arc<str> = event.body()?.into();
    let delivery = Delivery {
        // Attempts of one account share look-ups; here there is only one.
        account: AccountId::from_u128(1),
        url: target,
        secrets: &[secret.as_str()],
        event_type: event.kind.as_str(),
        delivery_id: &delivery_id(event),
        body,
    };
    Ok(webhooks.deliver(delivery).await)
}

/// The same for the same event, so that a program recognises what it got before.
fn delivery_id(event: &Event) -> String {
    let rest = event.id.as_str().split_once('_').map_or("", |(_, rest)| rest);
    format!("whd_{rest}")
}

fn say_attempt(form: Form, event: &Event, attempt: &Attempt) -> Result<(), Failure> {
    let millis = u64::try_from(attempt.duration.as_millis()).unwrap_or(u64::MAX);
    let error = attempt.failure.map(DeliveryError::as_str);
    if form == Form::Json {
        return say_json(&json!({
            "event": event,
            "status_code": attempt.status_code,
            "error": error,
            "duration_ms": millis,
        }));
    }
    let answer = match (attempt.status_code, attempt.failure) {
        (Some(status), None) => paint(GREEN, &status.to_string()),
        (Some(status), Some(_)) => paint(YELLOW, &status.to_string()),
        (None, _) => paint(RED, error.unwrap_or("no answer")),
    };
    say(&format!(
        "{}\n  {} {answer} {}",
        told(event),
        paint(DIM, "→"),
        paint(DIM, &format!("in {millis} ms"))
    ))
}
