//! Campaigns, through the real planning.

use std::collections::BTreeSet;

use sms_core::account::{Account, Mode};
use sms_core::campaign::cancel::{CancelPlan, CancelRefused, SweepPlan};
use sms_core::campaign::launch::{
    Departure, LaunchOptions, LaunchPlan, LaunchRefused, QuietHoursApplied,
};
use sms_core::campaign::{Campaign, CampaignInput, Counts};
use sms_core::dispatch::VALIDITY;
use sms_core::ids::AccountId;
use sms_core::link::LinkBase;
use sms_core::list::ContactList;
use sms_core::message::{Message, MessageFilter, MessageStatus};
use sms_core::route::RouteName;
use sms_core::sending::plan::{Codes, PlanFacts, Shortening};
use sms_core::store::CommitError;
use sms_core::time::Timestamp;
use sms_core::upkeep::Chore;

use super::{Rig, our_number, read_all};

impl Rig {
    /// A list with these people.
    pub async fn list_of(
        &self,
        account: &Account,
        people: impl IntoIterator<Item = u16>,
    ) -> ContactList {
        let list = self.list(account).await;
        let people: Vec<u16> = people.into_iter().collect();
        self.join(&list, &[], &people).await;
        list
    }

    /// Drafts a campaign of one part to a list.
    pub async fn draft(&self, account: &Account, list: &ContactList) -> Campaign {
        let input = CampaignInput::new("Spring", "The spring menu is here", list.id);
        let draft = input.into_draft(self.id(), account.id, &account.settings, self.now());
        crate::rig::done(self.store().campaign_create(draft.clone(), None).await)
            .expect("the campaign is made");
        draft
    }

    /// A plan to launch a draft now, or at a time; quiet hours do not matter to it. It reads two
    /// contacts at a time.
    pub fn launch_plan(
        &self,
        account: &Account,
        draft: &Campaign,
        mode: Mode,
        schedule_at: Option<Timestamp>,
    ) -> LaunchPlan {
        let route = if mode.is_test() { RouteName::test() } else { RouteName::new("simulator") };
        let facts = PlanFacts {
            account: account.id,
            settings: &account.settings,
            mode,
            body: draft.body.as_str(),
            from: our_number(),
            sender: None,
            route: &route,
            custom_names: &BTreeSet::new(),
            shortening: Shortening {
                base: &LinkBase::default(),
                codes: Codes::Drawn(&self.shared_random()),
            },
            validity: VALIDITY,
            at: self.now(),
        };
        let options = LaunchOptions::default().schedule_at(schedule_at);
        let departure = Departure { scheduled_at: schedule_at, quiet_hours: QuietHoursApplied::No };
        let mut plan = LaunchPlan::new(draft.clone(), &options, departure, &facts, self.ids());
        plan.page_size = 2;
        plan
    }

    /// Tries to launch a draft now.
    pub async fn try_launch(
        &self,
        account: &Account,
        draft: &Campaign,
        mode: Mode,
    ) -> Result<Campaign, CommitError<LaunchRefused>> {
        crate::rig::done(
            self.store().campaign_launch(self.launch_plan(account, draft, mode, None), None).await,
        )
    }

    /// Launches a draft now.
    pub async fn launch(&self, account: &Account, draft: &Campaign) -> Campaign {
        self.try_launch(account, draft, Mode::Live).await.expect("the campaign is launched")
    }

    /// Drafts and launches a campaign to these people.
    pub async fn launched(
        &self,
        account: &Account,
        people: impl IntoIterator<Item = u16>,
    ) -> Campaign {
        let list = self.list_of(account, people).await;
        let draft = self.draft(account, &list).await;
        self.launch(account, &draft).await
    }

    /// A campaign as it is now.
    pub async fn campaign_now(&self, campaign: &Campaign) -> Option<Campaign> {
        let found = self.store().campaign_get(campaign.account, campaign.id).await;
        found.expect("the campaign is read")
    }

