//! Keywords: the first word of a message that answers by itself and adds the sender to a list.

use maud::{Markup, html};
use sms_core::ids::ListId;
use sms_core::keyword::{Keyword, Listening};
use sms_core::list::ContactList;
use sms_core::message::Body;
use sms_core::version::Versioned;

use super::keyword_form::{KeywordForm, SHOWN};
use super::list_choice::every_list_and;
use crate::form::Form;
use crate::format::{time_or, whole};
use crate::key::{key_again, key_of, new_key};
use crate::meanwhile::{Edited, Shown, joined};
use crate::part::badge::{Tone, badge};
use crate::part::button::{Kind, link, opens, submit};
use crate::part::code::as_request;
use crate::part::dialog::{Question, confirm};
use crate::part::form::{FormShell, form, problems_of};
use crate::part::head::head;
use crate::part::pager::{page_request, pager};
use crate::part::state::empty;
use crate::part::table::{column, right, table, unlabelled};
use crate::place::{Place, account};
use crate::reply::{Outcome, Page, Reply, Trouble};
use crate::said::Said;
use crate::visit::{AccountVisit, Visit};

const PATH: &str = "/console/keywords";
const NEW: &str = "/console/keywords/new";
const ONE: &str = "/console/keywords/{id}";
const DELETE: &str = "/console/keywords/{id}/delete";

pub(crate) fn places() -> Vec<Place> {
    vec![
        Place::get(PATH, account(list)),
        Place::get(NEW, account(new)),
        Place::post(NEW, account(create)),
        Place::get(ONE, account(edit)),
        Place::post(ONE, account(update)),
        Place::post(DELETE, account(delete)),
    ]
}

async fn list(visit: AccountVisit) -> Outcome {
    let keywords = visit.handle().keyword_list(page_request(&visit)).await?;
    let named = keywords.items.iter().filter_map(|keyword| keyword.add_to_list_id);
    let named: Vec<ListId> = named.collect();
    let lists = every_list_and(visit.handle(), &named).await?;
    let add = link("Add a keyword", NEW).kind(Kind::Main);
    let content = html! {
        (head("Keywords").actions(html! { (add) }))
        @if keywords.items.is_empty() {
            (empty("No keywords yet", &html! {
                "Somebody texts MENU, and gets the menu. STOP and START work by themselves."
            }, None))
        } @else {
            (rows(&keywords.items, &lists, visit.csrf()))
            (pager(&visit, keywords.next))
        }
        (as_request(&visit.desk.public_url, "GET", "/v1/keywords", None))
    };
    Ok(Page::new("Keywords", content).into())
}

fn rows(keywords: &[Keyword], lists: &[ContactList], csrf: &str) -> Markup {
    let columns = [
        column("Keyword"),
        column("Reply"),
        column("Adds to"),
        right("Used"),
        column("Last used"),
        unlabelled("Actions"),
    ];
    table("Keywords", columns, keywords, |keyword| {
        let list = lists.iter().find(|list| Some(list.id) == keyword.add_to_list_id);
        [
            html! {
                span {
                    strong { (keyword.word) }
                    @if keyword.listening == Listening::Off { " " (badge("Off", Tone::Warn)) }
                }
            },
            html! {
                span.snippet { (keyword.reply.as_ref().map_or("No reply", Body::as_str)) }
            },
            html! { (list.map_or("–", |list| &list.name)) },
            html! { (whole(keyword.match_count)) },
            time_or(keyword.last_matched_at, "Never"),
            actions(keyword, csrf),
        ]
    })
}

fn actions(keyword: &Keyword, csrf: &str) -> Markup {
    let Keyword { id, word, .. } = keyword;
    let dialog = format!("delete-{id}");
    let edited = link("Edit", format!("{PATH}/{id}")).small().label(format!("Edit {word}"));
    let deleted = opens("Delete", &*dialog).small().kind(Kind::Danger);
    let question = Question {
        id: &dialog,
        title: &format!("Delete the keyword {word}?"),
        text: html! { p { "People who text it get no more replies." } },
        action: "Delete the keyword",
        kind: Kind::Danger,
        to: &format!("{PATH}/{id}/delete"),
        csrf,
        sent: &[],
    };
    html! {
        div.actions { (edited) (deleted.label(format!("Delete {word}"))) }
        (confirm(&question))
    }
}

