//! Where the conversations of one account stand, by number and by activity.

use std::collections::BTreeMap;

use sms_core::contact::filter::ContactSearch;
use sms_core::conversation::ConversationFilter;
use sms_core::ids::MessageId;
use sms_core::phone::E164;
use sms_core::time::Timestamp;

/// The conversations of one account.
#[derive(Default)]
pub(crate) struct Inbox {
    pub(crate) by_number: BTreeMap<E164, Place>,
    /// Ordered by the id of the newest message.
    pub(crate) by_activity: BTreeMap<MessageId, E164>,
    /// The number of unread messages in all conversations.
    pub(crate) unread: u64,
}

/// What is stored of one conversation.
pub(crate) struct Place {
    last: MessageId,
    pub(crate) unread: u64,
    /// The times of the latest automatic replies to the number.
    replied: Vec<Timestamp>,
}

impl Inbox {
    /// The conversations among which those that the filter accepts are found: each by the id of
    /// its newest message and by its number.
    pub(crate) fn newest_first(
        &self,
        filter: &ConversationFilter,
        before: Option<MessageId>,
    ) -> Box<dyn Iterator<Item = (MessageId, E164)> + '_> {
        let end = before.unwrap_or(MessageId::from_u128(u128::MAX));
        if let Some(ContactSearch::Number(number)) = filter.search {
            let found = self.by_number.get(&number).map(|place| place.last);
            return Box::new(
                found.filter(|last| *last < end).map(|last| (last, number)).into_iter(),
            );
        }
        let places = self.by_activity.range(..end).rev();
        Box::new(places.map(|(last, number)| (*last, *number)))
    }

    /// Whether there are any.
    pub(crate) fn is_empty(&self) -> bool {
        self.by_number.is_empty()
    }

    /// Begins the conversation with a number that a message came in from, or moves it. `newest` is
    /// the newest message from or to the number.
    pub(crate) fn receive(&mut self, number: E164, newest: MessageId) {
        let blank = || Place { last: newest, unread: 0, replied: Vec::new() };
        self.by_number.entry(number).or_insert_with(blank).unread += 1;
        self.unread += 1;
        self.by_activity.insert(newest, number);
        self.shift(number, newest);
    }

    /// Moves the conversation with a number, if there is one, unless it has a newer message.
    pub(crate) fn shift(&mut self, number: E164, newest: MessageId) {
        let Some(place) = self.by_number.get_mut(&number) else { return };
        if place.last < newest {
            self.by_activity.remove(&place.last);
            place.last = newest;
            self.by_activity.insert(newest, number);
        }
    }

    /// The times of the latest automatic replies to a number.
    pub(crate) fn replied(&self, number: E164) -> Vec<Timestamp> {
        self.by_number.get(&number).map(|place| place.replied.clone()).unwrap_or_default()
    }

    pub(crate) fn set_replied(&mut self, number: E164, replied: Vec<Timestamp>) {
        if let Some(place) = self.by_number.get_mut(&number) {
            place.replied = replied;
        }
    }
}
