//! Everything kept, and the one way in which a text's change is written.

use std::collections::{BTreeMap, BTreeSet, VecDeque};

use sms_core::account::Account;
use sms_core::account::api_key::{KeyHash, KeyRecord};
use sms_core::campaign::Campaign;
use sms_core::campaign::counts::CountChanges;
use sms_core::credits::Credits;
use sms_core::credits::ledger::{Draft, Entry, post};
use sms_core::event::Event;
use sms_core::ids::{
    AccountId, ApiKeyId, CampaignId, EndpointId, Ids, MessageId, NumberId, SenderNameId, TemplateId,
};
use sms_core::inbound::Unrouted;
use sms_core::message::change::Changed;
use sms_core::message::{Message, MessageStatus, TimelineEntry, Times};
use sms_core::number::Number;
use sms_core::opt_out::OptOut;
use sms_core::phone::E164;
use sms_core::sender_name::SenderName;
use sms_core::sending::idempotency::{EarlierSend, IdempotencyKey};
use sms_core::statistics::{Tally, Totals};
use sms_core::template::Template;
use sms_core::time::Timestamp;
use sms_core::webhook::delivery::fan_out;
use sms_core::webhook::endpoint::Endpoint;

use crate::address_book::AddressBook;
use crate::conversation::Inbox;
use crate::delivery::Deliveries;
use crate::inbound_part::Parts;
use crate::keyword::Keywords;
use crate::link::Links;
use crate::message_index::MessageIndex;
use crate::queue::{FollowUps, Queue};
use crate::sent_part::SentParts;

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
    pub(crate) links: Links,
    pub(crate) numbers: BTreeMap<NumberId, Number>,
    pub(crate) number_ids: BTreeMap<E164, NumberId>,
    /// Numbers by when their rent is next to be taken.
    pub(crate) rents: BTreeSet<(Timestamp, NumberId)>,
    /// By our number and the person: which account texted last, and when.
    pub(crate) last_texted: BTreeMap<(E164, E164), (AccountId, Timestamp)>,
    /// Whose each sender name is: the operator looks through those of all accounts.
    pub(crate) sender_name_owners: BTreeMap<SenderNameId, AccountId>,
    pub(crate) unrouted: BTreeMap<MessageId, Unrouted>,
    pub(crate) parts: Parts,
    pub(crate) sent_parts: SentParts,
    /// Idempotency keys by age, for tidying.
    pub(crate) key_ages: BTreeSet<(Timestamp, AccountId, IdempotencyKey)>,
}

/// What belongs to one account.
pub(crate) struct AccountState {
    pub(crate) account: Account,
    pub(crate) book: AddressBook,
    pub(crate) inbox: Inbox,
    pub(crate) keywords: Keywords,
    /// In the order booked.
    pub(crate) ledger: Vec<Entry>,
    pub(crate) index: MessageIndex,
    pub(crate) earlier: BTreeMap<IdempotencyKey, EarlierSend>,
    /// When test texts were made, and how many; oldest first.
    pub(crate) test_texts: VecDeque<(Timestamp, u32)>,
    pub(crate) opt_outs: BTreeMap<E164, OptOut>,
    pub(crate) endpoints: BTreeMap<EndpointId, Endpoint>,
    pub(crate) sender_names: BTreeMap<SenderNameId, SenderName>,
    pub(crate) statistics: Totals,
    pub(crate) templates: BTreeMap<TemplateId, Template>,
    /// With counts that every commit keeps.
    pub(crate) campaigns: BTreeMap<CampaignId, Campaign>,
    /// Cancelled campaigns whose texts were not swept to the end.
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
            earlier: BTreeMap::new(),
            test_texts: VecDeque::new(),
            opt_outs: BTreeMap::new(),
            endpoints: BTreeMap::new(),
            sender_names: BTreeMap::new(),
            statistics: Totals::default(),
            templates: BTreeMap::new(),
            campaigns: BTreeMap::new(),
            unswept: BTreeSet::new(),
        }
    }

    /// Writes entries, and the balance they leave.
    pub(crate) fn book(&mut self, entries: impl IntoIterator<Item = Entry>, balance: Credits) {
        let mut tally = Tally::default();
        for entry in entries {
            tally.entry(self.account.id, &entry);
            self.ledger.push(entry);
        }
        self.account.balance = balance;
        self.count(&tally);
    }

    /// Adds what a commit changed, all of it this account's.
    fn count(&mut self, tally: &Tally) {
        for count in tally.counts() {
            self.statistics.add(count);
        }
    }

    /// Books a draft that adds credits; the balance has room for what was taken from it before.
    fn give_back(&mut self, draft: Draft) {
        if let Ok((entries, balance)) = post(self.account.balance, vec![draft]) {
            self.book(entries, balance);
        }
    }
}

