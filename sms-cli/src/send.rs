//! `sms send` and `sms quote`.

use clap::Args;
use serde_json::{Value, json};
use sms_client::send::{Batch, BatchMeta, BlankField, Quote as Price, Rejection};
use sms_client::{Answer, Client, Error, IdempotencyKey};

use crate::confirm::{Confirm, ask};
use crate::context::{Access, Context, KeyKind};
use crate::failure::Failure;
use crate::output::{Form, GREEN, YELLOW, counted, grouped, paint, say, say_json, shown, style_of};
use crate::send_args::SendArgs;
use crate::style::tell;

#[derive(Debug, Args)]
#[command(after_help = "A live key charges credits: the price is asked for unless --yes is given.

Examples:
  sms send 07700900123 --body 'Your table is ready'
  sms send --list lst_… --body 'Hello {first_name}' --append-opt-out --yes
  sms send 07700900123 --template tpl_… --idempotency-key booking-42 --yes
  date | sms send 07700900123 --body-file - --yes")]
pub(crate) struct Send {
    #[command(flatten)]
    what: SendArgs,
    /// Makes the send take effect once, however often the command is run
    #[arg(long, value_name = "KEY")]
    idempotency_key: Option<IdempotencyKey>,
    #[command(flatten)]
    confirm: Confirm,
}

/// Show what a send would cost.
#[derive(Debug, Args)]
#[command(after_help = "Examples:
  sms quote --list lst_… --body 'Hello {first_name}'
  sms quote 07700900123 --body-file text.txt --json")]
pub(crate) struct Quote {
    #[command(flatten)]
    what: SendArgs,
}

impl Send {
    pub(crate) async fn run(self, context: &Context) -> Result<(), Failure> {
        let request = self.what.request()?;
        let Access { url, key } = context.access()?;
        let client = Client::new(&url, &key)?;
        if KeyKind::of(&key) == KeyKind::Live && !self.confirm.yes {
            let price = client.message_quote(&request).await?;
            let messages = counted(price.recipients, "message");
            let credits = counted(price.credits, "credit");
            let balance = grouped(price.balance);
            for rejection in &price.rejected {
                tell(&refused(rejection));
            }
            warn_of_gaps(&price);
            ask(&format!("Send {messages} for {credits} (balance {balance})?"))?;
        }
        // One key for all attempts of this send.
        let idempotency = self.idempotency_key.unwrap_or_else(IdempotencyKey::random);
        let sent = client.message_send(&request).idempotency_key(idempotency.clone()).await;
        let answer = sent.inspect_err(|error| tell_key(error, &idempotency))?;
        match context.form {
            Form::Json => say_json(&flat(&answer)?)?,
            Form::Text => say(&told(&answer))?,
        }
        in_part(&answer.data.rejected)
    }
}

/// After an error that leaves open what happened, the same key makes it safe to send again.
fn tell_key(error: &Error, key: &IdempotencyKey) {
    let is_open = matches!(error, Error::NoAnswer { .. }) || error.status() >= Some(500);
    if is_open {
        tell(&format!(
            "the messages may have been sent: repeat with --idempotency-key {key} to be safe"
        ));
    }
}

fn in_part(rejected: &[Rejection]) -> Result<(), Failure> {
    if rejected.is_empty() {
        return Ok(());
    }
    let count = counted(rejected.len() as u64, "recipient");
    Err(Failure::InPart(format!("{count} got no message")))
}

/// Data and meta in one object.
fn flat(answer: &Answer<Batch, BatchMeta>) -> Result<Value, Error> {
    let (mut data, meta) =
        (serde_json::to_value(&answer.data)?, serde_json::to_value(&answer.meta)?);
    if let (Value::Object(data), Value::Object(meta)) = (&mut data, meta) {
        data.extend(meta);
    }
    Ok(data)
}

fn told(answer: &Answer<Batch, BatchMeta>) -> String {
    let Answer { data, meta } = answer;
    let mut lines = Vec::new();
    for message in &data.messages {
        let status = paint(style_of(&message.status), message.status.as_str());
        lines.push(format!("{}  {}  {status}", message.id, shown(message.to.as_str())));
    }
    lines.extend(data.rejected.iter().map(refused));
    lines.extend(gaps(&data.unknown_fields, &data.blank_fields));
    let count = counted(data.messages.len() as u64, "message");
    let (done, cost) = if meta.replayed {
        ("sent earlier, nothing was done now:", "charged then")
    } else {
        ("accepted", "charged")
    };
    let credits = counted(meta.credits, "credit");
    let balance = grouped(meta.balance);
    let kind = if meta.test { " (test: nothing is sent)" } else { "" };
    lines
        .push(format!("{} {count}, {credits} {cost}, balance {balance}{kind}", paint(GREEN, done)));
    lines.join("\n")
}

fn refused(rejection: &Rejection) -> String {
    let to = shown(rejection.to.as_str());
    let reason = shown(&rejection.reason.to_string());
    format!("{} {to}: {reason}", paint(YELLOW, "no message to"))
}

/// Says on stderr which merge fields a send cannot fill in.
pub(crate) fn warn_of_gaps(price: &Price) {
    for line in gaps(&price.unknown_fields, &price.blank_fields) {
        tell(&line);
    }
}

/// The merge fields that cannot be filled in, a line each.
fn gaps<'a>(
    unknown: &'a [String],
    blank: &'a [BlankField],
) -> impl Iterator<Item = String> + use<'a> {
    let unknown = unknown.iter().map(|name| {
        let field = shown(name);
        format!("{} {{{field}}}: no contact has this field", paint(YELLOW, "unknown field"))
    });
    let blank = blank.iter().map(|BlankField { field, recipients }| {
        let people = counted(*recipients, "recipient");
        let field = shown(field);
        format!(
            "{} {{{field}}}: {people} without a value ({{{field}|…}} gives a fallback)",
            paint(YELLOW, "blank field")
        )
    });
    unknown.chain(blank)
}

impl Quote {
    pub(crate) async fn run(self, context: &Context) -> Result<(), Failure> {
        let request = self.what.request()?;
        let price = context.client()?.message_quote(&request).await?;
        match context.form {
            Form::Json => say_json(&json!(price)),
            Form::Text => say(&price_told(&price)),
        }
    }
}

/// A quote, for people.
pub(crate) fn price_told(price: &Price) -> String {
    let mut lines: Vec<String> = price.rejected.iter().map(refused).collect();
    lines.extend(gaps(&price.unknown_fields, &price.blank_fields));
    lines.push(format!(
        "{} to {}, balance {}",
        counted(price.credits, "credit"),
        counted(price.recipients, "recipient"),
        grouped(price.balance),
    ));
    if let Some(preview) = &price.preview {
        lines.push(format!("{}: {}", price.encoding, shown(preview.as_str())));
    }
    lines.join("\n")
}
