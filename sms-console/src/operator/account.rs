//! One account: its approval, its balance, its settings, its keys and its ledger.

use maud::{Markup, html};
use sms_core::account::{Account, AccountChange, AccountStatus, Settings};

use super::account_address::{ACCOUNTS, account_id, address};
use super::{api_keys, credits};
use crate::format;
use crate::part::badge::status_badge;
use crate::part::button::{Button, Kind, link, opens};
use crate::part::dialog::{Question, confirm};
use crate::part::head::head;
use crate::part::pager::{page_request, pager};
use crate::place::{Place, operator};
use crate::reply::{Outcome, Page, Reply, Trouble};
use crate::said::Said;
use crate::visit::OperatorVisit;

const ONE: &str = "/console/operator/accounts/{id}";
const STATUS: &str = "/console/operator/accounts/{id}/status";

pub(crate) fn places() -> Vec<Place> {
    vec![Place::get(ONE, operator(show)), Place::post(STATUS, operator(status_change))]
}

async fn show(visit: OperatorVisit) -> Outcome {
    let (operator, id) = (visit.operator(), account_id(&visit)?);
    let account = operator.account_get(id).await?;
    let keys = operator.api_key_list(id).await?;
    let ledger = operator.ledger_list(id, page_request(&visit)).await?;
    let (csrf, path) = (visit.csrf(), address(id));
    let content = html! {
        (card(&account, &path, csrf))
        div.stack.stack-loose.after {
            section.stack aria-label="API keys" {
                div.card-head {
                    h2 { "API keys" }
                    (link("Make a key", format!("{path}/keys/new")))
                }
                (api_keys::rows(&keys, &path, csrf))
            }
            section.stack aria-label="Ledger" {
                h2 { "Ledger" }
                (credits::rows(&ledger.items))
                (pager(&visit, ledger.next))
            }
        }
    };
    Ok(Page::new(account.name, content).into())
}

fn card(account: &Account, path: &str, csrf: &str) -> Markup {
    let lead = html! { "Balance: " strong { (format::credits(account.balance)) } };
    let title = head(&account.name).back("Accounts", ACCOUNTS);
    let title = title.beside(status_badge(account.status.as_str())).lead(lead);
    html! {
        (title.actions(actions(account, path)))
        (questions(account, path, csrf))
        (settings(account))
    }
}

fn actions(account: &Account, path: &str) -> Markup {
    let is_active = account.status == AccountStatus::Active;
    let top_up = link("Top up", format!("{path}/credits"));
    let top_up = top_up.kind(if is_active { Kind::Main } else { Kind::Plain });
    html! {
        @if let Some(approve) = approval(account.status) { (approve) }
        (top_up)
        (link("Settings", format!("{path}/settings")))
        @if account.status != AccountStatus::Suspended {
            (opens("Suspend", "suspend").kind(Kind::Danger))
        }
    }
}

fn approval(status: AccountStatus) -> Option<Button<'static>> {
    let words = match status {
        AccountStatus::Active => return None,
        AccountStatus::Pending => "Approve",
        AccountStatus::Suspended => "Lift the suspension",
    };
    Some(opens(words, "approve").kind(Kind::Main))
}

/// What is asked before the account may send, or may no longer.
fn questions(account: &Account, path: &str, csrf: &str) -> Markup {
    let to = format!("{path}/status");
    let approve = Question {
        id: "approve",
        title: &format!("Let “{}” send?", account.name),
        text: html! { p { "It can send live messages at once." } },
        action: "Let it send",
        kind: Kind::Main,
        to: &to,
        csrf,
        sent: &[("status", AccountStatus::Active.as_str())],
    };
    let suspend = Question {
        id: "suspend",
        title: &format!("Suspend “{}”?", account.name),
        text: html! { p {
            "Its keys stop sending at once. Messages that are waiting fail and are refunded."
        } },
        action: "Suspend the account",
        kind: Kind::Danger,
        sent: &[("status", AccountStatus::Suspended.as_str())],
        ..approve.clone()
    };
    html! {
        @if account.status != AccountStatus::Active { (confirm(&approve)) }
        @if account.status != AccountStatus::Suspended { (confirm(&suspend)) }
    }
}

fn settings(account: &Account) -> Markup {
    let Settings { quiet_hours, track_links_default, opt_out_line, opt_out_line_sender } =
        &account.settings;
    html! {
        section.card {
            h2 { "Settings" }
            dl.facts {
                dt { "Quiet hours" }
                dd { (quiet_hours.start) " to " (quiet_hours.end) ", London time" }
                dt { "Track links" }
                dd { (if *track_links_default { "Yes" } else { "No" }) }
                dt { "Opt-out line" }
                dd { (opt_out_line) }
                dt { "With a sender name" }
                dd { (opt_out_line_sender) }
                dt { "Id" }
                dd { code { (account.id) } }
            }
        }
    }
}

async fn status_change(visit: OperatorVisit) -> Outcome {
    let (id, form) = (account_id(&visit)?, visit.form().await?);
    let (status, said) = match form.text("status").parse() {
        Ok(AccountStatus::Active) => (AccountStatus::Active, Said::AccountActive),
        Ok(AccountStatus::Suspended) => (AccountStatus::Suspended, Said::AccountSuspended),
        Ok(AccountStatus::Pending) | Err(_) => return Err(Trouble::BadForm("a state")),
    };
    visit.operator().account_update(id, AccountChange::default().status(status)).await?;
    Ok(Reply::moved(address(id)).saying(said))
}
