//! Lanes: what a person waits for goes before bulk, and bulk keeps a fifth.
//!
//! A message's lane is decided when it is planned, and kept with its place in the queue. Claims and
//! routes go by it: of five messages that leave while both lanes wait, four are normal and one is
//! bulk. While only one lane waits, it has the whole rate.

use std::fmt;

use crate::mode::Mode;
use crate::route_name::RouteName;
use crate::unknown_name::UnknownName;

/// The most messages of a send that is normal unless it says otherwise.
pub const MOST_WAITED_FOR: usize = 10;
/// How many normal messages go before each bulk message while both wait.
pub const NORMAL_BEFORE_BULK: usize = 4;

/// The lane that a message waits in.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Lane {
    /// A person waits for the message, such as for a code.
    Normal,
    /// The message is one of many.
    Bulk,
}

/// Whom a send goes to, as far as its lane depends on it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Reach {
    /// This many recipients, named one by one.
    Recipients(usize),
    /// The contacts of a list.
    List,
}

impl Lane {
    /// Every lane, the first one first.
    pub const ALL: [Self; 2] = [Self::Normal, Self::Bulk];

    /// The name used in the API and by stores.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Normal => "normal",
            Self::Bulk => "bulk",
        }
    }

    /// The lane of a send: the one it asks for; otherwise normal for a test and for up to ten
    /// recipients, and bulk for a list and for more.
    pub fn of_send(asked: Option<Self>, mode: Mode, reach: Reach) -> Self {
        match (asked, mode, reach) {
            (Some(lane), ..) => lane,
            (None, Mode::Test, _) => Self::Normal,
            (None, Mode::Live, Reach::Recipients(count)) if count <= MOST_WAITED_FOR => {
                Self::Normal
            }
            (None, Mode::Live, _) => Self::Bulk,
        }
    }
}

impl fmt::Display for Lane {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.as_str())
    }
}

impl std::str::FromStr for Lane {
    type Err = UnknownName;

    fn from_str(name: &str) -> Result<Self, UnknownName> {
        let lane = Self::ALL.into_iter().find(|lane| lane.as_str() == name);
        lane.ok_or(UnknownName::of("priority"))
    }
}

/// What waits for one route in one lane.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct RouteLane {
    /// The route that carries the messages.
    pub route: RouteName,
    /// The normal lane or bulk.
    pub lane: Lane,
}

impl RouteLane {
    /// The lane of this route.
    pub fn new(route: RouteName, lane: Lane) -> Self {
        Self { route, lane }
    }

    /// Both lanes of this route.
    pub fn both(route: &RouteName) -> [Self; 2] {
        Lane::ALL.map(|lane| Self::new(route.clone(), lane))
    }
}

/// Which lane goes next, one message after the other.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct LaneOrder {
    /// How many normal messages went since the last bulk message, as far as that matters.
    since_bulk: usize,
}

impl LaneOrder {
    /// The lane of the next message, of those in which one waits. Notes that it goes.
    pub fn next(&mut self, waits: impl Fn(Lane) -> bool) -> Option<Lane> {
        let first = if self.since_bulk < NORMAL_BEFORE_BULK { Lane::Normal } else { Lane::Bulk };
        let other = if first == Lane::Normal { Lane::Bulk } else { Lane::Normal };
        let lane = [first, other].into_iter().find(|lane| waits(*lane))?;
        self.went(lane);
        Some(lane)
    }

    /// Notes that a message of this lane goes.
    pub fn went(&mut self, lane: Lane) {
        self.since_bulk = match lane {
            Lane::Normal => NORMAL_BEFORE_BULK.min(self.since_bulk + 1),
            Lane::Bulk => 0,
        };
    }

    /// How many normal messages went since the last bulk message: [`NORMAL_BEFORE_BULK`] at most.
    pub fn since_bulk(&self) -> usize {
        self.since_bulk
    }

    /// The place of a lane's message number `nth` (from 0) among those of both lanes. Sorting by it
    /// is the same as asking for the [`next`](Self::next) lane again and again.
    pub fn place(&self, lane: Lane, nth: usize) -> usize {
        match lane {
            Lane::Normal => {
                let nth = nth + self.since_bulk;
                nth + nth / NORMAL_BEFORE_BULK
            }
            Lane::Bulk => nth * (NORMAL_BEFORE_BULK + 1) + NORMAL_BEFORE_BULK,
        }
    }
}

#[cfg(test)]
mod tests {
    use Lane::{Bulk, Normal};

    use super::*;

    #[test]
    fn what_a_person_waits_for_is_normal_and_a_send_may_say_otherwise() {
        let cases = [
            (Mode::Live, Reach::Recipients(1), Normal),
            (Mode::Live, Reach::Recipients(10), Normal),
            (Mode::Live, Reach::Recipients(11), Bulk),
            (Mode::Live, Reach::List, Bulk),
            (Mode::Test, Reach::Recipients(1_000), Normal),
            (Mode::Test, Reach::List, Normal),
        ];
        for (mode, reach, lane) in cases {
            assert_eq!(Lane::of_send(None, mode, reach), lane, "{mode} {reach:?}");
            for asked in Lane::ALL {
                assert_eq!(Lane::of_send(Some(asked), mode, reach), asked, "{mode} {reach:?}");
            }
        }
    }

    #[test]
    fn a_lane_is_found_by_its_name() {
        for lane in Lane::ALL {
            assert_eq!(lane.to_string().parse(), Ok(lane));
        }
        assert_eq!("Bulk".parse::<Lane>().unwrap_err().to_string(), "unknown priority");
    }

    /// The lanes of the messages that go, while these numbers of each wait.
    fn order(mut order: LaneOrder, mut normal: usize, mut bulk: usize) -> Vec<Lane> {
        let mut went = Vec::new();
        while let Some(lane) = order.next(|lane| match lane {
            Normal => normal > 0,
            Bulk => bulk > 0,
        }) {
            match lane {
                Normal => normal -= 1,
                Bulk => bulk -= 1,
            }
            went.push(lane);
        }
        went
    }

    #[test]
    fn normal_goes_first_bulk_keeps_a_fifth_and_neither_waits_for_nobody() {
        let fifth = |went: Vec<Lane>| went.iter().filter(|lane| **lane == Bulk).count();
        let start = LaneOrder::default();
        assert_eq!(order(start, 1, 2), [Normal, Bulk, Bulk]);
        assert_eq!(order(start, 6, 1), [Normal, Normal, Normal, Normal, Bulk, Normal, Normal]);
        assert_eq!(fifth(order(start, 1_000, 1_000)[..1_000].to_vec()), 200);
        assert_eq!(order(start, 3, 0), [Normal; 3]);
        assert_eq!(order(start, 0, 3), [Bulk; 3]);
    }

    #[test]
    fn places_give_the_same_order() {
        for since_bulk in 0..=NORMAL_BEFORE_BULK {
            let start = LaneOrder { since_bulk };
            for (normal, bulk) in [(0, 3), (3, 0), (2, 9), (23, 4), (40, 40)] {
                let places =
                    |lane, count| (0..count).map(move |nth| (start.place(lane, nth), lane));
                let mut sorted: Vec<_> = places(Normal, normal).chain(places(Bulk, bulk)).collect();
                sorted.sort_unstable();
                let sorted: Vec<Lane> = sorted.into_iter().map(|(_, lane)| lane).collect();
                assert_eq!(sorted, order(start, normal, bulk), "{since_bulk} {normal} {bulk}");
            }
        }
    }
}
