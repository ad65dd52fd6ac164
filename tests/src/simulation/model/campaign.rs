//! Campaigns: what a launch costs and creates, which can be cancelled, and the expected counts.

use sms_core::account::Mode;
use sms_core::campaign::cancel::{CancelPlan, CancelRefused, SweepPlan, Swept};
use sms_core::campaign::launch::{LaunchPlan, LaunchRefused};
use sms_core::campaign::{Campaign, Counts, Launch, LinkTotals};
use sms_core::contact::Contact;
use sms_core::credits::Credits;
use sms_core::credits::ledger::Cause;
use sms_core::dispatch::Lane;
use sms_core::ids::{AccountId, BatchId, ContactId, ListId, MessageId};
use sms_core::message::{Message, MessageFilter, MessageStatus};
use sms_core::page::{Limit, PageRequest};
use sms_core::phone::E164;
use sms_core::route::RouteName;
use sms_core::store::CommitError;
use sms_core::time::Timestamp;

use super::message::Draft;
use super::record::amount;
use super::text::MessageStep;
use super::{AccountModel, CampaignModel, Check, Commit, MessageModel, Model, Moment, read};

/// How many recipients one request of a test key may have.
const MOST_OF_A_TEST: usize = 50;

/// What a launch asked the store to commit.
#[derive(Debug, Clone)]
pub struct LaunchSeen {
    draft: Campaign,
    batch: BatchId,
    mode: Mode,
    at: Timestamp,
}

impl LaunchSeen {
    /// The relevant parts of a plan. Launches here do not override their draft.
    pub fn of(plan: &LaunchPlan) -> Self {
        Self { draft: plan.draft.clone(), batch: plan.batch, mode: plan.mode, at: plan.at }
    }
}

/// Why a launch is not committed.
#[derive(Debug, PartialEq, Eq)]
enum Obstacle {
    Refused(LaunchRefused),
    Stale,
}

impl Model {
    /// A campaign was launched, or that was refused.
    pub fn saw_launch(
        &mut self,
        moment: &Moment<'_>,
        seen: &LaunchSeen,
        answer: &Result<Campaign, CommitError<LaunchRefused>>,
    ) -> Check {
        let told = match answer {
            Ok(_) => None,
            Err(CommitError::Refused(reason)) => Some(Obstacle::Refused(*reason)),
            Err(CommitError::Stale) => Some(Obstacle::Stale),
            Err(CommitError::Store(error)) => return Err(format!("a launch failed: {error}")),
        };
        let draft = &seen.draft;
        let account = self.accounts.get(&draft.account);
        let account = account.ok_or_else(|| format!("no account {}", draft.account))?;
        let must = if self.campaigns.contains_key(&draft.id) {
            Some(Obstacle::Refused(LaunchRefused::AlreadyLaunched))
        } else if answer.is_err()
            && read(moment.books.campaign_get(draft.account, draft.id))?.as_ref() != Some(draft)
        {
            Some(Obstacle::Stale)
        } else {
            launch_obstacle(moment, account, seen, told.as_ref()).map(Obstacle::Refused)
        };
        let id = draft.id;
        ensure!(told == must, "the launch of {id} meets {told:?} and must meet {must:?}");
        let is_used_up =
            matches!(told, Some(Obstacle::Refused(LaunchRefused::TestMessagesUsedUp { .. })));
        self.tally.used_up += u64::from(is_used_up);
        answer.as_ref().map_or(Ok(()), |campaign| self.launched(moment, seen, campaign))
    }

