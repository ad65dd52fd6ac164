//! Tracked links: one for each URL and recipient, and every hit counted once.

use sms_core::event::EventType;
use sms_core::ids::CampaignId;
use sms_core::link::{ClickPlan, Link, LinkFilter};
use sms_core::message::Message;
use sms_core::page::PageRequest;

use super::commit::Owed;
use super::{Check, Commit, Model, Moment, read};
use crate::simulation::wish::{SHORT_URLS, URL};

impl Model {
    /// A text that holds a URL was accepted. Where links are tracked it has one link, and the short
    /// URL in place of the long one; else it has none.
    pub(super) fn links_made(
        &mut self,
        moment: &Moment<'_>,
        message: &Message,
        tracked: bool,
    ) -> Check {
        let filter = LinkFilter { message: Some(message.id), ..LinkFilter::default() };
        let page = moment.books.link_list(message.account, filter, PageRequest::default());
        let mut links = read(page)?.items;
        let (words, id) = (message.body.as_str(), message.id);
        let expected = usize::from(tracked && !message.mode.is_test());
        ensure!(links.len() == expected, "{id} has {} links, not {expected}", links.len());
        let Some(link) = links.pop() else {
            ensure!(!words.contains(SHORT_URLS), "{id} holds a short URL that nobody asked for");
            return Ok(());
        };
        let short = format!("{SHORT_URLS}{}", link.code.as_str());
        ensure!(words.contains(&short) && !words.contains(URL), "{id} does not hold its short URL");
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
        Ok(())
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
            let kept = read(moment.books.link_get(link.account, link.id))?;
            ensure!(kept.as_ref() == Some(&link), "{kept:?} is kept for {link:?}");
            self.tally.hits += 1;
            commit.plan(plan.ids);
            let (kind, subject) = (EventType::LinkClicked, link.id.to_string());
            commit.owe(Owed { account: link.account, kind, subject, at });
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
