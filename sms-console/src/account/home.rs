//! The first page: what there is to spend, how sending goes, and what needs attention.

use std::time::Duration;

use futures_util::future::{try_join, try_join3};
use maud::{Markup, html};
use sms_core::account::{Account, AccountStatus};
use sms_core::credits::Credits;
use sms_core::message::{Message, MessageFilter, MessageStatus};
use sms_core::number::Number;
use sms_core::page::{Limit, PageRequest};
use sms_core::sender_name::{ReviewStatus, SenderName};
use sms_core::statistics::Counted;
use sms_core::statistics::summary::{Change, Day, Summary, SummaryRequest};
use sms_core::time::{Timestamp, london};
use sms_core::webhook::endpoint::{Endpoint, Power};

use super::developers::switched_off_because;
use super::first_steps::FirstSteps;
use crate::format::{counted, credits, number, whole};
use crate::part::badge::{Tone, badge, status_badge};
use crate::part::button::{Kind, link};
use crate::part::chart::{Colour, Series, chart};
use crate::part::head::{Open, head, tabs};
use crate::part::notice::{Notice, notice};
use crate::part::stat::{stat, stats};
use crate::place::{Place, account, either, operator};
use crate::reply::{Outcome, Page, Reply};
use crate::visit::{AccountVisit, OperatorVisit};

const PATH: &str = "/console";
/// How many failed messages are counted.
const MOST_FAILURES: u32 = 5;
const DAY: Duration = Duration::from_hours(24);

pub(crate) fn places() -> Vec<Place> {
    vec![Place::get(PATH, either(account(home), operator(first_of_operator)))]
}

async fn first_of_operator(_visit: OperatorVisit) -> Outcome {
    Ok(Reply::moved("/console/operator/accounts"))
}

/// The days that the figures are of.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Span {
    Today,
    Month,
}

/// What the page shows.
#[derive(Debug)]
struct Facts {
    account: Account,
    span: Span,
    summary: Summary,
    days: Vec<Day>,
    numbers: Vec<Number>,
    webhooks: Vec<Endpoint>,
    senders: Vec<SenderName>,
    failures: Vec<Message>,
    /// What to do first, before there is anything to count.
    first: Option<FirstSteps>,
    now: Timestamp,
}

async fn home(visit: AccountVisit) -> Outcome {
    let span = if visit.query("days") == Some("1") { Span::Today } else { Span::Month };
    let (handle, now) = (visit.handle(), visit.now());
    let request = SummaryRequest::default().days(span.days());
    let failed = MessageFilter {
        status: Some(MessageStatus::Failed),
        since: Some(now.minus(DAY)),
        ..MessageFilter::default()
    };
    let few = PageRequest::default().limit(Limit::new(MOST_FAILURES).unwrap_or_default());
    let figures = try_join(
        handle.statistics_summary(request),
        handle.statistics_timeseries(Some(Span::Month.days())),
    );
    let nouns = try_join3(handle.number_list(), handle.webhook_list(), handle.sender_name_list());
    let all = try_join3(figures, nouns, handle.message_list(&failed, few));
    let ((summary, days), (numbers, webhooks, senders), failures) = all.await?;
    let first = FirstSteps::of(handle).await?;
    let account = visit.person.account.clone();
    let failures = failures.items;
    let facts =
        Facts { account, span, summary, days, numbers, webhooks, senders, failures, first, now };
    Ok(Page::new("Home", view(&facts)).into())
}

impl Span {
    fn days(self) -> u16 {
        match self {
            Self::Today => 1,
            Self::Month => 30,
        }
    }

    fn open_if(self, other: Self) -> Open {
        if self == other { Open::Yes } else { Open::No }
    }

    /// What it is compared with.
    fn before(self) -> &'static str {
        match self {
            Self::Today => "yesterday",
            Self::Month => "the 30 days before",
        }
    }
}

fn view(facts: &Facts) -> Markup {
    let Facts { account, span, summary, days, numbers, first, .. } = facts;
    let balance = stat("Balance", &whole(account.balance.get()), Some(buys(account.balance)));
    let write = link("Write a message", "/console/compose").kind(Kind::Main);
    let periods = [
        ("Last 30 days", PATH.to_owned(), span.open_if(Span::Month)),
        ("Today", format!("{PATH}?days=1"), span.open_if(Span::Today)),
    ];
    let figure = |name, counted| figure(name, counted, summary, *span);
    html! {
        (head("Home").actions(html! { (write) }))
        @if first.is_none() { (tabs("Period", &periods)) }
        div.stack.stack-loose #home data-live="10" data-on="message opt_out" {
            (attention(facts))
            @if let Some(first) = first {
                (stats(&[balance]))
                (first.view())
            } @else {
                (stats(&[
                    balance,
                    figure("Sent", Counted::Sent),
                    figure("Delivered", Counted::Delivered),
                    figure("Failed", Counted::Failed),
                    figure("Received", Counted::Received),
                ]))
                section.card {
                    h2 { "By day" }
                    (by_day(days))
                }
            }
            section.card {
                h2 { "Your numbers" }
                (number_list(numbers, facts.now))
            }
        }
    }
}

fn buys(balance: Credits) -> Markup {
    html! { "Credits, enough for " (counted(balance.get(), "message")) " of one part" }
}

