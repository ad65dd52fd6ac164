//! The queue of sender names that wait for review.

use maud::{Markup, html};
use sms_core::page::Page as ListPage;
use sms_core::sender_name::{Decision, MAX_REMARK, ReviewStatus, SenderName};

use super::account_address::address;
use crate::form::{FieldTroubles, Form};
use crate::format::time;
use crate::part::badge::status_badge;
use crate::part::button::{Kind, closes, link, opens, submit};
use crate::part::dialog::{Question, confirm, dialog};
use crate::part::field::Field;
use crate::part::filters::filters;
use crate::part::form::{FormShell, form, problems_of};
use crate::part::head::head;
use crate::part::pager::{page_request, pager};
use crate::part::state::empty;
use crate::part::table::{column, table, unlabelled};
use crate::place::{Place, operator};
use crate::reply::{Outcome, Page, Reply};
use crate::said::Said;
use crate::visit::{OperatorVisit, Visit};

const PATH: &str = "/console/operator/senders";
const APPROVE: &str = "/console/operator/senders/{id}/approve";
const REJECT: &str = "/console/operator/senders/{id}/reject";

pub(super) fn places() -> Vec<Place> {
    vec![
        Place::get(PATH, operator(list)),
        Place::post(APPROVE, operator(approve)),
        Place::post(REJECT, operator(reject)),
    ]
}

/// Which names are shown.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Which {
    All,
    In(ReviewStatus),
}

impl Which {
    /// Those that an address or a form asks for: the ones that wait, if it asks for none.
    fn of(word: Option<&str>) -> Self {
        match word {
            Some("all") => Self::All,
            Some(word) => Self::In(word.parse().unwrap_or(ReviewStatus::Pending)),
            None => Self::In(ReviewStatus::Pending),
        }
    }

    fn as_str(self) -> &'static str {
        match self {
            Self::All => "all",
            Self::In(status) => status.as_str(),
        }
    }

    fn status(self) -> Option<ReviewStatus> {
        match self {
            Self::All => None,
            Self::In(status) => Some(status),
        }
    }

    fn address(self) -> String {
        format!("{PATH}?status={}", self.as_str())
    }
}

async fn list(visit: OperatorVisit) -> Outcome {
    let which = Which::of(visit.query("status"));
    let page = page_request(&visit);
    let names = visit.operator().sender_name_list(which.status(), page).await?;
    let states = [
        ("pending", "Waiting"),
        ("approved", "Approved"),
        ("rejected", "Rejected"),
        ("all", "All"),
    ];
    let status = Field::select("status", "State", states).value(which.as_str());
    let content = html! {
        (head("Sender review"))
        (filters("Filter names", PATH, &html! { (status) }))
        div #names data-live="10" { (found(&visit, which, &names)) }
    };
    Ok(Page::new("Sender review", content).into())
}

fn found(visit: &Visit, which: Which, names: &ListPage<SenderName>) -> Markup {
    if names.items.is_empty() {
        let text = html! { "No sender name is in this state." };
        return empty("Nothing to review", &text, None);
    }
    let columns = [
        column("Name"),
        column("For"),
        column("Account"),
        column("State"),
        column("Reason"),
        column("Asked"),
        unlabelled("Actions"),
    ];
    let rows = table("Sender names", columns, &names.items, |name| {
        [
            html! { strong { (name.value) } },
            html! { (name.purpose.as_deref().unwrap_or("–")) },
            html! { a href=(address(name.account)) { "Open the account" } },
            status_badge(name.status.as_str()),
            html! { (name.reason.as_deref().unwrap_or("–")) },
            time(name.created_at),
            actions(name, which, visit.csrf()),
        ]
    });
    html! { (rows) (pager(visit, names.next)) }
}

fn actions(name: &SenderName, which: Which, csrf: &str) -> Markup {
    let SenderName { id, value, status, .. } = name;
    let approve = format!("approve-{id}");
    let question = Question {
        id: &approve,
        title: &format!("Approve “{value}”?"),
        text: html! { p { "The account can send with it at once." } },
        action: "Approve the name",
        kind: Kind::Main,
        to: &format!("{PATH}/{id}/approve"),
        csrf,
        sent: &[("status", which.as_str())],
    };
    let reject = format!("reject-{id}");
    let approving = opens("Approve", &*approve).small().label(format!("Approve {value}"));
    let rejecting = opens("Reject", &*reject).small().kind(Kind::Danger);
    html! {
        div.actions {
            @if *status != ReviewStatus::Approved { (approving) }
            @if *status != ReviewStatus::Rejected { (rejecting.label(format!("Reject {value}"))) }
        }
        @if *status != ReviewStatus::Approved { (confirm(&question)) }
        @if *status != ReviewStatus::Rejected { (rejection(name, &reject, which, csrf)) }
    }
}

/// Asks why a name is rejected.
fn rejection(name: &SenderName, id: &str, which: Which, csrf: &str) -> Markup {
    let reason = reason_field().id(format!("reason-{}", name.id));
    let content = html! {
        form method="post" action={ (PATH) "/" (name.id) "/reject" } {
            input type="hidden" name="csrf" value=(csrf);
            input type="hidden" name="status" value=(which.as_str());
            input type="hidden" name="value" value=(name.value);
            (reason)
            div.actions {
                (closes("Go back", id))
                (submit("Reject the name").kind(Kind::Danger))
            }
        }
    };
    dialog(id, &format!("Reject “{}”?", name.value), &content)
}

fn reason_field() -> Field<'static> {
    let field = Field::text_area("reason", "Reason", 3).required();
    field.hint("The account can read it.").longest(MAX_REMARK)
}

async fn approve(visit: OperatorVisit) -> Outcome {
    let (id, form) = (visit.params.id()?, visit.form().await?);
    visit.operator().sender_name_review(id, Decision::Approve, None).await?;
    let back = Which::of(form.optional("status")).address();
    Ok(Reply::moved(back).saying(Said::SenderNameApproved))
}

async fn reject(visit: OperatorVisit) -> Outcome {
    let (id, form) = (visit.params.id()?, visit.form().await?);
    let reason = form.body("reason").trim().to_owned();
    let given = Some(reason.clone()).filter(|reason| !reason.is_empty());
    match visit.operator().sender_name_review(id, Decision::Reject, given).await {
        Ok(_) => {
            let back = Which::of(form.optional("status")).address();
            Ok(Reply::moved(back).saying(Said::SenderNameRejected))
        }
        Err(error @ sms_core::Error::Invalid(_)) => {
            let (problems, troubles) = problems_of(&error, &["reason"]);
            Ok(Reply::Again(reject_page(&visit, &form, problems, &troubles)))
        }
        Err(error) => Err(error.into()),
    }
}

/// The question again, with what is wrong with the reason.
fn reject_page(visit: &Visit, sent: &Form, problems: Markup, troubles: &FieldTroubles) -> Page {
    let which = Which::of(sent.optional("status"));
    let title = format!("Reject “{}”?", sent.text("value"));
    let reason = reason_field().value(sent.body("reason")).trouble(troubles.get("reason"));
    let fields = html! {
        input type="hidden" name="status" value=(which.as_str());
        input type="hidden" name="value" value=(sent.text("value"));
        (reason)
    };
    let back = which.address();
    let buttons = [link("Go back", &*back), submit("Reject the name").kind(Kind::Danger)];
    let (to, csrf) = (visit.uri.path(), visit.csrf());
    let shell = FormShell { label: &title, to, csrf, problems, fields, buttons: &buttons };
    let content = html! { (head(&title).back("Sender review", &back)) (form(&shell)) };
    Page::new(&*title, content)
}
