//! One campaign: what it says, its counts as they change, its clicks, and cancelling it. Launching
//! it is in [`super::campaign_launch`].

use maud::{Markup, html};
use serde_json::json;
use sms_core::Error;
use sms_core::campaign::{Campaign, CampaignStatus, Launch};
use sms_core::ids::CampaignId;
use sms_core::message::MessageStatus;
use sms_core::time::Timestamp;

use super::campaign_words::{campaign_in_words, have_left};
use super::trying::Trying;
use crate::format::{counted, counted_as, time_or, whole};
use crate::part::badge::status_badge;
use crate::part::button::{Kind, link, opens};
use crate::part::code::as_request;
use crate::part::dialog::{Question, confirm};
use crate::part::head::head;
use crate::part::notice::{Notice, notice};
use crate::part::progress::progress;
use crate::part::stat::{stat, stats};
use crate::place::{Place, account};
use crate::reply::{Outcome, Page, Reply, Trouble};
use crate::said::Said;
use crate::visit::AccountVisit;

const CAMPAIGNS: &str = "/console/campaigns";

pub(crate) fn places() -> Vec<Place> {
    vec![
        Place::get("/console/campaigns/{id}", account(show)),
        Place::post("/console/campaigns/{id}/cancel", account(cancel)),
        Place::post("/console/campaigns/{id}/delete", account(delete)),
    ]
}

/// The events that change what a campaign shows.
pub(super) const CHANGED_BY: &str = "message link";

/// The events that the page of a campaign follows. No event says that a draft was launched or a
/// launch cancelled: while nothing is sent, the page asks.
fn told_by(campaign: &Campaign, now: Timestamp) -> Option<&'static str> {
    match campaign.status(now) {
        CampaignStatus::Draft | CampaignStatus::Scheduled => None,
        CampaignStatus::Sending | CampaignStatus::Sent | CampaignStatus::Cancelled => {
            Some(CHANGED_BY)
        }
    }
}

/// The address of a campaign.
pub(super) fn address(id: CampaignId) -> String {
    format!("{CAMPAIGNS}/{id}")
}

/// The name under which a browser keeps what is typed into a draft: a new one, or this one.
pub(super) fn kept_as(visit: &AccountVisit, draft: Option<CampaignId>) -> String {
    let draft = draft.map(|id| format!(" {id}")).unwrap_or_default();
    format!("campaign{draft} of {} {}", visit.person.account.id, visit.person.mode)
}

async fn show(visit: AccountVisit) -> Outcome {
    let campaign = visit.handle().campaign_get(visit.params.id()?).await?;
    Ok(campaign_page(&visit, &campaign, html! {}, &Trying::fresh()).await?.into())
}

/// The page of a campaign, with `problems` on top. A draft can be tried.
pub(super) async fn campaign_page(
    visit: &AccountVisit,
    campaign: &Campaign,
    problems: Markup,
    trying: &Trying,
) -> Result<Page, Trouble> {
    let list = match visit.handle().list_get(campaign.list).await {
        Ok(list) => Some(list.name),
        Err(Error::NotFound(_)) => None,
        Err(error) => return Err(error.into()),
    };
    let now = visit.now();
    let on = told_by(campaign, now);
    let launching = format!("/v1/campaigns/{}/send", campaign.id);
    let content = html! {
        (problems)
        @if visit.query("said") == Some(Said::DraftSaved.key()) {
            span data-draft-done=(kept_as(visit, None)) {}
            span data-draft-done=(kept_as(visit, Some(campaign.id))) {}
        }
        div #campaign-head data-live data-on=[on] { (campaign_head(campaign, now)) }
        div.stack {
            @if let Some(launch) = &campaign.launch {
                section.stack aria-label="Results" {
                    div #campaign-progress .card data-live data-on=[on] role="status" {
                        (progress("Messages processed", have_left(launch), launch.recipients))
                    }
                    div #campaign-results .stack data-live data-on=[on] {
                        (results(campaign, launch))
                    }
                }
            }
            div.columns {
                div.stack {
                    (message_card(campaign))
                    @if campaign.launch.is_none() {
                        (trying.card(&address(campaign.id), visit.person.mode, visit.csrf()))
                    }
                }
                (details(campaign, list.as_deref(), now))
            }
            (as_request(&visit.desk.public_url, "POST", &launching, Some(&json!({}))))
        }
        (questions(campaign, visit.csrf(), now))
    };
    let page = Page::new(&campaign.name, content);
    Ok(page.with_module("draft.js"))
}

fn campaign_head(campaign: &Campaign, now: Timestamp) -> Markup {
    let (path, status) = (address(campaign.id), campaign.status(now));
    let actions = html! {
        @if status == CampaignStatus::Draft {
            (link("Launch…", format!("{path}/launch")).kind(Kind::Main))
            (link("Edit", format!("{path}/edit")))
            (opens("Delete", "delete").kind(Kind::Danger))
        }
        @if matches!(status, CampaignStatus::Scheduled | CampaignStatus::Sending) {
            (opens("Cancel the campaign", "cancel").kind(Kind::Danger))
        }
    };
    let heading = head(&campaign.name)
        .back("Campaigns", CAMPAIGNS)
        .beside(status_badge(status.as_str()))
        .lead(campaign_in_words(campaign, now))
        .actions(actions);
    html! { (heading) }
}

