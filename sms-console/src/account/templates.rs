//! Templates: texts that are saved under a name.

use maud::{Markup, html};
use sms_core::message::Body;
use sms_core::page::Page as ListPage;
use sms_core::template::{
    BODY_CHARACTERS, NAME_CHARACTERS, Template, TemplateChange, TemplateInput,
};
use sms_core::version::Versioned;

use crate::form::Form;
use crate::format::time;
use crate::key::{key_again, key_of, new_key};
use crate::meanwhile::{Edited, Shown, Values, joined};
use crate::part::button::{Kind, link, opens, submit};
use crate::part::code::as_request;
use crate::part::dialog::{Question, confirm};
use crate::part::field::Field;
use crate::part::filters::filters;
use crate::part::form::{FormShell, form, problems_of};
use crate::part::head::head;
use crate::part::pager::{nothing_so_far, page_request, pager};
use crate::part::state::empty;
use crate::part::table::{column, table, unlabelled};
use crate::place::{Place, account};
use crate::query::Query;
use crate::reply::{Outcome, Page, Reply, Trouble};
use crate::said::Said;
use crate::visit::{AccountVisit, Visit};

const PATH: &str = "/console/templates";
const NEW: &str = "/console/templates/new";
const ONE: &str = "/console/templates/{id}";
const DELETE: &str = "/console/templates/{id}/delete";
const SHOWN: [&str; 2] = ["name", "body"];

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
    let q = visit.query("q");
    let templates = visit.handle().template_list(q, page_request(&visit)).await?;
    let search = Field::search("q", "Name or words").class("field-grow").value(q.unwrap_or(""));
    let add = link("Add a template", NEW).kind(Kind::Main);
    let path = Query::default().address("/v1/templates", "q", q);
    let content = html! {
        (head("Templates").actions(html! { (add) }))
        (filters("Search templates", PATH, &html! { (search) }))
        div #templates data-live="30" {
            (found(&visit, &templates))
            (as_request(&visit.desk.public_url, "GET", &path, None))
        }
    };
    Ok(Page::new("Templates", content).into())
}

fn found(visit: &Visit, templates: &ListPage<Template>) -> Markup {
    if !templates.items.is_empty() {
        return html! { (rows(&templates.items, visit.csrf())) (pager(visit, templates.next)) };
    }
    if let Some(next) = templates.next {
        return nothing_so_far(visit, next);
    }
    if visit.query("q").is_some() {
        return empty("Nothing found", &html! { "No template matches." }, None);
    }
    let text = html! { "Save texts here that you send often." };
    empty("No templates yet", &text, None)
}

fn rows(templates: &[Template], csrf: &str) -> Markup {
    let columns = [column("Name"), column("Text"), column("Changed"), unlabelled("Actions")];
    table("Templates", columns, templates, |template| {
        [
            html! { strong { (template.name) } },
            html! { span.snippet { (template.body.as_str()) } },
            time(template.updated_at),
            actions(template, csrf),
        ]
    })
}

fn actions(template: &Template, csrf: &str) -> Markup {
    let Template { id, name, .. } = template;
    let used = link("Use", format!("/console/compose?template={id}")).small();
    let edited = link("Edit", format!("{PATH}/{id}")).small();
    let dialog = format!("delete-{id}");
    let deleted = opens("Delete", &*dialog).small().kind(Kind::Danger);
    let question = Question {
        id: &dialog,
        title: &format!("Delete “{name}”?"),
        text: html! { p { "Messages that used it stay as they are." } },
        action: "Delete the template",
        kind: Kind::Danger,
        to: &format!("{PATH}/{id}/delete"),
        csrf,
        sent: &[],
    };
    html! {
        div.actions {
            (used.label(format!("Use {name}")))
            (edited.label(format!("Edit {name}")))
            (deleted.label(format!("Delete {name}")))
        }
        (confirm(&question))
    }
}

/// What the person has typed, or what the template is.
#[derive(Debug, Default)]
struct Typed {
    name: String,
    body: String,
}

impl Typed {
    fn of(template: Template) -> Self {
        Self { name: template.name, body: template.body.as_str().to_owned() }
    }
}

impl Edited for Typed {
    fn values(&self) -> Values {
        Values::default().with("name", &*self.name).with("body", &*self.body)
    }

