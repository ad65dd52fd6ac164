//! For those who write programs: endpoints for events, and requests to copy.

use futures_util::future::try_join;
use maud::{Markup, html};
use serde_json::json;
use sms_core::Error;
use sms_core::account::api_key::{KeyRecord, prefix};
use sms_core::webhook::endpoint::{DisabledReason, Endpoint, FAILURES_TO_SWITCH_OFF, Power};

use self::fields::{EndpointFields, FIELDS};
use self::secret::secret_dialog;
use crate::form::{FieldTroubles, Form};
use crate::format::{counted, time_or, worded};
use crate::key::{key_again, key_of, new_key};
use crate::meanwhile::Edited;
use crate::part::badge::{Tone, badge};
use crate::part::button::{Kind, closes, opens, submit};
use crate::part::code::{code, curl};
use crate::part::dialog::{Begins, dialog_begins};
use crate::part::form::{FormShell, form, problems_of};
use crate::part::head::head;
use crate::part::state::empty;
use crate::part::table::{column, table};
use crate::place::{Place, account};
use crate::reply::{Outcome, Page, Reply};
use crate::visit::{AccountVisit, Visit};

mod delivery;
pub(crate) mod endpoint;
mod fields;
mod replay;
mod secret;

const PATH: &str = "/console/developers";
const ENDPOINTS: &str = "/console/developers/webhooks";
const ADD: &str = "add-endpoint";

pub(crate) fn places() -> Vec<Place> {
    vec![Place::get(PATH, account(show)), Place::post(ENDPOINTS, account(create))]
}

async fn show(visit: AccountVisit) -> Outcome {
    let adding = Adding::fresh();
    Ok(page(&visit, &adding, None).await?.into())
}

async fn create(visit: AccountVisit) -> Outcome {
    let form = visit.form().await?;
    let (key, fields) = (key_of(&form)?, EndpointFields::sent(&form));
    match visit.handle().keyed(Some(key)).webhook_create(fields.input()).await {
        Ok(made) => {
            let (_, secret) = made.value;
            let shown = secret_dialog(&secret, PATH);
            Ok(page(&visit, &Adding::fresh(), Some(shown)).await?.into())
        }
        Err(
            error @ (Error::Invalid(_) | Error::WebhookLimitReached | Error::IdempotencyConflict),
        ) => Ok(Reply::Again(page(&visit, &Adding::again(fields, &form, &error), None).await?)),
        Err(other) => Err(other.into()),
    }
}

/// The form for a new endpoint, as it is shown.
struct Adding {
    fields: EndpointFields,
    key: String,
    begins: Begins,
    problems: Markup,
    troubles: FieldTroubles,
}

impl Adding {
    fn fresh() -> Self {
        Self {
            fields: EndpointFields::empty(),
            key: new_key(),
            begins: Begins::Closed,
            problems: html! {},
            troubles: FieldTroubles::none(),
        }
    }

    fn again(fields: EndpointFields, form: &Form, error: &Error) -> Self {
        let (problems, troubles) = problems_of(error, FIELDS);
        let key = key_again(form, error);
        Self { fields, key, begins: Begins::Open, problems, troubles }
    }

    fn view(&self, csrf: &str) -> Markup {
        let shell = FormShell {
            label: "Add an endpoint",
            to: ENDPOINTS,
            csrf,
            problems: self.problems.clone(),
            fields: html! {
                input type="hidden" name="key" value=(self.key);
                (self.fields.view(&self.troubles))
            },
            buttons: &[closes("Go back", ADD), submit("Add the endpoint").kind(Kind::Main)],
        };
        dialog_begins(self.begins, ADD, "Add an endpoint", &form(&shell))
    }
}

async fn page(visit: &AccountVisit, adding: &Adding, above: Option<Markup>) -> Result<Page, Error> {
    let (endpoints, keys) =
        try_join(visit.handle().webhook_list(), visit.handle().api_key_list()).await?;
    let content = view(visit, &Listed { endpoints, keys }, adding, above.as_ref());
    Ok(Page::new("Developers", content))
}

