//! One endpoint: whether it answers, and every delivery to it.

use maud::{Markup, html};
use sms_core::Error;
use sms_core::event::kinds::Kinds;
use sms_core::event::log::{EventRequest, ReadFrom};
use sms_core::event::position::Position;
use sms_core::ids::EndpointId;
use sms_core::page::{Limit, Page as ListPage};
use sms_core::service::webhook::Rotation;
use sms_core::time::Timestamp;
use sms_core::version::Versioned;
use sms_core::webhook::delivery::{Delivery, KEPT_FOR};
use sms_core::webhook::endpoint::{Endpoint, EndpointChange, Power};
use sms_core::webhook::replay::ReplayBegun;
use sms_core::webhook::rotation::OLD_SECRET_VALID_FOR;
use sms_core::webhook::sender::WebhookAnswer;

use super::delivery::rows;
use super::fields::{EndpointFields, FIELDS};
use super::replay::{self, ReplayFields};
use super::secret::secret_dialog;
use super::{ENDPOINTS, PATH, state, switched_off_because};
use crate::form::FieldTroubles;
use crate::format::{in_days, in_hours, whole};
use crate::key::{key_again, key_of, new_key};
use crate::meanwhile::{self, Edited};
use crate::part::button::{Kind, closes, opens, submit};
use crate::part::code::as_request;
use crate::part::dialog::{Begins, Question, confirm, dialog_begins};
use crate::part::form::{FormShell, form, problems_of};
use crate::part::head::head;
use crate::part::notice::{Notice, notice};
use crate::part::pager::{page_request, pager};
use crate::part::state::empty;
use crate::place::{Place, account};
use crate::reply::{Outcome, Page, Reply, Trouble};
use crate::said::Said;
use crate::visit::{AccountVisit, Visit};

const EDIT: &str = "edit-endpoint";
const NEW_SECRET: &str = "new-secret";
const REPLAY: &str = "replay";
const DELETE: &str = "delete-endpoint";

pub(crate) fn places() -> Vec<Place> {
    vec![
        Place::get("/console/developers/webhooks/{id}", account(show)),
        Place::post("/console/developers/webhooks/{id}", account(save)),
        Place::post("/console/developers/webhooks/{id}/test", account(test)),
        Place::post("/console/developers/webhooks/{id}/on", account(switch_on)),
        Place::post("/console/developers/webhooks/{id}/secret", account(rotate)),
        Place::post("/console/developers/webhooks/{id}/replay", account(send_again)),
        Place::post("/console/developers/webhooks/{id}/delete", account(delete)),
        Place::post(
            "/console/developers/webhooks/{id}/deliveries/{delivery}/retry",
            account(retry),
        ),
    ]
}

/// What the page shows in addition to the endpoint.
struct Shown {
    editing: Editing,
    replaying: Replaying,
    /// What a test or a new secret brought.
    news: Markup,
}

/// The form of the endpoint, as it is shown.
enum Editing {
    Fresh,
    Again(meanwhile::Shown<EndpointFields>),
}

/// The form for a replay, as it is shown.
enum Replaying {
    Fresh,
    Again { fields: ReplayFields, key: String, problems: Markup, troubles: FieldTroubles },
}

impl Shown {
    fn nothing() -> Self {
        Self::with(html! {})
    }

    fn with(news: Markup) -> Self {
        Self { editing: Editing::Fresh, replaying: Replaying::Fresh, news }
    }
}

fn address(id: EndpointId) -> String {
    format!("{ENDPOINTS}/{id}")
}

async fn show(visit: AccountVisit) -> Outcome {
    Ok(page(&visit, &Shown::nothing()).await?.into())
}

async fn save(visit: AccountVisit) -> Outcome {
    let (id, form) = (visit.params.id()?, visit.form().await?);
    let endpoint = visit.handle().webhook_get(id).await?;
    let (sent, now) = (EndpointFields::sent(&form), EndpointFields::of(&endpoint));
    let again = match meanwhile::joined(&form, &now) {
        Ok(joined) => {
            let change = joined.change().if_version(endpoint.version());
            match visit.handle().webhook_update(id, change, Rotation::Keep).await {
                Ok(_) => return Ok(Reply::moved(address(id)).saying(Said::Saved)),
                Err(error @ (Error::Invalid(_) | Error::PreconditionFailed(_))) => {
                    meanwhile::Shown::again(sent, &form, problems_of(&error, FIELDS))
                }
                Err(other) => return Err(other.into()),
            }
        }
        Err(clashing) => {
            meanwhile::Shown::clashing(clashing, &now, endpoint.updated_at, None).await?
        }
    };
    let shown = Shown { editing: Editing::Again(again), ..Shown::nothing() };
    Ok(Reply::Again(page(&visit, &shown).await?))
}

async fn test(visit: AccountVisit) -> Outcome {
    let answer = visit.handle().webhook_test(visit.params.id()?).await?;
    Ok(page(&visit, &Shown::with(tested(&answer))).await?.into())
}

