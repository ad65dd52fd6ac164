//! `sms webhooks`.

use clap::{Subcommand, ValueEnum};
use serde_json::json;
use sms_client::Timestamp;
use sms_client::event::{EventType, Position};
use sms_client::ids::{DeliveryId, WebhookId};
use sms_client::webhook::{
    Delivery, ReplayFrom, Webhook, WebhookInput, WebhookReplay, WebhookReplayInput, WebhookTested,
};

use crate::context::Context;
use crate::failure::Failure;
use crate::lists::Most;
use crate::output::{
    Cell, Form, GREEN, RED, YELLOW, local, paint, say, say_json, say_table, shown,
};

/// Endpoints that receive events.
#[derive(Debug, Subcommand)]
pub(crate) enum Webhooks {
    /// Show the endpoints, newest first
    List,
    /// Create an endpoint; its secret is printed once
    #[command(after_help = "Examples:
  sms webhooks create https://example.com/sms-events
  sms webhooks create https://example.com/in --event message.received --event opt_out.created")]
    Create {
        /// The URL that receives events
        #[arg(value_name = "ENDPOINT")]
        endpoint: String,
        /// A type of event to receive; may be repeated; all by default
        #[arg(long = "event", value_name = "TYPE")]
        events: Vec<EventType>,
        /// What it is for
        #[arg(long)]
        description: Option<String>,
        /// Whether it gets events from the start
        #[arg(long, value_enum, default_value_t = Power::On)]
        power: Power,
    },
    /// Delete an endpoint and its deliveries
    Delete {
        /// The id of the endpoint, whk_…
        id: WebhookId,
    },
    /// Send a signed test now, and show what the endpoint answered
    Test {
        /// The id of the endpoint, whk_…
        id: WebhookId,
    },
    /// Show the deliveries of an endpoint, newest first
    Deliveries {
        /// The id of the endpoint, whk_…
        id: WebhookId,
        #[command(flatten)]
        most: Most,
    },
    /// Send an endpoint the events that it missed
    #[command(after_help = "Examples:
  sms webhooks replay whk_01m7yewbdbe1std67w99hvsbsb --since 2026-11-21T07:00:00Z
  sms webhooks replay whk_01m7yewbdbe1std67w99hvsbsb --after 00000000000050000000000001")]
    Replay {
        /// The id of the endpoint, whk_…
        id: WebhookId,
        /// Begin with the events at this time or later
        #[arg(long, value_name = "TIME", required_unless_present = "after")]
        since: Option<Timestamp>,
        /// Begin after the event with this position or id
        #[arg(long, value_name = "POSITION", conflicts_with = "since")]
        after: Option<String>,
        /// Only events before this time
        #[arg(long, value_name = "TIME")]
        until: Option<Timestamp>,
        /// Only events of this type; may be repeated
        #[arg(long = "event", value_name = "TYPE")]
        events: Vec<EventType>,
    },
    /// Retry a delivery now, even one that was given up
    Retry {
        /// The id of the endpoint, whk_…
        id: WebhookId,
        /// The id of the delivery, whd_…
        delivery: DeliveryId,
    },
}

/// Whether an endpoint gets events.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub(crate) enum Power {
    /// It gets the events that it subscribes to.
    On,
    /// It gets no events.
    Off,
}

impl Webhooks {
    pub(crate) async fn run(self, context: &Context) -> Result<(), Failure> {
        let client = context.client()?;
        match self {
            Self::List => {
                let webhooks = client.webhook_list().await?;
                match context.form {
                    Form::Json => say_json(&webhooks),
                    Form::Text => say_webhooks(&webhooks),
                }
            }
            Self::Create { endpoint, events, description, power } => {
                let all = || EventType::WORDS.iter().map(|word| EventType::from(*word)).collect();
                let events = if events.is_empty() { all() } else { events };
                let enabled = (power == Power::Off).then_some(false);
                let input = WebhookInput { url: endpoint, events, description, enabled };
                let made = client.webhook_create(&input).await?;
                match context.form {
                    Form::Json => say_json(&made),
                    Form::Text => say(&format!(
                        "{}\nsecret: {}\nKeep the secret: it is not shown again.",
                        made.webhook.id,
                        made.secret.as_str(),
                    )),
                }
            }
            Self::Delete { id } => {
                client.webhook_delete(&id).await?;
                match context.form {
                    Form::Json => say_json(&json!({ "deleted": id })),
                    Form::Text => say(&format!("deleted {id}")),
                }
            }
            Self::Test { id } => {
                let tested = client.webhook_test(&id).await?;
                match context.form {
                    Form::Json => say_json(&tested)?,
                    Form::Text => say(&test_told(&tested))?,
                }
                if tested.delivered {
                    return Ok(());
                }
                Err(Failure::InPart("the endpoint did not accept the test".to_owned()))
            }
            Self::Deliveries { id, most } => {
                let deliveries = most.of(client.delivery_list(&id)).await?;
                match context.form {
                    Form::Json => say_json(&deliveries),
                    Form::Text => say_deliveries(&deliveries),
                }
            }
            Self::Replay { id, since, after, until, events } => {
                let after = after.as_deref().map(begin_after);
                let Some(begin) = since.map(ReplayFrom::From).or(after) else {
                    return Err(Failure::Usage("give --since or --after".to_owned()));
                };
                let types = Some(events).filter(|events| !events.is_empty());
                let input = WebhookReplayInput { begin, to: until, types };
                let replay = client.webhook_replay(&id, &input).await?;
                match context.form {
                    Form::Json => say_json(&replay),
                    Form::Text => say(&replay_told(&id, &input, &replay)),
                }
            }
            Self::Retry { id, delivery } => {
                let delivery = client.delivery_retry(&id, &delivery).await?;
                match context.form {
                    Form::Json => say_json(&delivery),
                    Form::Text => say(&format!("{} is being retried", delivery.id)),
                }
            }
        }
    }
}

