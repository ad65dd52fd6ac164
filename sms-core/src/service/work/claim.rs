//! Claims: which due messages this program takes next, and which have to wait for their routes.

use std::sync::Arc;
use std::sync::atomic::Ordering;

use super::Dispatched;
use super::held::Held;
use super::hold::Hold;
use super::room::After;
use crate::dispatch::held::HeldMessage;
use crate::dispatch::turns::Turns;
use crate::dispatch::wanted::Wanted;
use crate::dispatch::{ClaimPlan, Claimed};
use crate::error::Error;
use crate::hand_over::look::Look;
use crate::lane::{Lane, RouteLane};
use crate::message::record::Message;
use crate::route::{Fitness, Route, RouteKind};
use crate::route_name::RouteName;
use crate::service::sms::Sms;
use crate::service::wake::Work;
use crate::time::Timestamp;
use crate::upkeep::Due;

/// Lanes that one claim reads, and how many messages it takes from them at most.
struct Portion {
    of: Vec<RouteLane>,
    most: usize,
}

impl Sms {
    /// The look that this message had at this time, after this many recalls.
    pub(super) fn look(&self, message: &Message, at: Timestamp, recalls: u64) -> Look {
        let all = (&self.inner.recalls, recalls);
        Look::at(at).watched((message.account, message.to), &self.inner.clock, all)
    }

    /// From time to time, fails messages that expired while their route had no room, because no
    /// other claim takes them.
    pub(super) async fn fail_expired(
        &self,
        limit: usize,
        done: &mut Dispatched,
    ) -> Result<(), Error> {
        let of = self.lanes_that_wait();
        if of.is_empty() || !self.inner.expired.is_due(self.now()) {
            return Ok(());
        }
        let (claimed, _) = self.claim(Wanted::ExpiredOf(of), Turns::default(), limit).await?;
        if claimed.count() >= limit {
            self.inner.expired.look_again();
        }
        done.count_claimed(&claimed);
        Ok(())
    }

    fn all_lanes(&self) -> impl Iterator<Item = RouteLane> {
        self.routes().iter().flat_map(|route| RouteLane::both(route.name()))
    }

    /// What claims of these lanes may take, the next one first: a lane whose route has room for
    /// less than `limit` is claimed from by itself, and those with more room together.
    fn portions(&self, lanes: &[Lane], waiting: &[RouteLane], limit: usize) -> Vec<Portion> {
        let (mut wide, mut narrow) = (Vec::new(), Vec::new());
        let is_open = |of: &RouteLane| lanes.contains(&of.lane) && !waiting.contains(of);
        for of in self.all_lanes().filter(is_open) {
            match self.carrier(&of.route).map_or(limit, |carrier| carrier.room(of.lane)) {
                room if room >= limit => wide.push(of),
                room => narrow.push(Portion { of: vec![of], most: room.max(1) }),
            }
        }
        if !wide.is_empty() || narrow.is_empty() {
            narrow.push(Portion { of: wide, most: limit });
        }
        let turn = self.inner.claim_size.turn.fetch_add(1, Ordering::Relaxed);
        let first = turn % narrow.len();
        narrow.rotate_left(first);
        narrow
    }

    /// Claims due messages of these lanes, except those that wait: `limit` at most, and no more
    /// than their routes have room for. Remembers whose turn is next, and opens the rooms of what
    /// is empty now.
    pub(super) async fn claim_in_turn(
        &self,
        lanes: &[Lane],
        waiting: &[RouteLane],
        limit: usize,
        done: &mut Dispatched,
    ) -> Result<(Claimed, Held<'_>), Error> {
        let mut portions = self.portions(lanes, waiting, self.inner.claim_size.of(limit));
        loop {
            // There is always one.
            let portion = portions.remove(0);
            let (claimed, held) = self.claim_portion(&portion, lanes, waiting).await?;
            if claimed.count() > 0 || portions.is_empty() {
                done.is_full = claimed.count() >= portion.most;
                done.count_claimed(&claimed);
                return Ok((claimed, held));
            }
        }
    }