    fn sent(form: &Form) -> Self {
        Self { name: form.text("name").to_owned(), body: form.body("body") }
    }
}

/// The page on which a template is made or changed.
struct Editor<'a> {
    title: &'a str,
    to: &'a str,
    action: &'a str,
    csrf: &'a str,
    /// The idempotency key of a new template.
    key: Option<&'a str>,
}

impl Editor<'_> {
    fn page(&self, shown: Shown<Typed>) -> Page {
        let Self { title, to, action, csrf, key } = *self;
        let was = shown.hidden();
        let Shown { form: typed, problems, troubles, .. } = shown;
        let name = Field::text("name", "Name").required().longest(*NAME_CHARACTERS.end());
        let body = Field::text_area("body", "Text", 6).required().hint(
            "{first_name}, {last_name}, {full_name}, {phone}, {email} and custom fields are \
             filled in for each person.",
        );
        let fields = html! {
            @if let Some(key) = key { input type="hidden" name="key" value=(key); }
            (was)
            (name.value(&*typed.name).trouble(troubles.get("name")))
            (body.longest(*BODY_CHARACTERS.end()).value(&*typed.body).trouble(troubles.get("body")))
        };
        let buttons = [link("Go back", PATH), submit(action).kind(Kind::Main)];
        let shell = FormShell { label: title, to, csrf, problems, fields, buttons: &buttons };
        let content = html! { (head(title).back("Templates", PATH)) (form(&shell)) };
        Page::new(title, content)
    }

    fn again(&self, form: &Form, error: &sms_core::Error) -> Reply {
        let problems = problems_of(error, &SHOWN);
        Reply::Again(self.page(Shown::again(Typed::sent(form), form, problems)))
    }
}

fn adding<'a>(visit: &'a Visit, key: &'a str) -> Editor<'a> {
    let action = "Add the template";
    Editor { title: "Add a template", to: NEW, action, csrf: visit.csrf(), key: Some(key) }
}

fn changing<'a>(visit: &'a Visit, to: &'a str) -> Editor<'a> {
    Editor { title: "Edit the template", to, action: "Save", csrf: visit.csrf(), key: None }
}

async fn new(visit: AccountVisit) -> Outcome {
    Ok(adding(&visit, &new_key()).page(Shown::first(Typed::default())).into())
}

async fn create(visit: AccountVisit) -> Outcome {
    let form = visit.form().await?;
    let (key, typed) = (key_of(&form)?, Typed::sent(&form));
    let input = TemplateInput::new(&*typed.name, &*typed.body);
    match visit.handle().keyed(Some(key)).template_create(input).await {
        Ok(_) => Ok(Reply::moved(PATH).saying(Said::TemplateSaved)),
        Err(error) => Ok(adding(&visit, &key_again(&form, &error)).again(&form, &error)),
    }
}

async fn edit(visit: AccountVisit) -> Outcome {
    let template = visit.handle().template_get(visit.params.id()?).await?;
    let editor = changing(&visit, visit.uri.path());
    Ok(editor.page(Shown::first(Typed::of(template))).into())
}

async fn update(visit: AccountVisit) -> Outcome {
    let (id, form) = (visit.params.id()?, visit.form().await?);
    let editor = changing(&visit, visit.uri.path());
    let template = visit.handle().template_get(id).await?;
    let (saved_at, version) = (template.updated_at, template.version());
    let now = Typed::of(template);
    let Typed { name, body } = match joined(&form, &now) {
        Ok(joined) => joined,
        Err(clashing) => {
            let shown = Shown::clashing(clashing, &now, saved_at, None).await?;
            return Ok(Reply::Again(editor.page(shown)));
        }
    };
    let change = TemplateChange {
        name: Some(name),
        body: Some(Body::new(&*body)),
        if_version: version.into(),
    };
    match visit.handle().template_update(id, change).await {
        Ok(_) => Ok(Reply::moved(PATH).saying(Said::TemplateSaved)),
        Err(sms_core::Error::NotFound(_)) => Err(Trouble::NotFound),
        Err(error) => Ok(editor.again(&form, &error)),
    }
}

async fn delete(visit: AccountVisit) -> Outcome {
    let outcome = visit.handle().template_delete(visit.params.id()?).await;
    Reply::deleted(outcome, PATH, Said::TemplateDeleted, Said::DeletedAlready)
}
