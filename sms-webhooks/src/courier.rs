//! Claims due deliveries, attempts them and records the attempts: [`Courier`].
//!
//! It keeps as many attempts in flight as [`Slots`] allow, and claims no more deliveries than it
//! has slots for. So a slow or dead endpoint never delays the deliveries of another, and no account
//! takes the slots of all.
//!
//! Successes are gathered for some milliseconds and recorded together. A success frees its slot at
//! once. A failure is recorded without delay, with the successes before it, and keeps its slot
//! until then: what it means for its endpoint, a pause or the end, holds for the next claim.

use std::collections::{BTreeMap, VecDeque};
use std::time::Duration;

use sms_core::ids::EndpointId;
use sms_core::service::webhook::Attempted;
use sms_core::webhook::attempt::{AttemptPlan, ClaimedDelivery, Room};
use sms_core::{Error, Sms};
use tokio::task::JoinSet;
use tokio::time::{Instant, sleep_until};

use crate::{Outcome, SlotLimits, Slots};

mod gathered;
mod pace;
mod shares;

use gathered::{Gathered, Holder};
use pace::{Left, Pace};
use shares::Shares;

/// A successful attempt that takes longer than this counts as slow.
const SLOW: Duration = Duration::from_secs(4);
/// How many records of attempts may run at once. While they run, further attempts are gathered.
const RECORDS_AT_ONCE: usize = 2;
/// The most attempts that may wait to be recorded; further ones are not begun.
const MOST_UNRECORDED: usize = 1_000;

/// Makes the deliveries of a service. The host calls [`look`](Courier::look) when there may be
/// work, and [`progress`](Courier::progress) all the time.
///
/// Each attempt is a separate task, so it continues while the host does other work. Dropping the
/// courier ends all attempts; their deliveries, and those whose attempts are not recorded yet, are
/// claimed again when their leases expire.
pub struct Courier {
    sms: Sms,
    slots: Slots<EndpointId>,
    shares: Shares,
    pace: Pace,
    claim: JoinSet<ClaimEnded>,
    under_way: JoinSet<Ended>,
    gathered: Gathered,
    records: JoinSet<Recorded>,
    /// How many attempts are being recorded.
    being_recorded: usize,
    told: VecDeque<Progress>,
}

/// What a courier has done.
#[derive(Debug)]
pub enum Progress {
    /// It claimed this many deliveries, and sends them. It claims more by itself while endpoints
    /// have more due deliveries than free slots.
    Claimed(usize),
    /// The store failed, and nothing was claimed. It claims again when [`look`](Courier::look) is
    /// called.
    NotClaimed(Error),
    /// An attempt has ended and is recorded.
    Recorded(Attempted),
    /// An attempt has ended and could not be recorded. It is repeated when its lease expires.
    NotRecorded(Error),
}

struct ClaimEnded {
    /// The room that the claim had.
    room: Room,
    claimed: Result<Vec<ClaimedDelivery>, Error>,
}

struct Ended {
    endpoint: EndpointId,
    took: Duration,
    sent: Result<AttemptPlan, Error>,
}

struct Recorded {
    attempts: Vec<(Holder, Result<Attempted, Error>)>,
}

impl Courier {
    /// A courier with the default limits.
    pub fn new(sms: Sms) -> Self {
        Self::with_limits(sms, SlotLimits::default())
    }

    /// A courier with these limits.
    pub fn with_limits(sms: Sms, limits: SlotLimits) -> Self {
        Self {
            sms,
            slots: Slots::new(limits),
            shares: Shares::of(limits.total),
            pace: Pace::default(),
            claim: JoinSet::new(),
            under_way: JoinSet::new(),
            gathered: Gathered::default(),
            records: JoinSet::new(),
            being_recorded: 0,
            told: VecDeque::new(),
        }
    }

    /// Notes that deliveries may be due: they are claimed as soon as there are slots.
    pub fn look(&mut self) {
        self.pace.look();
    }

    /// Claims nothing more until [`look`](Self::look) is called.
    pub fn stop_claiming(&mut self) {
        self.pace.stop();
    }

    /// How many attempts are in flight.
    pub fn under_way(&self) -> usize {
        self.under_way.len()
    }

    /// Whether there is anything that [`progress`](Courier::progress) can wait for.
    pub fn is_busy(&self) -> bool {
        let tasks = self.claim.len() + self.under_way.len() + self.records.len();
        tasks > 0 || self.pace.is_wanted() || !self.gathered.is_empty() || !self.told.is_empty()
    }

    /// Claims, sends and records, until there is something to report. Does not return while there
    /// is nothing to do.
    ///
    /// Dropping the future loses nothing.
    pub async fn progress(&mut self) -> Progress {
        loop {
            if let Some(told) = self.told.pop_front() {
                return told;
            }
            self.start_claim();
            self.start_record();
            let wake = self.wakes_at();
            tokio::select! {
                Some(ended) = self.claim.join_next() => self.claimed(ended.ok()),
                Some(ended) = self.under_way.join_next() => self.ended(ended.ok()),
                Some(ended) = self.records.join_next() => self.recorded(ended.ok()),
                () = sleep_until(wake.unwrap_or_else(Instant::now)), if wake.is_some() => {}
                else => std::future::pending().await,
            }
        }
    }

    /// When a claim or a record begins although nothing else happens.
    fn wakes_at(&self) -> Option<Instant> {
        let claim = self.pace.begins_at().filter(|_| self.may_claim());
        let record = self.gathered.due_at().filter(|_| self.may_record());
        claim.into_iter().chain(record).min()
    }

    fn may_claim(&self) -> bool {
        self.claim.is_empty() && self.free() > 0
    }

