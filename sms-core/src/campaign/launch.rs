//! Launching: a plan that writes the texts of a whole list a page of contacts at a time, and the
//! verdict on it once all are known.
//!
//! A list may be as long as a million contacts, so its texts are nowhere all at once. The store
//! locks the campaign, reads the list in pages, hands each to [`LaunchPlan::page`] and writes what
//! it answers; at the end it locks the account and asks [`LaunchPlan::settle`]. A refusal undoes
//! everything.

use super::quiet_hours::quiet_until;
use super::{Campaign, Counts, Launch, LinkTotals};
use crate::account::status::MayNotSend;
use crate::account::{AccountStatus, Mode, Settings};
use crate::contact::Contact;
use crate::credits::Credits;
use crate::credits::ledger::{Cause, Draft, Entry, post};
use crate::error::FieldError;
use crate::ids::{AccountId, BatchId, Ids, LedgerEntryId, ListId};
use crate::link::Link;
use crate::message::{Message, MessageStatus};
use crate::sending::facts::PlanFacts;
use crate::sending::request::check_schedule;
use crate::sending::settle::{TEST_NUMBERS_PER_REQUEST, TestTexts, test_wait};
use crate::sending::writer::{NewMessages, Origin, TextWriter, Timing};
use crate::store::CommitError;
use crate::text::{MAX_SINGLE_PARTS, Segments};
use crate::time::Timestamp;

/// So many contacts make a good page.
const PAGE: usize = 5_000;

/// The most parts that a text may count: as much as ten single parts hold, in joined ones.
const MOST_PARTS: Segments = Segments::new(MAX_SINGLE_PARTS + 1);

/// What a launch asks for; what is `None` is as the draft says.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct LaunchOptions {
    /// When the texts shall leave, up to a year ahead; now unless given.
    pub schedule_at: Option<Timestamp>,
    /// Whether links are tracked.
    pub track_links: Option<bool>,
    /// Whether the texts leave inside quiet hours too.
    pub ignore_quiet_hours: Option<bool>,
}

/// Whether a launch waits for the end of quiet hours.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum QuietHoursApplied {
    /// It does.
    Yes,
    /// It goes when it was asked to.
    No,
}

/// When the texts of a launch leave.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Departure {
    /// Their moment, if they do not leave at once.
    pub scheduled_at: Option<Timestamp>,
    /// Whether that is the end of quiet hours.
    pub quiet_hours: QuietHoursApplied,
}

impl LaunchOptions {
    /// Every rule about single fields that they break.
    pub fn check(&self, now: Timestamp) -> Option<FieldError> {
        self.schedule_at.and_then(|at| check_schedule(at, now))
    }

    /// The draft with what the launch asks for.
    #[must_use]
    pub fn apply(&self, draft: Campaign) -> Campaign {
        Campaign {
            track_links: self.track_links.unwrap_or(draft.track_links),
            ignore_quiet_hours: self.ignore_quiet_hours.unwrap_or(draft.ignore_quiet_hours),
            ..draft
        }
    }

    /// When the texts of `campaign`, as [`LaunchOptions::apply`] left it, leave.
    pub fn departure(&self, campaign: &Campaign, settings: &Settings, now: Timestamp) -> Departure {
        // A moment that has just passed means now, as in a send.
        let wanted = self.schedule_at.filter(|at| *at > now);
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

/// A campaign about to be launched.
#[derive(Debug, Clone)]
#[must_use = "a plan does nothing until a store commits it"]
pub struct LaunchPlan {
    /// The draft that it launches, as it was read.
    pub draft: Campaign,
    /// The same with what the launch asks for.
    wanted: Campaign,
    /// Live or test.
    pub mode: Mode,
    /// Names the texts.
    pub batch: BatchId,
    /// When it was planned.
    pub at: Timestamp,
    /// How many contacts are read at a time.
    pub page_size: usize,
    scheduled_at: Option<Timestamp>,
    entry_id: LedgerEntryId,
    timing: Timing,
    writer: TextWriter,
    ids: Ids,
    totals: Totals,
}

/// What the pages planned so far come to.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Totals {
    /// Texts.
    pub recipients: u64,
    /// Contacts that get none.
    pub rejected: u64,
    /// What the texts cost.
    pub price: Credits,
    /// Tracked links in them.
    pub links: u64,
}

/// What a page of contacts gets.
#[derive(Debug, Clone, PartialEq, Eq)]
#[must_use = "what is planned has to be written by the store"]
pub struct Written {
    /// The texts.
    pub texts: Vec<Message>,
    /// The tracked links in them.
    pub links: Vec<Link>,
}

/// What the verdict on a launch depends on.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct LaunchFacts {
    /// The campaign as it is now.
    pub campaign: Option<Campaign>,
    /// How many contacts are on its list, if that is there.
    pub list_size: Option<u64>,
    /// The state of the account.
    pub status: AccountStatus,
    /// What it can spend.
    pub balance: Credits,
    /// With a test key: when the account made test texts within the last hour, and how many, in any
    /// order. Empty with a live one.
    pub test_texts: Vec<(Timestamp, u32)>,
}

