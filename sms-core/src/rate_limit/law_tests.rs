//! The law, held against a model of several replicas and a store: messages are late, lost, or
//! answered after their sender has given up, replicas are killed, leave, join and stall, and the
//! store's counters are emptied by a crash. Each has a clock of its own.

use std::collections::HashMap;

use proptest::prelude::*;

use super::membership::{
    CheckIn, CheckInFacts, Ends, Footing, LEASE, Lease, ReplicaId, Standing, TRUST, Wish,
};
use super::replica::{Asked, Judged, Replica};
use super::reservation::{Granted, ReservationFacts};
use super::{Gcra, SECOND};
use crate::ids::{ApiKeyId, Id};

const MILLI: u64 = SECOND / 1_000;
/// More than anything that is subtracted from a time.
const EPOCH: u64 = 10_000 * SECOND;

/// What happens next.
#[derive(Debug, Clone, Copy)]
enum Step {
    /// Tenths of milliseconds pass.
    Pass(u16),
    /// Requests come to a replica, and the store is asked for those that need it.
    Requests(u8, u8),
    /// The same, and the answer is there at once.
    PromptRequests(u8, u8),
    /// A replica checks in.
    CheckIn(u8),
    /// The same, and the answer is there at once.
    PromptCheckIn(u8),
    /// All replicas check in, promptly.
    AllCheckIn,
    /// A message under way reaches the store, or its answer the replica.
    Deliver(u8),
    /// A replica waits no longer for a message, which may reach the store all the same.
    GiveUp(u8),
    /// A replica is gone without a word, and another starts.
    Kill(u8),
    /// A replica stops in order, and another starts.
    Leave(u8),
    /// The store's counters are lost.
    Crash,
}

fn step() -> impl Strategy<Value = Step> {
    prop_oneof![
        4 => (0_u16..3_000).prop_map(Step::Pass),
        2 => (3_000_u16..30_000).prop_map(Step::Pass),
        3 => (any::<u8>(), 1_u8..12).prop_map(|(at, count)| Step::Requests(at, count)),
        8 => (any::<u8>(), 1_u8..50).prop_map(|(at, count)| Step::PromptRequests(at, count)),
        2 => any::<u8>().prop_map(Step::CheckIn),
        4 => any::<u8>().prop_map(Step::PromptCheckIn),
        4 => Just(Step::AllCheckIn),
        6 => any::<u8>().prop_map(Step::Deliver),
        1 => any::<u8>().prop_map(Step::GiveUp),
        1 => any::<u8>().prop_map(Step::Kill),
        1 => any::<u8>().prop_map(Step::Leave),
        1 => Just(Step::Crash),
    ]
}

#[derive(Debug, Clone, Copy)]
enum Message {
    CheckIn { check_in: CheckIn, asked: u64 },
    CheckedIn { check_in: CheckIn, asked: u64, standing: Standing },
    Reserve { asked: Asked },
    Reserved { asked: Asked, granted: Granted, at: u64 },
}

#[derive(Debug)]
struct Flight {
    /// Nothing once nobody waits for the answer.
    replica: Option<u64>,
    message: Message,
}

struct Member {
    id: u64,
    replica: Replica,
    /// Its clock less the true time.
    skew: u64,
}

#[derive(Default)]
struct Database {
    leases: Vec<Lease>,
    ends: Ends,
    /// Lost in a crash.
    arrivals: HashMap<ApiKeyId, u64>,
    begun: Option<u64>,
}

struct World {
    gcra: Gcra,
    now: u64,
    database: Database,
    members: Vec<Member>,
    started: u64,
    flights: Vec<Flight>,
    admitted: Vec<u64>,
    /// How often the store was asked for tokens.
    reservations: usize,
}

impl World {
    fn new(gcra: Gcra, members: u64) -> Self {
        let mut world = Self {
            gcra,
            now: EPOCH,
            database: Database::default(),
            members: Vec::new(),
            started: 0,
            flights: Vec::new(),
            admitted: Vec::new(),
            reservations: 0,
        };
        for _ in 0..members {
            let member = world.start();
            world.members.push(member);
        }
        world
    }

    fn start(&mut self) -> Member {
        self.started += 1;
        let id = self.started;
        let replica = Replica::new(ReplicaId(u128::from(id)), self.gcra);
        Member { id, replica, skew: id * 77 * SECOND }
    }

