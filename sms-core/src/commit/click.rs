//! Clicks on tracked links, settled one after another.

use std::collections::BTreeMap;

use crate::event::Raised;
use crate::ids::{AccountId, CampaignId};
use crate::link::click::{CampaignClicks, ClickPlan, Clicked};
use crate::link::{Link, LinkCode};

/// What a commit writes for clicks on links.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
#[must_use = "what is counted has to be written by the store"]
pub struct ClickWrites {
    /// Links that were clicked, each once. Only their clicks and times can differ.
    pub links: Vec<Link>,
    /// What the clicks add to the totals of campaigns.
    pub campaigns: BTreeMap<(AccountId, CampaignId), CampaignClicks>,
    /// Events to deliver, in order.
    pub raised: Vec<Raised>,
}

/// Collects clicks for one commit.
#[derive(Debug, Clone, Default)]
#[must_use = "what is counted has to be written by the store"]
pub struct Clicks {
    links: BTreeMap<LinkCode, Link>,
    campaigns: BTreeMap<(AccountId, CampaignId), CampaignClicks>,
    raised: Vec<Raised>,
}

impl Clicks {
    /// Settles one click against the link that the store found under its lock, as the earlier
    /// clicks leave it. Returns the link after the click; `None` if there is no link.
    pub fn settle(&mut self, plan: &mut ClickPlan, found: Option<&Link>) -> Option<Link> {
        let found = found?;
        let Clicked { link, event } = plan.settle(self.links.get(&plan.code).unwrap_or(found));
        if let Some(campaign) = link.campaign {
            let sum = self.campaigns.entry((link.account, campaign)).or_default();
            sum.clicks += 1;
            sum.unique += u64::from(link.clicks == 1);
        }
        self.raised.push(Raised { events: vec![event], ids: plan.ids.clone() });
        self.links.insert(link.code, link.clone());
        Some(link)
    }

    /// Everything that was collected.
    pub fn finish(self) -> ClickWrites {
        let Self { links, campaigns, raised } = self;
        ClickWrites { links: links.into_values().collect(), campaigns, raised }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::link::LinkCode;
    use crate::random::SeededRandom;
    use crate::samples::{account_id, ids, link, now};

    fn plan(link: &Link) -> ClickPlan {
        ClickPlan { code: link.code, at: now(), ids: ids() }
    }

    #[test]
    fn clicks_of_one_commit_count_one_after_another_and_each_raises_its_event() {
        let (found, mut clicks) = (link(), Clicks::default());
        assert_eq!(clicks.settle(&mut plan(&found), None), None);
        let answers: Vec<u64> = (0..2)
            .filter_map(|_| clicks.settle(&mut plan(&found), Some(&found)))
            .map(|link| link.clicks)
            .collect();
        assert_eq!(answers, [1, 2]);
        let ClickWrites { links, campaigns, raised } = clicks.finish();
        assert_eq!(links.iter().map(|link| link.clicks).collect::<Vec<_>>(), [2]);
        assert_eq!(campaigns, BTreeMap::new());
        assert_eq!(raised.iter().map(|raised| raised.events.len()).collect::<Vec<_>>(), [1, 1]);
    }

    #[test]
    fn clicks_add_to_the_campaigns_of_their_links_and_a_link_is_unique_once() {
        let campaign = |n| Some(CampaignId::from_u128(n));
        let mut clicks = Clicks::default();
        let random = SeededRandom::new(3);
        for (campaign, before, hits) in [
            (campaign(1), 0, 4),
            (campaign(2), 0, 1),
            (None, 0, 2),
            (campaign(1), 0, 1),
            (campaign(2), 5, 1),
        ] {
            let code = LinkCode::draw(&random);
            let found = Link { code, campaign, clicks: before, ..link() };
            for _ in 0..hits {
                assert!(clicks.settle(&mut plan(&found), Some(&found)).is_some());
            }
        }
        let ClickWrites { campaigns, .. } = clicks.finish();
        let key = |n| (account_id(), CampaignId::from_u128(n));
        assert_eq!(campaigns.len(), 2);
        assert_eq!(campaigns[&key(1)], CampaignClicks { clicks: 5, unique: 2 });
        assert_eq!(campaigns[&key(2)], CampaignClicks { clicks: 2, unique: 1 });
    }
}
