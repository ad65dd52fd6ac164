//! The queue of sender names that wait for review.

use std::collections::{BTreeMap, BTreeSet};

use maud::{Markup, html};
use sms_core::account::Account;
use sms_core::ids::{AccountId, SenderNameId};
use sms_core::page::{Limit, Page as ListPage, PageRequest};
use sms_core::sender_name::likeness::{self, Likeness};
use sms_core::sender_name::review::Decision;
use sms_core::sender_name::{MAX_REMARK, ReviewStatus, SenderName};
use sms_core::store::let_others_run;

use super::account_address::address;
use crate::form::{FieldTroubles, Form};
use crate::format::{time, whole};
use crate::part::badge::{Tone, badge, status_badge};
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
use crate::reply::{Outcome, Page, Reply, Trouble};
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

/// How many names that look alike, and other names of an account, are shown beside each name.
const MOST_SHOWN: usize = 5;
/// How many of the newest names of all accounts a page of names is compared with.
const COMPARED: usize = 20_000;

/// The first names of a list that is not kept.
#[derive(Default)]
struct First {
    shown: Vec<SenderName>,
    /// How many names the list has.
    all: usize,
}

impl First {
    fn add(&mut self, names: Vec<SenderName>) {
        self.all += names.len();
        let room = MOST_SHOWN.saturating_sub(self.shown.len());
        self.shown.extend(names.into_iter().take(room));
    }

    /// How many are not shown.
    fn more(&self) -> Markup {
        let more = self.all - self.shown.len();
        html! { @if more > 0 { li { "and " (whole(more as u64)) " more" } } }
    }
}

/// What a name looks like, as [`Likeness`] says, among the names that it was compared with.
#[derive(Default)]
struct Looks {
    imitated: Vec<&'static str>,
    others: First,
    history: First,
}

impl Looks {
    /// Adds what was found among older names.
    fn add(&mut self, found: Likeness) {
        let Likeness { imitated, others, history } = found;
        self.imitated = imitated;
        self.others.add(others);
        self.history.add(history);
    }
}

/// What the operator should know of the names on a page.
struct Known {
    accounts: BTreeMap<AccountId, Account>,
    looks: BTreeMap<SenderNameId, Looks>,
    /// Whether there are older names than the names of the page were compared with.
    has_older: bool,
}

impl Known {
    async fn read(visit: &OperatorVisit, names: &[SenderName]) -> Result<Self, Trouble> {
        let (looks, has_older) = compare(visit, names).await?;
        let alike = looks.values().flat_map(|looks| &looks.others.shown);
        let owners: BTreeSet<AccountId> =
            names.iter().chain(alike).map(|name| name.account).collect();
        let owners: Vec<AccountId> = owners.into_iter().collect();
        let accounts = visit.operator().accounts_among(&owners).await?.into_iter();
        let accounts = accounts.map(|account| (account.id, account)).collect();
        Ok(Self { accounts, looks, has_older })
    }

    fn account(&self, id: AccountId) -> Markup {
        let name = self.accounts.get(&id).map_or("The account", |account| &*account.name);
        html! { a href=(address(id)) { (name) } }
    }

    /// Who asks: the account, since when it is here, and what it asked for before.
    fn asker(&self, name: &SenderName, history: &First) -> Markup {
        html! {
            div.stack-tight {
                (self.account(name.account))
                @if let Some(account) = self.accounts.get(&name.account) {
                    span.small.faint { (account.status) ", since " (time(account.created_at)) }
                }
                @if history.all > 0 {
                    ul.small {
                        @for other in &history.shown {
                            li { (other.value) " " (status_badge(other.status.as_str())) }
                        }
                        (history.more())
                    }
                }
            }
        }
    }

    /// What people may take the name for.
    fn likeness(&self, Looks { imitated, others, .. }: &Looks) -> Markup {
        if imitated.is_empty() && others.all == 0 {
            return html! { "–" };
        }
        html! {
            ul.small {
                @for known in imitated {
                    li { (badge("Often imitated", Tone::Bad)) " " (known) }
                }
                @for other in &others.shown {
                    li {
                        (other.value) " of " (self.account(other.account)) " "
                        (status_badge(other.status.as_str()))
                    }
                }
                (others.more())
            }
        }
    }
}

/// What each of these names looks like among the newest names of all accounts, and whether there
/// are older ones.
async fn compare(
    visit: &OperatorVisit,
    names: &[SenderName],
) -> Result<(BTreeMap<SenderNameId, Looks>, bool), Trouble> {
    let mut found: BTreeMap<SenderNameId, Looks> = BTreeMap::new();
    let (mut compared, mut after) = (0, None);
    while !names.is_empty() {
        let page = PageRequest { limit: Limit::EXPORT, after };
        let page = visit.operator().sender_name_list(None, page).await?;
        for name in names {
            found.entry(name.id).or_default().add(likeness::of(name, &page.items));
            let_others_run().await;
        }
        compared += page.items.len();
        after = page.next;
        if after.is_none() || compared >= COMPARED {
            break;
        }
    }
    Ok((found, after.is_some()))
}

async fn list(visit: OperatorVisit) -> Outcome {
    let which = Which::of(visit.query("status"));
    let page = page_request(&visit);
    let names = visit.operator().sender_name_list(which.status(), page).await?;
    let known = Known::read(&visit, &names.items).await?;
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
        div #names data-live="10" { (found(&visit, which, &names, &known)) }
    };
    Ok(Page::new("Sender review", content).into())
}

fn found(visit: &Visit, which: Which, names: &ListPage<SenderName>, known: &Known) -> Markup {
    if names.items.is_empty() {
        let text = html! { "No sender name is in this state." };
        return empty("Nothing to review", &text, None);
    }
    let columns = [
        column("Name"),
        column("For"),
        column("Account and its other names"),
        column("Looks like"),
        column("State"),
        column("Reason"),
        column("Asked"),
        unlabelled("Actions"),
    ];
    let nothing = Looks::default();
    let rows = table("Sender names", columns, &names.items, |name| {
        let looks = known.looks.get(&name.id).unwrap_or(&nothing);
        [
            html! { strong { (name.value) } },
            html! { (name.purpose.as_deref().unwrap_or("–")) },
            known.asker(name, &looks.history),
            known.likeness(looks),
            status_badge(name.status.as_str()),
            html! { (name.reason.as_deref().unwrap_or("–")) },
            time(name.created_at),
            actions(name, which, visit.csrf()),
        ]
    });
    html! {
        (rows)
        @if known.has_older {
            p.small.faint { "Compared with the newest " (whole(COMPARED as u64)) " names." }
        }
        (pager(visit, names.next))
    }
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
