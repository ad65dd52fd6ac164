//! The campaigns: one text to a whole list each.

use maud::{Markup, html};
use sms_core::campaign::{Campaign, CampaignStatus};
use sms_core::message::MessageStatus;
use sms_core::time::Timestamp;

use super::campaign::CHANGED_BY;
use crate::format::{coming_time, time_or, whole};
use crate::part::badge::status_badge;
use crate::part::button::{Kind, link};
use crate::part::code::as_request;
use crate::part::head::head;
use crate::part::pager::{page_request, pager};
use crate::part::state::empty;
use crate::part::table::{column, right, table};
use crate::place::{Place, account};
use crate::reply::{Outcome, Page};
use crate::visit::AccountVisit;

const PATH: &str = "/console/campaigns";

pub(crate) fn places() -> Vec<Place> {
    vec![Place::get(PATH, account(list))]
}

async fn list(visit: AccountVisit) -> Outcome {
    let campaigns = visit.handle().campaign_list(page_request(&visit)).await?;
    let make = link("Draft a campaign", "/console/campaigns/new").kind(Kind::Main);
    let content = html! {
        (head("Campaigns").actions(html! { (make) }))
        div #campaigns data-live data-on=(CHANGED_BY) {
            @if campaigns.items.is_empty() {
                (empty("No campaigns yet", &html! {
                    "A campaign sends one text to everyone on a list."
                }, None))
            } @else {
                (rows(&campaigns.items, visit.now()))
                (pager(&visit, campaigns.next))
            }
        }
        (as_request(&visit.desk.public_url, "GET", "/v1/campaigns", None))
    };
    Ok(Page::new("Campaigns", content).into())
}

fn rows(campaigns: &[Campaign], now: Timestamp) -> Markup {
    let columns = [
        column("Name"),
        column("State"),
        column("Goes"),
        right("People"),
        right("Delivered"),
        right("Clicked"),
        right("Credits"),
    ];
    table("Campaigns", columns, campaigns, |campaign| {
        let launch = campaign.launch.as_ref();
        let delivered = launch.map_or(0, |launch| launch.counts.of(MessageStatus::Delivered));
        [
            html! { a.row-link href={ (PATH) "/" (campaign.id) } { (campaign.name) } },
            status_badge(campaign.status(now).as_str()),
            goes(campaign, now),
            html! { (whole(launch.map_or(0, |launch| launch.recipients))) },
            html! { (whole(delivered)) },
            html! { (whole(campaign.links.unique_clicked)) },
            html! { (whole(launch.map_or(0, |launch| launch.credits.get()))) },
        ]
    })
}

fn goes(campaign: &Campaign, now: Timestamp) -> Markup {
    let launch = campaign.launch.as_ref();
    match (campaign.status(now), launch.and_then(|launch| launch.scheduled_at)) {
        (CampaignStatus::Scheduled, Some(at)) => html! { (coming_time(at, now)) },
        _ => time_or(launch.map(|launch| launch.at), "–"),
    }
}