async fn switch_on(visit: AccountVisit) -> Outcome {
    let id = visit.params.id()?;
    let on = EndpointChange::default().power(Power::On);
    visit.handle().webhook_update(id, on, Rotation::Keep).await?;
    Ok(Reply::moved(address(id)).saying(Said::Saved))
}

/// Draws a new secret, once: the form says of which state of the endpoint it was made, so that a
/// reload of its answer does not draw another.
async fn rotate(visit: AccountVisit) -> Outcome {
    let (id, form) = (visit.params.id()?, visit.form().await?);
    let endpoint = visit.handle().webhook_get(id).await?;
    if form.text("seen") != endpoint.updated_at.to_string() {
        return Ok(Reply::moved(address(id)).saying(Said::EndpointChanged));
    }
    let change = EndpointChange::default();
    let (_, secret) = visit.handle().webhook_update(id, change, Rotation::Rotate).await?;
    let news = secret.map(|secret| secret_dialog(&secret, &address(id)));
    Ok(page(&visit, &Shown::with(news.unwrap_or_default())).await?.into())
}

/// Sends again what the log has. The form has a key: a reload of its answer begins no other replay.
async fn send_again(visit: AccountVisit) -> Outcome {
    let (id, form) = (visit.params.id()?, visit.form().await?);
    let (key, fields) = (key_of(&form)?, ReplayFields::typed(&form));
    let begun = match fields.request() {
        Ok(request) => visit.handle().keyed(Some(key)).webhook_replay(id, request).await,
        Err(error) => Err(error),
    };
    match begun {
        Ok(begun) => {
            let news = replay::begun(&begun.value, reached_at(&visit, &begun.value).await?);
            Ok(page(&visit, &Shown::with(news)).await?.into())
        }
        Err(
            error @ (Error::Invalid(_)
            | Error::IdempotencyConflict
            | Error::WebhookDisabled
            | Error::ReplayUnderWay),
        ) => {
            let (problems, troubles) = problems_of(&error, replay::FIELDS);
            let key = key_again(&form, &error);
            let replaying = Replaying::Again { fields, key, problems, troubles };
            let shown = Shown { replaying, ..Shown::nothing() };
            Ok(Reply::Again(page(&visit, &shown).await?))
        }
        Err(other) => Err(other.into()),
    }
}

/// When the last event of a replay happened, or the last that was read for it.
async fn reached_at(
    visit: &AccountVisit,
    replay: &ReplayBegun,
) -> Result<Option<Timestamp>, Error> {
    let Some(reached) = replay.reached else { return Ok(None) };
    let after = Position { place: reached.place.saturating_add(1), ..reached };
    let from = ReadFrom::Newest(Some(after));
    let request = EventRequest { kinds: Kinds::all(), from, limit: Limit::ONE };
    let last = visit.handle().event_list(request).await?.items.pop();
    Ok(last.map(|last| last.event.created_at))
}

async fn delete(visit: AccountVisit) -> Outcome {
    let outcome = visit.handle().webhook_delete(visit.params.id()?).await;
    Reply::deleted(outcome, PATH, Said::EndpointDeleted, Said::DeletedAlready)
}

async fn retry(visit: AccountVisit) -> Outcome {
    let id = visit.params.id()?;
    let delivery = visit.params.get("delivery").parse().map_err(|_| Trouble::NotFound)?;
    visit.handle().delivery_retry(id, delivery).await?;
    Ok(Reply::moved(address(id)).saying(Said::DeliveryRetried))
}

async fn page(visit: &AccountVisit, shown: &Shown) -> Result<Page, Trouble> {
    let id = visit.params.id()?;
    let endpoint = visit.handle().webhook_get(id).await?;
    let deliveries = visit.handle().delivery_list(id, page_request(visit)).await?;
    Ok(Page::new("Endpoint", view(visit, &endpoint, &deliveries, shown)))
}

fn view(
    visit: &Visit,
    endpoint: &Endpoint,
    deliveries: &ListPage<Delivery>,
    shown: &Shown,
) -> Markup {
    let path = format!("/v1/webhooks/{}/deliveries", endpoint.id);
    let kept = html! { "They are kept for " (in_days(KEPT_FOR)) "." };
    html! {
        div #endpoint-head data-live { (top(endpoint, visit.csrf())) }
        div #endpoint-questions data-live { (dialogs(endpoint, visit.csrf(), &shown.editing)) }
        (replay_dialog(visit, endpoint, &shown.replaying))
        div.stack {
            div role="status" { (shown.news) }
            h2 { "Deliveries" }
            div #deliveries data-live {
                @if deliveries.items.is_empty() {
                    (empty("No deliveries yet", &kept, None))
                } @else {
                    (rows(&deliveries.items, &address(endpoint.id), visit.csrf()))
                    (pager(visit, deliveries.next))
                }
            }
            (as_request(&visit.desk.public_url, "GET", &path, None))
        }
    }
}

