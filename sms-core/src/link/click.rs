//! Hits on short URLs: each counts, and each raises `link.clicked`.

use super::{Link, LinkCode};
use crate::event::{Event, EventData, LinkClick};
use crate::ids::Ids;
use crate::time::Timestamp;

/// A hit to be counted.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ClickPlan {
    /// The code that was asked for.
    pub code: LinkCode,
    /// When.
    pub at: Timestamp,
    /// Ids for what counting makes.
    pub ids: Ids,
}

/// What one hit changes. [`Clicks`](crate::commit::Clicks) makes of it what a store writes.
#[derive(Debug, Clone, PartialEq, Eq)]
#[must_use = "a hit has to be written by the store"]
pub struct Clicked {
    /// The link as it is now.
    pub(crate) link: Link,
    /// The event to be delivered.
    pub(crate) event: Event,
}

impl Clicked {
    /// The event to be delivered.
    pub fn event(&self) -> &Event {
        &self.event
    }
}

impl ClickPlan {
    /// What the hit changes about the link as the store finds it under its lock.
    pub fn settle(&mut self, link: &Link) -> Clicked {
        // Hits that cross on their way here never turn the times back.
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

/// What hits add to a campaign's counts.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct CampaignClicks {
    /// Hits.
    pub clicks: u64,
    /// Links that were hit for the first time.
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
    fn a_hit_counts_and_says_when_and_the_first_one_stays_the_first() {
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
    fn hits_that_cross_never_turn_the_times_back() {
        let later = click(&link(), millis(5)).link;
        let Clicked { link, event } = click(&later, now());
        let at = Some(millis(5));
        assert_eq!((link.clicks, link.first_clicked_at, link.last_clicked_at), (2, at, at));
        assert_eq!(event.created_at, millis(5));
    }

    #[test]
    fn a_hit_raises_an_event_with_the_count_after_it() {
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
