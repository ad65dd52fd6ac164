//! The state of the store, and how commits write messages, ledgers and events to it.

use std::collections::{BTreeMap, BTreeSet, VecDeque};

use sms_core::account::Account;
use sms_core::account::api_key::{KeyHash, KeyRecord};
use sms_core::campaign::Campaign;
use sms_core::campaign::counts::CountDelta;
use sms_core::change::Contacted;
use sms_core::commit::{
    Booked, ChangeWrites, LedgerWrites, MessageWrite, NewMessage, NewMessages, Raised,
};
use sms_core::credits::ledger::{Draft, Entry};
use sms_core::idempotency::{IdempotencyKey, Owner};
use sms_core::ids::{
    AccountId, ApiKeyId, CampaignId, EndpointId, MessageId, NumberId, SenderNameId, TemplateId,
};
use sms_core::inbound::Unrouted;
use sms_core::message::{Message, TimelineEntry};
use sms_core::number::Number;
use sms_core::number::release::Release;
use sms_core::opt_out::OptOut;
use sms_core::phone::E164;
use sms_core::sender_name::SenderName;
use sms_core::session::{Session, SessionHash};
use sms_core::statistics::Tally;
use sms_core::statistics::span::Totals;
use sms_core::template::Template;
use sms_core::time::Timestamp;
use sms_core::webhook::delivery::deliveries;
use sms_core::webhook::endpoint::Endpoint;

use crate::address_book::AddressBook;
use crate::delivery::Deliveries;
use crate::event_log::EventLog;
use crate::inbound_segment::Parts;
use crate::inbox::Inbox;
use crate::keyword_index::Keywords;
use crate::link_index::Links;
use crate::message_index::MessageIndex;
use crate::queue::{FollowUps, Queue};
use crate::remembered::Remembered;
use crate::sent_segment::SentSegments;

/// Everything the store keeps.
#[derive(Default)]
pub(crate) struct State {
    pub(crate) accounts: BTreeMap<AccountId, AccountState>,
    pub(crate) keys: BTreeMap<KeyHash, KeyRecord>,
    pub(crate) key_hashes: BTreeMap<(AccountId, ApiKeyId), KeyHash>,
    pub(crate) messages: BTreeMap<MessageId, StoredMessage>,
    pub(crate) queue: Queue,
    pub(crate) follow_ups: FollowUps,
    pub(crate) deliveries: Deliveries,
    pub(crate) events: EventLog,
    pub(crate) links: Links,
    pub(crate) numbers: BTreeMap<NumberId, Number>,
    pub(crate) number_ids: BTreeMap<E164, NumberId>,
    /// The last release of each number that was released.
    pub(crate) releases: BTreeMap<E164, Release>,
    /// Numbers by the time at which their next rent is due.
    pub(crate) rents: BTreeSet<(Timestamp, NumberId)>,
    /// By our number and the person's: which account last sent a message, and when.
    pub(crate) last_contacted: BTreeMap<(E164, E164), (AccountId, Timestamp)>,
    /// The account of each sender name. The operator lists the sender names of all accounts.
    pub(crate) sender_name_owners: BTreeMap<SenderNameId, AccountId>,
    pub(crate) unrouted: BTreeMap<MessageId, Unrouted>,
    pub(crate) parts: Parts,
    pub(crate) sent_segments: SentSegments,
    /// Idempotency keys by age, for tidying.
    pub(crate) key_ages: BTreeSet<(Timestamp, Owner, IdempotencyKey)>,
    /// Sessions of the console.
    pub(crate) sessions: BTreeMap<SessionHash, Session>,
    /// What is remembered under idempotency keys.
    pub(crate) remembered: BTreeMap<(Owner, IdempotencyKey), Remembered>,
}

/// What belongs to one account.
pub(crate) struct AccountState {
    pub(crate) account: Account,
    pub(crate) book: AddressBook,
    pub(crate) inbox: Inbox,
    pub(crate) keywords: Keywords,
    /// In the order in which they were booked.
    pub(crate) ledger: Vec<Entry>,
    pub(crate) index: MessageIndex,
    /// When test messages were sent, and how many, in the order of the commits.
    pub(crate) test_messages: VecDeque<(Timestamp, u32)>,
    pub(crate) opt_outs: BTreeMap<E164, OptOut>,
    pub(crate) endpoints: BTreeMap<EndpointId, Endpoint>,
    pub(crate) sender_names: BTreeMap<SenderNameId, SenderName>,
    pub(crate) statistics: Totals,
    pub(crate) templates: BTreeMap<TemplateId, Template>,
    /// Every commit updates their counts.
    pub(crate) campaigns: BTreeMap<CampaignId, Campaign>,
    /// Cancelled campaigns with messages that may still have to be cancelled.
    pub(crate) unswept: BTreeSet<CampaignId>,
}

pub(crate) struct StoredMessage {
    pub(crate) message: Message,
    pub(crate) timeline: Vec<TimelineEntry>,
}