    fn step(&mut self, step: Step) {
        let member = |at: u8| usize::from(at) % self.members.len();
        match step {
            Step::Pass(tenths) => self.now += u64::from(tenths) * MILLI / 10,
            Step::Requests(at, count) => {
                self.requests(member(at), count.into());
            }
            Step::PromptRequests(at, count) => {
                if self.requests(member(at), count.into()) {
                    self.deliver_last();
                }
            }
            Step::CheckIn(at) => self.check_in(member(at)),
            Step::PromptCheckIn(at) => self.check_in_promptly(member(at)),
            Step::AllCheckIn => (0..self.members.len()).for_each(|at| self.check_in_promptly(at)),
            Step::Deliver(at) if !self.flights.is_empty() => {
                self.deliver(usize::from(at) % self.flights.len());
            }
            Step::GiveUp(at) if !self.flights.is_empty() => {
                let at = usize::from(at) % self.flights.len();
                self.flights[at].replica = None;
            }
            Step::Deliver(_) | Step::GiveUp(_) => {}
            Step::Kill(at) => self.replace(member(at)),
            Step::Leave(at) => {
                let at = member(at);
                let check_in = self.members[at].replica.leave();
                self.database.check_in(check_in, self.now);
                self.replace(at);
            }
            Step::Crash => {
                self.database.arrivals.clear();
                self.database.begun = None;
            }
        }
    }

    fn replace(&mut self, at: usize) {
        self.members[at] = self.start();
    }

    fn check_in_promptly(&mut self, at: usize) {
        self.check_in(at);
        self.deliver_last();
    }

    fn check_in(&mut self, at: usize) {
        let member = &mut self.members[at];
        let asked = self.now + member.skew;
        let check_in = member.replica.check_in(asked);
        let message = Message::CheckIn { check_in, asked };
        self.flights.push(Flight { replica: Some(member.id), message });
    }

    /// Whether the store is asked.
    fn requests(&mut self, at: usize, count: u64) -> bool {
        let member = &mut self.members[at];
        let (key, now) = (key(), self.now + member.skew);
        let mut waiting = 0;
        for _ in 0..count {
            match member.replica.judge(key, now) {
                Judged::Said(verdict) if verdict.retry_after.is_none() => {
                    self.admitted.push(self.now);
                }
                Judged::Said(_) | Judged::Wait => {}
                Judged::Ask => waiting += 1,
            }
        }
        let asked = (waiting > 0).then(|| member.replica.reservation(key, waiting, now));
        let Some(asked) = asked.flatten() else { return false };
        self.reservations += 1;
        let message = Message::Reserve { asked };
        self.flights.push(Flight { replica: Some(member.id), message });
        true
    }

    fn deliver_last(&mut self) {
        for _ in 0..2 {
            if let Some(last) = self.flights.len().checked_sub(1) {
                self.deliver(last);
            }
        }
    }

    fn deliver(&mut self, at: usize) {
        let Flight { replica, message } = self.flights.remove(at);
        let answer = match message {
            Message::CheckIn { check_in, asked } => {
                let standing = self.database.check_in(check_in, self.now);
                Message::CheckedIn { check_in, asked, standing }
            }
            Message::Reserve { asked } => {
                let granted = self.database.reserve(asked, self.now);
                Message::Reserved { asked, granted, at: self.now }
            }
            answer => return self.hear(replica, answer),
        };
        self.flights.push(Flight { replica, message: answer });
    }

    fn hear(&mut self, replica: Option<u64>, answer: Message) {
        let member = self.members.iter_mut().find(|member| Some(member.id) == replica);
        let Some(member) = member else { return };
        let now = self.now + member.skew;
        match answer {
            Message::CheckedIn { check_in, asked, standing } => {
                member.replica.checked_in(check_in, standing, asked, now);
            }
            Message::Reserved { asked, granted, at } => {
                let verdicts = member.replica.reserved(asked, granted, now).unwrap_or_default();
                let passed = verdicts.iter().filter(|verdict| verdict.retry_after.is_none());
                self.admitted.extend(passed.map(|_| at));
            }
            Message::CheckIn { .. } | Message::Reserve { .. } => {}
        }
    }

    /// The most by which any window exceeds what the law allows it, in requests.
    fn excess(&self) -> i128 {
        let mut times = self.admitted.clone();
        times.sort_unstable();
        let mut most = i128::MIN;
        for (index, first) in times.iter().enumerate() {
            for (count, last) in (1_i128..).zip(&times[index..]) {
                let share = (last - first) / self.gcra.interval;
                most = most.max(count - i128::from(self.gcra.burst + share));
            }
        }
        most
    }
}