fn message_card(campaign: &Campaign) -> Markup {
    html! {
        section.card.stack {
            h2 { "Message" }
            div.preview { (campaign.body.as_str()) }
            @if campaign.append_opt_out {
                p.small.faint { "A line that says how to opt out is added." }
            }
        }
    }
}

fn details(campaign: &Campaign, list: Option<&str>, now: Timestamp) -> Markup {
    let (launch, on) = (campaign.launch.as_ref(), told_by(campaign, now));
    html! {
        section.card {
            h2 { "Details" }
            dl.facts {
                dt { "Audience" }
                dd {
                    @if let Some(list) = list {
                        a href={ "/console/lists/" (campaign.list) } { (list) }
                    } @else {
                        "A list that was deleted"
                    }
                }
                dt { "Sent from" }
                dd { (campaign.sender.as_deref().unwrap_or("Your number")) }
                dt { "Links" }
                dd { @if campaign.track_links { "Tracked" } @else { "As written" } }
                dt { "Quiet hours" }
                dd { @if campaign.ignore_quiet_hours { "Ignored" } @else { "Kept" } }
                dt { "Launched" }
                dd { (time_or(launch.map(|launch| launch.at), "–")) }
                dt { "Completed" }
                dd #campaign-completed data-live data-on=[on] {
                    (time_or(campaign.completed_at(), "–"))
                }
            }
        }
    }
}

fn results(campaign: &Campaign, launch: &Launch) -> Markup {
    let count = |status| launch.counts.of(status);
    let figure = |name, status: MessageStatus| {
        let messages = format!("/console/messages?campaign_id={}&status={status}", campaign.id);
        let note = html! { a href=(messages) { "Show" } };
        stat(name, &whole(count(status)), (count(status) > 0).then_some(note))
    };
    let clicks = html! {
        a href={ "/console/links?campaign_id=" (campaign.id) } {
            (counted(campaign.links.clicks, "click"))
        }
    };
    let mut figures = vec![
        figure("Delivered", MessageStatus::Delivered),
        figure("On their way", MessageStatus::Sent),
        stat("Waiting", &whole(launch.counts.waiting() + count(MessageStatus::Sending)), None),
        figure("Undelivered", MessageStatus::Undelivered),
        figure("Failed", MessageStatus::Failed),
    ];
    if count(MessageStatus::Cancelled) > 0 {
        figures.push(figure("Cancelled", MessageStatus::Cancelled));
    }
    if campaign.track_links {
        let clicked = whole(campaign.links.unique_clicked);
        figures.push(stat("People who clicked", &clicked, Some(clicks)));
    }
    html! {
        (stats(&figures))
        @if launch.rejected > 0 {
            (notice(Notice::Info, &html! {
                (counted_as(launch.rejected, "person", "people"))
                " of the list did not get it: opted out, or the text was too long or empty for "
                "them."
            }))
        }
    }
}

/// What is asked before it is cancelled or deleted.
fn questions(campaign: &Campaign, csrf: &str, now: Timestamp) -> Markup {
    let path = address(campaign.id);
    let waiting = campaign.launch.as_ref().map_or(0, |launch| {
        let count = |status| launch.counts.of(status);
        count(MessageStatus::Scheduled) + count(MessageStatus::Queued)
    });
    let cancelling = Question {
        id: "cancel",
        title: &format!("Cancel “{}”?", campaign.name),
        text: html! {
            p #cancel-count data-live data-on=[told_by(campaign, now)] {
                "About " (counted(waiting, "message")) " that have not left are cancelled and "
                "refunded. What has left cannot be called back."
            }
        },
        action: "Cancel the campaign",
        kind: Kind::Danger,
        to: &format!("{path}/cancel"),
        csrf,
        sent: &[],
    };
    let deleting = Question {
        id: "delete",
        title: &format!("Delete the draft “{}”?", campaign.name),
        text: html! { p { "It has sent nothing. It cannot be brought back." } },
        action: "Delete the draft",
        kind: Kind::Danger,
        to: &format!("{path}/delete"),
        csrf,
        sent: &[],
    };
    html! {
        // Another tab may launch the draft while this one shows it.
        @if campaign.launch.is_none() { (confirm(&deleting)) }
        (confirm(&cancelling))
    }
}

async fn cancel(visit: AccountVisit) -> Outcome {
    let id = visit.params.id()?;
    match visit.handle().campaign_cancel(id).await {
        Ok(_) => Ok(Reply::moved(address(id)).saying(Said::CampaignCancelled)),
        Err(error @ Error::CampaignNotCancellable(_)) => {
            let campaign = visit.handle().campaign_get(id).await?;
            refused(&visit, &campaign, &error).await
        }
        Err(error) => Err(error.into()),
    }
}

async fn delete(visit: AccountVisit) -> Outcome {
    let id = visit.params.id()?;
    match visit.handle().campaign_delete(id).await {
        Err(error @ Error::CampaignNotDraft) => {
            let campaign = visit.handle().campaign_get(id).await?;
            refused(&visit, &campaign, &error).await
        }
        other => Reply::deleted(other, CAMPAIGNS, Said::DraftDeleted, Said::DeletedAlready),
    }
}

/// The campaign as it is, and why nothing was done to it.
pub(super) async fn refused(visit: &AccountVisit, campaign: &Campaign, error: &Error) -> Outcome {
    let words = crate::form::sentence(&error.to_string());
    let problem = notice(Notice::Bad, &html! { p { (words) } });
    Ok(Reply::Again(campaign_page(visit, campaign, problem, &Trying::fresh()).await?))
}