impl State {
    /// A text of this account.
    pub(crate) fn message_of(&self, account: AccountId, id: MessageId) -> Option<&StoredMessage> {
        self.messages.get(&id).filter(|stored| stored.message.account == account)
    }

    /// Writes a text that was not there before.
    pub(crate) fn insert_message(&mut self, message: Message, timeline: Vec<TimelineEntry>) {
        if let Some(room) = self.accounts.get_mut(&message.account) {
            room.index.insert(&message);
            let newest = room.index.of_number(message.contact_number()).next_back();
            room.inbox.note(&message, newest.unwrap_or(message.id));
            let mut tally = Tally::default();
            tally.text(&Times::default(), &message);
            room.count(&tally);
        }
        self.messages.insert(message.id, StoredMessage { message, timeline });
    }

    /// Writes all that a change says: text, timeline, refund, contact, queue, deliveries.
    pub(crate) fn apply(&mut self, changed: Changed, ids: &mut Ids) {
        let events = self.write_change(changed);
        self.raise(&events, ids);
    }

    /// The same without deliveries; the events to be delivered.
    pub(crate) fn write_change(&mut self, changed: Changed) -> Vec<Event> {
        let texted = changed.texted();
        self.count(&changed);
        let Changed { was, message, timeline, refund, events } = changed;
        if !MessageStatus::CLAIMABLE.contains(&message.status) {
            self.queue.remove(message.id);
        }
        if let Some(texted) = texted {
            let contact = (texted.number, texted.person);
            let last = self.last_texted.entry(contact).or_insert((texted.account, texted.at));
            if texted.at >= last.1 {
                *last = (texted.account, texted.at);
            }
        }
        if let Some(room) = self.accounts.get_mut(&message.account) {
            room.index.change_status(message.id, was.status, message.status);
            let mut tally = Tally::default();
            tally.text(&was.times, &message);
            room.count(&tally);
            if let Some(draft) = refund {
                room.give_back(draft);
            }
        }
        if let Some(stored) = self.messages.get_mut(&message.id) {
            stored.message = message;
            stored.timeline.extend(timeline);
        }
        events
    }

    /// Keeps the counts of campaigns.
    fn count(&mut self, changed: &Changed) {
        let mut changes = CountChanges::default();
        changes.add(changed);
        for delta in changes.into_deltas() {
            let room = self.accounts.get_mut(&delta.account);
            let campaign = room.and_then(|room| room.campaigns.get_mut(&delta.campaign));
            if let Some(launch) = campaign.and_then(|campaign| campaign.launch.as_mut()) {
                launch.counts = launch.counts.changed(&delta.by);
                launch.last_settled_at = launch.last_settled_at.max(delta.settled_at);
            }
        }
    }

    /// Makes the deliveries of events.
    pub(crate) fn raise(&mut self, events: &[Event], ids: &mut Ids) {
        for event in events {
            let Some(room) = self.accounts.get(&event.account) else { continue };
            for delivery in fan_out(event, room.endpoints.values(), ids) {
                self.deliveries.put(delivery);
            }
        }
    }
}
