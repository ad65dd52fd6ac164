//! Claims: which due messages this program takes next, and which have to wait for their routes.

use std::sync::Arc;

use super::held::Held;
use super::hold::Hold;
use super::room::After;
use super::{Dispatched, Work};
use crate::dispatch::{ClaimPlan, Claimed, Lane, RouteLane, Turns, Wanted};
use crate::error::Error;
use crate::route::{Fitness, Route, RouteKind, RouteName};
use crate::service::Sms;
use crate::time::Timestamp;

impl Sms {
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

    /// Claims up to `limit` due messages of these lanes, except those that wait, remembers whose
    /// turn is next, and opens the rooms of what is empty now.
    pub(super) async fn claim_in_turn(
        &self,
        lanes: &[Lane],
        waiting: &[RouteLane],
        limit: usize,
    ) -> Result<(Claimed, Held<'_>), Error> {
        let all = || self.routes().iter().flat_map(|route| RouteLane::both(route.name()));
        let is_left = |of: &RouteLane| !lanes.contains(&of.lane) || waiting.contains(of);
        let left: Vec<RouteLane> = all().filter(is_left).collect();
        loop {
            let turns = self.inner.claim_turns.get();
            let wanted = Wanted::AllBut(left.clone());
            let queued = self.inner.rooms.queued();
            let (claimed, held) = self.claim(wanted, turns.clone(), limit).await?;
            self.inner.claim_turns.set(claimed.turns.clone());
            // A lane that is no longer crowded may have more, of accounts that were not visited.
            if claimed.count() == 0 && claimed.turns != turns {
                continue;
            }
            let is_full = claimed.count() >= limit;
            // A lane in which accounts took turns may not have been read to its end.
            let is_crowded = |of: &RouteLane| turns.after(of).is_some();
            let mut read = all().filter(|of| !left.contains(of));
            let in_doubt = !is_full && read.any(|of| is_crowded(&of));
            let left_some = in_doubt && self.may_be_due(held.hold.since).await;
            let after = |of: &RouteLane| {
                let some = is_full || waiting.contains(of) || (left_some && is_crowded(of));
                if some { After::Waits } else { After::Empty }
            };
            let concerned = all().filter(|of| lanes.contains(&of.lane));
            self.inner.rooms.claimed(queued, concerned.map(|of| (after(&of), of)));
            return Ok((claimed, held));
        }
    }

    /// Whether something may still wait that was due at this time.
    async fn may_be_due(&self, at: Timestamp) -> bool {
        match self.store().dispatch_next().await {
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
        let claimed = self.store().dispatch_claim(plan).await?;
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
