//! The model: a second, simple record of everything that was committed.
//!
//! Every commit passes through [`super::stage::Stage`], which reports the call and the store's
//! answer to the model. The model computes by separate rules what must have changed, reads the
//! store, and compares. It shares no rule with the code under test.

use std::collections::{BTreeMap, BTreeSet};

use sms_core::account::api_key::KeyHash;
use sms_core::dispatch::{LeaseToken, RouteLane};
use sms_core::ids::{
    AccountId, ApiKeyId, CampaignId, DeliveryId, EndpointId, FollowUpId, LinkId, MessageId,
    NumberId, SenderNameId,
};
use sms_core::inbound::segment::SegmentKey;
use sms_core::link::{Link, LinkCode};
use sms_core::number::Holder;
use sms_core::phone::E164;
use sms_core::route::RouteName;
use sms_core::sender_name::SenderName;
use sms_core::store::Store;
use sms_core::time::Timestamp;

use super::executor::TaskId;
use super::wish::Meaning;

#[macro_use]
mod check;

mod account;
mod allowance;
mod audit;
mod book;
mod campaign;
mod claim;
mod comeback;
mod commit;
mod conversation;
mod delivery;
mod endpoint;
mod event_log;
mod hand_over;
mod inbound;
mod keyword;
mod link;
mod lookup;
mod message;
mod reading;
mod record;
mod rent;
mod replay;
mod sender;
mod sender_name;
mod sending;
mod statistics;
mod text;
mod turns;

pub use campaign::LaunchSeen;
pub use check::Check;
pub(super) use check::ensure;
use check::read;
pub use claim::ClaimSeen;
pub use comeback::CancelSeen;
pub use commit::Commit;
pub use keyword::reply_limits;
pub use record::{
    AccountModel, BookModel, CampaignModel, Claim, DeliveryModel, EndpointModel, Entry, FirstSend,
    InboxModel, LogModel, MessageModel, Reading, ReplayAsked, SegmentsModel, Thread,
};
pub use sending::SendSeen;

/// When and where a commit happened, and the store to check it against.
#[derive(Debug, Clone, Copy)]
pub struct Moment<'a> {
    /// The store itself.
    pub books: &'a dyn Store,
    /// The event log as the store shows it, with a defect if it has one.
    pub log: &'a dyn Store,
    /// What the clock shows.
    pub now: Timestamp,
    /// The step.
    pub step: u64,
    /// The task whose poll made the commit.
    pub task: TaskId,
}

/// One of the operator's numbers.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct OwnNumber {
    /// The number itself.
    pub phone: E164,
    /// The account that may use it; `None` for a shared number.
    pub holder: Holder,
    /// The route behind it, if it names one.
    pub route: Option<RouteName>,
    /// When its gateway last checked in.
    pub checked_in_at: Option<Timestamp>,
    /// What a period costs, from the moment of the assignment on.
    pub rent: i64,
    /// When it was assigned.
    pub assigned_at: Timestamp,
    /// How many periods were taken.
    pub periods: u32,
    /// When it is to be looked at next.
    pub next_rent_at: Option<Timestamp>,
}