    /// How many of a campaign's messages stand where.
    pub async fn counts(&self, campaign: &Campaign) -> Counts {
        let found = self.campaign_now(campaign).await.expect("the campaign is there");
        found.launch.expect("it was launched").counts
    }

    /// The messages of a campaign, in the order they were made.
    pub async fn messages_of(&self, campaign: &Campaign) -> Vec<Message> {
        let filter = MessageFilter { campaign_id: Some(campaign.id), ..MessageFilter::default() };
        let mut messages = self.messages(campaign.account, &filter).await;
        messages.reverse();
        messages
    }

    /// The owner's request to cancel a campaign.
    pub fn campaign_cancel_plan(&self, campaign: &Campaign) -> CancelPlan {
        CancelPlan { account: campaign.account, campaign: campaign.id, at: self.now() }
    }

    /// Marks a campaign as cancelled.
    pub async fn mark_cancelled(
        &self,
        campaign: &Campaign,
    ) -> Result<Campaign, CommitError<CancelRefused>> {
        self.store().campaign_cancel(self.campaign_cancel_plan(campaign)).await
    }

    /// A portion of the messages of a cancelled campaign, from the first that is left.
    pub fn sweep_plan(&self, campaign: &Campaign, limit: usize) -> SweepPlan {
        SweepPlan {
            account: campaign.account,
            campaign: campaign.id,
            after: None,
            limit,
            at: self.now(),
            ids: self.ids(),
        }
    }

    /// Cancels a campaign and its messages.
    pub async fn cancel_campaign(&self, campaign: &Campaign) {
        self.mark_cancelled(campaign).await.expect("the campaign is cancelled");
        self.sweep(campaign).await;
    }

    /// Cancels the messages that a cancelled campaign has left.
    pub async fn sweep(&self, campaign: &Campaign) {
        while self.sweep_one(campaign, 3).await {}
    }

    /// Sweeps one portion; false when nothing was left.
    pub async fn sweep_one(&self, campaign: &Campaign, limit: usize) -> bool {
        let swept = self.store().campaign_sweep(self.sweep_plan(campaign, limit)).await;
        swept.expect("messages are cancelled").last.is_some()
    }

    /// Folds the deltas of counts.
    pub async fn fold_counts(&self, limit: usize) -> usize {
        self.store().tidy(Chore::CampaignCounts, limit).await.expect("counts are folded")
    }

    /// All campaigns of an account, newest first.
    pub async fn campaigns(&self, account: AccountId) -> Vec<Campaign> {
        read_all(100, async |page| {
            self.store().campaign_list(account, page).await.expect("the campaigns are read")
        })
        .await
    }

    /// Checks the campaigns of an account against its messages: counts are a recount, what was
    /// taken is what the messages cost, and it is complete when the last message stopped waiting.
    pub(crate) async fn audit_campaigns(&self, account: AccountId, messages: &[Message]) {
        for campaign in self.campaigns(account).await {
            assert_eq!(self.campaign_now(&campaign).await.as_ref(), Some(&campaign));
            let messages = messages.iter().filter(|text| text.campaign_id == Some(campaign.id));
            let messages: Vec<&Message> = messages.collect();
            let Some(launch) = &campaign.launch else {
                assert_eq!(messages.len(), 0, "a draft has no messages");
                continue;
            };
            let recount = Counts::count(messages.iter().copied());
            assert_eq!(launch.counts, recount, "the counts are a recount");
            assert_eq!(launch.recipients, messages.len() as u64);
            let credits: u64 = messages.iter().map(|text| text.credits.get()).sum();
            assert_eq!(launch.credits.get(), credits, "a launch takes what its messages cost");
            assert!(messages.iter().all(|text| text.batch_id == Some(launch.batch)));
            let settled = |text: &&Message| {
                let times = text.times;
                let waits = MessageStatus::CLAIMABLE.contains(&text.status);
                let at = times.sent_at.or(times.failed_at).or(times.cancelled_at);
                if waits { None } else { at }
            };
            let last = messages.iter().filter_map(settled).max();
            assert_eq!(launch.last_settled_at, last, "when a text last stopped waiting");
        }
    }
}
