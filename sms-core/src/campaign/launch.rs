//! Launching a campaign: a plan that writes the messages of a list one page of contacts at a time,
//! and the verdict once all pages are known.
//!
//! A list may hold a million contacts, so its messages are never in memory all at once. The store
//! locks the campaign, reads the list page by page, passes each page to [`LaunchPlan::page`] and
//! writes the result. At the end it locks the account and calls [`LaunchPlan::settle`]. A refusal
//! undoes everything.

use super::counts::Counts;
use super::quiet_hours::quiet_until;
use super::{Campaign, Launch, LinkTotals};
use crate::account::settings::Settings;
use crate::account::status::{AccountStatus, MayNotSend};
use crate::contact::fields::ContactFields;
use crate::contact::saved::Contact;
use crate::credits::Credits;
use crate::credits::ledger::{Cause, Draft, Entry, post};
use crate::field_error::FieldError;
use crate::ids::{AccountId, BatchId, Ids, LedgerEntryId, ListId};
use crate::lane::Lane;
use crate::link::Link;
use crate::message::record::Message;
use crate::message::status::MessageStatus;
use crate::mode::Mode;
use crate::sending::facts::PlanFacts;
use crate::sending::request::check_schedule;
use crate::sending::settle::{
    TEST_MESSAGES_PER_HOUR, TEST_NUMBERS_PER_REQUEST, TestMessages, test_wait,
};
use crate::sending::writer::{MessageWriter, NewMessages, Origin, Timing, page_size};
use crate::setters::setters;
use crate::store_error::CommitError;
use crate::text::encoding::Segments;
use crate::text::length::MAX_SINGLE_PARTS;
use crate::time::Timestamp;

/// How many contacts a page has at most.
const PAGE: usize = 5_000;

/// The most segments that a message may have: concatenated segments with as many characters as ten
/// single ones.
const MOST_PARTS: Segments = Segments::new(MAX_SINGLE_PARTS + 1);

/// The options of a launch. An option that is `None` is as the draft says.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
#[non_exhaustive]
pub struct LaunchOptions {
    /// When to send the messages, at most a year ahead; `None` for now.
    pub schedule_at: Option<Timestamp>,
    /// Whether to track links.
    pub track_links: Option<bool>,
    /// Whether to send the messages during quiet hours too.
    pub ignore_quiet_hours: Option<bool>,
}

/// Whether a launch is delayed until the end of quiet hours.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum QuietHoursApplied {
    /// It was requested in quiet hours, and its messages wait until they end.
    Yes,
    /// It is sent at the requested time.
    No,
}

/// When the messages of a launch are sent.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Departure {
    /// The time to send them; `None` for now.
    pub scheduled_at: Option<Timestamp>,
    /// Whether quiet hours delay them.
    pub quiet_hours: QuietHoursApplied,
}

impl LaunchOptions {
    /// The rule for `schedule_at`, if the options break it.
    pub fn check(&self, now: Timestamp) -> Option<FieldError> {
        self.schedule_at.and_then(|at| check_schedule(at, now))
    }

    /// The draft with these options applied.
    #[must_use]
    pub fn apply(&self, draft: Campaign) -> Campaign {
        Campaign {
            track_links: self.track_links.unwrap_or(draft.track_links),
            ignore_quiet_hours: self.ignore_quiet_hours.unwrap_or(draft.ignore_quiet_hours),
            ..draft
        }
    }

    /// Whether quiet hours delayed this launch, which had these options.
    pub fn quiet_hours_of(&self, launch: &Launch) -> QuietHoursApplied {
        if launch.scheduled_at == self.wanted(launch.at) {
            QuietHoursApplied::No
        } else {
            QuietHoursApplied::Yes
        }
    }

    /// The time that they ask for; `None` for now.
    fn wanted(&self, now: Timestamp) -> Option<Timestamp> {
        // As in a send, a time that has just passed means now.
        self.schedule_at.filter(|at| *at > now)
    }