/// What a run did, for its summary.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Tally {
    /// Sends accepted.
    pub sends: u64,
    /// Sends answered by a replay.
    pub replays: u64,
    /// Sends and launches refused because of the hourly limit of test messages.
    pub used_up: u64,
    /// Campaigns launched.
    pub launches: u64,
    /// Messages accepted.
    pub messages: u64,
    /// Messages claimed by a worker, including again after a lost lease.
    pub claims: u64,
    /// Messages handed over without a claim.
    pub held: u64,
    /// Held sends planned again because their sender could no longer be used.
    pub overtaken: u64,
    /// Messages given back without a hand-over.
    pub given_back: u64,
    /// Claims of messages whose earlier worker had lost its lease.
    pub takeovers: u64,
    /// Messages that got another number at a claim.
    pub moved: u64,
    /// Messages that failed at a claim for lack of a number or of an approved sender name.
    pub senderless: u64,
    /// Inbound messages to a number that another holder has released.
    pub late_answers: u64,
    /// Messages refunded.
    pub refunds: u64,
    /// Messages that may have been sent and were given up.
    pub doubtful: u64,
    /// Receipts that changed a message.
    pub receipts: u64,
    /// Inbound messages.
    pub inbound: u64,
    /// Inbound messages joined from segments.
    pub joined: u64,
    /// Inbound messages with segments missing for a day.
    pub given_up: u64,
    /// Inbound messages that matched a keyword.
    pub matches: u64,
    /// Matches without a reply because of the hourly limit of replies.
    pub throttled: u64,
    /// Pauses of keyword replies.
    pub reply_pauses: u64,
    /// Matches without a reply because the sender is one of our numbers.
    pub unanswered: u64,
    /// Keyword replies.
    pub replies: u64,
    /// Tracked links made.
    pub links: u64,
    /// Hits on them.
    pub hits: u64,
    /// Periods of rent taken.
    pub rents: u64,
    /// Events that were logged.
    pub events: u64,
    /// Events that were removed because they were old.
    pub events_removed: u64,
    /// Events that followers of the log saw.
    pub followed: u64,
    /// Pages of the log that ended before events which were not shown yet.
    pub held_back: u64,
    /// Webhook deliveries made.
    pub deliveries: u64,
    /// Attempts recorded.
    pub attempts: u64,
    /// Endpoints disabled by failures.
    pub switched_off: u64,
    /// Pauses of endpoints.
    pub pauses: u64,
    /// Replays to endpoints that began.
    pub replays_begun: u64,
    /// Replays ended because failures disabled their endpoint.
    pub replays_cut: u64,
    /// Portions of them that were written.
    pub portions: u64,
    /// Portions that came too late: another worker was faster, or the replay was over.
    pub portions_late: u64,
    /// Deliveries that they made.
    pub replayed: u64,
}

impl Tally {
    /// The sum of both.
    #[must_use]
    pub fn plus(self, other: Self) -> Self {
        Self {
            sends: self.sends + other.sends,
            replays: self.replays + other.replays,
            used_up: self.used_up + other.used_up,
            launches: self.launches + other.launches,
            messages: self.messages + other.messages,
            claims: self.claims + other.claims,
            held: self.held + other.held,
            overtaken: self.overtaken + other.overtaken,
            given_back: self.given_back + other.given_back,
            takeovers: self.takeovers + other.takeovers,
            moved: self.moved + other.moved,
            senderless: self.senderless + other.senderless,
            late_answers: self.late_answers + other.late_answers,
            refunds: self.refunds + other.refunds,
            doubtful: self.doubtful + other.doubtful,
            receipts: self.receipts + other.receipts,
            inbound: self.inbound + other.inbound,
            joined: self.joined + other.joined,
            given_up: self.given_up + other.given_up,
            matches: self.matches + other.matches,
            throttled: self.throttled + other.throttled,
            reply_pauses: self.reply_pauses + other.reply_pauses,
            unanswered: self.unanswered + other.unanswered,
            replies: self.replies + other.replies,
            links: self.links + other.links,
            hits: self.hits + other.hits,
            rents: self.rents + other.rents,
            events: self.events + other.events,
            events_removed: self.events_removed + other.events_removed,
            followed: self.followed + other.followed,
            held_back: self.held_back + other.held_back,
            deliveries: self.deliveries + other.deliveries,
            attempts: self.attempts + other.attempts,
            switched_off: self.switched_off + other.switched_off,
            pauses: self.pauses + other.pauses,
            replays_begun: self.replays_begun + other.replays_begun,
            replays_cut: self.replays_cut + other.replays_cut,
            portions: self.portions + other.portions,
            portions_late: self.portions_late + other.portions_late,
            replayed: self.replayed + other.replayed,
        }
    }
}

/// How far the store has deleted the record of who messaged whom from shared numbers, for portions
/// that were full.
#[derive(Debug, Clone, Copy, Default)]
pub struct Forgotten {
    /// Records from before this moment may be deleted.
    pub before: Option<Timestamp>,
    /// How many of the records that the model still has were deleted.
    pub count: usize,
}

