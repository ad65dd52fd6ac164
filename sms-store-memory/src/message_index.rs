//! Indexes over an account's messages, newest first.

use std::collections::BTreeSet;
use std::ops::RangeInclusive;

use sms_core::ids::{BatchId, CampaignId, MessageId};
use sms_core::message::filter::Search;
use sms_core::message::{Direction, Message, MessageFilter, MessageStatus};
use sms_core::phone::E164;

/// Sets of (key, id). A range of one set lists the messages with one key, in order.
#[derive(Default)]
pub(crate) struct MessageIndex {
    all: BTreeSet<MessageId>,
    by_direction: BTreeSet<(Direction, MessageId)>,
    by_status: BTreeSet<(MessageStatus, MessageId)>,
    by_number: BTreeSet<(E164, MessageId)>,
    by_batch: BTreeSet<(BatchId, MessageId)>,
    by_campaign: BTreeSet<(CampaignId, MessageId)>,
    by_client_ref: BTreeSet<(String, MessageId)>,
}

impl MessageIndex {
    pub(crate) fn insert(&mut self, message: &Message) {
        let id = message.id;
        self.all.insert(id);
        self.by_direction.insert((message.direction, id));
        self.by_status.insert((message.status, id));
        self.by_number.insert((message.contact_number(), id));
        if let Some(batch) = message.batch_id {
            self.by_batch.insert((batch, id));
        }
        if let Some(campaign) = message.campaign_id {
            self.by_campaign.insert((campaign, id));
        }
        if let Some(client_ref) = &message.client_ref {
            self.by_client_ref.insert((client_ref.clone(), id));
        }
    }

    pub(crate) fn change_status(&mut self, id: MessageId, from: MessageStatus, to: MessageStatus) {
        self.by_status.remove(&(from, id));
        self.by_status.insert((to, id));
    }

    /// The ids of a batch, in the order of its recipients.
    pub(crate) fn batch(&self, batch: BatchId) -> impl Iterator<Item = MessageId> {
        let range = (batch, MessageId::from_u128(0))..=(batch, MessageId::from_u128(u128::MAX));
        self.by_batch.range(range).map(|(_, id)| *id)
    }

    /// The messages from and to a number, oldest first.
    pub(crate) fn of_number(&self, number: E164) -> impl DoubleEndedIterator<Item = MessageId> {
        let range = (number, MessageId::from_u128(0))..=(number, MessageId::from_u128(u128::MAX));
        self.by_number.range(range).map(|(_, id)| *id)
    }

    /// Ids within the range, newest first, from the most selective index for this filter. The
    /// caller still applies the filter.
    pub(crate) fn newest_first<'a>(
        &'a self,
        filter: &'a MessageFilter,
        ids: RangeInclusive<MessageId>,
    ) -> Box<dyn Iterator<Item = MessageId> + 'a> {
        if ids.is_empty() || filter.is_contradiction() {
            return Box::new(std::iter::empty());
        }
        if let Some(batch) = filter.batch_id {
            return within(&self.by_batch, batch, &ids);
        }
        if let Some(client_ref) = &filter.client_ref {
            return within(&self.by_client_ref, client_ref.clone(), &ids);
        }
        if let Some(Search::Number(number)) = filter.search {
            return within(&self.by_number, number, &ids);
        }
        if let Some(campaign) = filter.campaign_id {
            return within(&self.by_campaign, campaign, &ids);
        }
        if let Some(status) = filter.status {
            return within(&self.by_status, status, &ids);
        }
        if let Some(direction) = filter.direction {
            return within(&self.by_direction, direction, &ids);
        }
        Box::new(self.all.range(ids).rev().copied())
    }
}

fn within<'a, K: Ord + Clone>(
    index: &'a BTreeSet<(K, MessageId)>,
    key: K,
    ids: &RangeInclusive<MessageId>,
) -> Box<dyn Iterator<Item = MessageId> + 'a> {
    let range = (key.clone(), *ids.start())..=(key, *ids.end());
    Box::new(index.range(range).rev().map(|(_, id)| *id))
}