fn figure(name: &str, of: Counted, summary: &Summary, span: Span) -> Markup {
    let (before, now) = (summary.previous.of(of), summary.counts.of(of));
    stat(name, &count(now), Some(html! { (change(before, now, span)) }))
}

/// A count of messages, which is never negative.
fn count(count: i64) -> String {
    whole(u64::try_from(count).unwrap_or_default())
}

/// How many there are now in comparison with before, in words.
fn change(before: i64, now: i64, span: Span) -> String {
    let then = span.before();
    match Change::between(before, now).map(|change| (change.tenths() + 5).div_euclid(10)) {
        None => "None before".to_owned(),
        Some(0) if now == before => format!("As many as {then}"),
        Some(0) => format!("About as many as {then}"),
        Some(percent) => {
            let direction = if percent > 0 { "more" } else { "fewer" };
            format!("{}% {direction} than {then}", whole(percent.unsigned_abs()))
        }
    }
}

fn by_day(days: &[Day]) -> Markup {
    let dates: Vec<_> = days.iter().map(|day| day.date).collect();
    let of = |name, colour, counted| {
        let counts = days.iter().map(|day| u64::try_from(day.counts.of(counted)).unwrap_or(0));
        Series { name, colour, counts: counts.collect() }
    };
    let series = [
        of("Sent", Colour::Main, Counted::Sent),
        of("Received", Colour::Other, Counted::Received),
        of("Failed", Colour::Bad, Counted::Failed),
    ];
    chart("Messages by day", &dates, &series)
}

fn number_list(numbers: &[Number], now: Timestamp) -> Markup {
    html! {
        @if numbers.is_empty() {
            p.faint { "You have no number of your own. Messages go from a shared number." }
        } @else {
            dl.facts {
                @for one in numbers {
                    dt { (number(one.phone)) }
                    dd {
                        @if one.is_online(now) {
                            (badge("Online", Tone::Good))
                        } @else {
                            (badge("Offline", Tone::Bad))
                        }
                        " "
                        @if one.rental_credits == Credits::ZERO { "Free" } @else {
                            (credits(one.rental_credits)) " every 30 days"
                        }
                    }
                }
            }
        }
    }
}

/// What needs attention, such as failed messages; empty if nothing does.
fn attention(facts: &Facts) -> Markup {
    let Facts { account, numbers, webhooks, senders, failures, now, .. } = facts;
    let mut items = Vec::new();
    if account.status != AccountStatus::Active {
        items.push(html! {
            "The account is " (status_badge(account.status.as_str()))
            ": it cannot send live messages. Ask the operator."
        });
    } else if account.balance == Credits::ZERO {
        items.push(html! { "There are no credits left. Ask the operator for a top-up." });
    }
    if !failures.is_empty() {
        let count = u64::try_from(failures.len()).unwrap_or(u64::MAX);
        let more = if count == u64::from(MOST_FAILURES) { " or more" } else { "" };
        let (noun, were) =
            if count == 1 { ("message", "It was") } else { ("messages", "They were") };
        let since = london::shown(now.minus(DAY)).date();
        items.push(html! {
            a href={ "/console/messages?status=failed&since=" (since) } {
                (count) (more) " " (noun) " created in the last day failed"
            }
            ". " (were) " refunded."
        });
    }
    items.extend(webhooks.iter().filter_map(endpoint_off));
    items.extend(senders.iter().filter(|one| one.status == ReviewStatus::Rejected).map(rejected));
    items.extend(numbers.iter().filter_map(|one| rent_owed(one, *now)));
    let list = html! {
        h2 { "Needs attention" }
        ul { @for item in &items { li { (item) } } }
    };
    if items.is_empty() {
        html! {}
    } else {
        notice(Notice::Warn, &list)
    }
}

fn endpoint_off(one: &Endpoint) -> Option<Markup> {
    let Power::Off(reason) = one.power else { return None };
    let why = switched_off_because(reason);
    Some(html! {
        "The endpoint " a href={ "/console/developers/webhooks/" (one.id) } { (one.url) }
        " " (why) "."
    })
}

fn rejected(one: &SenderName) -> Markup {
    html! {
        "The sender name " a href="/console/senders" { (one.value.as_str()) } " was rejected"
        @match &one.reason {
            Some(reason) => { ": " (reason) }
            None => ".",
        }
    }
}

fn rent_owed(one: &Number, now: Timestamp) -> Option<Markup> {
    let owed = one.overdue(now)?;
    let stopped = if one.is_stopped(now) { " No message is sent from it until then." } else { "" };
    Some(html! {
        "The rent of " (number(one.phone)) " is overdue: " (credits(owed.credits))
        ". It is taken as soon as the balance allows." (stopped)
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn as_many_as_before_is_said_of_equal_counts_only() {
        for (before, now, words) in [
            (0, 0, "None before"),
            (0, 5, "None before"),
            (1_000, 1_000, "As many as yesterday"),
            (1_000, 1_001, "About as many as yesterday"),
            (1_000, 999, "About as many as yesterday"),
            (1_000, 1_010, "1% more than yesterday"),
            (4, 3, "25% fewer than yesterday"),
        ] {
            assert_eq!(change(before, now, Span::Today), words);
        }
    }
}