/// The page on which a keyword is made or changed.
struct Editor<'a> {
    title: &'a str,
    to: &'a str,
    action: &'a str,
    csrf: &'a str,
    /// The idempotency key of a new keyword.
    key: Option<&'a str>,
}

impl Editor<'_> {
    async fn page(&self, visit: &AccountVisit, shown: Shown<KeywordForm>) -> Result<Page, Trouble> {
        let Self { title, to, action, csrf, key } = *self;
        let lists = every_list_and(visit.handle(), shown.form.list().as_slice()).await?;
        let fields = html! {
            @if let Some(key) = key { input type="hidden" name="key" value=(key); }
            (shown.hidden())
            (shown.form.fields(&lists, &shown.troubles))
        };
        let problems = shown.problems;
        let buttons = [link("Go back", PATH), submit(action).kind(Kind::Main)];
        let shell = FormShell { label: title, to, csrf, problems, fields, buttons: &buttons };
        let content = html! { (head(title).back("Keywords", PATH)) (form(&shell)) };
        Ok(Page::new(title, content))
    }

    async fn again(&self, visit: &AccountVisit, form: &Form, error: &sms_core::Error) -> Outcome {
        let shown = Shown::again(KeywordForm::sent(form), form, problems_of(error, &SHOWN));
        Ok(Reply::Again(self.page(visit, shown).await?))
    }
}

fn adding<'a>(visit: &'a Visit, key: &'a str) -> Editor<'a> {
    let action = "Add the keyword";
    Editor { title: "Add a keyword", to: NEW, action, csrf: visit.csrf(), key: Some(key) }
}

fn changing(visit: &Visit) -> Editor<'_> {
    let to = visit.uri.path();
    Editor { title: "Edit the keyword", to, action: "Save", csrf: visit.csrf(), key: None }
}

async fn new(visit: AccountVisit) -> Outcome {
    let (key, shown) = (new_key(), Shown::first(KeywordForm::default()));
    Ok(adding(&visit, &key).page(&visit, shown).await?.into())
}

async fn create(visit: AccountVisit) -> Outcome {
    let form = visit.form().await?;
    let (key, typed) = (key_of(&form)?, KeywordForm::sent(&form));
    match visit.handle().keyed(Some(key)).keyword_create(typed.input()).await {
        Ok(_) => Ok(Reply::moved(PATH).saying(Said::KeywordSaved)),
        Err(error) => {
            let key = key_again(&form, &error);
            adding(&visit, &key).again(&visit, &form, &error).await
        }
    }
}

async fn edit(visit: AccountVisit) -> Outcome {
    let keyword = visit.handle().keyword_get(visit.params.id()?).await?;
    let shown = Shown::first(KeywordForm::of(&keyword));
    Ok(changing(&visit).page(&visit, shown).await?.into())
}

async fn update(visit: AccountVisit) -> Outcome {
    let (id, form) = (visit.params.id()?, visit.form().await?);
    let keyword = visit.handle().keyword_get(id).await?;
    let now = KeywordForm::of(&keyword);
    let saved = match joined(&form, &now) {
        Ok(joined) => {
            let patch = joined.patch().if_version(keyword.version());
            visit.handle().keyword_update(id, patch).await
        }
        Err(clashing) => {
            let (at, handle) = (keyword.updated_at, Some(visit.handle()));
            let shown = Shown::clashing(clashing, &now, at, handle).await?;
            return Ok(Reply::Again(changing(&visit).page(&visit, shown).await?));
        }
    };
    match saved {
        Ok(_) => Ok(Reply::moved(PATH).saying(Said::KeywordSaved)),
        Err(sms_core::Error::NotFound(_)) => Err(Trouble::NotFound),
        Err(error) => changing(&visit).again(&visit, &form, &error).await,
    }
}

async fn delete(visit: AccountVisit) -> Outcome {
    let outcome = visit.handle().keyword_delete(visit.params.id()?).await;
    Reply::deleted(outcome, PATH, Said::KeywordDeleted, Said::DeletedAlready)
}