impl Database {
    fn check_in(&mut self, check_in: CheckIn, now: u64) -> Standing {
        self.begun.get_or_insert(now);
        let facts = CheckInFacts { leases: self.leases.clone(), ends: self.ends, now };
        let settled = check_in.settle(facts);
        self.ends = settled.ends;
        let gone = |lease: &Lease| {
            lease.replica == check_in.replica || settled.gone.contains(&lease.replica)
        };
        self.leases.retain(|lease| !gone(lease));
        self.leases.extend(settled.lease);
        settled.standing
    }

    fn reserve(&mut self, asked: Asked, now: u64) -> Granted {
        let reservation = asked.reservation;
        let arrival = self.arrivals.get(&reservation.key).copied();
        let start = self.begun.map(|begun| begun.max(self.ends.alone.unwrap_or(0)));
        let granted = reservation.settle(ReservationFacts { arrival, start, now });
        self.arrivals.insert(reservation.key, granted.arrival);
        granted
    }
}

fn key() -> ApiKeyId {
    Id::from_u128(1)
}

fn limits() -> impl Strategy<Value = Gcra> {
    prop::sample::select(vec![
        Gcra::new(20, 40),
        Gcra::new(1, 1),
        Gcra::new(2, 30),
        Gcra::new(200, 16),
        Gcra::new(1_000, 1_000),
    ])
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(500))]

    /// However replicas come and go, and whatever becomes of their messages, no window holds more
    /// than the burst and its share.
    #[test]
    fn the_law_holds_over_all_replicas_together(
        gcra in limits(),
        members in 1_u64..4,
        steps in prop::collection::vec(step(), 1..200),
    ) {
        let mut world = World::new(gcra, members);
        for step in steps {
            world.step(step);
        }
        prop_assert!(world.excess() <= 0, "{} too many", world.excess());
    }
}

/// Lets replicas run for some seconds with prompt answers; requests come to each in turn.
fn run(world: &mut World, seconds: u64, gap: u64) {
    let end = world.now + seconds * SECOND;
    let mut turn = 0;
    while world.now < end {
        if (world.now - EPOCH) % (400 * MILLI) < gap {
            world.step(Step::AllCheckIn);
            world.step(Step::AllCheckIn);
        }
        world.step(Step::PromptRequests(turn, 1));
        turn = turn.wrapping_add(1);
        world.now += gap;
    }
}

#[test]
fn all_of_the_allowance_is_there_for_replicas_that_share_it() {
    for members in [1, 2, 3] {
        let mut world = World::new(Gcra::new(20, 40), members);
        run(&mut world, 4, 5 * MILLI);
        world.admitted.clear();
        run(&mut world, 10, 5 * MILLI);
        let admitted = world.admitted.len();
        assert!((198..=201).contains(&admitted), "{members} replicas admitted {admitted}");
    }
}

#[test]
fn nobody_within_the_rate_is_refused_and_few_requests_ask_the_store() {
    let mut world = World::new(Gcra::new(20, 40), 2);
    run(&mut world, 4, 100 * MILLI);
    (world.admitted, world.reservations) = (Vec::new(), 0);
    // Eighteen requests a second, at two replicas in turn.
    run(&mut world, 9, 55 * MILLI);
    assert_eq!(world.admitted.len(), 164);
    assert!(world.reservations < 100, "{}", world.reservations);
}

#[test]
fn a_burst_is_whole_wherever_it_comes() {
    let mut world = World::new(Gcra::new(20, 40), 2);
    run(&mut world, 1, 50 * MILLI);
    world.now += 300 * MILLI;
    for _ in 0..8 {
        world.step(Step::AllCheckIn);
        world.now += 400 * MILLI;
    }
    world.admitted.clear();
    world.step(Step::PromptRequests(0, 20));
    world.step(Step::PromptRequests(1, 30));
    assert_eq!(world.admitted.len(), 40);
}

