//! The inbox: conversations on the left, the open one in the middle, its contact beside it.

pub(super) mod address;
mod answer;
mod contact;
mod conversations;
mod thread;

use maud::{Markup, html};
use sms_core::Error;
use sms_core::conversation::Thread;
use sms_core::originator::Originator;
use sms_core::phone::E164;
use sms_core::sending::{Quote, SendRequest};

use self::answer::{Answer, regions};
use self::thread::{CHANGED_BY, Shown};
use crate::form::{FieldTroubles, Form, sentence};
use crate::key::{key_of, new_key};
use crate::part::dear::plain;
use crate::part::form::problems;
use crate::part::gaps::{NOT_AGREED, is_agreed};
use crate::part::notice::in_words;
use crate::part::price::Price;
use crate::part::region::region;
use crate::part::state::empty;
use crate::place::{Place, account};
use crate::reply::{Outcome, Page, Reply, Trouble};
use crate::said::Said;
use crate::visit::AccountVisit;

/// The places of the inbox.
pub(crate) fn places() -> Vec<Place> {
    vec![
        Place::get("/console/inbox", account(show)),
        Place::get("/console/inbox/{phone}", account(show_thread)),
        Place::post("/console/inbox/{phone}", account(step)),
        Place::post("/console/inbox/{phone}/preview", account(preview)),
        Place::post("/console/inbox/{phone}/read", account(read)),
    ]
}

/// The inbox without a conversation.
async fn show(visit: AccountVisit) -> Outcome {
    let middle = empty("No conversation open", &html! { "Choose one on the left." }, None);
    Ok(page(&visit, None, &middle).await?.into())
}

/// The inbox with a conversation.
async fn show_thread(visit: AccountVisit) -> Outcome {
    let thread = visit.handle().conversation_get(number_of(&visit)?).await?;
    let answer = Answer::empty(new_key());
    Ok(with_thread(&visit, &thread, &answer, &html! {}).await?.into())
}

/// What the person does with the reply. Without script, a preview is the same page again.
async fn step(visit: AccountVisit) -> Outcome {
    let number = number_of(&visit)?;
    let form = visit.form().await?;
    let answer = answer_of(&form);
    if !form.text("action").is_empty() {
        let thread = visit.handle().conversation_get(number).await?;
        return Ok(with_thread(&visit, &thread, &answer, &html! {}).await?.into());
    }
    if answer.body.trim().is_empty() {
        let answer = Answer { trouble: Some("Write something first."), ..answer };
        return again(&visit, number, answer, &html! {}).await;
    }
    if let Some(Ok(quote)) = quoted(&visit, number, &answer).await?
        && !is_agreed(&form, &quote.gaps)
    {
        return again(&visit, number, answer, &alert(NOT_AGREED)).await;
    }
    let request = request_of(number, &answer).idempotency_key(key_of(&form)?);
    match visit.handle().send(request).await {
        Ok(sent) if sent.messages.is_empty() => {
            let said = "This number cannot be texted. Nothing was sent.";
            // Under the same key the service would say so again, even after an opt-in.
            again(&visit, number, Answer { key: new_key(), ..answer }, &alert(said)).await
        }
        Ok(_) => {
            let back = address::conversation(&number.into(), visit.queries());
            Ok(Reply::moved(back).saying(Said::ReplySent).focusing(answer::FIELD))
        }
        Err(Error::IdempotencyConflict) => {
            let said = "You have sent another reply from this form already, and this one was not \
                        sent. Send again to send this one too.";
            again(&visit, number, Answer { key: new_key(), ..answer }, &alert(said)).await
        }
        Err(error) => again(&visit, number, answer, &alert(&sentence(&in_words(&error)))).await,
    }
}

fn request_of(number: E164, answer: &Answer) -> SendRequest {
    SendRequest::new(answer.body.clone()).to(number.to_string())
}

fn alert(words: &str) -> Markup {
    problems(words, &FieldTroubles::none(), &[])
}