fn test_told(tested: &WebhookTested) -> String {
    let (style, outcome) =
        if tested.delivered { (GREEN, "accepted") } else { (RED, "not accepted") };
    let status = tested.status_code.map(|status| format!(", status {status}"));
    let error = tested.error.as_deref().map(|error| format!(", {}", shown(error)));
    let body = tested.response_body.as_deref().filter(|body| !body.is_empty());
    let body = body.map(|body| format!("\n{}", shown(body)));
    format!(
        "{} in {} ms{}{}{}",
        paint(style, outcome),
        tested.duration_ms,
        status.unwrap_or_default(),
        error.unwrap_or_default(),
        body.unwrap_or_default(),
    )
}

/// After an event, which is given by its id or its position.
fn begin_after(text: &str) -> ReplayFrom {
    match text.parse() {
        Ok(event) => ReplayFrom::AfterEvent(event),
        Err(_) => ReplayFrom::After(Position::from(text)),
    }
}

fn replay_told(id: &WebhookId, input: &WebhookReplayInput, replay: &WebhookReplay) -> String {
    let count = match replay.events {
        1 => "1 event".to_owned(),
        count => format!("{count} events"),
    };
    match replay.position.as_ref().filter(|_| replay.has_more) {
        Some(position) if replay.events == 0 => format!(
            "none found up to {}; continue with: {}",
            shown(position.as_str()),
            next_replay(id, input, position)
        ),
        Some(position) => format!(
            "{count} will be sent again\nThere are more. Once these are sent, run: {}",
            next_replay(id, input, position)
        ),
        None if replay.events == 0 => "no event to send again".to_owned(),
        None => format!("{count} will be sent again"),
    }
}

/// The command that replays the rest, with the same limits.
fn next_replay(id: &WebhookId, input: &WebhookReplayInput, after: &Position) -> String {
    let WebhookReplayInput { begin: _, to, types } = input;
    let until = to.map(|time| format!(" --until {time}")).unwrap_or_default();
    let types = types.iter().flatten().map(|kind| format!(" --event {}", shown(kind.as_str())));
    let types: String = types.collect();
    format!("sms webhooks replay {id} --after {}{until}{types}", shown(after.as_str()))
}

fn say_webhooks(webhooks: &[Webhook]) -> Result<(), Failure> {
    let row = |webhook: &Webhook| {
        let power = match &webhook.disabled_reason {
            None if webhook.replay.is_some() => Cell::styled("on, replaying", GREEN),
            None => Cell::styled("on", GREEN),
            Some(reason) => Cell::styled(reason.as_str(), RED),
        };
        let events: Vec<&str> = webhook.events.iter().map(EventType::as_str).collect();
        vec![webhook.id.as_str().into(), power, (&webhook.url).into(), events.join(", ").into()]
    };
    let rows: Vec<_> = webhooks.iter().map(row).collect();
    say_table(&["ID", "STATE", "URL", "EVENTS"], &rows)
}

fn say_deliveries(deliveries: &[Delivery]) -> Result<(), Failure> {
    let row = |delivery: &Delivery| {
        let status = delivery.status.as_str();
        let style = match status {
            "delivered" => GREEN,
            "given_up" => RED,
            _ => YELLOW,
        };
        let answer = delivery.last_status_code.map(|status| status.to_string());
        let answer = answer.or_else(|| delivery.last_error.clone()).unwrap_or_default();
        vec![
            delivery.id.as_str().into(),
            local(delivery.created_at).into(),
            delivery.event_type.as_str().into(),
            Cell::styled(status, style),
            delivery.attempts.to_string().into(),
            answer.into(),
        ]
    };
    let rows: Vec<_> = deliveries.iter().map(row).collect();
    say_table(&["ID", "CREATED", "EVENT", "STATUS", "ATTEMPTS", "ANSWER"], &rows)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_replay_says_how_many_events_it_has_and_how_to_continue_with_the_same_limits() {
        let id: WebhookId = "whk_01m7yewbdbe1std67w99hvsbsb".parse().unwrap();
        let all = WebhookReplayInput::new(begin_after("pos1"));
        let some = WebhookReplayInput {
            to: Some("2026-11-21T09:00:00Z".parse().unwrap()),
            types: Some(vec![EventType::MessageFailed, EventType::MessageSent]),
            ..all.clone()
        };
        let next = format!("sms webhooks replay {id} --after pos9");
        let limits = "--until 2026-11-21T09:00:00.000Z --event message.failed --event message.sent";
        let more = "There are more. Once these are sent, run:";
        for (input, events, has_more, expected) in [
            (&all, 0, false, "no event to send again".to_owned()),
            (&all, 1, false, "1 event will be sent again".to_owned()),
            (&all, 2, false, "2 events will be sent again".to_owned()),
            (&all, 2, true, format!("2 events will be sent again\n{more} {next}")),
            (&some, 1, true, format!("1 event will be sent again\n{more} {next} {limits}")),
            (&some, 0, true, format!("none found up to pos9; continue with: {next} {limits}")),
        ] {
            let position = (events > 0 || has_more).then(|| "pos9".into());
            let replay = WebhookReplay { events, position, has_more };
            assert_eq!(replay_told(&id, input, &replay), expected);
        }
    }

    #[test]
    fn a_replay_begins_after_an_event_or_a_position() {
        let event = "evt_00000000000000000000000001";
        let expected = ReplayFrom::AfterEvent(event.parse().unwrap());
        assert_eq!(begin_after(event), expected);
        assert_eq!(begin_after("pos1"), ReplayFrom::After("pos1".into()));
    }
}
