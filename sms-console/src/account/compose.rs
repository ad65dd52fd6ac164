//! Writing a message: to whom, what and when; its price and who is left out; and sending it once.
//!
//! The form carries an idempotency key from the moment it is shown, through the question with the
//! price, to the send. So a double click, a reload or going back never sends twice.

mod ask;
mod draft;
mod fields;
mod price;
mod readers;
mod recipients;
mod seen;
mod sent;
mod words;

use maud::{Markup, html};
use sms_core::Error;
use sms_core::ids::TemplateId;
use sms_core::sending::Quote;

use self::ask::{Again, Question};
use self::draft::{Draft, Step};
use self::fields::{Given, Written};
use self::seen::Seen;
use super::choices::Choices;
use crate::form::{FieldTroubles, Form, sentence};
use crate::key::new_key;
use crate::part::dear::plain;
use crate::part::form::problems;
use crate::part::gaps::is_agreed;
use crate::part::head::head;
use crate::part::notice::in_words;
use crate::place::{Place, account};
use crate::reply::{Outcome, Page, Reply, Trouble};
use crate::visit::AccountVisit;

/// The largest form: it has as many numbers and contacts as a person can choose by hand.
const MOST_BYTES: usize = 256 << 10;

/// What a send did, by the key of its form.
const SENT: &str = "/console/compose/sent/{key}";

/// The places of this page.
pub(crate) fn places() -> Vec<Place> {
    vec![
        Place::get("/console/compose", account(show)),
        Place::post("/console/compose", account(step)).most_bytes(MOST_BYTES),
        Place::get(SENT, account(show_sent)),
        Place::post("/console/compose/preview", account(preview)).most_bytes(MOST_BYTES),
    ]
}

/// The form, with what the address asks for.
async fn show(visit: AccountVisit) -> Outcome {
    let mut draft = Draft::empty(new_key());
    visit.query("to").unwrap_or_default().clone_into(&mut draft.to);
    draft.list = visit.query("list").and_then(|id| id.parse().ok());
    if let Some(contact) = visit.query("contact").and_then(|id| id.parse().ok()) {
        draft.add(contact);
    }
    if let Some(id) = visit.query("template").and_then(|id| id.parse().ok()) {
        draft.body = text_of(&visit, id).await?;
    }
    let asks = ["to", "list", "contact", "template", "clear"];
    let is_asked = asks.iter().any(|name| visit.query(name).is_some());
    let given = if is_asked { Given::ByServer } else { Given::Nothing };
    Ok(written(&visit, draft, &Form::default(), &Said::Nothing(given)).await?.into())
}

/// What the person does with the form.
async fn step(visit: AccountVisit) -> Outcome {
    let form = visit.form().await?;
    let mut draft = Draft::of(&form);
    match Step::of(&form) {
        Step::Check => check(&visit, draft, &form).await,
        Step::Send => send(&visit, draft, &form).await,
        other => {
            apply(other, &visit, &mut draft).await?;
            Ok(written(&visit, draft, &form, &Said::Nothing(Given::ByServer)).await?.into())
        }
    }
}

/// The parts of the page that depend on what is written, for a browser with scripts.
async fn preview(visit: AccountVisit) -> Outcome {
    let form = visit.form().await?;
    let mut draft = Draft::of(&form);
    let step = Step::of(&form);
    apply(step, &visit, &mut draft).await?;
    let seen = Seen::of(visit.handle(), &mut draft, &form).await?;
    Ok(Reply::Fragment(of(&visit, &draft, &seen).regions(step)))
}

fn of<'a>(visit: &'a AccountVisit, draft: &'a Draft, seen: &'a Seen) -> Written<'a> {
    let (public_url, mode, now) = (&*visit.desk.public_url, visit.person.mode, visit.now());
    Written { draft, seen, public_url, mode, now }
}

async fn text_of(visit: &AccountVisit, template: TemplateId) -> Result<String, Error> {
    Ok(visit.handle().template_get(template).await?.body.as_str().to_owned())
}

/// What a step changes of the draft.
async fn apply(step: Step, visit: &AccountVisit, draft: &mut Draft) -> Result<(), Error> {
    match step {
        Step::Add(contact) => draft.add(contact),
        Step::Remove(contact) => draft.contacts.retain(|chosen| *chosen != contact),
        Step::UsePlain => draft.body = plain(&draft.body),
        Step::UseTemplate(Some(id)) => draft.body = text_of(visit, id).await?,
        Step::UseTemplate(None) | Step::Check | Step::Send | Step::Look => {}
    }
    Ok(())
}

/// Asks before the send, with the price of now.
async fn check(visit: &AccountVisit, draft: Draft, form: &Form) -> Outcome {
    let missing = draft.missing();
    if !missing.is_empty() {
        return again(visit, draft, form, Said::Troubles(missing)).await;
    }
    match quote_of(visit, &draft).await {
        Ok(quote) if quote.recipients == 0 => {
            again(visit, draft, form, Said::Alert("Nobody would get this.".to_owned())).await
        }
        Ok(quote) => question(visit, &draft, &quote, None),
        Err(error) => refused(visit, draft, form, &error).await,
    }
}

