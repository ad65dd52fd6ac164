//! Opt-outs: numbers that must not be texted.

use maud::{Markup, html};
use sms_core::opt_out::{MAX_NOTE, OptOut, OptOutSource, Via};
use sms_core::page::{Limit, OffsetPage, OffsetRequest};
use sms_core::phone::parse_any;

use crate::form::FieldTroubles;
use crate::format::{number, time};
use crate::key::{key_again, key_of, new_key};
use crate::part::button::{Kind, link, opens, submit};
use crate::part::code::as_request;
use crate::part::dialog::{Question, confirm};
use crate::part::field::Field;
use crate::part::filters::filters;
use crate::part::form::{FormShell, form, problems_of};
use crate::part::head::head;
use crate::part::state::empty;
use crate::part::table::{column, table, unlabelled};
use crate::place::{Place, account};
use crate::query::Query;
use crate::reply::{Outcome, Page, Reply, Trouble};
use crate::said::Said;
use crate::visit::{AccountVisit, Visit};

const PATH: &str = "/console/opt-outs";
const NEW: &str = "/console/opt-outs/new";
const DELETE: &str = "/console/opt-outs/delete";
const ADD: &str = "Add an opt-out";
const SHOWN: [&str; 2] = ["phone", "note"];

pub(crate) fn places() -> Vec<Place> {
    vec![
        Place::get(PATH, account(list)),
        Place::get(NEW, account(new)),
        Place::post(NEW, account(create)),
        Place::post(DELETE, account(delete)),
    ]
}

async fn list(visit: AccountVisit) -> Outcome {
    let q = visit.query("q");
    let offset = visit.query("offset").and_then(|offset| offset.parse().ok()).unwrap_or_default();
    let wanted = OffsetRequest { limit: Limit::default(), offset };
    let opt_outs = visit.handle().opt_out_list(q, wanted).await?;
    let search = Field::search("q", "Number or note").class("field-grow").value(q.unwrap_or(""));
    let actions = html! {
        (link("Import from a file", "/console/opt-outs/import"))
        (link("Add a number", NEW).kind(Kind::Main))
    };
    let path = Query::default().address("/v1/opt-outs", "q", q);
    let lead = "These numbers never get a message from you.";
    let content = html! {
        (head("Opt-outs").lead(lead).actions(actions))
        (filters("Search opt-outs", PATH, &html! { (search) }))
        div #opt-outs data-live="30" data-on="opt_out message.received" {
            (found(&visit, wanted, &opt_outs))
            (as_request(&visit.desk.public_url, "GET", &path, None))
        }
    };
    Ok(Page::new("Opt-outs", content).into())
}

fn found(visit: &Visit, wanted: OffsetRequest, opt_outs: &OffsetPage<OptOut>) -> Markup {
    if !opt_outs.items.is_empty() {
        let pages = pager(visit, wanted, opt_outs.total);
        return html! { (rows(&opt_outs.items, visit.csrf())) (pages) };
    }
    if visit.query("q").is_some() || wanted.offset > 0 {
        return empty("Nothing found", &html! { "No opt-out matches." }, None);
    }
    empty("Nobody has opted out", &html! { "People who text STOP appear here." }, None)
}

/// Opt-outs are paged by position.
fn pager(visit: &Visit, wanted: OffsetRequest, total: u64) -> Markup {
    let OffsetRequest { limit, offset } = wanted;
    let size = u64::try_from(limit.get()).unwrap_or(u64::MAX);
    let to = |offset: Option<u64>| {
        let offset = offset.map(|offset| offset.to_string());
        visit.queries().address(PATH, "offset", offset.as_deref())
    };
    let after = offset.saturating_add(size);
    html! {
        @if offset > 0 || after < total {
            nav.pager aria-label="Pages of the list" {
                @if offset > 0 { (link("Newest", to(None))) }
                @if after < total { (link("Older", to(Some(after)))) }
            }
        }
    }
}

fn rows(opt_outs: &[OptOut], csrf: &str) -> Markup {
    let columns =
        [column("Number"), column("Why"), column("Note"), column("Since"), unlabelled("Actions")];
    table("Opt-outs", columns, opt_outs, |opt_out| {
        [
            html! { strong.number { (number(opt_out.phone)) } },
            html! { (why(opt_out.source)) },
            html! { (opt_out.note.as_deref().unwrap_or("–")) },
            time(opt_out.created_at),
            removal(opt_out, csrf),
        ]
    })
}

fn why(source: OptOutSource) -> &'static str {
    match source {
        OptOutSource::Sms => "They texted STOP",
        OptOutSource::Api => "Added by your program",
        OptOutSource::Dashboard => "Added here",
    }
}

fn removal(opt_out: &OptOut, csrf: &str) -> Markup {
    let (e164, shown) = (opt_out.phone.to_string(), number(opt_out.phone));
    let dialog = format!("remove-{}", e164.trim_start_matches('+'));
    let remove = opens("Remove", &*dialog).small().kind(Kind::Danger);
    let question = Question {
        id: &dialog,
        title: &format!("Text {shown} again?"),
        text: html! { p { "Do this only if the person has asked to hear from you again." } },
        action: "They asked for it",
        kind: Kind::Danger,
        to: DELETE,
        csrf,
        sent: &[("phone", &e164)],
    };
    html! {
        div.actions { (remove.label(format!("Remove {shown}"))) }
        (confirm(&question))
    }
}

async fn new(visit: AccountVisit) -> Outcome {
    let typed = Typed { phone: "", note: "", key: &new_key() };
    Ok(typed.page(visit.csrf(), html! {}, &FieldTroubles::none()).into())
}

async fn create(visit: AccountVisit) -> Outcome {
    let form = visit.form().await?;
    let (phone, note) = (form.text("phone"), form.optional("note"));
    let handle = visit.handle().keyed(Some(key_of(&form)?));
    match handle.opt_out_create(phone, note.map(str::to_owned), Via::Dashboard).await {
        Ok(_) => Ok(Reply::moved(PATH).saying(Said::OptOutAdded)),
        Err(error) => {
            let (problems, troubles) = problems_of(&error, &SHOWN);
            let key = key_again(&form, &error);
            let typed = Typed { phone, note: note.unwrap_or_default(), key: &key };
            Ok(Reply::Again(typed.page(visit.csrf(), problems, &troubles)))
        }
    }
}

async fn delete(visit: AccountVisit) -> Outcome {
    let form = visit.form().await?;
    let phone = parse_any(form.text("phone")).map_err(|_| Trouble::NotFound)?;
    let outcome = visit.handle().opt_out_delete(phone).await;
    Reply::deleted(outcome, PATH, Said::OptOutRemoved, Said::OptOutRemovedAlready)
}

/// What the person has typed.
struct Typed<'a> {
    phone: &'a str,
    note: &'a str,
    key: &'a str,
}

impl Typed<'_> {
    fn page(&self, csrf: &str, problems: Markup, troubles: &FieldTroubles) -> Page {
        let phone = Field::tel("phone", "Mobile number").required().value(self.phone);
        let note = Field::text("note", "Note").optional().longest(MAX_NOTE).value(self.note);
        let fields = html! {
            input type="hidden" name="key" value=(self.key);
            (phone.trouble(troubles.get("phone")))
            (note.trouble(troubles.get("note")))
        };
        let buttons = [link("Go back", PATH), submit("Never text this number").kind(Kind::Main)];
        let shell = FormShell { label: ADD, to: NEW, csrf, problems, fields, buttons: &buttons };
        let content = html! { (head(ADD).back("Opt-outs", PATH)) (form(&shell)) };
        Page::new(ADD, content)
    }
}
