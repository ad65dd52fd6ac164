//! Long inbound messages. Their segments arrive one by one, in any order and sometimes twice, and
//! are kept until all have arrived.
//!
//! A message is identified by its two numbers, the reference that the sender's phone gave it, and
//! its number of segments. Phones reuse references, and networks repeat segments. So the segments
//! of a joined message are remembered for the rest of their day, and a segment that repeats none of
//! them starts another message.

use std::collections::BTreeMap;
use std::time::Duration;

use super::{InboundMessage, InboundPlan, Origin, TakenIn};
use crate::ids::Ids;
use crate::message::Body;
use crate::phone::E164;
use crate::route::RouteName;
use crate::time::Timestamp;

/// How long the segments of a message wait for missing ones: 24 hours.
pub const KEPT_FOR: Duration = Duration::from_hours(24);

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
    /// The sender's number.
    pub from: E164,
    /// The number of the operator that it was sent to.
    pub to: E164,
    /// The reference that all segments of a message share.
    pub reference: u16,
    /// Its position in the message.
    pub place: Place,
    /// Its text.
    pub body: Body,
    /// The route that received it.
    pub route: RouteName,
    /// When it arrived.
    pub received_at: Timestamp,
}

/// The identity of a message that arrives in segments.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct SegmentKey {
    /// The number of the operator that it is sent to.
    pub to: E164,
    /// The sender's number.
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
    /// Whether all segments have arrived.
    pub state: Gathering,
    /// The text of each segment, by its position.
    pub parts: BTreeMap<u8, Body>,
    /// The route that received the first segment.
    pub route: RouteName,
    /// When the first segment arrived.
    pub first_at: Timestamp,
}

impl Gathered {
    /// The segments that have arrived, joined in order.
    fn text(&self, key: SegmentKey) -> InboundMessage {
        let words: String = self.parts.values().map(Body::as_str).collect();
        let SegmentKey { to, from, .. } = key;
        InboundMessage { from, to, body: Body::new(words), route: self.route.clone() }
    }
}

/// A plan to keep one segment.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SegmentPlan {
    /// The segment, without U+0000 in its text.
    pub part: InboundSegment,
    /// How long a message that answers the joined message may wait for its route.
    pub validity: Duration,
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
    /// Stores this in place of what it kept of the message.
    Keep(Gathered),
    /// Stores this, and records the joined message.
    Join(Gathered, Box<InboundPlan>),
}

impl SegmentPlan {
    /// A plan to keep a segment.
    pub fn new(mut part: InboundSegment, validity: Duration, at: Timestamp, ids: Ids) -> Self {
        if part.body.as_str().contains('\0') {
            part.body = Body::new(part.body.as_str().replace('\0', ""));
        }
        Self { part, validity, at, ids }
    }

    /// The identity of its message.
    pub fn key(&self) -> SegmentKey {
        let InboundSegment { from, to, reference, place, .. } = self.part;
        SegmentKey { to, from, reference, total: place.total }
    }

