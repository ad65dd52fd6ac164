//! The rules one by one, then small simulations of many endpoints, then random histories.

use std::collections::VecDeque;

use proptest::prelude::*;

use super::*;

fn slots(limits: SlotLimits) -> Slots<u32> {
    Slots::new(limits)
}

fn take_all(slots: &mut Slots<u32>, key: u32) -> usize {
    let mut taken = 0;
    while slots.take(&key).is_ok() {
        taken += 1;
    }
    taken
}

fn after(slots: &mut Slots<u32>, key: u32, outcomes: &[Outcome]) -> usize {
    for outcome in outcomes {
        slots.take(&key).unwrap();
        slots.finished(&key, *outcome);
    }
    slots.allowance(&key)
}

#[test]
fn an_endpoint_starts_with_4_earns_up_to_32_and_falls_to_1() {
    let mut slots = slots(SlotLimits::default());
    assert_eq!(slots.allowance(&1), 4);
    assert_eq!(after(&mut slots, 1, &[Outcome::Delivered]), 5);
    assert_eq!(after(&mut slots, 1, &[Outcome::Delivered; 40]), 32);
    assert_eq!(after(&mut slots, 1, &[Outcome::Failed]), 16);
    assert_eq!(after(&mut slots, 1, &[Outcome::Failed; 4]), 1);
    assert_eq!(after(&mut slots, 1, &[Outcome::Failed; 100]), 1);
    assert_eq!(after(&mut slots, 1, &[Outcome::Delivered; 3]), 4);
}

#[test]
fn a_slow_endpoint_goes_back_to_the_start_and_not_below() {
    let mut slots = slots(SlotLimits::default());
    after(&mut slots, 1, &[Outcome::Delivered; 4]);
    assert_eq!(after(&mut slots, 1, &[Outcome::Slow; 3]), 5);
    assert_eq!(after(&mut slots, 1, &[Outcome::Slow; 9]), 4);
    assert_eq!(after(&mut slots, 1, &[Outcome::Failed, Outcome::Slow]), 3);
    assert_eq!(after(&mut slots, 1, &[Outcome::Slow; 9]), 4);
}

#[test]
fn an_endpoint_never_holds_more_than_its_allowance() {
    let mut slots = slots(SlotLimits::default());
    assert_eq!(take_all(&mut slots, 1), 4);
    assert_eq!(slots.take(&1), Err(NoSlot::Endpoint));
    assert_eq!(slots.available(&1), 0);
    slots.finished(&1, Outcome::Failed);
    // Three attempts are in flight and two are allowed: none starts before these end.
    assert_eq!(slots.allowance(&1), 2);
    assert_eq!(slots.take(&1), Err(NoSlot::Endpoint));
    slots.finished(&1, Outcome::Failed);
    slots.finished(&1, Outcome::Failed);
    assert_eq!(slots.take(&1), Err(NoSlot::Endpoint));
}

#[test]
fn all_endpoints_together_hold_no_more_than_the_total() {
    let mut slots = slots(SlotLimits { total: 10, ..SlotLimits::default() });
    let taken: Vec<usize> = (0..5).map(|key| take_all(&mut slots, key)).collect();
    assert_eq!(taken, [4, 4, 2, 0, 0]);
    assert_eq!(slots.free(), 0);
    assert_eq!(slots.available_to_unknown(), 0);
    assert_eq!(slots.take(&9), Err(NoSlot::Total));
    slots.finished(&0, Outcome::Delivered);
    assert_eq!(slots.free(), 1);
    assert_eq!(slots.take(&9), Ok(()));
}

#[test]
fn failing_endpoints_share_a_quarter_of_the_slots() {
    let mut slots = slots(SlotLimits { total: 16, ..SlotLimits::default() });
    for key in 0..10 {
        after(&mut slots, key, &[Outcome::Failed]);
    }
    assert_eq!(slots.failing_free(), 4);
    let taken: usize = (0..10).map(|key| take_all(&mut slots, key)).sum();
    assert_eq!(taken, 4);
    assert_eq!(slots.take(&9), Err(NoSlot::Failing));
    assert_eq!(slots.available(&9), 0);
    assert_eq!(slots.free(), 12);
    assert_eq!(take_all(&mut slots, 100), 4, "a healthy endpoint is not affected");
}

#[test]
fn failing_endpoints_always_have_one_slot_to_recover_with() {
    let limits = SlotLimits { total: 2, failing_percent: 0, ..SlotLimits::default() };
    let mut slots = slots(limits);
    after(&mut slots, 1, &[Outcome::Failed]);
    assert_eq!(slots.failing_free(), 1);
    assert_eq!(after(&mut slots, 1, &[Outcome::Delivered]), 3);
    assert_eq!(take_all(&mut slots, 1), 2);
}

#[test]
fn attempts_in_flight_move_between_the_shares_with_their_endpoint() {
    let mut slots = slots(SlotLimits { total: 16, ..SlotLimits::default() });
    take_all(&mut slots, 1);
    assert_eq!(slots.failing_free(), 4);
    slots.finished(&1, Outcome::Failed);
    assert_eq!(slots.failing_free(), 1);
    slots.finished(&1, Outcome::Delivered);
    assert_eq!(slots.failing_free(), 4);
}