impl AccountState {
    pub(crate) fn new(account: Account) -> Self {
        Self {
            account,
            book: AddressBook::default(),
            inbox: Inbox::default(),
            keywords: Keywords::default(),
            ledger: Vec::new(),
            index: MessageIndex::default(),
            test_messages: VecDeque::new(),
            opt_outs: BTreeMap::new(),
            endpoints: BTreeMap::new(),
            sender_names: BTreeMap::new(),
            statistics: Totals::default(),
            templates: BTreeMap::new(),
            campaigns: BTreeMap::new(),
            unswept: BTreeSet::new(),
        }
    }

    /// Whether a campaign was cancelled.
    pub(crate) fn is_cancelled(&self, campaign: CampaignId) -> bool {
        let launch = self.campaigns.get(&campaign).and_then(|campaign| campaign.launch.as_ref());
        launch.is_some_and(|launch| launch.cancelled_at.is_some())
    }
}

impl State {
    /// The message with this id, if it belongs to the account.
    pub(crate) fn message_of(&self, account: AccountId, id: MessageId) -> Option<&StoredMessage> {
        self.messages.get(&id).filter(|stored| stored.message.account == account)
    }

    /// Inserts a new message, with its timeline, and adds it to its account's index.
    pub(crate) fn insert_message(&mut self, message: Message, timeline: Vec<TimelineEntry>) {
        if let Some(room) = self.accounts.get_mut(&message.account) {
            room.index.insert(&message);
        }
        self.messages.insert(message.id, StoredMessage { message, timeline });
    }

    /// Inserts messages to be sent, with their queue entries and links.
    pub(crate) fn insert_new(&mut self, new: NewMessages<'_>) {
        let NewMessages { messages, links } = new;
        for NewMessage { message, line, claimed, entry } in messages {
            self.queue.insert(entry, &message.route);
            let timeline = std::iter::once(line).chain(claimed).collect();
            self.insert_message(message.clone(), timeline);
        }
        for link in links {
            self.links.insert(link.clone());
        }
    }

    pub(crate) fn write_changes(&mut self, writes: ChangeWrites) {
        let ChangeWrites { messages, unqueued, contacted, refunds, counts, tally, raised } = writes;
        for id in unqueued {
            self.queue.remove(id);
        }
        for write in messages {
            self.rewrite_message(write);
        }
        for Contacted { number, person, account, at } in contacted {
            let last = self.last_contacted.entry((number, person)).or_insert((account, at));
            if at >= last.1 {
                *last = (account, at);
            }
        }
        self.write_refunds(refunds);
        for delta in counts {
            self.change_counts(&delta);
        }
        self.count(&tally);
        self.raise(raised);
    }

    fn rewrite_message(&mut self, write: MessageWrite) {
        let MessageWrite { message, lines } = write;
        let Some(stored) = self.messages.get_mut(&message.id) else { return };
        if let Some(room) = self.accounts.get_mut(&message.account) {
            room.index.change_status(message.id, stored.message.status, message.status);
        }
        stored.message = message;
        stored.timeline.extend(lines);
    }

    fn write_refunds(&mut self, refunds: BTreeMap<AccountId, Vec<Draft>>) {
        let mut ledger = LedgerWrites::default();
        for (account, drafts) in refunds {
            let Some(room) = self.accounts.get(&account) else { continue };
            // This cannot overflow: top-ups leave room for refunds.
            let _ = ledger.post(account, room.account.balance, drafts);
        }
        self.write_ledger(ledger);
    }

    pub(crate) fn write_ledger(&mut self, writes: LedgerWrites) {
        let LedgerWrites { accounts, tally } = writes;
        for (account, Booked { entries, balance }) in accounts {
            let Some(room) = self.accounts.get_mut(&account) else { continue };
            room.ledger.extend(entries);
            room.account.balance = balance;
        }
        self.count(&tally);
    }

    /// Adds what a commit counts in statistics.
    pub(crate) fn count(&mut self, tally: &Tally) {
        for count in tally.counts() {
            if let Some(room) = self.accounts.get_mut(&count.account) {
                room.statistics.add(count);
            }
        }
    }

    fn change_counts(&mut self, delta: &CountDelta) {
        let CountDelta { account, campaign, by, settled_at } = delta;
        let room = self.accounts.get_mut(account);
        let campaign = room.and_then(|room| room.campaigns.get_mut(campaign));
        if let Some(launch) = campaign.and_then(|campaign| campaign.launch.as_mut()) {
            launch.counts = launch.counts.changed(by);
            launch.last_settled_at = launch.last_settled_at.max(*settled_at);
        }
    }

    /// Adds events to the log, and their deliveries.
    pub(crate) fn raise(&mut self, raised: Vec<Raised>) {
        self.events.write(&raised);
        let events = raised.iter().flat_map(|raised| &raised.events);
        let accounts: BTreeSet<AccountId> = events.map(|event| event.account).collect();
        let rooms = accounts.iter().filter_map(|account| self.accounts.get(account));
        let endpoints = rooms.flat_map(|room| room.endpoints.values());
        let deliveries = deliveries(raised, &endpoints);
        for delivery in deliveries {
            self.deliveries.put(delivery);
        }
    }
}