    /// When to send the messages of `campaign`, to which [`LaunchOptions::apply`] was applied.
    pub fn departure(&self, campaign: &Campaign, settings: &Settings, now: Timestamp) -> Departure {
        let wanted = self.wanted(now);
        let until = if campaign.ignore_quiet_hours {
            None
        } else {
            quiet_until(settings.quiet_hours, wanted.unwrap_or(now))
        };
        Departure {
            scheduled_at: until.or(wanted),
            quiet_hours: match until {
                Some(_) => QuietHoursApplied::Yes,
                None => QuietHoursApplied::No,
            },
        }
    }
}

setters! { LaunchOptions {
    /// Sends at this time; `None` means now.
    schedule_at(at: impl Into<Option<Timestamp>>) = at.into();
    /// Replaces links by tracked short ones, whatever the draft says.
    track_links() = Some(true);
    /// Sends inside quiet hours too, whatever the draft says.
    ignore_quiet_hours() = Some(true);
} }

/// A plan to launch a campaign.
#[derive(Debug, Clone)]
#[must_use = "a plan does nothing until a store commits it"]
pub struct LaunchPlan {
    /// The draft that it launches, as it was read.
    pub draft: Campaign,
    /// The draft with the options of the launch applied.
    wanted: Campaign,
    /// The kind of key that launched it. In test mode nothing is charged and nothing reaches a
    /// network.
    pub mode: Mode,
    /// The id shared by the messages.
    pub batch: BatchId,
    /// When the launch was planned.
    pub at: Timestamp,
    /// How many contacts the store reads at a time.
    pub page_size: usize,
    /// Which details of them it reads.
    pub fields: ContactFields,
    scheduled_at: Option<Timestamp>,
    entry_id: LedgerEntryId,
    timing: Timing,
    writer: MessageWriter,
    ids: Ids,
    totals: Totals,
}

/// The totals of the pages planned so far.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Totals {
    /// Messages, one for each contact that receives one.
    pub recipients: u64,
    /// Contacts that receive no message.
    pub rejected: u64,
    /// The price of the messages.
    pub price: Credits,
    /// Tracked links in the messages.
    pub links: u64,
}

/// What the contacts of one page receive.
#[derive(Debug, Clone, PartialEq, Eq)]
#[must_use = "what is planned has to be written by the store"]
pub struct Written {
    /// The messages, in the order of the contacts.
    pub messages: Vec<Message>,
    /// The tracked links in them.
    pub links: Vec<Link>,
}

/// What the verdict on a launch depends on.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct LaunchFacts {
    /// The campaign as the store found it; `None` if it does not exist.
    pub campaign: Option<Campaign>,
    /// The number of contacts on its list; `None` if the list does not exist.
    pub list_size: Option<u64>,
    /// The status of the account.
    pub status: AccountStatus,
    /// The balance of the account.
    pub balance: Credits,
    /// For a test key: the times within the last hour at which the account created test messages,
    /// and how many each time, in any order. Empty for a live key.
    pub test_messages: Vec<(Timestamp, u32)>,
}

/// What a commit writes for a launch, besides its [new messages](LaunchPlan::new_messages).
#[derive(Debug, Clone, PartialEq, Eq)]
#[must_use = "a verdict has to be written by the store"]
pub struct LaunchWrites {
    /// The campaign with its launch.
    pub campaign: Campaign,
    /// The ledger entry of the charge; `None` for a launch that costs nothing.
    pub entry: Option<Entry>,
    /// The balance after the charge.
    pub balance: Credits,
    /// What counts towards the account's test messages of the hour; `None` for a live launch.
    pub test_messages: Option<TestMessages>,
    /// The batch whose messages move the existing conversations with their recipients. A
    /// conversation with a newer message does not move.
    pub conversations: BatchId,
}