#[test]
fn a_slot_given_back_unused_changes_no_record() {
    let mut slots = slots(SlotLimits::default());
    slots.take(&1).unwrap();
    slots.give_back(&1);
    assert_eq!(slots.free(), 256);
    assert_eq!(slots.known().count(), 0);
    after(&mut slots, 1, &[Outcome::Failed]);
    slots.take(&1).unwrap();
    slots.give_back(&1);
    assert_eq!(slots.allowance(&1), 2);
}

#[test]
fn a_report_without_an_attempt_in_flight_does_nothing() {
    let mut slots = slots(SlotLimits::default());
    slots.finished(&1, Outcome::Failed);
    slots.give_back(&1);
    slots.forget(&1);
    after(&mut slots, 2, &[Outcome::Failed]);
    slots.finished(&2, Outcome::Failed);
    assert_eq!((slots.allowance(&1), slots.allowance(&2), slots.free()), (4, 2, 256));
}

#[test]
fn forgetting_resets_the_record_and_still_counts_attempts_in_flight() {
    let mut slots = slots(SlotLimits::default());
    take_all(&mut slots, 1);
    slots.finished(&1, Outcome::Failed);
    slots.forget(&1);
    assert_eq!((slots.allowance(&1), slots.available(&1), slots.free()), (4, 1, 253));
    for _ in 0..3 {
        slots.give_back(&1);
    }
    assert_eq!((slots.free(), slots.known().count()), (256, 0));
}

#[test]
fn memory_does_not_grow_with_the_endpoints_ever_seen() {
    let mut slots = slots(SlotLimits { remembered: 100, ..SlotLimits::default() });
    for key in 0..10_000 {
        after(&mut slots, key, &[Outcome::Slow]);
    }
    assert_eq!(slots.known().count(), 0, "nothing was learned about them");
    for key in 0..10_000 {
        after(&mut slots, key, &[Outcome::Delivered]);
    }
    assert_eq!(slots.known().count(), 100);
    assert_eq!(slots.known().next(), Some((&9_900, 5)), "the latest are remembered");
}

#[test]
fn failing_endpoints_are_remembered_before_healthy_ones() {
    let mut slots = slots(SlotLimits { remembered: 2, ..SlotLimits::default() });
    after(&mut slots, 1, &[Outcome::Failed]);
    for key in 2..10 {
        after(&mut slots, key, &[Outcome::Delivered]);
    }
    assert_eq!((slots.allowance(&1), slots.allowance(&8), slots.allowance(&9)), (2, 4, 5));
}

/// Endpoints with endless work, served in turn. An attempt holds its slot for some ticks.
struct Simulation {
    slots: Slots<u32>,
    /// Key, tick at which the attempt ends, outcome.
    flying: Vec<(u32, u64, Outcome)>,
    delivered: BTreeMap<u32, u64>,
    most_in_flight: BTreeMap<u32, usize>,
    tick: u64,
}

impl Simulation {
    fn new(limits: SlotLimits) -> Simulation {
        Simulation {
            slots: Slots::new(limits),
            flying: Vec::new(),
            delivered: BTreeMap::new(),
            most_in_flight: BTreeMap::new(),
            tick: 0,
        }
    }

    /// Runs `ticks`; `behaviour` says how long an attempt to a key takes and how it ends.
    fn run(&mut self, ticks: u64, keys: &[u32], behaviour: impl Fn(u32) -> (u64, Outcome)) {
        let mut round: VecDeque<u32> = keys.iter().copied().collect();
        for _ in 0..ticks {
            self.tick += 1;
            self.land();
            let mut refused_in_a_row = 0;
            while refused_in_a_row < keys.len() {
                let key = round.pop_front().unwrap();
                round.push_back(key);
                if self.slots.take(&key).is_err() {
                    refused_in_a_row += 1;
                    continue;
                }
                refused_in_a_row = 0;
                let (duration, outcome) = behaviour(key);
                self.flying.push((key, self.tick + duration, outcome));
                let in_flight = self.slots.entries[&key].in_flight;
                let most = self.most_in_flight.entry(key).or_default();
                *most = in_flight.max(*most);
            }
        }
    }

    fn land(&mut self) {
        let tick = self.tick;
        let landed: Vec<_> = self.flying.extract_if(.., |flight| flight.1 <= tick).collect();
        for (key, _, outcome) in landed {
            self.slots.finished(&key, outcome);
            if outcome == Outcome::Delivered {
                *self.delivered.entry(key).or_default() += 1;
            }
        }
    }
}

const HEALTHY: (u64, Outcome) = (1, Outcome::Delivered);
const DEAD: (u64, Outcome) = (80, Outcome::Failed);

#[test]
fn a_dead_endpoint_never_takes_more_than_its_share() {
    let mut simulation = Simulation::new(SlotLimits::default());
    let behaviour = |key| if key == 0 { DEAD } else { HEALTHY };
    simulation.run(80, &[0, 1, 2], behaviour);
    assert_eq!(simulation.most_in_flight[&0], 4);
    simulation.most_in_flight.clear();
    simulation.run(1_000, &[0, 1, 2], behaviour);
    assert_eq!(simulation.most_in_flight[&0], 1, "once it is known to be dead");
}

