//! One list: who is on it, and removing people, renaming and deleting it. Adding people is in
//! [`super::list_people`].

use maud::{Markup, html};
use sms_core::Error;
use sms_core::contact::Contact;
use sms_core::ids::{ContactId, ListId};
use sms_core::list::ContactList;
use sms_core::page::Page as Items;
use sms_core::version::Versioned;

use super::contact_table::{called, contact_cells};
use super::list_form::ListForm;
use crate::format::counted;
use crate::meanwhile::{Edited, Shown, joined};
use crate::part::button::{Kind, link, opens, submit};
use crate::part::code::as_request;
use crate::part::dialog::{Question, confirm};
use crate::part::form::{FormShell, form, problems_of};
use crate::part::head::head;
use crate::part::pager::{page_request, pager};
use crate::part::state::empty;
use crate::part::table::{column, table, unlabelled};
use crate::place::{Place, account};
use crate::reply::{Outcome, Page, Reply, Trouble};
use crate::said::Said;
use crate::visit::AccountVisit;

const LISTS: &str = "/console/lists";

pub(crate) fn places() -> Vec<Place> {
    vec![
        Place::get("/console/lists/{id}", account(show)),
        Place::get("/console/lists/{id}/edit", account(edit)),
        Place::post("/console/lists/{id}/edit", account(update)),
        Place::post("/console/lists/{id}/delete", account(delete)),
        Place::post("/console/lists/{id}/remove", account(remove)),
    ]
}

fn address(id: ListId) -> String {
    format!("{LISTS}/{id}")
}

async fn show(visit: AccountVisit) -> Outcome {
    let id = visit.params.id()?;
    let list = visit.handle().list_get(id).await?;
    let people = visit.handle().list_contacts(id, page_request(&visit)).await?;
    let pages = pager(&visit, people.next);
    let path = format!("/v1/lists/{id}/contacts");
    let content = html! {
        (list_head(&list))
        (members(id, &people, &pages, visit.csrf()))
        (as_request(&visit.desk.public_url, "GET", &path, None))
        (deletion(&list, visit.csrf()))
    };
    Ok(Page::new(list.name, content).into())
}

fn list_head(list: &ContactList) -> Markup {
    let path = address(list.id);
    let lead = html! {
        (counted(list.contact_count, "contact"))
        @if let Some(about) = &list.description { ". " (about) }
    };
    let actions = html! {
        (link("Write to this list", format!("/console/compose?list={}", list.id))
            .kind(Kind::Main))
        (link("Add people", format!("{path}/people")))
        (link("Rename", format!("{path}/edit")))
        (opens("Delete", "delete").kind(Kind::Danger))
    };
    html! { (head(&list.name).back("Lists", LISTS).lead(lead).actions(actions)) }
}

fn members(id: ListId, people: &Items<Contact>, pages: &Markup, csrf: &str) -> Markup {
    if people.items.is_empty() {
        let text = html! { "Add numbers, or import an Excel or CSV file into it." };
        let import = format!("/console/contacts/import?list={id}");
        let action = html! { (link("Import a file", import)) };
        return empty("Nobody is on this list", &text, Some(&action));
    }
    let columns =
        [column("Name"), column("Number"), column("Email"), column("Texts"), unlabelled("Actions")];
    let rows = table("Contacts on this list", columns, &people.items, |contact| {
        let [name, number, email, texts] = contact_cells(contact);
        [name, number, email, texts, removal(id, contact, csrf)]
    });
    html! { (rows) (pages) }
}

fn removal(id: ListId, contact: &Contact, csrf: &str) -> Markup {
    let label = format!("Remove {} from the list", called(contact));
    html! {
        form.actions method="post" action={ (address(id)) "/remove" } {
            input type="hidden" name="csrf" value=(csrf);
            input type="hidden" name="contact" value=(contact.id);
            (submit("Remove").kind(Kind::Quiet).small().label(label))
        }
    }
}

fn deletion(list: &ContactList, csrf: &str) -> Markup {
    confirm(&Question {
        id: "delete",
        title: &format!("Delete the list “{}”?", list.name),
        text: html! { p { "Its contacts stay in the address book." } },
        action: "Delete the list",
        kind: Kind::Danger,
        to: &format!("{}/delete", address(list.id)),
        csrf,
        sent: &[],
    })
}

async fn edit(visit: AccountVisit) -> Outcome {
    let list = visit.handle().list_get(visit.params.id()?).await?;
    let page = edit_view(&list, visit.csrf(), &Shown::first(ListForm::of(&list)));
    Ok(Page::new("Rename the list", page).into())
}

async fn update(visit: AccountVisit) -> Outcome {
    let id = visit.params.id()?;
    let form = visit.form().await?;
    let list = visit.handle().list_get(id).await?;
    let (sent, now) = (ListForm::sent(&form), ListForm::of(&list));
    let shown = match joined(&form, &now) {
        Ok(joined) => {
            match visit.handle().list_update(id, joined.change().if_version(list.version())).await {
                Ok(_) => return Ok(Reply::moved(address(id)).saying(Said::Saved)),
                Err(error @ Error::NotFound(_)) => return Err(error.into()),
                Err(error) => Shown::again(sent, &form, problems_of(&error, &ListForm::SHOWN)),
            }
        }
        Err(clashing) => Shown::clashing(clashing, &now, list.updated_at, None).await?,
    };
    let page = edit_view(&list, visit.csrf(), &shown);
    Ok(Reply::Again(Page::new("Rename the list", page)))
}

fn edit_view(list: &ContactList, csrf: &str, shown: &Shown<ListForm>) -> Markup {
    let path = address(list.id);
    let buttons = [link("Go back", &path), submit("Save").kind(Kind::Main)];
    let shell = FormShell {
        label: "Rename the list",
        to: &format!("{path}/edit"),
        csrf,
        problems: shown.problems.clone(),
        fields: html! { (shown.hidden()) (shown.form.fields(&shown.troubles)) },
        buttons: &buttons,
    };
    html! {
        (head("Rename the list").back(&list.name, &path))
        (form(&shell))
    }
}

async fn delete(visit: AccountVisit) -> Outcome {
    let outcome = visit.handle().list_delete(visit.params.id()?).await;
    Reply::deleted(outcome, LISTS, Said::ListDeleted, Said::DeletedAlready)
}

async fn remove(visit: AccountVisit) -> Outcome {
    let id = visit.params.id()?;
    let form = visit.form().await?;
    let contact: ContactId =
        form.text("contact").parse().map_err(|_| Trouble::BadForm("a contact"))?;
    visit.handle().list_remove(id, contact).await?;
    Ok(Reply::moved(address(id)))
}