/// Why a campaign was not launched. Nothing was written.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub enum LaunchRefused {
    /// The account has no such campaign.
    #[error("no such campaign")]
    NoSuchCampaign,
    /// It was launched before.
    #[error("the campaign has already been launched")]
    AlreadyLaunched,
    /// Its list was deleted. Carries the id of the list.
    #[error("no such list")]
    NoSuchList(ListId),
    /// No contact on its list can be sent a message.
    #[error("the list has no contact that a message can be sent to")]
    NoRecipients,
    /// The list has more contacts than a test key may send to.
    #[error("a test key can send to at most {TEST_NUMBERS_PER_REQUEST} numbers in one request")]
    TestLimitExceeded,
    /// The account's status forbids sending.
    #[error(transparent)]
    MayNotSend(#[from] MayNotSend),
    /// The account has sent too many test messages within the hour.
    #[error(
        "the account has sent its {TEST_MESSAGES_PER_HOUR} test messages this hour; retry later"
    )]
    TestMessagesUsedUp {
        /// How long to wait until these messages fit into the hour.
        retry_after: std::time::Duration,
    },
    /// The launch costs more than the balance.
    #[error("this send costs {}, but the balance is {balance}", .needed.with_unit())]
    InsufficientCredit {
        /// The price of the launch.
        needed: Credits,
        /// The balance of the account.
        balance: Credits,
    },
}

type Refused = CommitError<LaunchRefused>;

impl LaunchPlan {
    /// Plans a launch of `draft` with `options`. In the facts, `body`, `sender` and `at` are those
    /// of the draft and the launch. `opted_out` may be empty, because each contact carries its
    /// opt-out.
    pub fn new(
        draft: Campaign,
        options: &LaunchOptions,
        departure: Departure,
        facts: &PlanFacts<'_>,
        mut ids: Ids,
    ) -> Self {
        let wanted = options.apply(draft.clone());
        let scheduled_at = departure.scheduled_at;
        let batch = ids.next();
        let origin = Origin {
            batch,
            campaign: Some(draft.id),
            client_ref: None,
            append_opt_out: wanted.append_opt_out,
            track_links: wanted.track_links,
            scheduled_at,
        };
        let page_size = page_size(facts.body, wanted.track_links, PAGE);
        Self {
            draft,
            wanted,
            mode: facts.mode,
            batch,
            at: facts.at,
            page_size,
            fields: ContactFields::named_in(facts.body),
            scheduled_at,
            entry_id: ids.next(),
            timing: Timing::of(facts, scheduled_at, Lane::Bulk),
            writer: MessageWriter::new(origin, facts),
            ids,
            totals: Totals::default(),
        }
    }

    /// The account that the campaign belongs to.
    pub fn account(&self) -> AccountId {
        self.draft.account
    }

    /// Writes the messages and tracked links for the next contacts of the list, in their order.
    pub fn page(&mut self, contacts: &[Contact]) -> Written {
        let mut messages = Vec::with_capacity(contacts.len());
        let mut links = Vec::new();
        for contact in contacts {
            let text = if contact.opted_out {
                None
            } else {
                self.writer.write(contact.phone, Some(contact), &mut self.ids, &mut links).ok()
            };
            let Some(message) = text else {
                self.totals.rejected += 1;
                continue;
            };
            let more = Credits::for_segments(message.segments);
            let price = self.totals.price.checked_add(more);
            self.totals.price = price.unwrap_or(Credits::MAX);
            self.totals.recipients += 1;
            messages.push(message);
        }
        self.totals.links += links.len() as u64;
        Written { messages, links }
    }

    /// The totals of the pages planned so far.
    pub fn totals(&self) -> Totals {
        self.totals
    }

