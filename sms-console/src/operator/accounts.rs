//! Every account: its state and its balance; and making one.

use maud::{Markup, html};
use sms_core::account::{Account, AccountStatus};
use sms_core::credits::Credits;
use sms_core::service::operator::{MAX_NAME, NewAccountInput};

use super::account_address::{ACCOUNTS, address};
use crate::form::{FieldTroubles, Form};
use crate::format::{time, whole};
use crate::key::{key_again, key_of, new_key};
use crate::part::badge::status_badge;
use crate::part::button::{Kind, link, submit};
use crate::part::field::Field;
use crate::part::form::{FormShell, form, problems, problems_of};
use crate::part::head::head;
use crate::part::pager::{page_request, pager};
use crate::part::state::empty;
use crate::part::table::{column, right, table};
use crate::place::{Place, operator};
use crate::reply::{Outcome, Page, Reply};
use crate::said::Said;
use crate::visit::OperatorVisit;

const NEW: &str = "/console/operator/accounts/new";
const ADD: &str = "Add an account";
const SHOWN: [&str; 3] = ["name", "status", "credits"];

pub(crate) fn places() -> Vec<Place> {
    vec![
        Place::get(ACCOUNTS, operator(list)),
        Place::get(NEW, operator(new)),
        Place::post(NEW, operator(create)),
    ]
}

async fn list(visit: OperatorVisit) -> Outcome {
    let accounts = visit.operator().account_list(page_request(&visit)).await?;
    let add = link(ADD, NEW).kind(Kind::Main);
    let content = html! {
        (head("Accounts").actions(html! { (add) }))
        div #accounts data-live="30" {
            @if accounts.items.is_empty() {
                (empty("No accounts yet", &html! {
                    "An account is a customer: its keys, credits and texts."
                }, None))
            } @else {
                (rows(&accounts.items))
                (pager(&visit, accounts.next))
            }
        }
    };
    Ok(Page::new("Accounts", content).into())
}

fn rows(accounts: &[Account]) -> Markup {
    let columns = [column("Name"), column("State"), right("Credits"), right("Made")];
    table("Accounts", columns, accounts, |account| {
        [
            html! { a.row-link href=(address(account.id)) { (account.name) } },
            status_badge(account.status.as_str()),
            html! { (whole(account.balance.get())) },
            time(account.created_at),
        ]
    })
}

/// What the operator has typed.
struct Typed {
    name: String,
    status: AccountStatus,
    credits: String,
}

impl Typed {
    fn sent(form: &Form) -> Self {
        let status = form.text("status").parse().unwrap_or(AccountStatus::Pending);
        let text = |name| form.text(name).to_owned();
        Self { name: text("name"), status, credits: text("credits") }
    }

    /// How many credits; `None` if it is no amount that an account can hold.
    fn credits(&self) -> Option<Credits> {
        let typed = if self.credits.is_empty() { "0" } else { &self.credits };
        typed.parse().ok().and_then(|amount| Credits::new(amount).ok())
    }

    fn page(&self, csrf: &str, key: &str, problems: Markup, troubles: &FieldTroubles) -> Page {
        let name = Field::text("name", "Name").required().longest(MAX_NAME).value(&*self.name);
        let states = [("pending", "Pending: test keys only"), ("active", "Active: may send")];
        let status = Field::select("status", "State", states).value(self.status.as_str());
        let credits = Field::input("credits", "Starting credits", "number").step("1");
        let fields = html! {
            input type="hidden" name="key" value=(key);
            (name.trouble(troubles.get("name")))
            (status.trouble(troubles.get("status")))
            (credits.value(&*self.credits).trouble(troubles.get("credits")))
        };
        let buttons = [link("Go back", ACCOUNTS), submit("Add the account").kind(Kind::Main)];
        let shell = FormShell { label: ADD, to: NEW, csrf, problems, fields, buttons: &buttons };
        let content = html! { (head(ADD).back("Accounts", ACCOUNTS)) (form(&shell)) };
        Page::new(ADD, content)
    }
}

async fn new(visit: OperatorVisit) -> Outcome {
    let (name, credits) = (String::new(), "0".to_owned());
    let typed = Typed { name, status: AccountStatus::Pending, credits };
    Ok(typed.page(visit.csrf(), &new_key(), html! {}, &FieldTroubles::none()).into())
}

async fn create(visit: OperatorVisit) -> Outcome {
    let form = visit.form().await?;
    let (key, typed) = (key_of(&form)?, Typed::sent(&form));
    let Some(credits) = typed.credits() else {
        let troubles = FieldTroubles::none().with("credits", "Give a whole number, 0 or more.");
        let problems = problems("One field needs another value.", &troubles, &SHOWN);
        let page = typed.page(visit.csrf(), key.as_str(), problems, &troubles);
        return Ok(Reply::Again(page));
    };
    let input = NewAccountInput::active(&*typed.name, 0).status(typed.status).credits(credits);
    match visit.operator().keyed(Some(key)).account_create(input).await {
        Ok(made) => Ok(Reply::moved(address(made.value.id)).saying(Said::AccountAdded)),
        Err(error) => {
            let (problems, troubles) = problems_of(&error, &SHOWN);
            let key = key_again(&form, &error);
            Ok(Reply::Again(typed.page(visit.csrf(), &key, problems, &troubles)))
        }
    }
}
