//! Every message, in and out, by the filters of the API. The filters are in the address, so that a
//! list can be shared as a link.

mod filters;

use maud::{Markup, html};
use sms_core::message::{Direction, Message};
use sms_core::page::Page as Cursored;
use sms_core::time::Timestamp;

use self::filters::InvalidFilters;
use crate::format::{number, time_near};
use crate::part::badge::{Tone, badge, status_badge};
use crate::part::button::{Kind, download, link};
use crate::part::code::as_request;
use crate::part::field::Field;
use crate::part::filters::filters as filter_form;
use crate::part::head::head;
use crate::part::pager::{page_request, pager};
use crate::part::state::empty;
use crate::part::table::{column, right, table};
use crate::place::{Place, account};
use crate::query::Query;
use crate::reply::{Outcome, Page};
use crate::visit::AccountVisit;

const PATH: &str = "/console/messages";
const EXPORT: &str = "/console/api/v1/messages/export";

/// The places of the list.
pub(crate) fn places() -> Vec<Place> {
    vec![Place::get(PATH, account(list))]
}

async fn list(visit: AccountVisit) -> Outcome {
    let query = visit.queries();
    let (actions, found) = match filters::filter_of(query) {
        Ok(filter) => {
            let found = visit.handle().message_list(&filter, page_request(&visit)).await?;
            let address = |path| filters::api_address(path, query, &filter);
            let request = as_request(&visit.desk.public_url, "GET", &address("/v1/messages"), None);
            (export(address(EXPORT)), html! { (listed(&visit, &found)) (request) })
        }
        Err(InvalidFilters { problems }) => (html! {}, unusable_filters(&problems)),
    };
    let content = html! {
        // The address of the export follows the filters.
        div #messages-head data-live data-on="message" { (head("Messages").actions(actions)) }
        (filter_form("Filter messages", PATH, &fields(query)))
        div #messages data-live data-on="message" { (found) }
    };
    Ok(Page::new("Messages", content).into())
}

fn export(address: String) -> Markup {
    html! { (download("Export as CSV", address)) }
}

fn unusable_filters(problems: &[String]) -> Markup {
    let problems = html! { @for problem in problems { (problem) " " } };
    empty("These filters cannot be used", &problems, None)
}

fn fields(query: &Query) -> Markup {
    let value = |name| query.get(name).unwrap_or_default();
    // Filters that come with a link, from a campaign or a send, and can be emptied.
    let linked = [("batch_id", "Send"), ("campaign_id", "Campaign")];
    html! {
        (Field::search("q", "Number or words").value(value("q")).longest(200).class("field-grow"))
        (Field::select("direction", "Direction", filters::directions()).value(value("direction")))
        (Field::select("status", "State", filters::statuses()).value(value("status")))
        (Field::input("since", "From day", "date").value(value("since")))
        (Field::input("until", "To day", "date").value(value("until")))
        (Field::search("client_ref", "Your reference").value(value("client_ref")).longest(64))
        @for (name, label) in linked {
            @if query.get(name).is_some() {
                (Field::search(name, label).value(value(name)))
            }
        }
    }
}

fn listed(visit: &AccountVisit, found: &Cursored<Message>) -> Markup {
    if found.items.is_empty() {
        return nothing(visit.queries());
    }
    let columns =
        [column("Person"), column("Text"), column("State"), right("Credits"), right("When")];
    let now = visit.now();
    html! {
        (table("Messages", columns, &found.items, |message| cells(message, now)))
        (pager(visit, found.next))
    }
}

fn nothing(query: &Query) -> Markup {
    if filters::any(query) || query.get("cursor").is_some() {
        return empty("Nothing found", &html! { "No message matches these filters." }, None);
    }
    let write = html! { (link("Write a message", "/console/compose").kind(Kind::Main)) };
    let text = html! { "What you send and receive appears here." };
    empty("No messages yet", &text, Some(&write))
}

fn cells(message: &Message, now: Timestamp) -> [Markup; 5] {
    let who = if message.direction == Direction::Outbound { "You: " } else { "They: " };
    [
        html! {
            a.row-link.number href={ (PATH) "/" (message.id) } {
                (number(message.contact_number()))
            }
        },
        html! { span.snippet { span.faint { (who) } (message.body.as_str()) } },
        html! {
            span.actions-inline {
                (status_badge(message.status.as_str()))
                @if message.mode.is_test() { " " (badge("Test", Tone::Warn)) }
            }
        },
        html! { (message.credits.get()) },
        time_near(message.due_at(), now),
    ]
}