    /// What a commit writes for a page.
    pub fn new_messages<'a>(&self, page: &'a Written) -> NewMessages<'a> {
        let Written { messages, links } = page;
        let mut new = NewMessages::default();
        new.add(&self.timing, messages, links);
        new
    }

    /// The launched campaign, if this very plan launched it: the commit succeeded, but its answer
    /// was lost.
    pub fn launched_before(&self, facts: &LaunchFacts) -> Option<Campaign> {
        let is_mine = |launch: &Launch| launch.batch == self.batch;
        facts.campaign.clone().filter(|campaign| campaign.launch.as_ref().is_some_and(is_mine))
    }

    /// The refusals that are known before any page is planned.
    pub fn begin(&self, facts: &LaunchFacts) -> Result<(), Refused> {
        let refused = |reason| Err(CommitError::Refused(reason));
        let Some(campaign) = &facts.campaign else { return refused(LaunchRefused::NoSuchCampaign) };
        if campaign.launch.is_some() {
            return refused(LaunchRefused::AlreadyLaunched);
        }
        if *campaign != self.draft {
            return Err(CommitError::Stale);
        }
        let Some(size) = facts.list_size else {
            return refused(LaunchRefused::NoSuchList(self.draft.list));
        };
        if self.mode.is_test() && size > TEST_NUMBERS_PER_REQUEST as u64 {
            return refused(LaunchRefused::TestLimitExceeded);
        }
        Ok(())
    }

    /// Whether the launch may be refused once all pages are known. If so, it is cheaper to plan it
    /// once without writing anything.
    pub fn is_doubtful(&mut self, facts: &LaunchFacts) -> bool {
        if facts.status.may_send(self.mode).is_err() {
            return true;
        }
        let size = facts.list_size.unwrap_or(0);
        let each = self.writer.price_for_all();
        let each = each.unwrap_or(Credits::for_segments(MOST_PARTS)).get();
        !self.mode.is_test() && size.saturating_mul(each) > facts.balance.get()
    }

    /// The plan with placeholders instead of the codes of links. Once all pages are planned, it is
    /// refused for the same reasons as the plan. It draws no codes and has nothing to write.
    pub fn rehearsal(&self) -> Self {
        Self { writer: self.writer.clone().showing_only(), ..self.clone() }
    }

    /// Decides, once every page is planned. Between reading the facts and writing the verdict, no
    /// other commit of the account may run, and none that changes the campaign.
    pub fn settle(&self, facts: &LaunchFacts) -> Result<LaunchWrites, Refused> {
        self.begin(facts)?;
        let Totals { recipients, rejected, price, links } = self.totals;
        let refused = |reason| Err(CommitError::Refused(reason));
        if self.mode.is_test() && recipients + rejected > TEST_NUMBERS_PER_REQUEST as u64 {
            return refused(LaunchRefused::TestLimitExceeded);
        }
        if recipients == 0 {
            return refused(LaunchRefused::NoRecipients);
        }
        if let Err(reason) = facts.status.may_send(self.mode) {
            return refused(reason.into());
        }
        if self.mode.is_test()
            && let Some(retry_after) = test_wait(&facts.test_messages, recipients, self.at)
        {
            return refused(LaunchRefused::TestMessagesUsedUp { retry_after });
        }
        let charge = if self.mode.is_test() { Credits::ZERO } else { price };
        let (entry, balance) = self.charge(charge, facts.balance)?;
        let status = MessageStatus::on_acceptance(self.scheduled_at);
        let launch = Launch {
            at: self.at,
            scheduled_at: self.scheduled_at,
            cancelled_at: None,
            batch: self.batch,
            recipients,
            rejected,
            credits: charge,
            counts: Counts::only(status, recipients),
            last_settled_at: None,
        };
        let campaign = Campaign {
            launch: Some(launch),
            links: LinkTotals { links, ..LinkTotals::default() },
            updated_at: self.at,
            ..self.wanted.clone()
        };
        let test_messages =
            TestMessages::of((self.account(), self.mode), self.batch, recipients, self.at);
        Ok(LaunchWrites { campaign, entry, balance, test_messages, conversations: self.batch })
    }

    fn charge(
        &self,
        charge: Credits,
        balance: Credits,
    ) -> Result<(Option<Entry>, Credits), Refused> {
        if charge == Credits::ZERO {
            return Ok((None, balance));
        }
        let draft = Draft {
            id: self.entry_id,
            cause: Cause::Send { batch: self.batch, campaign: Some(self.draft.id) },
            amount: charge.loss(),
            note: None,
            at: self.at,
        };
        let (entries, left) = post(balance, vec![draft]).map_err(|_| {
            CommitError::Refused(LaunchRefused::InsufficientCredit { needed: charge, balance })
        })?;
        Ok((entries.into_iter().next(), left))
    }
}

#[cfg(test)]
mod tests;