#[test]
fn tokens_that_one_keeps_count_when_the_burst_comes_to_another() {
    let mut world = World::new(Gcra::new(20, 40), 2);
    for wait in [0, 100, 200, 249] {
        // A stream that leaves the burst whole comes to the first, until it has taken some ahead.
        for turn in 0.. {
            if turn % 4 == 0 {
                world.step(Step::AllCheckIn);
            }
            let before = world.reservations;
            world.step(Step::PromptRequests(0, 1));
            if turn > 100 && world.reservations > before {
                break;
            }
            world.now += 80 * MILLI;
        }
        world.now += wait * MILLI;
        world.step(Step::PromptRequests(1, 50));
        world.step(Step::PromptRequests(0, 10));
        assert!(world.excess() <= 0, "{} too many after {wait} ms", world.excess());
    }
}

#[test]
fn one_that_starts_waits_until_the_one_that_is_alone_has_made_way() {
    let mut world = World::new(Gcra::new(20, 40), 1);
    world.step(Step::AllCheckIn);
    world.step(Step::PromptRequests(0, 40));
    assert_eq!(world.admitted.len(), 40);
    let newcomer = world.start();
    world.members.push(newcomer);
    world.step(Step::PromptCheckIn(1));
    world.step(Step::PromptRequests(1, 40));
    assert_eq!(world.admitted.len(), 40, "it waits");
    // It is told to make way, then that it has.
    world.step(Step::PromptCheckIn(0));
    world.step(Step::PromptCheckIn(0));
    world.step(Step::PromptCheckIn(1));
    assert!(world.members.iter().all(|one| one.replica.has_footing(world.now + one.skew)));
    world.step(Step::PromptRequests(1, 40));
    assert_eq!(world.admitted.len(), 40, "the burst is spent");
    world.now += SECOND;
    world.step(Step::AllCheckIn);
    world.step(Step::PromptRequests(1, 40));
    assert_eq!(world.admitted.len(), 60);
}

#[test]
fn one_that_is_left_counts_alone_in_time_and_admits_nothing_while_it_asks() {
    let mut world = World::new(Gcra::new(20, 40), 2);
    run(&mut world, 2, 50 * MILLI);
    world.members.truncate(1);
    while world.database.leases.iter().any(|lease| lease.footing == Footing::Shared) {
        assert!(world.now < EPOCH + 20 * SECOND);
        world.admitted.clear();
        world.step(Step::CheckIn(0));
        world.step(Step::PromptRequests(0, 1));
        let Some(Flight { message: Message::CheckIn { check_in, .. }, .. }) = world.flights.first()
        else {
            panic!("it checks in")
        };
        let is_changing = check_in.wish == Wish::Alone;
        assert_eq!(world.admitted.len(), usize::from(!is_changing), "{check_in:?}");
        world.flights.truncate(1);
        world.deliver_last();
        world.now += 400 * MILLI;
    }
    world.step(Step::AllCheckIn);
    world.admitted.clear();
    world.step(Step::Requests(0, 40));
    assert!((1..=10).contains(&world.admitted.len()), "the burst was spent 0.4 s ago");
}

#[test]
fn a_check_in_that_was_overtaken_changes_nothing() {
    let mut world = World::new(Gcra::new(20, 40), 1);
    world.step(Step::CheckIn(0));
    world.step(Step::PromptCheckIn(0));
    let before = world.database.leases.clone();
    world.now += SECOND;
    world.step(Step::Deliver(0));
    assert_eq!(world.database.leases, before);
}

#[test]
fn one_that_was_killed_is_followed_when_its_lease_has_run_out() {
    let mut world = World::new(Gcra::new(20, 40), 1);
    world.step(Step::AllCheckIn);
    world.step(Step::Kill(0));
    let footing = |world: &World| {
        let one = &world.members[0];
        one.replica.has_footing(world.now + one.skew)
    };
    while !footing(&world) {
        assert!(world.now <= EPOCH + LEASE);
        world.now += 50 * MILLI;
        world.step(Step::AllCheckIn);
    }
    assert!(world.now >= EPOCH + LEASE);
}

#[test]
fn one_that_left_is_followed_at_once() {
    let mut world = World::new(Gcra::new(20, 40), 1);
    world.step(Step::AllCheckIn);
    world.step(Step::Leave(0));
    world.step(Step::AllCheckIn);
    assert!(world.members[0].replica.has_footing(world.now + world.members[0].skew));
}

#[test]
fn one_that_was_stopped_past_its_lease_admits_nothing_when_it_goes_on() {
    let mut world = World::new(Gcra::new(20, 40), 1);
    world.step(Step::AllCheckIn);
    world.now += TRUST;
    world.step(Step::PromptRequests(0, 40));
    assert_eq!(world.admitted.len(), 0);
}