/// What a commit writes for a launch, beside its [new messages](LaunchPlan::new_messages).
#[derive(Debug, Clone, PartialEq, Eq)]
#[must_use = "a verdict has to be written by the store"]
pub struct LaunchWrites {
    /// The campaign as it is now, with a launch.
    pub campaign: Campaign,
    /// The entry that takes the credits; `None` for a launch that takes none.
    pub entry: Option<Entry>,
    /// The balance it leaves.
    pub balance: Credits,
    /// What counts towards the account's test texts of the hour.
    pub test_texts: Option<TestTexts>,
    /// Conversations that there are with numbers that this batch texts move to its messages. One
    /// that has a newer message stays where it is.
    pub conversations: BatchId,
}

/// Why a campaign was not launched; nothing was written.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub enum LaunchRefused {
    /// The account has no such campaign.
    #[error("no such campaign")]
    NoSuchCampaign,
    /// It was launched before.
    #[error("the campaign was launched already")]
    AlreadyLaunched,
    /// Its list was removed.
    #[error("no such list")]
    NoSuchList(ListId),
    /// Nobody on its list can be texted.
    #[error("nobody on the list can be texted")]
    NoRecipients,
    /// A test key's list holds more contacts than a test may text.
    #[error("a test key may text at most {TEST_NUMBERS_PER_REQUEST} numbers in one request")]
    TestLimitExceeded,
    /// The account's state forbids it.
    #[error(transparent)]
    MayNotSend(#[from] MayNotSend),
    /// The account made too many test texts within the hour.
    #[error("the account's test texts of this hour are used up")]
    TestTextsUsedUp {
        /// When there will be room for these.
        retry_after: std::time::Duration,
    },
    /// It costs more than there is.
    #[error("{needed} credits are needed and {balance} are there")]
    InsufficientCredit {
        /// What it costs.
        needed: Credits,
        /// What there is.
        balance: Credits,
    },
}

type Refused = CommitError<LaunchRefused>;

impl LaunchPlan {
    /// Plans a launch of `draft` with `options`. Of the facts, `body`, `sender` and `at` are the
    /// draft's and the launch's own; nobody need be known to have opted out, as contacts tell it.
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
        Self {
            draft,
            wanted,
            mode: facts.mode,
            batch,
            at: facts.at,
            page_size: PAGE,
            scheduled_at,
            entry_id: ids.next(),
            timing: Timing::of(facts, scheduled_at),
            writer: TextWriter::new(origin, facts),
            ids,
            totals: Totals::default(),
        }
    }

    /// Whose campaign it is.
    pub fn account(&self) -> AccountId {
        self.draft.account
    }

    /// Writes the texts of the next contacts of the list, in their order, and their tracked links.
    pub fn page(&mut self, contacts: &[Contact]) -> Written {
        let mut texts = Vec::with_capacity(contacts.len());
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
            texts.push(message);
        }
        self.totals.links += links.len() as u64;
        Written { texts, links }
    }

    /// What the pages planned so far come to.
    pub fn totals(&self) -> Totals {
        self.totals
    }

    /// What is written of a page.
    pub fn new_messages<'a>(&self, page: &'a Written) -> NewMessages<'a> {
        let Written { texts, links } = page;
        let mut new = NewMessages::default();
        new.add(&self.timing, texts, links);
        new
    }

    /// The campaign, if this very plan launched it: its commit came about, and the answer was lost.
    pub fn launched_before(&self, facts: &LaunchFacts) -> Option<Campaign> {
        let is_mine = |launch: &Launch| launch.batch == self.batch;
        facts.campaign.clone().filter(|campaign| campaign.launch.as_ref().is_some_and(is_mine))
    }

    /// What can be told before any page is planned.
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

    /// Whether it may well be refused once all pages are known. Then they had better be planned
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

    /// The plan with placeholders in the place of links' codes. Planned to the end it is refused
    /// for the reasons that the plan itself is; it draws nothing, and has nothing to write.
    pub fn rehearsal(&self) -> Self {
        Self { writer: self.writer.clone().showing_only(), ..self.clone() }
    }

    /// Decides, once every page is planned. Between reading the facts and writing the verdict no
    /// other commit of the account may run, nor one that changes the campaign.
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
            && let Some(retry_after) = test_wait(&facts.test_texts, recipients, self.at)
        {
            return refused(LaunchRefused::TestTextsUsedUp { retry_after });
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
        let test_texts =
            TestTexts::of((self.account(), self.mode), self.batch, recipients, self.at);
        Ok(LaunchWrites { campaign, entry, balance, test_texts, conversations: self.batch })
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
