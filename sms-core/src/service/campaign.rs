//! An account's campaigns.

use std::time::Duration;

use super::account::AccountHandle;
use super::keyed::{Keyed, made};
use super::planning::{Departure, MOST_PLANS, is_large};
use super::reading::Read;
use super::sms::Sms;
use super::wake::Work;
use crate::campaign::cancel::{CancelPlan, PORTION, SweepPlan};
use crate::campaign::launch::{LaunchOptions, LaunchPlan, QuietHoursApplied};
use crate::campaign::{Campaign, CampaignChange, CampaignInput, KeptDraft};
use crate::error::Error;
use crate::field_error::FieldError;
use crate::idempotency::{Claim, Made, Once};
use crate::ids::{AccountId, CampaignId, ListId};
use crate::list::ContactList;
use crate::message::status::MessageStatus;
use crate::page::{Page, PageRequest};
use crate::sending::facts::{Codes, PlanFacts, Shortening};
use crate::store_error::{CommitError, StoreError};
use crate::time::Timestamp;
use crate::upkeep::Chore;
use crate::version::IfVersion;

/// How long after a cancellation tidying takes over. Until then the caller that cancelled sweeps.
const SWEPT_BY_ITSELF: Duration = Duration::from_mins(2);

/// The result of a launch.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub struct CampaignLaunched {
    /// The campaign after the launch.
    pub campaign: Campaign,
    /// Whether quiet hours delayed it.
    pub quiet_hours: QuietHoursApplied,
}

/// The result of a cancellation.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub struct CampaignCancelled {
    /// The campaign after the cancellation.
    pub campaign: Campaign,
    /// How many of its messages were cancelled.
    pub messages: u64,
}

impl AccountHandle {
    /// Creates a campaign as a draft.
    ///
    /// # Errors
    ///
    /// [`Error::Invalid`] with every bad field; [`Error::UnknownReference`] to a list;
    /// [`Error::SenderNotApproved`].
    pub async fn campaign_create(&self, input: CampaignInput) -> Result<Campaign, Error> {
        Ok(self.keyed(None).campaign_create(input).await?.value)
    }

    /// One campaign of the account, with its counts; [`Error::NotFound`] if there is none.
    pub async fn campaign_get(&self, id: CampaignId) -> Result<Campaign, Error> {
        let found = self.sms.store().campaign_get(self.id, id).await?;
        found.ok_or(Error::NotFound("campaign"))
    }

    /// A page of the account's campaigns, newest first.
    pub async fn campaign_list(&self, page: PageRequest) -> Result<Page<Campaign>, Error> {
        let _turn = self.read_turn(Read::Page).await;
        Ok(self.sms.store().campaign_list(self.id, page).await?)
    }

    /// Edits a draft. The approval of a sender name is checked only if the change names one.
    ///
    /// # Errors
    ///
    /// [`Error::Invalid`] with every bad field; [`Error::UnknownReference`] to a list;
    /// [`Error::SenderNotApproved`]; [`Error::CampaignNotDraft`].
    pub async fn campaign_update(
        &self,
        id: CampaignId,
        mut change: CampaignChange,
    ) -> Result<Campaign, Error> {
        refuse(change.check())?;
        // Checked first, so that the errors reveal nothing about another account's campaign.
        self.campaign_get(id).await?;
        if let Some(list) = change.list {
            self.known_list(list).await?;
        }
        if let Some(sender) = &change.sender {
            change.sender = Some(self.approved(sender.as_deref()).await?);
        }
        let at = self.sms.now();
        Ok(self.sms.store().campaign_update(self.id, id, change, at).await?)
    }

    /// Deletes a draft.
    ///
    /// # Errors
    ///
    /// [`Error::CampaignNotDraft`].
    pub async fn campaign_delete(&self, id: CampaignId) -> Result<(), Error> {
        self.campaign_delete_if(id, IfVersion::Any).await
    }

    /// Deletes a draft if it has this version, or one of these.
    ///
    /// # Errors
    ///
    /// [`Error::PreconditionFailed`] if it has another version; [`Error::CampaignNotDraft`].
    pub async fn campaign_delete_if(
        &self,
        id: CampaignId,
        version: impl Into<IfVersion>,
    ) -> Result<(), Error> {
        Ok(self.sms.store().campaign_delete(self.id, id, version.into()).await?)
    }

