//! Tracked links: one for each URL and recipient, and every hit counted once.

use sms_core::event::{EventData, EventType, LinkClick};
use sms_core::ids::CampaignId;
use sms_core::link::click::ClickPlan;
use sms_core::link::store::LinkWanted;
use sms_core::link::{Link, LinkFilter};
use sms_core::message::Message;
use sms_core::page::PageRequest;

use super::commit::Owed;
use super::{Check, Commit, Model, Moment, read};
use crate::simulation::wish::{SHORT_URLS, URL};

impl Model {
    /// A message with this body was accepted. If links are tracked, it has one link, and the short
    /// URL replaces the long one; otherwise it has none. Returns the body to be sent.
    pub(super) fn links_made(
        &mut self,
        moment: &Moment<'_>,
        message: &Message,
        words: String,
        tracked: bool,
    ) -> Result<String, String> {
        let filter = LinkFilter { message: Some(message.id), ..LinkFilter::default() };
        let page = moment.books.link_list(message.account, filter, PageRequest::default());
        let mut links = read(page)?.items;
        let id = message.id;
        let expected = usize::from(tracked && !message.mode.is_test() && words.contains(URL));
        ensure!(links.len() == expected, "{id} has {} links, not {expected}", links.len());
        let Some(link) = links.pop() else { return Ok(words) };
        let words = words.replace(URL, &format!("{SHORT_URLS}{}", link.code.as_str()));
        let must = Link {
            id: link.id,
            account: message.account,
            code: link.code,
            url: URL.to_owned(),
            message: id,
            campaign: message.campaign_id,
            contact_number: message.to,
            clicks: 0,
            first_clicked_at: None,
            last_clicked_at: None,
        };
        ensure!(link == must, "a new link is {link:?} and must be {must:?}");
        ensure!(!self.codes.contains_key(&link.code), "two links have one code");
        self.codes.insert(link.code, link.id);
        self.recent_links.push(link.code);
        self.tally.links += 1;
        self.links.insert(link.id, link);
        Ok(words)
    }

    /// Hits were counted.
    pub fn saw_hits(
        &mut self,
        moment: &Moment<'_>,
        plans: Vec<ClickPlan>,
        answers: &[Option<Link>],
    ) -> Check {
        ensure!(plans.len() == answers.len(), "{} hits, {} answers", plans.len(), answers.len());
        let mut commit = Commit::default();
        for (plan, answer) in plans.into_iter().zip(answers) {
            let id = self.codes.get(&plan.code).copied();
            let Some(link) = id.and_then(|id| self.links.get_mut(&id)) else {
                ensure!(answer.is_none(), "a hit on no link answers {answer:?}");
                continue;
            };
            let at = link.last_clicked_at.map_or(plan.at, |last| last.max(plan.at));
            link.clicks += 1;
            link.first_clicked_at.get_or_insert(at);
            link.last_clicked_at = Some(at);
            let link = link.clone();
            ensure!(answer.as_ref() == Some(&link), "a hit answers {answer:?} for {link:?}");
            let kept = read(moment.books.link_get(LinkWanted::Id(link.account, link.id)))?;
            ensure!(kept.as_ref() == Some(&link), "{kept:?} is kept for {link:?}");
            self.tally.hits += 1;
            commit.plan(plan.ids);
            let (account, kind) = (link.account, EventType::LinkClicked);
            let data = EventData::LinkClicked(LinkClick {
                link_id: link.id,
                code: link.code.as_str().to_owned(),
                url: link.url,
                message_id: Some(link.message),
                campaign_id: link.campaign,
                contact_number: Some(link.contact_number),
                clicks: link.clicks,
                clicked_at: at,
            });
            commit.owe(Owed { account, kind, data, at });
        }
        self.close(moment, commit)
    }

    /// Links, hits and links hit of a campaign.
    pub(super) fn link_totals(&self, campaign: CampaignId) -> (u64, u64, u64) {
        let own = self.links.values().filter(|link| link.campaign == Some(campaign));
        own.fold((0, 0, 0), |(links, clicks, hit), link| {
            (links + 1, clicks + link.clicks, hit + u64::from(link.clicks > 0))
        })
    }
}