    async fn claim_portion(
        &self,
        portion: &Portion,
        lanes: &[Lane],
        waiting: &[RouteLane],
    ) -> Result<(Claimed, Held<'_>), Error> {
        let Portion { of: wanted, most } = portion;
        let left: Vec<RouteLane> = self.all_lanes().filter(|of| !wanted.contains(of)).collect();
        loop {
            let turns = self.inner.claim_turns.get();
            let wanted = Wanted::AllBut(left.clone());
            let queued = self.inner.rooms.queued();
            let (claimed, held) = self.claim(wanted, turns.clone(), *most).await?;
            self.inner.claim_turns.set(claimed.turns.clone());
            // A lane that is no longer crowded may have more, of accounts that were not visited.
            if claimed.count() == 0 && claimed.turns != turns {
                continue;
            }
            let is_full = claimed.count() >= *most;
            // A lane in which accounts took turns may not have been read to its end.
            let is_crowded = |of: &RouteLane| turns.after(of).is_some();
            let mut read = portion.of.iter();
            let in_doubt = !is_full && read.any(is_crowded);
            let left_some = in_doubt && self.may_be_due(held.hold.since).await;
            let after = |of: &RouteLane| {
                let some = is_full || waiting.contains(of) || (left_some && is_crowded(of));
                if some { After::Waits } else { After::Empty }
            };
            let is_concerned = |of: &RouteLane| {
                portion.of.contains(of) || (waiting.contains(of) && lanes.contains(&of.lane))
            };
            let concerned = self.all_lanes().filter(is_concerned);
            self.inner.rooms.claimed(queued, concerned.map(|of| (after(&of), of)));
            return Ok((claimed, held));
        }
    }

    /// Whether something may still wait that was due at this time.
    async fn may_be_due(&self, at: Timestamp) -> bool {
        match self.store().next(Due::Messages).await {
            Ok(next) => next.is_some_and(|next| next <= at),
            Err(_) => true,
        }
    }

    /// Claims up to `limit` due messages and holds them until the hold is dropped.
    async fn claim(
        &self,
        wanted: Wanted,
        turns: Turns,
        limit: usize,
    ) -> Result<(Claimed, Held<'_>), Error> {
        let at = self.now();
        let lease = self.lease(at, self.inner.lease);
        let default_route = self.default_route().clone();
        let ids = self.ids(at);
        let plan = ClaimPlan { at, limit, lease, wanted, turns, default_route, ids };
        let hold = Hold { token: lease.token, since: at };
        let held = Held::of(hold, &self.inner.leases);
        let recalls = self.inner.recalls.count();
        let mut claimed = self.store().dispatch_claim(plan).await?;
        let now = self.now();
        self.inner.claim_size.took(now.since(at), now);
        for (text, HeldMessage { message, .. }) in claimed.messages.iter_mut().zip(&claimed.held) {
            text.look = self.look(message, at, recalls);
        }
        if claimed.failed + claimed.given_up > 0 {
            self.wake(Work::Webhooks);
        }
        Ok((claimed, held))
    }

    /// Lanes whose messages have to wait in the queue, because the route that carries them has no
    /// room for them or is down.
    pub fn lanes_that_wait(&self) -> Vec<RouteLane> {
        let waits = |of: &RouteLane| {
            let carrier = self.carrier(&of.route);
            carrier.is_some_and(|carrier| carrier.fitness(of.lane) != Fitness::Ready)
        };
        self.routes().iter().flat_map(|route| RouteLane::both(route.name())).filter(waits).collect()
    }

    /// The route that carries the messages of the named route. This is the route itself, unless it
    /// is down and another route for live messages to a network is not; then it is the next such
    /// route. A simulated route replaces no other, and no other replaces it.
    pub(super) fn carrier(&self, name: &RouteName) -> Option<&Arc<dyn Route>> {
        let routes = self.routes();
        let place = routes.iter().position(|route| route.name() == name)?;
        let rest = routes[place + 1..].iter().chain(&routes[..place]);
        let is_live = |route: &dyn Route| {
            route.kind() == RouteKind::Real && *route.name() != RouteName::test()
        };
        let stand_ins = rest.filter(|route| is_live(&*routes[place]) && is_live(&***route));
        std::iter::once(&routes[place])
            .chain(stand_ins)
            .find(|route| route.fitness(Lane::Normal) != Fitness::Down)
            .or(Some(&routes[place]))
    }
}
