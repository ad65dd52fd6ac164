//! Long inbound messages. Their segments arrive one by one, in any order and sometimes twice, and
//! are kept until all have arrived.
//!
//! A segment is matched to its message by its two numbers, the reference that the sender's phone
//! gave it, its number of segments, and the time. Phones reuse references, some of them at once,
//! and networks repeat and lose segments. So several messages may have the same [`SegmentKey`]: a
//! segment repeats one of them, completes one of them, or begins another. What was done with a
//! message is remembered for a day.

use std::collections::BTreeMap;
use std::time::Duration;

use super::{InboundMessage, InboundPlan, Origin, TakenIn};
use crate::ids::Ids;
use crate::keyword::reply_limit::ReplyLimits;
use crate::message::record::Body;
use crate::originator::Originator;
use crate::phone::E164;
use crate::route_name::RouteName;
use crate::time::Timestamp;

mod text;

pub use text::{Alphabet, MISSING, SegmentText};

/// How long the segments of a message wait for missing ones: 24 hours.
pub const KEPT_FOR: Duration = Duration::from_hours(24);
/// How long after the first one to arrive the first segment of a message may come: 5 minutes. One
/// that comes later begins another message, because phones send a message from its beginning.
pub const FIRST_WITHIN: Duration = Duration::from_mins(5);
/// How many messages with the same key a segment may belong to: the newest ones.
pub const LOOKED_AT: usize = 8;

/// The position of a segment among those of its message.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Place {
    number: u8,
    total: u8,
}

impl Place {
    /// Segment `number` of `total`, counted from 1; `None` if there is no such segment.
    pub fn new(number: u8, total: u8) -> Option<Self> {
        (number >= 1 && number <= total).then_some(Self { number, total })
    }

    /// The position, from 1.
    pub fn number(self) -> u8 {
        self.number
    }

    /// The number of segments.
    pub fn total(self) -> u8 {
        self.total
    }
}

/// A segment as a route reports it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct InboundSegment {
    /// Who sent the message that the segment is part of.
    pub from: Originator,
    /// The number of the operator that it was sent to.
    pub to: E164,
    /// The reference that all segments of a message share.
    pub reference: u16,
    /// Its position in the message.
    pub place: Place,
    /// Its text, which may begin or end within a character.
    pub text: SegmentText,
    /// The route that received it.
    pub route: RouteName,
    /// When the route received it.
    pub received_at: Timestamp,
}

/// What the segments of a message have in common.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct SegmentKey {
    /// The number of the operator that it is sent to.
    pub to: E164,
    /// The [number](Originator::number) of the sender.
    pub from: E164,
    /// The reference that its segments share.
    pub reference: u16,
    /// The number of its segments.
    pub total: u8,
}

/// Whether all segments of a message have arrived.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Gathering {
    /// Some segments are missing.
    Waiting,
    /// The message was joined and recorded; its segments are kept to recognise repeats.
    Joined,
}

/// The segments of a message that have arrived.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Gathered {
    /// Its place among the kept messages with the same key, in the order in which they began.
    pub nth: u32,
    /// Who sends it, as the first segment said.
    pub from: Originator,
    /// Whether all segments have arrived.
    pub state: Gathering,
    /// The text of each segment, by its position.
    pub parts: BTreeMap<u8, SegmentText>,
    /// The route that received the first segment.
    pub route: RouteName,
    /// When the first segment arrived.
    pub first_at: Timestamp,
}

impl Gathered {
    /// The segments that have arrived, joined in order.
    fn text(&self, key: SegmentKey) -> InboundMessage {
        let SegmentKey { to, total, .. } = key;
        let body = Body::new(text::join(&self.parts, total));
        InboundMessage { from: self.from.clone(), to, body, route: self.route.clone() }
    }

    /// Whether a segment that it lacks may be the missing one.
    fn waits_for(&self, part: &InboundSegment) -> bool {
        let is_late =
            part.place.number == 1 && part.received_at.since(self.first_at) > FIRST_WITHIN;
        self.state == Gathering::Waiting && !is_late
    }
}

/// A plan to keep one segment.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SegmentPlan {
    /// The segment to keep.
    pub part: InboundSegment,
    /// How long a message that answers the joined message may wait for its route.
    pub validity: Duration,
    /// How many messages keywords may send in answer.
    pub reply_limits: ReplyLimits,
    /// When the joined message would be recorded.
    pub at: Timestamp,
    /// Ids for recording the joined message.
    pub ids: Ids,
}

