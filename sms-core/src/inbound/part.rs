//! Long inbound texts: their parts come one by one, in any order and some of them twice, and are
//! kept until all are there.
//!
//! A text is known by its two numbers, the reference that the sender's phone gave it, and how many
//! parts it has. Phones use references again, and networks repeat parts that we have: once a text
//! is whole its parts are remembered for the rest of their day, and a part that is no repeat of
//! them begins another text.

use std::collections::BTreeMap;
use std::time::Duration;

use super::{InboundPlan, InboundText, Origin, TakenIn};
use crate::ids::Ids;
use crate::message::Body;
use crate::phone::E164;
use crate::route::RouteName;
use crate::time::Timestamp;

/// How long the parts of a text wait for those that are missing.
pub const KEPT_FOR: Duration = Duration::from_hours(24);

/// Which of how many parts one is.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Place {
    number: u8,
    total: u8,
}

impl Place {
    /// Part `number` of `total`, counted from 1; `None` when there can be no such part.
    pub fn new(number: u8, total: u8) -> Option<Self> {
        (number >= 1 && number <= total).then_some(Self { number, total })
    }

    /// Which part, from 1.
    pub fn number(self) -> u8 {
        self.number
    }

    /// Of how many.
    pub fn total(self) -> u8 {
        self.total
    }
}

/// A part as a route reports it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct InboundPart {
    /// Who sent it.
    pub from: E164,
    /// Which of our numbers it was sent to.
    pub to: E164,
    /// What the parts of one text have in common.
    pub reference: u16,
    /// Its place among them.
    pub place: Place,
    /// Its words.
    pub body: Body,
    /// The route that brought it.
    pub route: RouteName,
    /// When it came.
    pub received_at: Timestamp,
}

/// What names a text that comes in parts.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct PartKey {
    /// Which of our numbers it is sent to.
    pub to: E164,
    /// Who sends it.
    pub from: E164,
    /// What its parts have in common.
    pub reference: u16,
    /// How many parts it has.
    pub total: u8,
}

/// How far a text in parts has come.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Gathering {
    /// Parts are missing.
    Waiting,
    /// It was whole, and taken in; its parts are kept to know repeats.
    Joined,
}

/// The parts of a text that came.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Gathered {
    /// How far it has come.
    pub state: Gathering,
    /// The words of each part, by its number.
    pub parts: BTreeMap<u8, Body>,
    /// The route that brought the first of them.
    pub route: RouteName,
    /// When that one came.
    pub first_at: Timestamp,
}

impl Gathered {
    /// What came, in order, as one text.
    fn text(&self, key: PartKey) -> InboundText {
        let words: String = self.parts.values().map(Body::as_str).collect();
        let PartKey { to, from, .. } = key;
        InboundText { from, to, body: Body::new(words), route: self.route.clone() }
    }
}

/// Keeps one part.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct PartPlan {
    /// The part. U+0000 is left out of its words.
    pub part: InboundPart,
    /// How long a text that answers the whole may wait for a route.
    pub validity: Duration,
    /// When the whole text would be taken in.
    pub at: Timestamp,
    /// Ids for taking it in.
    pub ids: Ids,
}

/// What a store does with a part.
#[derive(Debug, Clone, PartialEq, Eq)]
#[must_use = "a verdict has to be written by the store"]
pub enum PartVerdict {
    /// Nothing: it came before.
    Repeat,
    /// Keeps this in place of what it kept of the text.
    Keep(Gathered),
    /// Keeps this, and takes in the text.
    Join(Gathered, Box<InboundPlan>),
}

impl PartPlan {
    /// Plans to keep a part.
    pub fn new(mut part: InboundPart, validity: Duration, at: Timestamp, ids: Ids) -> Self {
        if part.body.as_str().contains('\0') {
            part.body = Body::new(part.body.as_str().replace('\0', ""));
        }
        Self { part, validity, at, ids }
    }

    /// The text that it is a part of.
    pub fn key(&self) -> PartKey {
        let InboundPart { from, to, reference, place, .. } = self.part;
        PartKey { to, from, reference, total: place.total }
    }