    fn launched(&mut self, moment: &Moment<'_>, seen: &LaunchSeen, campaign: &Campaign) -> Check {
        let LaunchSeen { draft, batch, mode, at } = seen;
        let account = self.accounts.get(&draft.account).ok_or("an account vanished")?;
        let (people, rejected) = on_list(account, draft.list);
        let filter = MessageFilter { campaign_id: Some(draft.id), ..MessageFilter::default() };
        let all = PageRequest { limit: Limit::EXPORT, after: None };
        let mut messages = read(moment.books.message_list(draft.account, &filter, all))?.items;
        messages.reverse();
        let (told, must) = (messages.len(), people.len());
        ensure!(told == must, "{} went to {told} people and had to go to {must}", draft.id);
        let launch = campaign.launch.as_ref().ok_or("a launched campaign is a draft")?;
        let scheduled_at = launch.scheduled_at;
        ensure!(scheduled_at.is_none_or(|due| due > *at), "{launch:?} is for a time that passed");
        let is_tracked = draft.track_links;
        for (text, (to, contact)) in messages.iter().zip(&people) {
            let words = draft.body.as_str().to_owned();
            let words = self.links_made(moment, text, words, is_tracked)?;
            let reading = self.readings.get(&moment.task);
            // One of two launches side by side may have read another number than the other.
            let mut senders = reading.into_iter().flat_map(|reading| reading.senders(*at));
            let sender = senders.find(|(from, _)| *from == text.from);
            let (from, route) = sender.ok_or("a campaign comes from nobody's number")?;
            let route = if mode.is_test() { RouteName::test() } else { route };
            let (id, account, mode, to) = (text.id, draft.account, *mode, *to);
            let plain = Draft { id, account, mode, from, to, words: &words, route: &route };
            let must = Message {
                status: match scheduled_at {
                    Some(_) => MessageStatus::Scheduled,
                    None => MessageStatus::Queued,
                },
                batch_id: Some(*batch),
                campaign_id: Some(draft.id),
                contact_id: Some(*contact),
                scheduled_at,
                ..plain.outbound()
            };
            ensure!(*text == must, "{text:?} was made of a campaign, and must be {must:?}");
        }
        let credits = price(people.len(), *mode);
        let links = if is_tracked && !mode.is_test() { messages.len() as u64 } else { 0 };
        let launch = Launch {
            at: *at,
            scheduled_at,
            cancelled_at: None,
            batch: *batch,
            recipients: people.len() as u64,
            rejected,
            credits,
            counts: Counts::count(&messages),
            last_settled_at: None,
        };
        let must = Campaign {
            launch: Some(launch),
            links: LinkTotals { links, ..LinkTotals::default() },
            updated_at: *at,
            ..draft.clone()
        };
        ensure!(*campaign == must, "a launch made {campaign:?} and must make {must:?}");
        self.write_launch(moment, seen, &messages, amount(credits.get()))
    }

    fn write_launch(
        &mut self,
        moment: &Moment<'_>,
        seen: &LaunchSeen,
        messages: &[Message],
        taken: i64,
    ) -> Check {
        let (id, owner) = (seen.draft.id, seen.draft.account);
        let account = self.accounts.get_mut(&owner).ok_or("an account vanished")?;
        if taken > 0 {
            let cause = Cause::Send { batch: seen.batch, campaign: Some(id) };
            account.book_entry(cause, -taken);
            account.reserved += taken;
        }
        if seen.mode.is_test() {
            account.tested(seen.at, messages.len());
        }
        self.tally.launches += 1;
        self.tally.messages += messages.len() as u64;
        let own = messages.iter().map(|text| text.id).collect();
        let own = CampaignModel { account: owner, messages: own, cancelled: false };
        self.campaigns.insert(id, own);
        for text in messages {
            self.write_text(moment, text, Lane::Bulk, seen.at)?;
        }
        self.recent_campaigns.push((owner, id));
        self.check_ledger(moment, owner)?;
        self.check_heads(moment)
    }

    /// A campaign was cancelled, or that was refused.
    pub fn saw_campaign_cancel(
        &mut self,
        plan: CancelPlan,
        answer: Result<(), CancelRefused>,
    ) -> Check {
        let own = self.campaigns.get(&plan.campaign).filter(|own| own.account == plan.account);
        let open = own.is_some_and(|own| {
            let is_open = |id| self.messages.get(id).is_some_and(MessageModel::is_open);
            !own.cancelled && own.messages.iter().any(is_open)
        });
        ensure!(answer.is_ok() == open, "cancelling {own:?} answers {answer:?}");
        if let Some(own) = self.campaigns.get_mut(&plan.campaign).filter(|_| open) {
            own.cancelled = true;
        }
        Ok(())
    }

    /// Messages of a cancelled campaign were cancelled by a sweep.
    pub fn saw_sweep(&mut self, moment: &Moment<'_>, plan: &SweepPlan, answer: Swept) -> Check {
        let own = self.campaigns.get(&plan.campaign);
        let own = own.filter(|own| own.cancelled && own.account == plan.account);
        let own = own.ok_or_else(|| format!("{} was swept and not cancelled", plan.campaign))?;
        let waits = |id: &&MessageId| {
            let status = self.messages.get(id).map(|text| text.last.status);
            matches!(status, Some(MessageStatus::Scheduled | MessageStatus::Queued))
        };
        let behind = own.messages.iter().filter(|id| plan.after.is_none_or(|after| **id > after));
        let swept: Vec<MessageId> = behind.filter(waits).take(plan.limit).copied().collect();
        ensure!(swept.last() == answer.last.as_ref(), "{swept:?} had to go, not to {answer:?}");
        let mut commit = Commit::default();
        commit.plan(plan.ids.clone());
        for id in swept {
            let step = MessageStep {
                path: &[MessageStatus::Cancelled],
                at: plan.at,
                errors: &[],
                detail: None,
            };
            self.message_moved(moment, &mut commit, id, step)?;
        }
        self.close(moment, commit)
    }