#[test]
fn healthy_endpoints_deliver_as_much_beside_dead_ones() {
    let healthy: Vec<u32> = (1_000..1_004).collect();
    let mut alone = Simulation::new(SlotLimits::default());
    alone.run(1_000, &healthy, |_| HEALTHY);

    let mut all: Vec<u32> = (0..30).collect();
    all.extend(&healthy);
    let mut beside = Simulation::new(SlotLimits::default());
    beside.run(1_000, &all, |key| if key < 1_000 { DEAD } else { HEALTHY });
    assert_eq!(beside.delivered, alone.delivered);
}

#[test]
fn hundreds_of_dead_endpoints_end_up_in_a_quarter_of_the_slots() {
    let all: Vec<u32> = (0..204).collect();
    let behaviour = |key| if key < 200 { DEAD } else { HEALTHY };
    let mut simulation = Simulation::new(SlotLimits::default());
    // Until each is known to be dead they count as new ones, with 4 slots each.
    simulation.run(500, &all, behaviour);
    simulation.delivered.clear();
    for _ in 0..300 {
        simulation.run(1, &all, behaviour);
        let dead = simulation.flying.iter().filter(|flight| flight.0 < 200).count();
        assert!(dead <= 64, "{dead} slots are held by dead endpoints");
    }
    for key in 200..204 {
        assert!(simulation.delivered[&key] >= 300 * 31, "{:?}", simulation.delivered);
    }
}

#[test]
fn an_endpoint_that_recovers_earns_its_slots_back() {
    let mut simulation = Simulation::new(SlotLimits::default());
    simulation.run(1_000, &[0], |_| DEAD);
    assert_eq!(simulation.slots.allowance(&0), 1);
    simulation.run(200, &[0], |_| HEALTHY);
    assert_eq!(simulation.slots.allowance(&0), 32);
}

#[derive(Debug, Clone, Copy)]
enum Step {
    Take(u32),
    Finished(u32, Outcome),
    GiveBack(u32),
    Forget(u32),
}

fn any_step() -> impl Strategy<Value = Step> {
    let key = || 0..12_u32;
    let outcome = prop_oneof![Just(Outcome::Delivered), Just(Outcome::Slow), Just(Outcome::Failed)];
    prop_oneof![
        6 => key().prop_map(Step::Take),
        5 => (key(), outcome).prop_map(|(key, outcome)| Step::Finished(key, outcome)),
        1 => key().prop_map(Step::GiveBack),
        1 => key().prop_map(Step::Forget),
    ]
}

proptest! {
    #[test]
    fn the_counts_hold_after_any_history(
        steps in proptest::collection::vec(any_step(), 0..400),
        total in 0..40_usize,
        remembered in 0..6_usize,
    ) {
        let limits = SlotLimits { total, remembered, ..SlotLimits::default() };
        let mut slots = slots(limits);
        let mut flying: BTreeMap<u32, usize> = BTreeMap::new();
        for step in steps {
            match step {
                Step::Take(key) => {
                    let available = slots.available(&key);
                    let taken = slots.take(&key);
                    prop_assert_eq!(taken.is_ok(), available > 0);
                    if taken.is_ok() {
                        *flying.entry(key).or_default() += 1;
                        prop_assert!(slots.entries[&key].in_flight <= slots.allowance(&key));
                        prop_assert_eq!(slots.available(&key), available - 1);
                    }
                }
                Step::Finished(key, outcome) => {
                    slots.finished(&key, outcome);
                    flying.entry(key).and_modify(|count| *count = count.saturating_sub(1));
                }
                Step::GiveBack(key) => {
                    slots.give_back(&key);
                    flying.entry(key).and_modify(|count| *count = count.saturating_sub(1));
                }
                Step::Forget(key) => slots.forget(&key),
            }
            check_counts(&slots, &flying)?;
        }
    }
}

fn check_counts(slots: &Slots<u32>, flying: &BTreeMap<u32, usize>) -> Result<(), TestCaseError> {
    let total: usize = flying.values().sum();
    prop_assert_eq!(slots.free(), slots.limits.total - total);
    let failing: usize = slots
        .entries
        .values()
        .filter(|entry| entry.standing == Standing::Failing)
        .map(|entry| entry.in_flight)
        .sum();
    prop_assert_eq!(slots.failing_in_flight, failing);
    for (key, count) in flying {
        let counted = slots.entries.get(key).map_or(0, |entry| entry.in_flight);
        prop_assert_eq!(counted, *count);
    }
    let idle = slots.entries.values().filter(|entry| entry.in_flight == 0).count();
    prop_assert_eq!(idle, slots.idle.len());
    prop_assert!(idle <= slots.limits.remembered);
    for entry in slots.entries.values() {
        prop_assert!((1..=slots.limits.most).contains(&entry.allowance));
    }
    Ok(())
}