/// A second record of everything.
#[derive(Debug, Default)]
pub struct Model {
    /// Accounts.
    pub accounts: BTreeMap<AccountId, AccountModel>,
    /// Messages, inbound ones included.
    pub messages: BTreeMap<MessageId, MessageModel>,
    /// Launched campaigns.
    pub campaigns: BTreeMap<CampaignId, CampaignModel>,
    /// Claimable messages, by time.
    pub queue: BTreeSet<(Timestamp, MessageId)>,
    /// By how many claims in a row accounts whose messages were due were passed over.
    pub passed_over: BTreeMap<(RouteLane, AccountId), usize>,
    /// The messages that workers hold.
    pub claims: BTreeMap<LeaseToken, Claim>,
    /// The claim each task made last.
    pub claim_of: BTreeMap<TaskId, LeaseToken>,
    /// What the sends under way mean, by task.
    pub meanings: BTreeMap<TaskId, Meaning>,
    /// The requests for replays under way, by task.
    pub replays_asked: BTreeMap<TaskId, ReplayAsked>,
    /// What tasks have read for their next commit.
    pub readings: BTreeMap<TaskId, Reading>,
    /// The operator's numbers.
    pub numbers: BTreeMap<NumberId, OwnNumber>,
    /// Who released a number last, and when.
    pub releases: BTreeMap<E164, (Holder, Timestamp)>,
    /// By our number and the person: the account that sent last, and when.
    pub last_contacted: BTreeMap<(E164, E164), (AccountId, Timestamp)>,
    /// How much of it the store has deleted, without reporting which.
    pub forgotten: Forgotten,
    /// Follow-ups still to come, by message.
    pub comebacks: BTreeMap<MessageId, usize>,
    /// Follow-ups that came.
    pub fulfilled: BTreeSet<FollowUpId>,
    /// Unrouted messages.
    pub unrouted: BTreeSet<MessageId>,
    /// Long messages of which segments arrived, and their number among those with the same key.
    pub parts: BTreeMap<(SegmentKey, u32), SegmentsModel>,
    /// Sender names.
    pub sender_names: BTreeMap<SenderNameId, SenderName>,
    /// Tracked links.
    pub links: BTreeMap<LinkId, Link>,
    /// Their codes.
    pub codes: BTreeMap<LinkCode, LinkId>,
    /// Webhook endpoints.
    pub endpoints: BTreeMap<EndpointId, EndpointModel>,
    /// Webhook deliveries.
    pub deliveries: BTreeMap<DeliveryId, DeliveryModel>,
    /// Claimable deliveries, by time.
    pub due: BTreeSet<(Timestamp, DeliveryId)>,
    /// API keys, and whether each is revoked.
    pub keys: BTreeMap<KeyHash, (AccountId, ApiKeyId, bool)>,
    /// Some recent messages.
    pub recent_messages: Recent<(AccountId, MessageId)>,
    /// Some recently launched campaigns.
    pub recent_campaigns: Recent<(AccountId, CampaignId)>,
    /// The codes of some recent links.
    pub recent_links: Recent<LinkCode>,
    /// Some recent deliveries.
    pub recent_deliveries: Recent<(AccountId, EndpointId, DeliveryId)>,
    /// What happened so far.
    pub tally: Tally,
}

/// The most recent values, to pick from.
#[derive(Debug)]
pub struct Recent<T> {
    items: Vec<T>,
    next: usize,
}

impl<T> Default for Recent<T> {
    fn default() -> Self {
        Self { items: Vec::new(), next: 0 }
    }
}

impl<T> Recent<T> {
    const KEPT: usize = 200;

    /// Adds a value, and drops the oldest if there are too many.
    pub fn push(&mut self, item: T) {
        if self.items.len() < Self::KEPT {
            self.items.push(item);
        } else {
            self.items[self.next] = item;
            self.next = (self.next + 1) % Self::KEPT;
        }
    }

    /// Those that are kept.
    pub fn items(&self) -> &[T] {
        &self.items
    }
}