    /// Whether a message still waits although no worker may claim it.
    pub(super) fn is_called_off(&self, id: MessageId) -> bool {
        let Some(text) = self.messages.get(&id) else { return false };
        let campaign = text.last.campaign_id.and_then(|id| self.campaigns.get(&id));
        campaign.is_some_and(|own| own.cancelled)
            && matches!(
                text.last.status,
                MessageStatus::Scheduled | MessageStatus::Queued | MessageStatus::Sending
            )
    }

    /// Compares the counts of an account's campaigns with a recount.
    pub(super) fn audit_campaigns(&self, moment: &Moment<'_>, account: AccountId) -> Check {
        let mut after = None;
        loop {
            let page = PageRequest { limit: Limit::EXPORT, after };
            let page = read(moment.books.campaign_list(account, page))?;
            for campaign in &page.items {
                self.audit_campaign(campaign)?;
            }
            after = page.next;
            if after.is_none() {
                return Ok(());
            }
        }
    }

    fn audit_campaign(&self, campaign: &Campaign) -> Check {
        let own = self.campaigns.get(&campaign.id);
        ensure!(own.is_some() == campaign.launch.is_some(), "{campaign:?} is {own:?}");
        let (Some(own), Some(launch)) = (own, &campaign.launch) else { return Ok(()) };
        let messages =
            own.messages.iter().filter_map(|id| self.messages.get(id)).map(|text| &text.last);
        let recount = Counts::count(messages);
        ensure!(launch.counts == recount, "{:?} is counted for {recount:?}", launch.counts);
        ensure!(launch.cancelled_at.is_some() == own.cancelled, "{campaign:?} is {own:?}");
        let totals = self.link_totals(campaign.id);
        let told = &campaign.links;
        let told = (told.links, told.clicks, told.unique_clicked);
        ensure!(told == totals, "{campaign:?} counts {told:?} of its links for {totals:?}");
        Ok(())
    }
}

/// The contacts of a list, oldest first, without those who opted out, and the number of the latter.
fn on_list(account: &AccountModel, list: ListId) -> (Vec<(E164, ContactId)>, u64) {
    let members = account.book.lists.get(&list).into_iter().flat_map(|(_, members)| members);
    let contacts = members.filter_map(|id| account.book.contacts.get(id));
    let is_out = |contact: &&Contact| account.opt_outs.contains_key(&contact.phone);
    let (out, people): (Vec<&Contact>, Vec<&Contact>) = contacts.partition(is_out);
    let people = people.into_iter().map(|contact| (contact.phone, contact.id));
    (people.collect(), out.len() as u64)
}

/// What a campaign to this many recipients costs.
fn price(people: usize, mode: Mode) -> Credits {
    let each = u64::from(!mode.is_test());
    Credits::new(people as u64 * each).unwrap_or(Credits::MAX)
}

/// Why the draft must not be launched, if so: the first of all reasons.
fn launch_obstacle(
    moment: &Moment<'_>,
    account: &AccountModel,
    seen: &LaunchSeen,
    told: Option<&Obstacle>,
) -> Option<LaunchRefused> {
    let LaunchSeen { draft, mode, at, .. } = seen;
    if !account.book.lists.contains_key(&draft.list) {
        return Some(LaunchRefused::NoSuchList(draft.list));
    }
    let (people, rejected) = on_list(account, draft.list);
    if mode.is_test() && people.len() + usize::try_from(rejected).ok()? > MOST_OF_A_TEST {
        return Some(LaunchRefused::TestLimitExceeded);
    }
    if people.is_empty() {
        return Some(LaunchRefused::NoRecipients);
    }
    if let Some(reason) = account.forbids(*mode) {
        return Some(LaunchRefused::MayNotSend(reason));
    }
    let told = match told {
        Some(Obstacle::Refused(LaunchRefused::TestMessagesUsedUp { retry_after })) => {
            Some(*retry_after)
        }
        _ => None,
    };
    let asked = (*mode, people.len());
    if let Some(retry_after) = account.test_wait_at(moment, asked, *at, told) {
        return Some(LaunchRefused::TestMessagesUsedUp { retry_after });
    }
    let balance = Credits::new(account.balance.unsigned_abs()).unwrap_or(Credits::MAX);
    let needed = price(people.len(), *mode);
    (needed > balance).then_some(LaunchRefused::InsufficientCredit { needed, balance })
}
