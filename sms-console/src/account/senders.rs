//! Sender names, and where their review stands.

use maud::{Markup, html};
use sms_core::sender_name::{MAX_REMARK, SenderName, VALUE_CHARACTERS};

use crate::form::FieldTroubles;
use crate::format::{time, time_or};
use crate::key::{key_again, key_of, new_key};
use crate::part::badge::status_badge;
use crate::part::button::{Kind, link, submit};
use crate::part::code::as_request;
use crate::part::field::Field;
use crate::part::form::{FormShell, form, problems_of};
use crate::part::head::head;
use crate::part::state::empty;
use crate::part::table::{column, table};
use crate::place::{Place, account};
use crate::reply::{Outcome, Page, Reply};
use crate::said::Said;
use crate::visit::AccountVisit;

const PATH: &str = "/console/senders";
const NEW: &str = "/console/senders/new";
const ASK: &str = "Ask for a sender name";
const SHOWN: [&str; 2] = ["value", "purpose"];

pub(crate) fn places() -> Vec<Place> {
    vec![
        Place::get(PATH, account(list)),
        Place::get(NEW, account(new)),
        Place::post(NEW, account(create)),
    ]
}

async fn list(visit: AccountVisit) -> Outcome {
    let names = visit.handle().sender_name_list().await?;
    let ask = link("Ask for a name", NEW).kind(Kind::Main);
    let lead = "A new name is reviewed before it can be used.";
    let content = html! {
        (head("Sender names").lead(lead).actions(html! { (ask) }))
        div #senders data-live="30" {
            @if names.is_empty() {
                (empty("No sender names yet", &html! {
                    "People see a sender name instead of a number, and cannot reply to it."
                }, None))
            } @else {
                (rows(&names))
            }
        }
        (as_request(&visit.desk.public_url, "GET", "/v1/sender-ids", None))
    };
    Ok(Page::new("Sender names", content).into())
}

fn rows(names: &[SenderName]) -> Markup {
    let columns = [
        column("Name"),
        column("State"),
        column("For"),
        column("Reason"),
        column("Asked"),
        column("Reviewed"),
    ];
    table("Sender names", columns, names, |name| {
        [
            html! { strong { (name.value) } },
            status_badge(name.status.as_str()),
            html! { (name.purpose.as_deref().unwrap_or("–")) },
            html! { (name.reason.as_deref().unwrap_or("–")) },
            time(name.created_at),
            time_or(name.reviewed_at, "Not yet"),
        ]
    })
}

async fn new(visit: AccountVisit) -> Outcome {
    let typed = Typed { value: "", purpose: "", key: &new_key() };
    Ok(typed.page(visit.csrf(), html! {}, &FieldTroubles::none()).into())
}

async fn create(visit: AccountVisit) -> Outcome {
    let form = visit.form().await?;
    let (value, purpose) = (form.text("value"), form.body("purpose"));
    let purpose = purpose.trim();
    let given = Some(purpose.to_owned()).filter(|purpose| !purpose.is_empty());
    let handle = visit.handle().keyed(Some(key_of(&form)?));
    match handle.sender_name_create(value, given).await {
        Ok(_) => Ok(Reply::moved(PATH).saying(Said::SenderNameAsked)),
        Err(error) => {
            let (problems, troubles) = problems_of(&error, &SHOWN);
            let typed = Typed { value, purpose, key: &key_again(&form, &error) };
            Ok(Reply::Again(typed.page(visit.csrf(), problems, &troubles)))
        }
    }
}

/// What the person has typed.
struct Typed<'a> {
    value: &'a str,
    purpose: &'a str,
    key: &'a str,
}

impl Typed<'_> {
    fn page(&self, csrf: &str, problems: Markup, troubles: &FieldTroubles) -> Page {
        let value = Field::text("value", "Name").required().longest(*VALUE_CHARACTERS.end());
        let value = value.hint("3 to 11 letters, digits, spaces and & . _ -").value(self.value);
        let purpose = Field::text_area("purpose", "What you use it for", 4).required();
        let purpose = purpose.hint("It helps the reviewer.").longest(MAX_REMARK);
        let fields = html! {
            input type="hidden" name="key" value=(self.key);
            (value.trouble(troubles.get("value")))
            (purpose.value(self.purpose).trouble(troubles.get("purpose")))
        };
        let buttons = [link("Go back", PATH), submit("Ask for it").kind(Kind::Main)];
        let shell = FormShell { label: ASK, to: NEW, csrf, problems, fields, buttons: &buttons };
        let content = html! { (head(ASK).back("Sender names", PATH)) (form(&shell)) };
        Page::new(ASK, content)
    }
}
