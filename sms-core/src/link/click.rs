//! Clicks on short URLs: each is counted and raises `link.clicked`.

use super::{Link, LinkCode};
use crate::event::{Event, EventData, LinkClick};
use crate::ids::Ids;
use crate::time::Timestamp;

/// A click to be counted.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ClickPlan {
    /// The code in the requested URL.
    pub code: LinkCode,
    /// When the click happened.
    pub at: Timestamp,
    /// Ids for the event and its deliveries.
    pub ids: Ids,
}

/// What one click changes. [`Clicks`](crate::commit::Clicks) turns it into what a store writes.
#[derive(Debug, Clone, PartialEq, Eq)]
#[must_use = "a hit has to be written by the store"]
pub struct Clicked {
    /// The link after the click.
    pub(crate) link: Link,
    /// The event to deliver.
    pub(crate) event: Event,
}

impl Clicked {
    /// The event to deliver.
    pub fn event(&self) -> &Event {
        &self.event
    }
}

impl ClickPlan {
    /// What the click changes about the link that the store found under its lock.
    pub fn settle(&mut self, link: &Link) -> Clicked {
        // Clicks can arrive out of order; the times never go back.
        let at = link.last_clicked_at.map_or(self.at, |last| last.max(self.at));
        let link = Link {
            clicks: link.clicks.saturating_add(1),
            first_clicked_at: link.first_clicked_at.or(Some(at)),
            last_clicked_at: Some(at),
            ..link.clone()
        };
        let data = EventData::LinkClicked(LinkClick {
            link_id: link.id,
            code: link.code.to_string(),
            url: link.url.clone(),
            message_id: Some(link.message),
            campaign_id: link.campaign,
            contact_number: Some(link.contact_number),
            clicks: link.clicks,
            clicked_at: at,
        });
        let event = Event::new(link.account, data, at, &mut self.ids);
        Clicked { link, event }
    }
}

/// What clicks add to a campaign's totals.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct CampaignClicks {
    /// How many clicks there were, on all links of the campaign.
    pub clicks: u64,
    /// Links that were clicked for the first time.
    pub unique: u64,
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::event::EventType;
    use crate::samples::{account_id, ids, link, millis, now, person};

    fn click(link: &Link, at: Timestamp) -> Clicked {
        ClickPlan { code: link.code, at, ids: ids() }.settle(link)
    }

    #[test]
    fn a_click_is_counted_with_its_time_and_the_first_time_stays() {
        let first = click(&link(), now()).link;
        let expected = Link {
            clicks: 1,
            first_clicked_at: Some(now()),
            last_clicked_at: Some(now()),
            ..link()
        };
        assert_eq!(first, expected);
        let second = click(&first, millis(5)).link;
        assert_eq!(second, Link { clicks: 2, last_clicked_at: Some(millis(5)), ..first });
    }

    #[test]
    fn clicks_out_of_order_never_move_the_times_back() {
        let later = click(&link(), millis(5)).link;
        let Clicked { link, event } = click(&later, now());
        let at = Some(millis(5));
        assert_eq!((link.clicks, link.first_clicked_at, link.last_clicked_at), (2, at, at));
        assert_eq!(event.created_at, millis(5));
    }

    #[test]
    fn a_click_raises_an_event_with_the_count_after_it() {
        let before = Link { clicks: 6, last_clicked_at: Some(now()), ..link() };
        let Clicked { link, event } = click(&before, millis(7));
        assert_eq!((event.account, event.data.kind()), (account_id(), EventType::LinkClicked));
        let EventData::LinkClicked(told) = event.data else { panic!("another event") };
        let expected = LinkClick {
            link_id: link.id,
            code: link.code.to_string(),
            url: "https://example.com/menu".to_owned(),
            message_id: Some(link.message),
            campaign_id: None,
            contact_number: Some(person()),
            clicks: 7,
            clicked_at: millis(7),
        };
        assert_eq!(told, expected);
    }
}
