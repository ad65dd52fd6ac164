//! The lists of contacts, and making one.

use maud::{Markup, html};
use sms_core::list::ContactList;

use super::list_form::ListForm;
use crate::form::FieldTroubles;
use crate::format::{time, whole};
use crate::key::{key_again, key_of, new_key};
use crate::meanwhile::Edited;
use crate::part::button::{Kind, link, submit};
use crate::part::code::as_request;
use crate::part::form::{FormShell, form, problems_of};
use crate::part::head::head;
use crate::part::pager::{page_request, pager};
use crate::part::state::empty;
use crate::part::table::{column, right, table};
use crate::place::{Place, account};
use crate::reply::{Outcome, Page, Reply};
use crate::said::Said;
use crate::visit::AccountVisit;

const PATH: &str = "/console/lists";
const NEW: &str = "/console/lists/new";

pub(crate) fn places() -> Vec<Place> {
    vec![
        Place::get(PATH, account(list)),
        Place::get(NEW, account(new)),
        Place::post(NEW, account(create)),
    ]
}

async fn list(visit: AccountVisit) -> Outcome {
    let lists = visit.handle().list_list(page_request(&visit)).await?;
    let content = html! {
        (head("Lists").actions(html! { (link("Make a list", NEW).kind(Kind::Main)) }))
        @if lists.items.is_empty() {
            (empty("No lists yet", &html! {
                "A list holds the people that a campaign goes to."
            }, None))
        } @else {
            (rows(&lists.items))
            (pager(&visit, lists.next))
        }
        (as_request(&visit.desk.public_url, "GET", "/v1/lists", None))
    };
    Ok(Page::new("Lists", content).into())
}

fn rows(lists: &[ContactList]) -> Markup {
    let columns = [column("Name"), column("About"), right("Contacts"), right("Changed")];
    table("Lists", columns, lists, |list| {
        [
            html! { a.row-link href={ (PATH) "/" (list.id) } { (list.name) } },
            html! { (list.description.as_deref().unwrap_or("–")) },
            html! { (whole(list.contact_count)) },
            time(list.updated_at),
        ]
    })
}

async fn new(visit: AccountVisit) -> Outcome {
    let (shown, troubles) = (ListForm::default(), FieldTroubles::none());
    let content = new_view(visit.csrf(), &shown, &new_key(), html! {}, &troubles);
    Ok(Page::new("Make a list", content).into())
}

async fn create(visit: AccountVisit) -> Outcome {
    let form = visit.form().await?;
    let key = key_of(&form)?;
    let sent = ListForm::sent(&form);
    match visit.handle().keyed(Some(key)).list_create(sent.clone().input()).await {
        Ok(made) => {
            let list = format!("{PATH}/{}", made.value.id);
            Ok(Reply::moved(list).saying(Said::ListMade))
        }
        Err(error) => {
            let (problems, troubles) = problems_of(&error, &ListForm::SHOWN);
            let content =
                new_view(visit.csrf(), &sent, &key_again(&form, &error), problems, &troubles);
            Ok(Reply::Again(Page::new("Make a list", content)))
        }
    }
}

fn new_view(
    csrf: &str,
    shown: &ListForm,
    key: &str,
    problems: Markup,
    troubles: &FieldTroubles,
) -> Markup {
    let fields = html! {
        input type="hidden" name="key" value=(key);
        (shown.fields(troubles))
    };
    let buttons = [link("Go back", PATH), submit("Make the list").kind(Kind::Main)];
    let shell =
        FormShell { label: "Make a list", to: NEW, csrf, problems, fields, buttons: &buttons };
    html! {
        (head("Make a list").back("Lists", PATH))
        (form(&shell))
    }
}