    /// The verdict on the segment, given what was kept of its message.
    pub fn settle(self, kept: Option<Gathered>) -> SegmentVerdict {
        let (key, number) = (self.key(), self.part.place.number);
        let Self { part, validity, at, ids } = self;
        let mut gathered = match kept {
            Some(kept) if kept.state == Gathering::Waiting => {
                if kept.parts.contains_key(&number) {
                    return SegmentVerdict::Repeat;
                }
                kept
            }
            Some(kept) if kept.parts.get(&number) == Some(&part.body) => {
                return SegmentVerdict::Repeat;
            }
            _ => Gathered {
                state: Gathering::Waiting,
                parts: BTreeMap::new(),
                route: part.route,
                first_at: part.received_at,
            },
        };
        gathered.parts.insert(number, part.body);
        if gathered.parts.len() < usize::from(key.total) {
            return SegmentVerdict::Keep(gathered);
        }
        gathered.state = Gathering::Joined;
        let plan = InboundPlan::new(gathered.text(key), Origin::Network, at, ids);
        SegmentVerdict::Join(gathered, Box::new(InboundPlan { validity, ..plan }))
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
    /// The time of the call.
    pub at: Timestamp,
    /// Ids for recording the segments that arrived.
    pub ids: Ids,
}

impl GiveUpPlan {
    /// The message to record from the segments that arrived; `None` if they were recorded before.
    pub fn settle(self, key: SegmentKey, kept: &Gathered) -> Option<InboundPlan> {
        let Self { before: _, validity, at, ids } = self;
        (kept.state == Gathering::Waiting).then(|| {
            let plan = InboundPlan::new(kept.text(key), Origin::Network, at, ids);
            InboundPlan { validity, ..plan }
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
mod tests {
    use proptest::prelude::*;

    use super::*;
    use crate::dispatch::VALIDITY;
    use crate::samples::{ids, millis, now, our_number, person};

    fn part(number: u8, total: u8, words: &str) -> SegmentPlan {
        let part = InboundSegment {
            from: person(),
            to: our_number(),
            reference: 7,
            place: Place::new(number, total).unwrap(),
            body: Body::new(words),
            route: RouteName::new("smpp"),
            received_at: millis(i64::from(number)),
        };
        SegmentPlan::new(part, VALIDITY, now(), ids())
    }

    #[test]
    fn a_place_has_its_number_and_the_total() {
        let place = Place::new(2, 3).unwrap();
        assert_eq!((place.number(), place.total()), (2, 3));
        assert!(Place::new(3, 3).is_some());
        assert_eq!([(0, 3), (4, 3), (0, 0)].map(|(n, of)| Place::new(n, of)), [None; 3]);
    }

    /// What is kept after these segments, and the messages that they formed.
    fn gather<'a>(
        parts: impl IntoIterator<Item = (u8, u8, &'a str)>,
    ) -> (Option<Gathered>, Vec<String>) {
        let (mut kept, mut joined) = (None, Vec::new());
        for (number, total, words) in parts {
            match part(number, total, words).settle(kept.clone()) {
                SegmentVerdict::Repeat => {}
                SegmentVerdict::Keep(gathered) => kept = Some(gathered),
                SegmentVerdict::Join(gathered, plan) => {
                    kept = Some(gathered);
                    joined.push(plan.text.body.as_str().to_owned());
                }
            }
        }
        (kept, joined)
    }

    #[test]
    fn a_place_is_from_1_to_the_number_of_segments() {
        for (number, total, is_place) in
            [(0, 0, false), (0, 2, false), (1, 1, true), (2, 2, true), (3, 2, false)]
        {
            assert_eq!(Place::new(number, total).is_some(), is_place, "{number} of {total}");
        }
    }

    #[test]
    fn segments_wait_until_all_have_arrived_and_repeats_change_nothing() {
        let (kept, joined) = gather([(2, 3, "b"), (2, 3, "x"), (3, 3, "c")]);
        let kept = kept.unwrap();
        assert_eq!(
            (kept.state, kept.parts.len(), kept.first_at),
            (Gathering::Waiting, 2, millis(2))
        );
        assert_eq!(joined, [""; 0]);
        let (kept, joined) = gather([(2, 3, "b"), (3, 3, "c"), (1, 3, "a")]);
        assert_eq!(kept.map(|kept| kept.state), Some(Gathering::Joined));
        assert_eq!(joined, ["abc"]);
    }

    #[test]
    fn repeats_of_a_joined_message_are_ignored_and_a_new_message_with_its_reference_is_not() {
        let whole = [(1, 2, "a"), (2, 2, "b")];
        let repeated = whole.into_iter().chain([(2, 2, "b"), (1, 2, "a")]);
        assert_eq!(gather(repeated).1, ["ab"]);
        let another = whole.into_iter().chain([(2, 2, "d"), (1, 2, "c")]);
        assert_eq!(gather(another).1, ["ab", "cd"]);
    }

    #[test]
    fn the_segments_of_a_message_that_is_given_up_are_recorded_in_order() {
        let plan = GiveUpPlan { before: now(), validity: VALIDITY, at: now(), ids: ids() };
        let key = part(1, 3, "").key();
        let (kept, _) = gather([(3, 3, "c"), (1, 3, "a")]);
        let taken = plan.clone().settle(key, &kept.unwrap()).unwrap();
        assert_eq!((taken.text.body.as_str(), taken.at), ("ac", now()));
        assert_eq!((taken.text.from, taken.text.to), (person(), our_number()));
        let (kept, _) = gather([(1, 1, "a")]);
        assert_eq!(plan.settle(key, &kept.unwrap()), None);
    }

    #[test]
    fn the_answer_to_a_message_in_segments_has_the_configured_validity() {
        let validity = VALIDITY / 2;
        let plan = SegmentPlan { validity, ..part(1, 1, "a") };
        let key = plan.key();
        let SegmentVerdict::Join(whole, plan) = plan.settle(None) else { panic!("it is joined") };
        assert_eq!(plan.validity, validity);
        let waiting = Gathered { state: Gathering::Waiting, ..whole };
        let plan = GiveUpPlan { before: now(), validity, at: now(), ids: ids() };
        assert_eq!(plan.settle(key, &waiting).unwrap().validity, validity);
    }

    #[test]
    fn no_part_holds_the_character_u_0000() {
        assert_eq!(part(1, 2, "a\0b").part.body.as_str(), "ab");
    }

    proptest! {
        #[test]
        fn any_order_with_any_repeats_records_the_message_once(
            words in prop::collection::vec("[a-zд👋]{1,5}", 1..12),
            order in prop::collection::vec(any::<prop::sample::Index>(), 0..30),
        ) {
            let total = u8::try_from(words.len()).unwrap();
            let numbered: Vec<(u8, u8, &str)> =
                (1..=total).map(|n| (n, total, words[usize::from(n) - 1].as_str())).collect();
            let some = order.iter().map(|index| *index.get(&numbered));
            let (_, joined) = gather(some.chain(numbered.clone()).chain(numbered.clone()));
            prop_assert_eq!(joined, [words.concat()]);
        }
    }
}