async fn again(visit: &AccountVisit, number: E164, answer: Answer, said: &Markup) -> Outcome {
    let thread = visit.handle().conversation_get(number).await?;
    Ok(Reply::Again(with_thread(visit, &thread, &answer, said).await?))
}

/// What a reply would cost, for a browser with scripts.
async fn preview(visit: AccountVisit) -> Outcome {
    let number = number_of(&visit)?;
    let form = visit.form().await?;
    let answer = answer_of(&form);
    let quote = quoted(&visit, number, &answer).await?;
    let changes_body = form.text("action") == USE_PLAIN;
    Ok(Reply::Fragment(html! {
        (regions(&answer, Price::of(quote.as_ref(), visit.person.mode)))
        (region("reply-request", &answer.request(number, &visit.desk.public_url)))
        @if changes_body { (region("reply-body", &answer.field())) }
    }))
}

/// The price of a reply, or why it has none; `None` while nothing is written.
async fn quoted(
    visit: &AccountVisit,
    number: E164,
    answer: &Answer,
) -> Result<Option<Result<Quote, Error>>, Error> {
    if answer.body.trim().is_empty() {
        return Ok(None);
    }
    match visit.handle().quote(request_of(number, answer)).await {
        Err(Error::Store(error)) => Err(error.into()),
        quote => Ok(Some(quote)),
    }
}

/// Marks what is on screen as read.
async fn read(visit: AccountVisit) -> Outcome {
    let party = party_of(&visit)?;
    visit.handle().conversation_read(party.number()).await?;
    Ok(Reply::moved(address::conversation(&party, visit.queries())))
}

fn party_of(visit: &AccountVisit) -> Result<Originator, Trouble> {
    Originator::parse(visit.params.get("phone")).map_err(|_| Trouble::NotFound)
}

/// The number, or the one that stands in for a short code or a name.
fn number_of(visit: &AccountVisit) -> Result<E164, Trouble> {
    Ok(party_of(visit)?.number())
}

/// What the button says that replaces characters outside the GSM alphabet by plain ones.
const USE_PLAIN: &str = "plain";

fn answer_of(form: &Form) -> Answer {
    let body = form.body("body");
    let body = if form.text("action") == USE_PLAIN { plain(&body) } else { body };
    Answer { body, ..Answer::empty(form.text("key").to_owned()) }
}

/// The page with a conversation, and the reply as far as it is written.
async fn with_thread(
    visit: &AccountVisit,
    thread: &Thread,
    answer: &Answer,
    said: &Markup,
) -> Result<Page, Trouble> {
    let quote = quoted(visit, thread.number, answer).await?;
    let person = &visit.person;
    let (number, account, mode) = (thread.number, person.account.id, person.mode);
    let shown = Shown {
        thread,
        answer,
        price: Price::of(quote.as_ref(), mode),
        public_url: &visit.desk.public_url,
        csrf: visit.csrf(),
        queries: visit.queries(),
        draft_name: &format!("reply {number} {account} {}", mode.as_str()),
        was_sent: visit.query("said").and_then(Said::of) == Some(Said::ReplySent),
        now: visit.now(),
    };
    page(visit, Some(number), &shown.view(said)).await
}

/// The page, with the conversations on its left.
async fn page(visit: &AccountVisit, open: Option<E164>, middle: &Markup) -> Result<Page, Trouble> {
    let list = conversations::read(visit).await?;
    let content = html! {
        div.inbox.inbox-open[open.is_some()] {
            section.inbox-side aria-label="Conversations" {
                h1 tabindex="-1" { "Inbox" }
                (conversations::filter_form(visit))
                div.inbox-list {
                    div #inbox-list data-live="3" data-on=(CHANGED_BY) {
                        (conversations::view(visit, &list, open))
                    }
                }
            }
            section.inbox-thread aria-label="Conversation" { (middle) }
        }
    };
    let page = Page::new("Inbox", content).wide();
    Ok(page.with_module("writing.js").with_module("draft.js").with_module("read.js"))
}
