//! The end of a run: faults stop, the clock goes on, and all work must complete.

use std::time::Duration;

use sms_core::message::MessageStatus;
use sms_core::time::Timestamp;
use sms_core::webhook::DeliveryStatus;

use super::driver::{Driver, Step};
use super::model::{Check, Model, ensure};
use super::workers::Chore;
use super::world::Weather;

/// Longer than all schedules, validities and retries together.
const ALL_DONE_WITHIN: Duration = Duration::from_hours(14 * 24);

impl Driver {
    /// Runs until all work is done.
    pub(super) fn end(&mut self) -> Step {
        self.world.with(|state| state.weather = Weather::Calm);
        let deadline = self.world.now().plus(ALL_DONE_WITHIN);
        loop {
            self.run_ready()?;
            let now = self.world.now();
            if now > deadline {
                return self.broken(self.still_waiting());
            }
            let chores = self.chores_due(now);
            let news = self.world.with(|state| is_due(state.air.next(), now));
            let work = news || !chores.is_empty();
            for chore in chores {
                self.start_chore(chore)?;
            }
            if news {
                self.start_news()?;
            }
            if work {
                continue;
            }
            if self.world.with(|state| is_due(state.model.next_replay(), now)) {
                // A server that has just looked for replays looks again a moment later.
                self.start_chore(Chore::Replay)?;
                self.run_ready()?;
            }
            match self.next_due() {
                // Moves further than needed, so that work which falls due meanwhile is done
                // together. But not too far: a keyword and a number that echoes messages never stop
                // unless eleven messages fit into one hour, the last of which gets no reply.
                Some(at) => {
                    let hop = Duration::from_secs(self.dice.between(1, 300));
                    self.clock_to(at.max(now.plus(hop)))?;
                }
                None => break,
            }
        }
        let result = self.world.with(|state| {
            let promised = &state.air.promised;
            all_ended(&state.model, |id| promised.contains(&id))
        });
        result.or_else(|what| self.broken(what))?;
        self.end_following()
    }

    /// Has all followers of the event log go on to its end.
    fn end_following(&mut self) -> Step {
        let count = self.world.with(|state| state.followers.len());
        for follower in 0..count {
            self.start_following(follower)?;
        }
        self.run_ready()?;
        let result = self.world.with(|state| {
            let model = &state.model;
            state.followers.iter().try_for_each(|follower| {
                let log = model.log_of(follower.account).ok_or("a log vanished")?;
                follower.check_end(log)
            })
        });
        result.or_else(|what| self.broken(what))
    }

    /// Polls until every task waits for the clock.
    fn run_ready(&mut self) -> Step {
        loop {
            let ready = self.executor.ready().count();
            let index = self.dice.below(ready);
            let Some(label) = self.executor.ready().nth(index) else { return Ok(()) };
            self.poll(label)?;
        }
    }

    /// The chores that are due now.
    fn chores_due(&self, now: Timestamp) -> Vec<Chore> {
        let (text, delivery) = self.world.with(|state| {
            let model = &state.model;
            (model.queue.first().map(|(at, _)| *at), model.next_delivery())
        });
        let chores = [
            (text, Chore::Dispatch(100)),
            (delivery, Chore::Deliver(100)),
            (self.world.next_comeback(), Chore::Simulate(100)),
        ];
        let due = chores.into_iter().filter(|(at, _)| is_due(*at, now));
        due.map(|(_, chore)| chore).collect()
    }

    fn still_waiting(&self) -> String {
        let (messages, deliveries) = self.world.with(|state| {
            let model = &state.model;
            (model.queue.len(), model.due.len())
        });
        format!("work does not end: {messages} messages and {deliveries} deliveries still wait")
    }
}

fn is_due(at: Option<Timestamp>, now: Timestamp) -> bool {
    at.is_some_and(|at| at <= now)
}

/// Checks that every message is final, or sent with no receipt to come, and that every delivery is
/// delivered or given up.
fn all_ended(model: &Model, promised: impl Fn(sms_core::ids::MessageId) -> bool) -> Check {
    for (id, text) in &model.messages {
        let status = text.last.status;
        let waits = status == MessageStatus::Sent
            && text.receipts == 0
            && (text.last.route.as_str() != "network" || !promised(*id));
        ensure!(
            status.is_final() || waits,
            "{id} on {} is {status} for ever, after {} receipts",
            text.last.route,
            text.receipts
        );
    }
    for (id, delivery) in &model.deliveries {
        let status = delivery.last.status;
        ensure!(status != DeliveryStatus::Pending, "delivery {id} is pending for ever");
    }
    for (id, endpoint) in &model.endpoints {
        let replay = endpoint.last.replay;
        ensure!(replay.is_none(), "a replay to {id} goes on for ever: {replay:?}");
    }
    let owed = model.comebacks_owed();
    ensure!(owed == 0, "{owed} simulated comebacks never came");
    Ok(())
}
