//! Sending an endpoint again what it missed.

use std::collections::BTreeSet;
use std::time::Duration;

use sms_core::account::Mode;
use sms_core::event::EventType;
use sms_core::event::log::LoggedEvent;
use sms_core::event::position::Position;
use sms_core::ids::{AccountId, EndpointId, EventId};
use sms_core::service::replay::{ReplayFrom, ReplayRequest};

use super::caller::Caller;
use crate::simulation::dice::Dice;
use crate::simulation::model::{LogModel, ReplayAsked};
use crate::simulation::world::State;

/// A request for a replay to this endpoint: of all or a part, and sometimes one that cannot be
/// done.
pub(super) fn what_was_missed(
    dice: &mut Dice,
    state: &State,
    endpoint: EndpointId,
) -> ReplayRequest {
    let own = state.model.endpoints.get(&endpoint);
    let log = own.and_then(|own| state.model.log_of(own.last.account));
    let events: Vec<&LoggedEvent> = log.into_iter().flat_map(LogModel::kept).collect();
    let second = Duration::from_secs(1);
    let some_time = |dice: &mut Dice| {
        let at = dice.pick(&events)?.event.created_at.minus(second);
        Some(at.plus(Duration::from_millis(dice.between(0, 2_000))))
    };
    let beginning = match dice.below(20) {
        0..9 => None,
        9..11 => dice.pick(&events).map(|logged| ReplayFrom::Position(logged.position)),
        11..13 => dice.pick(&events).map(|logged| ReplayFrom::Event(logged.event.id)),
        13 => Some(ReplayFrom::Event(EventId::from_u128(u128::from(dice.between(1, 9))))),
        _ => some_time(dice).map(ReplayFrom::Time),
    };
    let to = if dice.percent(25) { some_time(dice) } else { None };
    let from = beginning.unwrap_or(ReplayFrom::Position(Position::START));
    let all: BTreeSet<EventType> = own.map(|own| own.last.events.clone()).unwrap_or_default();
    let types = dice.percent(40).then(|| {
        let chosen = all.into_iter().filter(|_| dice.percent(50));
        let mut chosen: BTreeSet<EventType> = chosen.collect();
        // An endpoint need not subscribe to these.
        chosen.extend(dice.pick(&EventType::SUBSCRIBABLE).filter(|_| chosen.is_empty()));
        chosen
    });
    ReplayRequest { from, to, types }
}

impl Caller {
    /// Asks for a replay, and checks what it is told.
    pub(super) async fn replay(
        &self,
        account: AccountId,
        endpoint: EndpointId,
        request: ReplayRequest,
    ) {
        let handle = self.sms.account(account, Mode::Live);
        let end = self.expect("finding the end of the log", handle.event_end().await, &[]);
        let Some(end) = end else { return };
        let task = self.world.with(|state| {
            let log = state.model.log_of(account);
            let removed = log.map(LogModel::removed).unwrap_or_default();
            let request = request.clone();
            let (found, verdict) = (None, None);
            let asked = ReplayAsked { endpoint, request, end, removed, found, verdict };
            state.model.replays_asked.insert(state.task, asked);
            state.task
        });
        let answer = handle.webhook_replay(endpoint, request).await;
        let told = answer.as_ref().map(|begun| *begun).map_err(sms_core::Error::code);
        let checked = self.world.with(|state| state.model.saw_replay_told(task, told));
        if !self.world.is_shaken() {
            self.world.check(checked);
        }
        let refusals = ["not_found", "validation_failed", "webhook_disabled", "replay_under_way"];
        let waits = ["rate_limited", "unavailable"];
        let codes = [&refusals[..], &waits].concat();
        self.expect("replaying what an endpoint missed", answer, &codes);
    }
}
