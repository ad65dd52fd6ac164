//! Every message, in and out, by the filters of the API. The filters are in the address, so that a
//! list can be shared as a link.

mod filters;

use std::collections::BTreeMap;

use maud::{Markup, html};
use sms_core::Error;
use sms_core::message::{Direction, Message, MessageFilter, MessageStatus};
use sms_core::page::Page as Cursored;
use sms_core::phone::E164;
use sms_core::time::Timestamp;

use self::filters::InvalidFilters;
use crate::format::{party, time_near};
use crate::part::badge::{Tone, badge, reason, status_badge};
use crate::part::button::{Kind, download, link};
use crate::part::code::as_request;
use crate::part::field::Field;
use crate::part::filters::filters as filter_form;
use crate::part::head::head;
use crate::part::pager::{nothing_so_far, page_request, pager};
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
            let search = match query.get("q") {
                Some(q) => visit.handle().message_search(q, &filter).await?,
                None => None,
            };
            let filter = MessageFilter { search, ..filter };
            let found = visit.handle().message_list(&filter, page_request(&visit)).await?;
            let names = names_of(&visit, &found.items).await?;
            let address = |path| filters::api_address(path, query, &filter);
            let request = as_request(&visit.desk.public_url, "GET", &address("/v1/messages"), None);
            (export(address(EXPORT)), html! { (listed(&visit, &found, &names)) (request) })
        }
        Err(InvalidFilters { problems }) => (html! {}, unusable_filters(&problems)),
    };
    let campaign = campaign_name(&visit).await?;
    let content = html! {
        // The address of the export follows the filters.
        div #messages-head data-live data-on="message" { (head("Messages").actions(actions)) }
        (filter_form("Filter messages", PATH, &fields(query, campaign)))
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

/// What the campaign is called whose messages are shown; `None` if it is not one of this account.
async fn campaign_name(visit: &AccountVisit) -> Result<Option<String>, Error> {
    let Some(id) = visit.query("campaign_id").and_then(|id| id.parse().ok()) else {
        return Ok(None);
    };
    match visit.handle().campaign_get(id).await {
        Ok(campaign) => Ok(Some(campaign.name)),
        Err(Error::NotFound(_)) => Ok(None),
        Err(error) => Err(error),
    }
}

/// What the people of these messages are called, where they are contacts with a name.
async fn names_of(
    visit: &AccountVisit,
    messages: &[Message],
) -> Result<BTreeMap<E164, String>, Error> {
    let mut numbers: Vec<E164> = messages.iter().map(Message::contact_number).collect();
    numbers.sort_unstable();
    numbers.dedup();
    let contacts = visit.handle().contacts_by_phone(&numbers).await?.into_iter();
    Ok(contacts.filter_map(|contact| Some((contact.phone, contact.details.full_name()?))).collect())
}

fn fields(query: &Query, campaign: Option<String>) -> Markup {
    let value = |name| query.get(name).unwrap_or_default();
    // Filters that come with a link, from a campaign or a send, and can be switched off.
    let campaign = campaign.unwrap_or_else(|| "Another one".to_owned());
    let linked =
        [("batch_id", "Send", "One send".to_owned()), ("campaign_id", "Campaign", campaign)];
    html! {
        (Field::search("q", "Number, name or words").value(value("q")).longest(200)
            .class("field-grow"))
        (Field::select("direction", "Direction", filters::directions()).value(value("direction")))
        (Field::select("status", "State", filters::statuses()).value(value("status")))
        (Field::input("since", "From day", "date").value(value("since")))
        (Field::input("until", "To day", "date").value(value("until")))
        (Field::search("client_ref", "Your reference").value(value("client_ref")).longest(64))
        @for (name, label, shown) in linked {
            @if let Some(id) = query.get(name) {
                (Field::select(name, label, [("", "Any".to_owned()), (id, shown)]).value(id))
            }
        }
    }
}

fn listed(
    visit: &AccountVisit,
    found: &Cursored<Message>,
    names: &BTreeMap<E164, String>,
) -> Markup {
    if found.items.is_empty() {
        return match found.next {
            Some(next) => nothing_so_far(visit, next),
            None => nothing(visit.queries()),
        };
    }
    let columns =
        [column("Person"), column("Text"), column("State"), right("Credits"), right("When")];
    let now = visit.now();
    html! {
        (table("Messages", columns, &found.items, |message| {
            cells(message, names.get(&message.contact_number()), now)
        }))
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

fn cells(message: &Message, name: Option<&String>, now: Timestamp) -> [Markup; 5] {
    let failed = matches!(message.status, MessageStatus::Failed | MessageStatus::Undelivered);
    let who = if message.direction == Direction::Outbound { "You: " } else { "They: " };
    [
        html! {
            @let phone = party(&message.other_party());
            a.row-link.number[name.is_none()] href={ (PATH) "/" (message.id) } {
                (name.unwrap_or(&phone))
            }
            @if name.is_some() { div.small.faint.number { (phone) } }
        },
        html! { span.snippet { span.faint { (who) } (message.body.as_str()) } },
        html! {
            span.actions-inline {
                (status_badge(message.status.as_str()))
                @if message.mode.is_test() { " " (badge("Test", Tone::Warn)) }
            }
            @if let Some(error) = message.error.filter(|_| failed) {
                div.why { (reason(error.as_str())) }
            }
        },
        html! { (message.credits.get()) },
        time_near(message.due_at(), now),
    ]
}
