//! The balance of an account: changing it, and the ledger of its changes.

use maud::{Markup, html};
use sms_core::account::Account;
use sms_core::credits::Change;
use sms_core::credits::adjust::MAX_NOTE;
use sms_core::credits::ledger::Entry;

use super::account_address::{account_id, address};
use crate::form::{FieldTroubles, Form};
use crate::format::{time, whole, worded};
use crate::key::{key_again, key_of, new_key};
use crate::part::button::{Kind, link, submit};
use crate::part::field::Field;
use crate::part::form::{FormShell, form, problems, problems_of};
use crate::part::head::head;
use crate::part::state::empty;
use crate::part::table::{column, right, table};
use crate::place::{Place, operator};
use crate::reply::{Outcome, Page, Reply};
use crate::said::Said;
use crate::visit::OperatorVisit;

const CREDITS: &str = "/console/operator/accounts/{id}/credits";
const SHOWN: [&str; 2] = ["amount", "note"];

pub(super) fn places() -> Vec<Place> {
    vec![Place::get(CREDITS, operator(new)), Place::post(CREDITS, operator(change))]
}

/// The entries of a ledger.
pub(super) fn rows(entries: &[Entry]) -> Markup {
    if entries.is_empty() {
        let text = html! { "Every change of the balance is an entry." };
        return empty("The ledger is empty", &text, None);
    }
    let columns =
        [column("What"), right("Credits"), right("Balance after"), column("Note"), right("When")];
    table("Ledger", columns, entries, |entry| {
        let amount = entry.amount.get();
        [
            html! { strong { (worded(entry.cause.kind().as_str())) } },
            html! { (if amount > 0 { "+" } else { "−" }) (whole(amount.unsigned_abs())) },
            html! { (whole(entry.balance_after.get())) },
            html! { (entry.note.as_deref().unwrap_or("–")) },
            time(entry.created_at),
        ]
    })
}

/// What the operator has typed.
#[derive(Default)]
struct Typed {
    amount: String,
    note: String,
}

impl Typed {
    fn sent(form: &Form) -> Self {
        Self { amount: form.text("amount").to_owned(), note: form.text("note").to_owned() }
    }

    /// The change; `None` if it changes nothing, or is more than an account can hold.
    fn change(&self) -> Option<Change> {
        let amount = self.amount.parse().ok().filter(|amount| *amount != 0)?;
        Change::new(amount)
    }

    fn page(
        &self,
        account: &Account,
        csrf: &str,
        key: &str,
        problems: Markup,
        troubles: &FieldTroubles,
    ) -> Page {
        let title = format!("Top up “{}”", account.name);
        let hint = format!(
            "The balance is {}. A negative number takes credits away.",
            whole(account.balance.get())
        );
        let amount = Field::input("amount", "Credits", "number").required().step("1").hint(&hint);
        let note = Field::text("note", "Note").optional().longest(MAX_NOTE);
        let fields = html! {
            input type="hidden" name="key" value=(key);
            (amount.value(&*self.amount).trouble(troubles.get("amount")))
            (note.hint("An invoice number, say.").value(&*self.note).trouble(troubles.get("note")))
        };
        let path = address(account.id);
        let buttons = [link("Go back", &*path), submit("Change the balance").kind(Kind::Main)];
        let to = format!("{path}/credits");
        let shell = FormShell { label: &title, to: &to, csrf, problems, fields, buttons: &buttons };
        let content = html! { (head(&title).back(&account.name, &path)) (form(&shell)) };
        Page::new(&*title, content)
    }
}

async fn new(visit: OperatorVisit) -> Outcome {
    let account = visit.operator().account_get(account_id(&visit)?).await?;
    let (typed, troubles) = (Typed::default(), FieldTroubles::none());
    Ok(typed.page(&account, visit.csrf(), &new_key(), html! {}, &troubles).into())
}

async fn change(visit: OperatorVisit) -> Outcome {
    let (id, form) = (account_id(&visit)?, visit.form().await?);
    let (key, typed) = (key_of(&form)?, Typed::sent(&form));
    let account = visit.operator().account_get(id).await?;
    let Some(change) = typed.change() else {
        let words = "Give a whole number other than 0, such as 500.";
        let troubles = FieldTroubles::none().with("amount", words);
        let problems = problems("One field needs another value.", &troubles, &SHOWN);
        let page = typed.page(&account, visit.csrf(), key.as_str(), problems, &troubles);
        return Ok(Reply::Again(page));
    };
    let note = form.optional("note").map(str::to_owned);
    match visit.operator().keyed(Some(key)).credits_adjust(id, change, note).await {
        Ok(_) => Ok(Reply::moved(address(id)).saying(Said::BalanceChanged)),
        Err(error) => {
            let (problems, troubles) = problems_of(&error, &SHOWN);
            let key = key_again(&form, &error);
            Ok(Reply::Again(typed.page(&account, visit.csrf(), &key, problems, &troubles)))
        }
    }
}