    /// Launches a draft: takes the credits of all its messages and queues them, or does nothing.
    ///
    /// # Errors
    ///
    /// [`Error::Invalid`]; [`Error::CampaignAlreadyLaunched`]; [`Error::UnknownReference`] when the
    /// list was removed; [`Error::SenderNotApproved`]; [`Error::NoRecipients`];
    /// [`Error::MayNotSend`]; [`Error::InsufficientCredit`]; [`Error::TooManyPlans`];
    /// [`Error::TooManyPlansInAll`]; with test keys
    /// [`Error::TestLimitExceeded`] and [`Error::TestMessagesUsedUp`].
    pub async fn campaign_launch(
        &self,
        id: CampaignId,
        options: LaunchOptions,
    ) -> Result<CampaignLaunched, Error> {
        Ok(self.keyed(None).campaign_launch(id, options).await?.value)
    }

    async fn launch_once(
        &self,
        id: CampaignId,
        options: LaunchOptions,
        claim: Option<&Claim>,
    ) -> Result<Once<CampaignLaunched>, Error> {
        refuse(options.check(self.sms.now()).into_iter().collect())?;
        // Held until the commit, during which the store plans the messages page by page.
        let mut turn = None;
        for _ in 0..MOST_PLANS {
            let draft = self.campaign_get(id).await?;
            if draft.launch.is_some() {
                return Err(Error::CampaignAlreadyLaunched);
            }
            let list = self.known_list(draft.list).await?;
            let tracked = options.apply(draft.clone()).track_links;
            if turn.is_none() && is_large(list.contact_count, draft.body.as_str(), tracked) {
                turn = Some(self.turn(&self.sms.inner.launches).await?);
            }
            let (plan, quiet_hours) = self.launch_plan(draft, options).await?;
            match self.sms.store().campaign_launch(plan, claim).await {
                Ok(Once::Done(campaign)) => {
                    if campaign.launch.as_ref().is_some_and(|it| it.scheduled_at.is_none()) {
                        self.sms.wake(Work::Dispatch);
                    }
                    return Ok(Once::Done(CampaignLaunched { campaign, quiet_hours }));
                }
                Ok(Once::Earlier(earlier)) => return Ok(Once::Earlier(earlier)),
                // The draft was edited in between.
                Err(CommitError::Stale) => {}
                Err(error) => return Err(error.into()),
            }
        }
        Err(Error::Busy)
    }

    /// The answer of the request that launched the campaign with these options.
    async fn launched_before(
        &self,
        id: CampaignId,
        options: LaunchOptions,
    ) -> Result<Made<CampaignLaunched>, Error> {
        let campaign = self.campaign_get(id).await?.as_launched();
        let launch = campaign.launch.as_ref();
        let quiet_hours = launch.map(|launch| options.quiet_hours_of(launch));
        let quiet_hours = quiet_hours.unwrap_or(QuietHoursApplied::No);
        Ok(Made::again(CampaignLaunched { campaign, quiet_hours }))
    }

    async fn launch_plan(
        &self,
        draft: Campaign,
        options: LaunchOptions,
    ) -> Result<(LaunchPlan, QuietHoursApplied), Error> {
        let sender = self.approved_sender(draft.sender.as_deref()).await?;
        let wanted = options.apply(draft.clone());
        let store = self.sms.store();
        let settings = store.account_settings(self.id).await?;
        let settings = settings.ok_or(Error::NotFound("account"))?;
        // Read together: a message whose id is of a later time could be sent before it was created.
        let at = self.sms.now();
        let ids = self.sms.ids(at);
        let custom_names = self.custom_names_in(draft.body.as_str()).await?;
        let Departure { from, route } = self.departure(at).await?;
        let departure = options.departure(&wanted, &settings, at);
        let body = draft.body.clone();
        let facts = PlanFacts {
            account: self.id,
            settings: &settings,
            mode: self.mode,
            body: body.as_str(),
            from,
            sender: sender.as_ref(),
            route: &route,
            custom_names: &custom_names,
            shortening: Shortening {
                base: &self.sms.inner.link_base,
                codes: Codes::Drawn(&self.sms.inner.random),
            },
            validity: self.sms.inner.validity,
            at,
        };
        let plan = LaunchPlan::new(draft, &options, departure, &facts, ids);
        Ok((plan, departure.quiet_hours))
    }

    /// Cancels a campaign, and those of its messages that no worker has claimed.
    ///
    /// # Errors
    ///
    /// [`Error::CampaignNotCancellable`] unless it is scheduled or sending.
    pub async fn campaign_cancel(&self, id: CampaignId) -> Result<CampaignCancelled, Error> {
        let at = self.sms.now();
        let plan = CancelPlan { account: self.id, campaign: id, at };
        let marked = self.sms.call_off(plan).await?;
        self.sms.sweep(self.id, id, usize::MAX).await?;
        let campaign = self.campaign_get(id).await?;
        // Includes messages that a worker found first and cancelled.
        let messages = cancelled(&campaign).saturating_sub(cancelled(&marked));
        Ok(CampaignCancelled { campaign, messages })
    }

