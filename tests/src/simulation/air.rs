//! The network's records, and the news on its way to the service.

use std::collections::{BTreeMap, BTreeSet};
use std::time::Duration;

use sms_core::ids::MessageId;
use sms_core::inbound::InboundMessage;
use sms_core::inbound::segment::InboundSegment;
use sms_core::receipt::Receipt;
use sms_core::route::RouteName;
use sms_core::time::Timestamp;

use super::dice::Dice;

/// Something the network brings.
#[derive(Debug, Clone)]
pub enum News {
    /// A receipt.
    Receipt(Receipt),
    /// An inbound message.
    Inbound(InboundMessage),
    /// A segment of a long inbound message.
    Part(InboundSegment),
}

/// The network's records, and the news on its way to the service.
#[derive(Debug)]
pub struct Air {
    /// Messages handed over to any route, including again after a lost lease.
    pub handed: u64,
    /// Messages that will get a receipt.
    pub promised: BTreeSet<MessageId>,
    part_at: Timestamp,
    news: BTreeMap<(Timestamp, u64), News>,
    sent_out: u64,
}

impl Default for Air {
    fn default() -> Self {
        Self {
            handed: 0,
            promised: BTreeSet::new(),
            part_at: Timestamp::from_millis(0),
            news: BTreeMap::new(),
            sent_out: 0,
        }
    }
}

impl Air {
    /// Brings something at `at`.
    pub fn send(&mut self, at: Timestamp, news: News) {
        self.sent_out += 1;
        self.news.insert((at, self.sent_out), news);
    }

    /// Brings the segments of a long message in any order, some of them twice. Sometimes loses one.
    pub fn send_story(&mut self, dice: &mut Dice, now: Timestamp, mut parts: Vec<InboundSegment>) {
        if dice.percent(10) {
            parts.remove(dice.below(parts.len()));
        }
        for part in parts {
            // No two segments come at the same moment, so that one of them is the older.
            self.part_at = now.max(self.part_at.plus(Duration::from_millis(1)));
            let route = by_which(dice);
            let part = InboundSegment { received_at: self.part_at, route, ..part };
            for _ in 0..dice.weighted(&[(7, 1), (2, 2), (1, 3)]) {
                let after = dice.weighted(&[(3, 50), (3, 5_000), (1, 10_000_000)]);
                let at = now.plus(Duration::from_millis(dice.between(0, after)));
                self.send(at, News::Part(part.clone()));
            }
        }
    }

    /// When the next news is due.
    pub fn next(&self) -> Option<Timestamp> {
        self.news.keys().next().map(|(at, _)| *at)
    }

    /// Takes the next news that is due.
    pub fn take(&mut self, now: Timestamp) -> Option<News> {
        let first = self.news.first_entry()?;
        (first.key().0 <= now).then(|| first.remove())
    }
}

/// The route that brings an inbound message: not always the route of the number.
pub fn by_which(dice: &mut Dice) -> RouteName {
    RouteName::new(if dice.percent(80) { "network" } else { "simulator" })
}
