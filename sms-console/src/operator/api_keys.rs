//! The API keys of an account: making one, which is shown once, and revoking one.

use maud::{Markup, html};
use sms_core::account::Mode;
use sms_core::account::api_key::{KeyRecord, prefix};
use sms_core::ids::ApiKeyId;
use sms_core::service::new_account::ApiKeyMade;
use sms_core::service::operator::MAX_NAME;

use super::account_address::{account_id, address};
use crate::form::{FieldTroubles, Form};
use crate::format::{time, time_or, worded};
use crate::key::{key_again, key_of, new_key};
use crate::part::badge::{Tone, badge};
use crate::part::button::{Kind, link, opens, submit};
use crate::part::dialog::{Question, confirm};
use crate::part::field::Field;
use crate::part::form::{FormShell, form, problems_of};
use crate::part::head::head;
use crate::part::notice::{Notice, notice};
use crate::part::state::empty;
use crate::part::table::{column, table, unlabelled};
use crate::place::{Place, operator};
use crate::reply::{Outcome, Page, Reply, Trouble};
use crate::said::Said;
use crate::visit::OperatorVisit;

const NEW: &str = "/console/operator/accounts/{id}/keys/new";
const REVOKE: &str = "/console/operator/accounts/{id}/keys/{key_id}/revoke";
const MAKE: &str = "Make an API key";
const SHOWN: [&str; 2] = ["kind", "name"];

pub(super) fn places() -> Vec<Place> {
    vec![
        Place::get(NEW, operator(new)),
        Place::post(NEW, operator(create)),
        Place::post(REVOKE, operator(revoke)),
    ]
}

/// The keys of the account whose page is at `path`.
pub(super) fn rows(keys: &[KeyRecord], path: &str, csrf: &str) -> Markup {
    if keys.is_empty() {
        let text = html! { "The account’s programs and people need a key." };
        return empty("No keys yet", &text, None);
    }
    let columns = [
        column("Name"),
        column("Kind"),
        column("Key"),
        column("Made"),
        column("Last used"),
        unlabelled("Actions"),
    ];
    table("API keys", columns, keys, |key| {
        let tone = if key.mode.is_test() { Tone::Warn } else { Tone::Good };
        [
            html! { strong { (key.name.as_deref().unwrap_or("No name")) } },
            badge(&worded(key.mode.as_str()), tone),
            html! { code { (prefix(key.mode)) "…" (key.last_four) } },
            time(key.created_at),
            time_or(key.last_used_at, "Never"),
            revocation(key, path, csrf),
        ]
    })
}

fn revocation(key: &KeyRecord, path: &str, csrf: &str) -> Markup {
    if key.revoked_at.is_some() {
        return badge("Revoked", Tone::Bad);
    }
    let name = key.name.as_deref().unwrap_or(&key.last_four);
    let dialog = format!("revoke-{}", key.id);
    let button = opens("Revoke", &*dialog).small().kind(Kind::Danger);
    let question = Question {
        id: &dialog,
        title: &format!("Revoke the key “{name}”?"),
        text: html! {
            p { "It stops working at once, and everybody signed in with it is signed out." }
        },
        action: "Revoke the key",
        kind: Kind::Danger,
        to: &format!("{path}/keys/{}/revoke", key.id),
        csrf,
        sent: &[],
    };
    html! {
        div.actions { (button.label(format!("Revoke {name}"))) }
        (confirm(&question))
    }
}

/// What the operator has typed.
struct Typed {
    mode: Mode,
    name: String,
}

impl Typed {
    fn sent(form: &Form) -> Result<Self, Trouble> {
        let mode = Mode::ALL.into_iter().find(|mode| mode.as_str() == form.text("kind"));
        let mode = mode.ok_or(Trouble::BadForm("a kind"))?;
        Ok(Self { mode, name: form.text("name").to_owned() })
    }

    fn page(
        &self,
        visit: &OperatorVisit,
        key: &str,
        problems: Markup,
        troubles: &FieldTroubles,
    ) -> Result<Page, Trouble> {
        let path = address(account_id(visit)?);
        let kinds =
            [("test", "Test: sends nothing, charges nothing"), ("live", "Live: sends and charges")];
        let kind = Field::select("kind", "Kind", kinds).value(self.mode.as_str());
        let name = Field::text("name", "Name").optional().longest(MAX_NAME).value(&*self.name);
        let fields = html! {
            input type="hidden" name="key" value=(key);
            (kind.trouble(troubles.get("kind")))
            (name.hint("What it is used for.").trouble(troubles.get("name")))
        };
        let buttons = [link("Go back", &*path), submit("Make the key").kind(Kind::Main)];
        let (to, csrf) = (format!("{path}/keys/new"), visit.csrf());
        let shell = FormShell { label: MAKE, to: &to, csrf, problems, fields, buttons: &buttons };
        let content = html! { (head(MAKE).back("The account", &path)) (form(&shell)) };
        Ok(Page::new(MAKE, content))
    }
}

async fn new(visit: OperatorVisit) -> Outcome {
    visit.operator().account_get(account_id(&visit)?).await?;
    let typed = Typed { mode: Mode::Test, name: String::new() };
    Ok(typed.page(&visit, &new_key(), html! {}, &FieldTroubles::none())?.into())
}

async fn create(visit: OperatorVisit) -> Outcome {
    let (id, form) = (account_id(&visit)?, visit.form().await?);
    let (key, typed) = (key_of(&form)?, Typed::sent(&form)?);
    let name = form.optional("name").map(str::to_owned);
    match visit.operator().keyed(Some(key)).api_key_create(id, typed.mode, name).await {
        Ok(made) => Ok(made_page(&made.value, &address(id)).into()),
        Err(sms_core::Error::NotFound(_)) => Err(Trouble::NotFound),
        Err(error) => {
            let (problems, troubles) = problems_of(&error, &SHOWN);
            let key = key_again(&form, &error);
            Ok(Reply::Again(typed.page(&visit, &key, problems, &troubles)?))
        }
    }
}

/// The only page that shows the key. A repetition of the form is answered with a note that it was
/// shown.
fn made_page(made: &ApiKeyMade, path: &str) -> Page {
    let content = match made {
        ApiKeyMade::Now(made) => html! {
            (notice(Notice::Warn, &html! { p { "Copy it now: it is shown only once." } }))
            div.code {
                pre tabindex="0" role="group" aria-label="API key" { code { (made.key.reveal()) } }
            }
            div.actions { (link("I have copied it", path).kind(Kind::Main)) }
        },
        ApiKeyMade::Earlier(record) => html! {
            (notice(Notice::Warn, &html! {
                p {
                    "The key …" (record.last_four) " was made, and has been shown already. "
                    "If you have not copied it, revoke it and create another."
                }
            }))
            div.actions { (link("Back to the account", path).kind(Kind::Main)) }
        },
    };
    let title = "The new key";
    Page::new(title, html! { (head(title).back("The account", path)) div.stack { (content) } })
}

async fn revoke(visit: OperatorVisit) -> Outcome {
    let id = account_id(&visit)?;
    let key: ApiKeyId = visit.params.get("key_id").parse().map_err(|_| Trouble::NotFound)?;
    visit.operator().api_key_revoke(id, key).await?;
    Ok(Reply::moved(address(id)).saying(Said::ApiKeyRevoked))
}