/// What the page lists.
struct Listed {
    endpoints: Vec<Endpoint>,
    keys: Vec<KeyRecord>,
}

fn view(visit: &Visit, listed: &Listed, adding: &Adding, above: Option<&Markup>) -> Markup {
    let Listed { endpoints, keys } = listed;
    let lead = html! {
        "Everything here is done through the API. "
        a href="/docs" target="_blank" rel="noopener" { "Read its documentation" } "."
    };
    html! {
        (head("Developers").lead(lead))
        @if let Some(above) = above { (above) }
        (adding.view(visit.csrf()))
        div.stack.stack-loose {
            section.stack aria-label="Endpoints" {
                div.card-head {
                    h2 { "Endpoints for events" }
                    (opens("Add an endpoint", ADD).kind(Kind::Main))
                }
                div #endpoints data-live { (list(endpoints)) }
            }
            section.stack aria-label="API keys" {
                h2 { "API keys" }
                p {
                    "The operator creates and revokes keys. A key is shown "
                    "once, when it is made: if it leaks, ask for a new one at once."
                }
                (key_list(keys))
            }
            section.card.stack { h2 { "A first request" } (requests(&visit.desk.public_url)) }
        }
    }
}

fn requests(public_url: &str) -> Markup {
    let sample = json!({ "to": "07700 900123", "body": "Hello from the API" });
    let request = |method, body| curl(public_url, method, "/v1/messages", body);
    html! {
        (code("Send a message with curl", &request("POST", Some(&sample))))
        (code("Read the messages with curl", &request("GET", None)))
    }
}

fn list(endpoints: &[Endpoint]) -> Markup {
    if endpoints.is_empty() {
        let text = html! { "An endpoint is a URL of yours that receives events." };
        return empty("No endpoints yet", &text, None);
    }
    let columns = [
        column("Address"),
        column("About"),
        column("State"),
        column("Events"),
        column("Last delivered"),
    ];
    table("Endpoints", columns, endpoints, |one| {
        let events: Vec<&str> = one.events.iter().map(|event| event.as_str()).collect();
        [
            html! { a.row-link href={ (ENDPOINTS) "/" (one.id) } { (one.url) } },
            html! { (one.description.as_deref().unwrap_or("–")) },
            state(one),
            html! { (events.join(", ")) },
            time_or(one.last_delivered_at, "Never"),
        ]
    })
}

fn key_list(keys: &[KeyRecord]) -> Markup {
    let columns =
        [column("Name"), column("Kind"), column("Key"), column("Last used"), column("State")];
    table("API keys", columns, keys, |one| {
        let tone = if one.mode.is_test() { Tone::Warn } else { Tone::Good };
        [
            html! { strong { (one.name.as_deref().unwrap_or("No name")) } },
            badge(&worded(one.mode.as_str()), tone),
            html! { code { (prefix(one.mode)) "…" (one.last_four) } },
            time_or(one.last_used_at, "Never"),
            match one.revoked_at {
                Some(_) => badge("Revoked", Tone::Bad),
                None => badge("Valid", Tone::Good),
            },
        ]
    })
}

/// What a sentence about an endpoint that is off says of it.
pub(crate) fn switched_off_because(reason: DisabledReason) -> String {
    match reason {
        DisabledReason::Failures => {
            let times = counted(FAILURES_TO_SWITCH_OFF.into(), "time");
            format!("was switched off, because it failed {times} in a row")
        }
        DisabledReason::ByOwner => "is off".to_owned(),
    }
}

/// Whether an endpoint takes what is sent to it.
fn state(one: &Endpoint) -> Markup {
    match (one.power, one.consecutive_failures) {
        (Power::Off(_), _) => badge("Off", Tone::Bad),
        (Power::On, 0) => badge("On", Tone::Good),
        (Power::On, failed) => badge(&format!("{failed} failed in a row"), Tone::Warn),
    }
}
