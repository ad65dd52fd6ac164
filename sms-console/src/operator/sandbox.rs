//! Trying things out: a message that comes in, and the clock of a sandbox.

use std::time::Duration;

use maud::{Markup, html};
use sms_core::inbound::MAX_BODY;
use sms_core::number::{Holder, Number};
use sms_core::originator::Originator;
use sms_core::phone::parse_any;
use sms_core::service::sandbox::SandboxClock;

use crate::form::{FieldTroubles, Form};
use crate::format::{full_time, number};
use crate::key::{key_again, key_of, new_key};
use crate::part::button::{Kind, submit};
use crate::part::field::Field;
use crate::part::form::{FormShell, form, problems, problems_of};
use crate::part::head::head;
use crate::place::{Place, operator};
use crate::reply::{Outcome, Page, Reply, Trouble};
use crate::said::Said;
use crate::visit::{OperatorVisit, Visit};

const PATH: &str = "/console/operator/sandbox";
const INBOUND: &str = "/console/operator/sandbox/inbound";
const CLOCK: &str = "/console/operator/sandbox/clock";
const COMES_IN: &str = "A message comes in";
const NO_SENDER: &str = "This is neither a phone number nor a name of up to 20 characters.";
const SHOWN: [&str; 3] = ["from", "to", "body"];

/// How far the clock is moved by each button.
const PASSING: [(&str, u64); 4] =
    [("One minute passes", 60), ("One hour", 3_600), ("One day", 86_400), ("30 days", 2_592_000)];

/// How long it may take to do everything that falls due: as long as in the operator's API.
const LONGEST_PASSING: Duration = Duration::from_mins(10);

pub(super) fn places() -> Vec<Place> {
    vec![
        Place::get(PATH, operator(show)),
        Place::post(INBOUND, operator(inbound)),
        Place::post(CLOCK, operator(advance)).most_time(LONGEST_PASSING),
    ]
}

/// The clock of the sandbox. A server for real customers has none, and no messages are simulated
/// there.
fn clock_of(visit: &Visit) -> Result<&dyn SandboxClock, Trouble> {
    visit.desk.sandbox.as_deref().ok_or(Trouble::NotFound)
}

async fn show(visit: OperatorVisit) -> Outcome {
    clock_of(&visit)?;
    let key = new_key();
    let typed = Typed { from: "07700 900123", to: "", body: String::new(), key: &key };
    Ok(page(&visit, &typed, html! {}, &FieldTroubles::none()).await?.into())
}

async fn page(
    visit: &OperatorVisit,
    typed: &Typed<'_>,
    problems: Markup,
    troubles: &FieldTroubles,
) -> Result<Page, Trouble> {
    let numbers = visit.operator().number_list().await?;
    let content = html! {
        (head("Sandbox").lead("Simulate the network, and move the clock."))
        div.columns {
            (typed.card(visit.csrf(), &numbers, problems, troubles))
            (clock(visit))
        }
    };
    Ok(Page::new("Sandbox", content))
}

/// What the operator has typed.
struct Typed<'a> {
    from: &'a str,
    to: &'a str,
    body: String,
    key: &'a str,
}

impl Typed<'_> {
    fn card(
        &self,
        csrf: &str,
        numbers: &[Number],
        problems: Markup,
        troubles: &FieldTroubles,
    ) -> Markup {
        let options = numbers.iter().map(|own| {
            let shared = if own.holder == Holder::Shared { " (shared)" } else { "" };
            (own.phone.to_string(), format!("{}{shared}", number(own.phone)))
        });
        let from = Field::text("from", "From").required().value(self.from);
        let from = from.hint("A number, a short code or a name.");
        let to = Field::select("to", "To", options).required().value(self.to);
        let body = Field::text_area("body", "Text", 4).required().longest(MAX_BODY);
        let fields = html! {
            input type="hidden" name="key" value=(self.key);
            (from.trouble(troubles.get("from")))
            (to.trouble(troubles.get("to")))
            (body.value(&*self.body).trouble(troubles.get("body")))
        };
        let buttons = [submit("Let it come in").kind(Kind::Main)];
        let to = INBOUND;
        let shell = FormShell { label: COMES_IN, to, csrf, problems, fields, buttons: &buttons };
        html! { section.card { h2 { (COMES_IN) } (form(&shell)) } }
    }
}

fn clock(visit: &Visit) -> Markup {
    html! {
        section.card.stack {
            h2 { "The clock" }
            p { (full_time(visit.now())) }
            form.actions method="post" action=(CLOCK) {
                input type="hidden" name="csrf" value=(visit.csrf());
                @for (words, seconds) in PASSING {
                    (submit(words).sending("seconds", seconds.to_string()))
                }
            }
        }
    }
}

async fn inbound(visit: OperatorVisit) -> Outcome {
    clock_of(&visit)?;
    let form = visit.form().await?;
    let key = key_of(&form)?;
    let from = Originator::parse(form.text("from"));
    let (from, to) = match (from, parse_any(form.text("to"))) {
        (Ok(from), Ok(to)) => (from, to),
        (from, to) => {
            let mut troubles = FieldTroubles::none();
            if from.is_err() {
                troubles = troubles.with("from", NO_SENDER);
            }
            if to.is_err() {
                troubles = troubles.with("to", "This is not a phone number.");
            }
            let problems = problems("One field needs another value.", &troubles, &SHOWN);
            return again(&visit, &form, form.text("key"), problems, &troubles).await;
        }
    };
    match visit.operator().keyed(Some(key)).inbound(from, to, form.body("body")).await {
        Ok(made) => {
            let said = match made.value {
                Some(_) => Said::InboundRouted,
                None => Said::InboundUnrouted,
            };
            Ok(Reply::moved(PATH).saying(said))
        }
        Err(error) => {
            let (problems, troubles) = problems_of(&error, &SHOWN);
            again(&visit, &form, &key_again(&form, &error), problems, &troubles).await
        }
    }
}

async fn again(
    visit: &OperatorVisit,
    form: &Form,
    key: &str,
    problems: Markup,
    troubles: &FieldTroubles,
) -> Outcome {
    let (from, to) = (form.text("from"), form.text("to"));
    let typed = Typed { from, to, body: form.body("body"), key };
    Ok(Reply::Again(page(visit, &typed, problems, troubles).await?))
}

async fn advance(visit: OperatorVisit) -> Outcome {
    let form = visit.form().await?;
    let sandbox = clock_of(&visit)?;
    let wanted = form.text("seconds");
    let known = PASSING.into_iter().find(|(_, seconds)| seconds.to_string() == wanted);
    let (_, seconds) = known.ok_or(Trouble::BadForm("a time"))?;
    sandbox.advance(Duration::from_secs(seconds)).await?;
    Ok(Reply::moved(PATH).saying(Said::TimePassed))
}
