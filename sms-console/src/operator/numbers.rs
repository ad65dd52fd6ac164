//! The numbers, whose they are, and whether their gateways are online.

use maud::{Markup, html};
use sms_core::account::Account;
use sms_core::number::Number;
use sms_core::time::Timestamp;

use super::account_address::address;
use super::account_choice::every_account;
use super::number_form::NumberForm;
use crate::form::FieldTroubles;
use crate::format::{credits, number as written, time, whole};
use crate::key::{key_again, key_of, new_key};
use crate::part::badge::{Tone, badge};
use crate::part::button::{Kind, link, opens, submit};
use crate::part::dialog::{Question, confirm};
use crate::part::form::{FormShell, form, problems, problems_of};
use crate::part::head::head;
use crate::part::state::empty;
use crate::part::table::{column, table, unlabelled};
use crate::place::{Place, operator};
use crate::reply::{Outcome, Page, Reply, Trouble};
use crate::said::Said;
use crate::visit::{OperatorVisit, Visit};

const PATH: &str = "/console/operator/numbers";
const NEW: &str = "/console/operator/numbers/new";
const CHECK_IN: &str = "/console/operator/numbers/{id}/check-in";
const RELEASE: &str = "/console/operator/numbers/{id}/release";
const ADD: &str = "Add a number";

pub(super) fn places() -> Vec<Place> {
    vec![
        Place::get(PATH, operator(list)),
        Place::get(NEW, operator(new)),
        Place::post(NEW, operator(create)),
        Place::post(CHECK_IN, operator(check_in)),
        Place::post(RELEASE, operator(release)),
    ]
}

async fn list(visit: OperatorVisit) -> Outcome {
    let numbers = visit.operator().number_list().await?;
    let accounts = every_account(visit.operator()).await?;
    let add = link(ADD, NEW).kind(Kind::Main);
    let content = html! {
        (head("Numbers").actions(html! { (add) }))
        div #numbers data-live="10" {
            @if numbers.is_empty() {
                (empty("No numbers yet", &html! { "Messages are sent from a number." }, None))
            } @else {
                (rows(&visit, &numbers, &accounts))
            }
        }
    };
    Ok(Page::new("Numbers", content).into())
}

fn rows(visit: &Visit, numbers: &[Number], accounts: &[Account]) -> Markup {
    let columns = [
        column("Number"),
        column("Account"),
        column("Gateway"),
        column("Route"),
        column("Rent"),
        column("Assigned"),
        unlabelled("Actions"),
    ];
    let now = visit.now();
    table("Numbers", columns, numbers, |number| {
        [
            html! { strong.number { (written(number.phone)) } },
            holder(number, accounts),
            if number.is_online(now) {
                badge("Online", Tone::Good)
            } else {
                badge("Offline", Tone::Bad)
            },
            html! { @if let Some(route) = &number.route { (route) } @else { "The first" } },
            rent(number, now),
            time(number.assigned_at),
            actions(number, visit.csrf()),
        ]
    })
}

fn holder(number: &Number, accounts: &[Account]) -> Markup {
    let Some(id) = number.holder.account() else { return html! { "Shared" } };
    let account = accounts.iter().find(|account| account.id == id);
    let name = account.map_or_else(|| id.to_string(), |account| account.name.clone());
    html! { a href=(address(id)) { (name) } }
}

fn rent(number: &Number, now: Timestamp) -> Markup {
    match number.overdue(now) {
        Some(overdue) => badge(&format!("{} overdue", whole(overdue.credits.get())), Tone::Bad),
        None if number.rental_credits.get() > 0 => html! { (credits(number.rental_credits)) },
        None => html! { "Free" },
    }
}

fn actions(number: &Number, csrf: &str) -> Markup {
    let (id, shown) = (number.id, written(number.phone));
    let check_in = submit("Check in").small().label(format!("Check in {shown}"));
    let dialog = format!("release-{id}");
    let release = opens("Release", &*dialog).small().kind(Kind::Danger);
    let question = Question {
        id: &dialog,
        title: &format!("Release {shown}?"),
        text: html! { p {
            "No more messages are sent from it. For 30 days no other account can have it."
        } },
        action: "Release the number",
        kind: Kind::Danger,
        to: &format!("{PATH}/{id}/release"),
        csrf,
        sent: &[],
    };
    html! {
        div.actions {
            form method="post" action={ (PATH) "/" (id) "/check-in" } {
                input type="hidden" name="csrf" value=(csrf);
                (check_in)
            }
            (release.label(format!("Release {shown}")))
        }
        (confirm(&question))
    }
}

async fn new(visit: OperatorVisit) -> Outcome {
    let typed = NumberForm::default();
    Ok(page(&visit, &typed, &new_key(), html! {}, &FieldTroubles::none()).await?.into())
}

async fn page(
    visit: &OperatorVisit,
    typed: &NumberForm,
    key: &str,
    problems: Markup,
    troubles: &FieldTroubles,
) -> Result<Page, Trouble> {
    let accounts = every_account(visit.operator()).await?;
    let fields = html! {
        input type="hidden" name="key" value=(key);
        (typed.fields(&accounts, troubles))
    };
    let buttons = [link("Go back", PATH), submit("Add the number").kind(Kind::Main)];
    let (to, csrf) = (NEW, visit.csrf());
    let shell = FormShell { label: ADD, to, csrf, problems, fields, buttons: &buttons };
    let content = html! { (head(ADD).back("Numbers", PATH)) (form(&shell)) };
    Ok(Page::new(ADD, content))
}

async fn create(visit: OperatorVisit) -> Outcome {
    let form = visit.form().await?;
    let (key, mut typed) = (key_of(&form)?, NumberForm::sent(&form));
    let input = match typed.input() {
        Ok(input) => input,
        Err(troubles) => {
            let problems =
                problems("One field needs another value.", &troubles, &NumberForm::SHOWN);
            let page = page(&visit, &typed, key.as_str(), problems, &troubles).await?;
            return Ok(Reply::Again(page));
        }
    };
    match visit.operator().keyed(Some(key)).number_create(input).await {
        Ok(_) => Ok(Reply::moved(PATH).saying(Said::NumberAdded)),
        Err(error) => {
            let (problems, troubles) = problems_of(&error, &NumberForm::SHOWN);
            typed.note_refusal(&error);
            let key = key_again(&form, &error);
            Ok(Reply::Again(page(&visit, &typed, &key, problems, &troubles).await?))
        }
    }
}

async fn check_in(visit: OperatorVisit) -> Outcome {
    visit.operator().number_check_in(visit.params.id()?).await?;
    Ok(Reply::moved(PATH).saying(Said::NumberCheckedIn))
}

async fn release(visit: OperatorVisit) -> Outcome {
    let outcome = visit.operator().number_delete(visit.params.id()?).await;
    Reply::deleted(outcome, PATH, Said::NumberReleased, Said::NumberReleasedAlready)
}
