//! Tracked links: one for each address and person, and who opened it.

use maud::{Markup, html};
use sms_core::ids::{CampaignId, MessageId};
use sms_core::link::{Link, LinkBase, LinkFilter};
use sms_core::page::Page as ListPage;

use crate::format::{number, time_or, whole};
use crate::part::code::as_request;
use crate::part::head::head;
use crate::part::pager::{page_request, pager};
use crate::part::state::empty;
use crate::part::table::{column, right, table};
use crate::place::{Place, account};
use crate::reply::{Outcome, Page, Trouble};
use crate::visit::AccountVisit;

const PATH: &str = "/console/links";

pub(crate) fn places() -> Vec<Place> {
    vec![Place::get(PATH, account(list))]
}

/// Whose links are shown.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Of {
    Everything,
    Campaign(CampaignId),
    Message(MessageId),
}

async fn list(visit: AccountVisit) -> Outcome {
    let of = match (visit.query("campaign_id"), visit.query("message_id")) {
        (Some(id), _) => Of::Campaign(id.parse().map_err(|_| Trouble::NotFound)?),
        (None, Some(id)) => Of::Message(id.parse().map_err(|_| Trouble::NotFound)?),
        (None, None) => Of::Everything,
    };
    let filter = match of {
        Of::Everything => LinkFilter::default(),
        Of::Campaign(id) => LinkFilter { campaign: Some(id), ..LinkFilter::default() },
        Of::Message(id) => LinkFilter { message: Some(id), ..LinkFilter::default() },
    };
    let campaign = match of {
        Of::Campaign(id) => Some(visit.handle().campaign_get(id).await?.name),
        Of::Everything | Of::Message(_) => None,
    };
    let links = visit.handle().link_list(filter, page_request(&visit)).await?;
    let below = html! {
        (pager(&visit, links.next))
        (as_request(&visit.desk.public_url, "GET", &of.path(), None))
    };
    let base = visit.sms.link_base();
    let content = view(&links, of, campaign.as_deref(), base, &below);
    Ok(Page::new("Tracked links", content).into())
}

impl Of {
    /// Where programs find them.
    fn path(self) -> String {
        match self {
            Self::Everything => "/v1/links".to_owned(),
            Self::Campaign(id) => format!("/v1/links?campaign_id={id}"),
            Self::Message(id) => format!("/v1/links?message_id={id}"),
        }
    }
}

fn view(
    links: &ListPage<Link>,
    of: Of,
    campaign: Option<&str>,
    base: &LinkBase,
    below: &Markup,
) -> Markup {
    let lead = match of {
        Of::Everything => html! { "One for each URL and person." },
        Of::Campaign(_) => html! {
            "The links of the campaign “" (campaign.unwrap_or_default()) "”. "
            a href=(PATH) { "Show all" }
        },
        Of::Message(_) => html! { "The links of one message. " a href=(PATH) { "Show all" } },
    };
    html! {
        (head("Tracked links").lead(lead))
        div #links data-live data-on="link" {
            @if links.items.is_empty() {
                (empty("No tracked links", &html! {
                    "They are created when a message is sent with “Shorten links and count who "
                    "opens them”."
                }, None))
            } @else {
                (rows(&links.items, base))
            }
            (below)
        }
    }
}

fn rows(links: &[Link], base: &LinkBase) -> Markup {
    let columns = [
        column("Leads to"),
        column("Short address"),
        column("Person"),
        right("Clicks"),
        column("First"),
        column("Last"),
    ];
    table("Tracked links", columns, links, |link| {
        [
            html! { strong { (link.url) } },
            html! { code { (base.short_url(link.code)) } },
            html! {
                a.number href={ "/console/messages/" (link.message) } {
                    (number(link.contact_number))
                }
            },
            html! { (whole(link.clicks)) },
            time_or(link.first_clicked_at, "Not opened"),
            time_or(link.last_clicked_at, "–"),
        ]
    })
}