    fn may_record(&self) -> bool {
        self.records.len() < RECORDS_AT_ONCE
    }

    /// How many attempts may begin.
    fn free(&self) -> usize {
        let unrecorded = self.gathered.len() + self.being_recorded;
        self.slots.free().min(MOST_UNRECORDED.saturating_sub(unrecorded))
    }

    fn room(&self) -> Room {
        let each = self.slots.available_to_unknown();
        let mut endpoints = self.slots.known().map(|(id, available)| (*id, available)).collect();
        self.shares.limit(&mut endpoints, each);
        Room { total: self.free(), failing: self.slots.failing_free(), each, endpoints }
    }

    fn start_claim(&mut self) {
        if !self.may_claim() || !self.pace.begin(Instant::now(), self.under_way.len()) {
            return;
        }
        let room = self.room();
        let sms = self.sms.clone();
        self.claim.spawn(async move {
            let claimed = sms.deliveries_claim(room.clone()).await;
            ClaimEnded { room, claimed }
        });
    }

    fn claimed(&mut self, ended: Option<ClaimEnded>) {
        // Our code does not panic. A panic in a custom store must not end the worker.
        let Some(ClaimEnded { room, claimed }) = ended else {
            self.pace.ended(0, Left::None, Instant::now());
            return self.told.push_back(Progress::Claimed(0));
        };
        let claimed = match claimed {
            Ok(claimed) => claimed,
            Err(error) => {
                self.pace.ended(0, Left::None, Instant::now());
                return self.told.push_back(Progress::NotClaimed(error));
            }
        };
        self.pace.ended(claimed.len(), left(&room, &claimed), Instant::now());
        self.told.push_back(Progress::Claimed(claimed.len()));
        for claimed in claimed {
            self.send(claimed);
        }
    }

    fn send(&mut self, claimed: ClaimedDelivery) {
        let endpoint = claimed.endpoint;
        // The slots bound the claim. If the store's view of which endpoints fail differs, the
        // delivery is sent without a slot, rather than left until its lease expires.
        let _ = self.slots.take(&endpoint);
        self.shares.take(claimed.account, endpoint);
        let sms = self.sms.clone();
        self.under_way.spawn(async move {
            let started = Instant::now();
            let sent = sms.delivery_send(claimed).await;
            Ended { endpoint, took: started.elapsed(), sent }
        });
    }

    fn ended(&mut self, ended: Option<Ended>) {
        // A panic in a custom sender must not end the worker.
        let Some(Ended { endpoint, took, sent }) = ended else {
            return self.told.push_back(Progress::Recorded(Attempted::LeaseLost));
        };
        match sent {
            Err(error) => {
                self.slots.give_back(&endpoint);
                self.freed(endpoint);
                self.told.push_back(Progress::NotRecorded(error));
            }
            Ok(plan) if plan.result.is_ok() => {
                let slow = took > SLOW;
                let outcome = if slow { Outcome::Slow } else { Outcome::Delivered };
                self.slots.finished(&endpoint, outcome);
                self.freed(endpoint);
                self.gathered.add(plan, Holder::None, Instant::now());
            }
            Ok(plan) => self.gathered.add(plan, Holder::Slot(endpoint), Instant::now()),
        }
    }

    /// A slot of this endpoint is free again.
    fn freed(&mut self, endpoint: EndpointId) {
        self.shares.give_back(endpoint);
        self.pace.slot_freed();
    }

    fn start_record(&mut self) {
        let is_due = self.gathered.due_at().is_some_and(|at| at <= Instant::now());
        if !is_due || !self.may_record() {
            return;
        }
        let (plans, holders) = self.gathered.take();
        self.being_recorded += plans.len();
        let sms = self.sms.clone();
        self.records.spawn(async move {
            let attempted = sms.attempts_record(plans).await;
            Recorded { attempts: holders.into_iter().zip(attempted).collect() }
        });
    }

    fn recorded(&mut self, ended: Option<Recorded>) {
        // A panic in a custom store must not end the worker.
        let attempts = ended.map_or_else(Vec::new, |recorded| recorded.attempts);
        self.being_recorded = match self.records.len() {
            0 => 0,
            _ => self.being_recorded.saturating_sub(attempts.len()),
        };
        for (holder, attempted) in attempts {
            if let Holder::Slot(endpoint) = holder {
                match attempted {
                    Ok(Attempted::Failed) => self.slots.finished(&endpoint, Outcome::Failed),
                    // It says nothing about the endpoint.
                    _ => self.slots.give_back(&endpoint),
                }
                self.freed(endpoint);
            }
            self.told.push_back(match attempted {
                Ok(attempted) => Progress::Recorded(attempted),
                Err(error) => Progress::NotRecorded(error),
            });
        }
    }
}

/// Whether a claim with this room may have left due deliveries for want of slots.
fn left(room: &Room, claimed: &[ClaimedDelivery]) -> Left {
    let mut of_each: BTreeMap<EndpointId, usize> = BTreeMap::new();
    for claimed in claimed {
        *of_each.entry(claimed.endpoint).or_default() += 1;
    }
    let full = |(id, count): (&EndpointId, &usize)| {
        *count >= room.endpoints.get(id).copied().unwrap_or(room.each)
    };
    let is_full = claimed.len() >= room.total.min(room.failing)
        || room.endpoints.values().any(|room| *room == 0)
        || of_each.iter().any(full);
    if is_full { Left::Some } else { Left::None }
}

impl std::fmt::Debug for Courier {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Courier").field("under_way", &self.under_way.len()).finish_non_exhaustive()
    }
}