fn top(endpoint: &Endpoint, csrf: &str) -> Markup {
    let events: Vec<&str> = endpoint.events.iter().map(|event| event.as_str()).collect();
    let lead = html! {
        @if let Some(about) = &endpoint.description { (about) ". " }
        (events.join(", "))
    };
    let to = |what| format!("{}/{what}", address(endpoint.id));
    let actions = html! {
        form method="post" action=(to("test")) {
            input type="hidden" name="csrf" value=(csrf);
            (submit("Send a test").kind(Kind::Main))
        }
        (opens("Edit", EDIT))
        (opens("Send again", REPLAY))
        (opens("New secret", NEW_SECRET))
        (opens("Delete", DELETE).kind(Kind::Danger))
    };
    let head = head(&endpoint.url).back("Developers", PATH).lead(lead).actions(actions);
    let head = head.beside(state(endpoint));
    let Power::Off(reason) = endpoint.power else { return html! { (head) } };
    let off = html! {
        p { "It " (switched_off_because(reason)) ". Nothing is sent to it." }
        form method="post" action=(to("on")) {
            input type="hidden" name="csrf" value=(csrf);
            (submit("Switch it on").small())
        }
    };
    html! { (head) (notice(Notice::Bad, &off)) }
}

fn dialogs(endpoint: &Endpoint, csrf: &str, editing: &Editing) -> Markup {
    let (own, secret) = (address(endpoint.id), format!("{}/secret", address(endpoint.id)));
    let (delete, seen) = (format!("{own}/delete"), endpoint.updated_at.to_string());
    html! {
        (edit_dialog(endpoint, &own, csrf, editing))
        (confirm(&Question {
            id: NEW_SECRET,
            title: "Make a new signing secret?",
            text: html! {
                p {
                    "The old one stays valid for " (in_hours(OLD_SECRET_VALID_FOR))
                    ", so that your program can switch over."
                }
            },
            action: "Make a new secret",
            kind: Kind::Main,
            to: &secret,
            csrf,
            sent: &[("seen", &seen)],
        }))
        (confirm(&Question {
            id: DELETE,
            title: "Delete this endpoint?",
            text: html! { p { "It gets no more events, and its deliveries are deleted." } },
            action: "Delete the endpoint",
            kind: Kind::Danger,
            to: &delete,
            csrf,
            sent: &[],
        }))
    }
}

fn edit_dialog(endpoint: &Endpoint, to: &str, csrf: &str, editing: &Editing) -> Markup {
    let fresh = meanwhile::Shown::first(EndpointFields::of(endpoint));
    let (begins, shown) = match editing {
        Editing::Fresh => (Begins::Closed, &fresh),
        Editing::Again(shown) => (Begins::Open, shown),
    };
    let shell = FormShell {
        label: "Edit the endpoint",
        to,
        csrf,
        problems: shown.problems.clone(),
        fields: html! { (shown.hidden()) (shown.form.view(&shown.troubles)) },
        buttons: &[closes("Go back", EDIT), submit("Save").kind(Kind::Main)],
    };
    dialog_begins(begins, EDIT, "Edit the endpoint", &form(&shell))
}

fn replay_dialog(visit: &Visit, endpoint: &Endpoint, replaying: &Replaying) -> Markup {
    let nothing_wrong = FieldTroubles::none();
    let fresh = ReplayFields::fresh(endpoint, visit.now());
    let (begins, problems, key, fields, troubles) = match replaying {
        Replaying::Fresh => (Begins::Closed, html! {}, new_key(), &fresh, &nothing_wrong),
        Replaying::Again { fields, key, problems, troubles } => {
            (Begins::Open, problems.clone(), key.clone(), fields, troubles)
        }
    };
    let to = format!("{}/replay", address(endpoint.id));
    let shell = FormShell {
        label: "Send events again",
        to: &to,
        csrf: visit.csrf(),
        problems,
        fields: html! {
            input type="hidden" name="key" value=(key);
            (fields.view(endpoint, troubles))
        },
        buttons: &[closes("Go back", REPLAY), submit("Send again").kind(Kind::Main)],
    };
    dialog_begins(begins, REPLAY, "Send events again?", &form(&shell))
}

/// What the endpoint answered to a test.
fn tested(answer: &WebhookAnswer) -> Markup {
    let took = u64::try_from(answer.duration.as_millis()).unwrap_or(u64::MAX);
    let body = String::from_utf8_lossy(&answer.response_body);
    let content = html! {
        p {
            @match answer.result {
                Ok(()) => "The endpoint accepted the test.",
                Err(error) => {
                    "The endpoint did not accept the test: " (error.as_str().replace('_', " ")) "."
                }
            }
        }
        p {
            @match answer.status_code {
                Some(code) => { "It answered " (code) " after " }
                None => "No answer after ",
            }
            (whole(took)) " ms."
        }
        @if !body.is_empty() { pre.wrap { (body) } }
    };
    let tone = if answer.result.is_ok() { Notice::Good } else { Notice::Bad };
    notice(tone, &content)
}