/// Sends, if the price is still the agreed one, which a test key does not pay, and if the person
/// agreed to merge fields that cannot be filled in. A request that was sent before may have no
/// price now, such as one whose scheduled time has passed: the service answers as at first.
async fn send(visit: &AccountVisit, draft: Draft, form: &Form) -> Outcome {
    let agreed: u64 = form.text("price").parse().map_err(|_| Trouble::BadForm("the price"))?;
    if let Ok(quote) = quote_of(visit, &draft).await {
        if !visit.person.mode.is_test() && quote.credits.get() != agreed {
            return question(visit, &draft, &quote, Some(Again::PriceChanged(agreed)));
        }
        if !is_agreed(form, &quote.gaps) {
            return question(visit, &draft, &quote, Some(Again::NotAgreed));
        }
    }
    let sent = match draft.keyed_request() {
        Ok(request) => visit.handle().send(request).await,
        Err(error) => Err(error),
    };
    match sent {
        Ok(_) => Ok(Reply::moved(SENT.replace("{key}", &draft.key))),
        Err(Error::IdempotencyConflict) => {
            let fresh = Draft { key: new_key(), ..draft };
            again(visit, fresh, form, Said::Alert(ALREADY_SENT.to_owned())).await
        }
        Err(error) => refused(visit, draft, form, &error).await,
    }
}

/// What a send did. After a step back or a reload, the page shows it once more.
async fn show_sent(visit: AccountVisit) -> Outcome {
    let key = visit.params.get("key").parse().map_err(|_| Trouble::NotFound)?;
    let sent = visit.handle().send_of(&key).await?.ok_or(Trouble::NotFound)?;
    let content = sent::view(&sent, visit.person.mode, &draft_name(&visit));
    Ok(Page::new(sent::title(&sent), content).with_module("draft.js").into())
}

const ALREADY_SENT: &str = "You have sent another message from this form already, and this one was \
                            not sent. Send again to send this one too.";

async fn quote_of(visit: &AccountVisit, draft: &Draft) -> Result<Quote, Error> {
    visit.handle().quote(draft.request()?).await
}

fn question(visit: &AccountVisit, draft: &Draft, quote: &Quote, again: Option<Again>) -> Outcome {
    let (mode, now) = (visit.person.mode, visit.now());
    let question = Question { draft, quote, again, mode, at: draft.moment()?, now };
    Ok(Page::new(question.title(), question.view(visit.csrf())).into())
}

/// The form again, with what the service says against it.
async fn refused(visit: &AccountVisit, draft: Draft, form: &Form, error: &Error) -> Outcome {
    let troubles = FieldTroubles::of(error);
    let said = if troubles.is_empty() {
        Said::Alert(sentence(&in_words(error)))
    } else {
        Said::Troubles(troubles)
    };
    again(visit, draft, form, said).await
}

async fn again(visit: &AccountVisit, draft: Draft, form: &Form, said: Said) -> Outcome {
    Ok(Reply::Again(written(visit, draft, form, &said).await?))
}

/// What the page says about the form.
#[derive(Debug)]
enum Said {
    /// Nothing: it is new, or the person continues to write.
    Nothing(Given),
    /// What is wrong with which field.
    Troubles(FieldTroubles),
    /// What else is wrong.
    Alert(String),
}

impl Said {
    /// What stands above the fields.
    fn above(&self) -> Markup {
        match self {
            Self::Nothing(_) => html! {},
            Self::Alert(words) => problems(words, &FieldTroubles::none(), &SHOWN),
            Self::Troubles(troubles) if troubles.besides(&SHOWN).next().is_none() => html! {},
            Self::Troubles(troubles) => problems("This cannot be sent.", troubles, &SHOWN),
        }
    }

    fn troubles(&self) -> FieldTroubles {
        match self {
            Self::Troubles(troubles) => troubles.clone(),
            Self::Nothing(_) | Self::Alert(_) => FieldTroubles::none(),
        }
    }

    fn given(&self) -> Given {
        if let Self::Nothing(given) = self { *given } else { Given::ByServer }
    }
}

/// The fields at which the form says what is wrong.
const SHOWN: [&str; 5] = ["to", "list_id", "body", "sender", "schedule_at"];

/// The page with the form.
async fn written(
    visit: &AccountVisit,
    mut draft: Draft,
    form: &Form,
    said: &Said,
) -> Result<Page, Trouble> {
    let choices = Choices::read(visit.handle(), draft.list).await?;
    let seen = Seen::of(visit.handle(), &mut draft, form).await?;
    let view = of(visit, &draft, &seen).view(&fields::Form {
        choices: &choices,
        said: &said.above(),
        troubles: &said.troubles(),
        search: form.text("contact_search"),
        csrf: visit.csrf(),
        draft_name: &draft_name(visit),
        given: said.given(),
    });
    let content = html! {
        (head("Compose").lead("One message, to one person or to many."))
        (view)
    };
    let page = Page::new("Compose", content);
    Ok(page.with_module("writing.js").with_module("draft.js"))
}

/// The name under which a browser keeps what is typed, of this account and this kind of key.
fn draft_name(visit: &AccountVisit) -> String {
    let person = &visit.person;
    format!("compose {} {}", person.account.id, person.mode.as_str())
}