/// What a store does with a segment.
#[derive(Debug, Clone, PartialEq, Eq)]
#[must_use = "a verdict has to be written by the store"]
pub enum SegmentVerdict {
    /// Nothing, because the segment arrived before.
    Repeat,
    /// Stores this in place of what it kept under the key and [`Gathered::nth`].
    Keep(Gathered),
    /// Stores this, and records the joined message.
    Join(Gathered, Box<InboundPlan>),
}

impl SegmentPlan {
    /// A plan to keep a segment, with the default limits on replies.
    pub fn new(part: InboundSegment, validity: Duration, at: Timestamp, ids: Ids) -> Self {
        Self { part, validity, reply_limits: ReplyLimits::default(), at, ids }
    }

    /// What the segments of its message have in common.
    pub fn key(&self) -> SegmentKey {
        let InboundSegment { ref from, to, reference, place, .. } = self.part;
        SegmentKey { to, from: from.number(), reference, total: place.total }
    }

    /// The verdict on the segment, given the [newest](LOOKED_AT) messages kept with its key, in any
    /// order.
    ///
    /// The newest message that has the segment, or waits for it, is the one that it belongs to.
    /// Without such a message, it begins one.
    pub fn settle(self, mut kept: Vec<Gathered>) -> SegmentVerdict {
        let (key, number) = (self.key(), self.part.place.number);
        let Self { part, validity, reply_limits, at, ids } = self;
        kept.sort_by_key(|gathered| std::cmp::Reverse(gathered.nth));
        let next = kept.first().map_or(0, |newest| newest.nth.saturating_add(1));
        let mut begun = None;
        for gathered in kept {
            match gathered.parts.get(&number) {
                Some(known) if *known == part.text => return SegmentVerdict::Repeat,
                None if gathered.waits_for(&part) => {
                    begun = Some(gathered);
                    break;
                }
                Some(_) | None => {}
            }
        }
        let mut gathered = begun.unwrap_or_else(|| Gathered {
            nth: next,
            from: part.from,
            state: Gathering::Waiting,
            parts: BTreeMap::new(),
            route: part.route,
            first_at: part.received_at,
        });
        gathered.parts.insert(number, part.text);
        if gathered.parts.len() < usize::from(key.total) {
            return SegmentVerdict::Keep(gathered);
        }
        gathered.state = Gathering::Joined;
        let plan = InboundPlan::new(gathered.text(key), Origin::Network, at, ids);
        let plan = InboundPlan { validity, reply_limits, ..plan };
        SegmentVerdict::Join(gathered, Box::new(plan))
    }
}

/// The result of recording a segment.
#[derive(Debug, Clone, PartialEq, Eq)]
#[expect(clippy::large_enum_variant, reason = "it is made once and taken apart at once")]
pub enum SegmentTaken {
    /// The message waits for other segments.
    Waiting,
    /// The segment arrived before.
    Repeat,
    /// It was the last missing segment. Carries the result for the joined message.
    Joined(TakenIn),
}

/// A plan to give up on a message whose segments are missing for too long, or to forget a joined
/// one.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct GiveUpPlan {
    /// Messages whose first segment arrived before this time are given up.
    pub before: Timestamp,
    /// How long a message that answers it may wait for its route.
    pub validity: Duration,
    /// How many messages keywords may send in answer.
    pub reply_limits: ReplyLimits,
    /// The time of the call.
    pub at: Timestamp,
    /// Ids for recording the segments that arrived.
    pub ids: Ids,
}

impl GiveUpPlan {
    /// The message to record from the segments that arrived, marked as incomplete; `None` if they
    /// were recorded before.
    pub fn settle(self, key: SegmentKey, kept: &Gathered) -> Option<InboundPlan> {
        let Self { before: _, validity, reply_limits, at, ids } = self;
        (kept.state == Gathering::Waiting).then(|| {
            let plan = InboundPlan::new(kept.text(key), Origin::Network, at, ids);
            let (arrived, total) = (kept.parts.len(), key.total);
            let note = format!("Incomplete: {arrived} of its {total} segments arrived in a day.");
            InboundPlan { validity, reply_limits, note: Some(note), ..plan }
        })
    }
}

/// The result of giving up.
#[derive(Debug, Clone, PartialEq, Eq)]
#[expect(clippy::large_enum_variant, reason = "it is made once and taken apart at once")]
pub enum GaveUp {
    /// No message is that old.
    Nothing,
    /// A joined message was forgotten.
    Forgotten,
    /// The segments that arrived were recorded as one message.
    TakenIn(TakenIn),
}

#[cfg(test)]
mod tests;