    /// What becomes of the part, beside what was kept of its text.
    pub fn settle(self, kept: Option<Gathered>) -> PartVerdict {
        let (key, number) = (self.key(), self.part.place.number);
        let Self { part, validity, at, ids } = self;
        let mut gathered = match kept {
            Some(kept) if kept.state == Gathering::Waiting => {
                if kept.parts.contains_key(&number) {
                    return PartVerdict::Repeat;
                }
                kept
            }
            Some(kept) if kept.parts.get(&number) == Some(&part.body) => {
                return PartVerdict::Repeat;
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
            return PartVerdict::Keep(gathered);
        }
        gathered.state = Gathering::Joined;
        let plan = InboundPlan::new(gathered.text(key), Origin::Network, at, ids);
        PartVerdict::Join(gathered, Box::new(InboundPlan { validity, ..plan }))
    }
}

/// What became of a part.
#[derive(Debug, Clone, PartialEq, Eq)]
#[expect(clippy::large_enum_variant, reason = "it is made once and taken apart at once")]
pub enum PartTaken {
    /// It waits for others.
    Waiting,
    /// It came before.
    Repeat,
    /// It was the last that was missing.
    Joined(TakenIn),
}

/// Gives up a text of which parts are missing for too long, and forgets one that was joined.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct GiveUpPlan {
    /// Its first part came before this moment.
    pub before: Timestamp,
    /// How long a text that answers what came may wait for a route.
    pub validity: Duration,
    /// When.
    pub at: Timestamp,
    /// Ids for taking in what came.
    pub ids: Ids,
}

impl GiveUpPlan {
    /// The text to be taken in in place of what is forgotten, if any of it was not taken in yet.
    pub fn settle(self, key: PartKey, kept: &Gathered) -> Option<InboundPlan> {
        let Self { before: _, validity, at, ids } = self;
        (kept.state == Gathering::Waiting).then(|| {
            let plan = InboundPlan::new(kept.text(key), Origin::Network, at, ids);
            InboundPlan { validity, ..plan }
        })
    }
}

/// What was given up.
#[derive(Debug, Clone, PartialEq, Eq)]
#[expect(clippy::large_enum_variant, reason = "it is made once and taken apart at once")]
pub enum GaveUp {
    /// Nothing is that old.
    Nothing,
    /// A text that was joined is forgotten.
    Forgotten,
    /// What came of a text was taken in.
    TakenIn(TakenIn),
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;
    use crate::dispatch::VALIDITY;
    use crate::samples::{ids, millis, now, our_number, person};

    fn part(number: u8, total: u8, words: &str) -> PartPlan {
        let part = InboundPart {
            from: person(),
            to: our_number(),
            reference: 7,
            place: Place::new(number, total).unwrap(),
            body: Body::new(words),
            route: RouteName::new("smpp"),
            received_at: millis(i64::from(number)),
        };
        PartPlan::new(part, VALIDITY, now(), ids())
    }

    #[test]
    fn a_place_is_a_part_of_a_whole_that_can_be() {
        let place = Place::new(2, 3).unwrap();
        assert_eq!((place.number(), place.total()), (2, 3));
        assert!(Place::new(3, 3).is_some());
        assert_eq!([(0, 3), (4, 3), (0, 0)].map(|(n, of)| Place::new(n, of)), [None; 3]);
    }

    /// What is kept after these parts, and the texts they made.
    fn gather<'a>(
        parts: impl IntoIterator<Item = (u8, u8, &'a str)>,
    ) -> (Option<Gathered>, Vec<String>) {
        let (mut kept, mut joined) = (None, Vec::new());
        for (number, total, words) in parts {
            match part(number, total, words).settle(kept.clone()) {
                PartVerdict::Repeat => {}
                PartVerdict::Keep(gathered) => kept = Some(gathered),
                PartVerdict::Join(gathered, plan) => {
                    kept = Some(gathered);
                    joined.push(plan.text.body.as_str().to_owned());
                }
            }
        }
        (kept, joined)
    }

    #[test]
    fn a_place_is_from_1_to_the_number_of_parts() {
        for (number, total, is_place) in
            [(0, 0, false), (0, 2, false), (1, 1, true), (2, 2, true), (3, 2, false)]
        {
            assert_eq!(Place::new(number, total).is_some(), is_place, "{number} of {total}");
        }
    }

    #[test]
    fn parts_wait_until_all_are_there_and_repeats_change_nothing() {
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
    fn a_repeat_of_a_text_that_was_joined_is_ignored_and_another_text_of_its_reference_is_not() {
        let whole = [(1, 2, "a"), (2, 2, "b")];
        let repeated = whole.into_iter().chain([(2, 2, "b"), (1, 2, "a")]);
        assert_eq!(gather(repeated).1, ["ab"]);
        let another = whole.into_iter().chain([(2, 2, "d"), (1, 2, "c")]);
        assert_eq!(gather(another).1, ["ab", "cd"]);
    }

    #[test]
    fn what_came_of_a_text_that_is_given_up_is_taken_in_in_order() {
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
    fn what_answers_a_text_in_parts_waits_for_a_route_as_long_as_is_set() {
        let validity = VALIDITY / 2;
        let plan = PartPlan { validity, ..part(1, 1, "a") };
        let key = plan.key();
        let PartVerdict::Join(whole, plan) = plan.settle(None) else { panic!("it is whole") };
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
        fn any_order_with_any_repeats_makes_the_text_once(
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