    async fn known_list(&self, id: ListId) -> Result<ContactList, Error> {
        let found = self.sms.store().list_get(self.id, id).await?;
        let unknown = || Error::UnknownReference { resource: "list", id: id.to_string() };
        found.ok_or_else(unknown)
    }

    /// The approved name, in the case in which it was approved.
    async fn approved(&self, wanted: Option<&str>) -> Result<Option<String>, Error> {
        let name = self.approved_sender(wanted).await?;
        Ok(name.map(|name| name.as_str().to_owned()))
    }
}

impl Sms {
    /// Cancels the messages of a cancelled campaign that no worker has claimed, up to `portions`
    /// portions of them. Returns how many portions there were.
    async fn sweep(
        &self,
        account: AccountId,
        campaign: CampaignId,
        portions: usize,
    ) -> Result<usize, StoreError> {
        let mut after = None;
        for done in 0..portions {
            let at = self.now();
            let ids = self.ids(at);
            let plan = SweepPlan { account, campaign, after, limit: PORTION, at, ids };
            match self.store().campaign_sweep(plan).await?.last {
                Some(last) => after = Some(last),
                None => return Ok(done),
            }
        }
        Ok(portions)
    }

    /// Folds counts, and finishes the cancelled campaigns that a dead program left.
    pub(super) async fn campaigns_tidy(
        &self,
        now: Timestamp,
        limit: usize,
    ) -> Result<usize, StoreError> {
        let mut done = self.store().tidy(Chore::CampaignCounts, limit).await?;
        let before = now.minus(SWEPT_BY_ITSELF);
        for (account, campaign) in self.store().campaigns_unswept(before, limit).await? {
            done += self.sweep(account, campaign, limit.div_ceil(PORTION)).await?;
        }
        Ok(done)
    }
}

fn cancelled(campaign: &Campaign) -> u64 {
    let launch = campaign.launch.as_ref();
    launch.map_or(0, |launch| launch.counts.of(MessageStatus::Cancelled))
}

impl Keyed<AccountHandle> {
    /// [`AccountHandle::campaign_create`], once for the key.
    pub async fn campaign_create(&self, input: CampaignInput) -> Result<Made<Campaign>, Error> {
        refuse(input.check())?;
        let claim = self.claim("campaign_create", |fields| input.meaning(fields));
        let claim = claim.as_ref();
        let account = &self.handle;
        let again = |kept: KeptDraft| kept.draft(input.clone(), account.id);
        if let Some(kept) = self.earlier::<Campaign>(claim).await? {
            return Ok(Made::again(again(kept)));
        }
        account.known_list(input.list).await?;
        let sender = account.approved(input.sender.as_deref()).await?;
        let store = account.sms.store();
        let settings = store.account_settings(account.id).await?;
        let settings = settings.ok_or(Error::NotFound("account"))?;
        let at = account.sms.now();
        let known = CampaignInput { sender, ..input.clone() };
        let draft = known.into_draft(account.sms.ids(at).next(), account.id, &settings, at);
        made(store.campaign_create(draft, claim).await?, claim, again)
    }
}

impl Keyed<AccountHandle> {
    /// [`AccountHandle::campaign_launch`], once for the key. A repetition returns the campaign as
    /// its launch left it.
    pub async fn campaign_launch(
        &self,
        id: CampaignId,
        options: LaunchOptions,
    ) -> Result<Made<CampaignLaunched>, Error> {
        let claim = self.claim("campaign_send", |fields| {
            let LaunchOptions { schedule_at, track_links, ignore_quiet_hours } = options;
            fields.add("campaign", [id.to_string()]);
            fields.add("schedule_at", schedule_at.map(|at| at.to_string()));
            fields.add("track_links", track_links.map(|track| track.to_string()));
            fields.add("ignore_quiet_hours", ignore_quiet_hours.map(|ignore| ignore.to_string()));
        });
        let claim = claim.as_ref();
        let account = &self.handle;
        if self.earlier::<Campaign>(claim).await?.is_some() {
            return account.launched_before(id, options).await;
        }
        let earlier = match account.launch_once(id, options, claim).await {
            Ok(Once::Done(launched)) => return Ok(Made::first(launched)),
            Ok(Once::Earlier(earlier)) => earlier,
            // Another request with the key may be why.
            Err(error) => match (&error, claim) {
                (Error::Invalid(_), _) | (_, None) => return Err(error),
                (_, Some(claim)) => self.found(claim).await.ok().flatten().ok_or(error)?,
            },
        };
        let claim = claim.ok_or(Error::IdempotencyConflict)?;
        claim.answer::<Campaign>(&earlier)?;
        account.launched_before(id, options).await
    }
}

fn refuse(errors: Vec<FieldError>) -> Result<(), Error> {
    if errors.is_empty() { Ok(()) } else { Err(Error::Invalid(errors)) }
}
