//! Webhook endpoints: which get events, and what disables them.

use std::collections::{BTreeSet, VecDeque};
use std::time::Duration;

use sms_core::ids::{AccountId, EndpointId};
use sms_core::time::Timestamp;
use sms_core::webhook::DeliveryStatus;
use sms_core::webhook::endpoint::{Endpoint, EndpointChange, Power};
use sms_core::webhook::rotation::{OldSecret, SecretChange};

use super::{Check, EndpointModel, Model, Moment, read};

const MOST_ENDPOINTS: usize = 10;

impl Model {
    /// An endpoint was made, or refused.
    pub fn saw_endpoint(&mut self, endpoint: Endpoint, made: bool) -> Check {
        let account = self.accounts.get_mut(&endpoint.account).ok_or("an account vanished")?;
        let room = account.endpoints.len() < MOST_ENDPOINTS;
        ensure!(made == room, "one more than {} endpoints: {made}", account.endpoints.len());
        if made {
            account.endpoints.insert(endpoint.id);
            let (deliveries, rest) = (BTreeSet::new(), VecDeque::new());
            let model = EndpointModel { last: endpoint, deliveries, rest };
            self.endpoints.insert(model.last.id, model);
        }
        Ok(())
    }

    /// An endpoint of this account.
    pub fn endpoint_of(&self, account: AccountId, id: EndpointId) -> Option<&EndpointModel> {
        self.endpoints.get(&id).filter(|endpoint| endpoint.last.account == account)
    }

    /// An endpoint was changed.
    pub fn saw_endpoint_update(
        &mut self,
        moment: &Moment<'_>,
        account: AccountId,
        id: EndpointId,
        change: EndpointChange,
        at: Timestamp,
        answer: Option<&Endpoint>,
    ) -> Check {
        let Some(own) = self.endpoint_of(account, id) else {
            ensure!(answer.is_none(), "a change found another's endpoint {id}");
            return Ok(());
        };
        let was_on = own.last.power.is_on();
        let expected = changed(own.last.clone(), change, at);
        ensure!(answer == Some(&expected), "an endpoint became {answer:?} for {expected:?}");
        let switched_off = was_on && !expected.power.is_on();
        self.endpoint_is(moment, expected)?;
        if switched_off {
            self.give_up_waiting(moment, id, at)?;
        }
        self.check_heads(moment)
    }

    /// Updates an endpoint in the model, and compares it with the store's.
    pub fn endpoint_is(&mut self, moment: &Moment<'_>, endpoint: Endpoint) -> Check {
        let stored = read(moment.books.endpoint_get(endpoint.account, endpoint.id))?;
        ensure!(stored.as_ref() == Some(&endpoint), "{stored:?} is kept for {endpoint:?}");
        let own = self.endpoints.get_mut(&endpoint.id).ok_or("an endpoint vanished")?;
        if endpoint.replay.is_none() {
            own.rest.clear();
        }
        own.last = endpoint;
        Ok(())
    }

    /// Gives up what waits for a disabled endpoint. Attempts under way go on.
    pub fn give_up_waiting(&mut self, moment: &Moment<'_>, id: EndpointId, at: Timestamp) -> Check {
        let own = self.endpoints.get(&id).ok_or("an endpoint vanished")?;
        for delivery in own.deliveries.clone() {
            let own = self.delivery(delivery)?;
            if own.last.status != DeliveryStatus::Pending {
                continue;
            }
            if own.last.leased_until.is_none_or(|until| until <= at) {
                self.give_up(moment, delivery)?;
            }
        }
        Ok(())
    }

    /// An endpoint was removed, and its deliveries with it.
    pub fn saw_endpoint_gone(
        &mut self,
        moment: &Moment<'_>,
        account: AccountId,
        id: EndpointId,
        answer: bool,
    ) -> Check {
        let known = self.endpoint_of(account, id).is_some();
        ensure!(known == answer, "removing {id} answers {answer}");
        if !known {
            return Ok(());
        }
        let gone = self.endpoints.remove(&id).map(|own| own.deliveries).unwrap_or_default();
        for delivery in gone {
            self.forget_delivery(delivery);
        }
        if let Some(account) = self.accounts.get_mut(&account) {
            account.endpoints.remove(&id);
        }
        self.check_heads(moment)
    }
}

/// The endpoint after the change. Enabling resets the count of failures; disabling ends a replay,
/// and keeps the reason of a disabled endpoint.
fn changed(endpoint: Endpoint, change: EndpointChange, at: Timestamp) -> Endpoint {
    let EndpointChange { url, events, description, power, secret, if_version: _ } = change;
    let mut now = Endpoint { updated_at: at, ..endpoint };
    if let Some(url) = url {
        if url != now.url {
            now.pause = None;
        }
        now.url = url;
    }
    if let Some(events) = events {
        now.events = events;
    }
    if let Some(description) = description {
        now.description = description;
    }
    if let Some(secret) = secret {
        let (new, until) = match secret {
            SecretChange::Replace(new) => (Some(new), Some(at.plus(Duration::from_hours(24)))),
            SecretChange::ReplaceAtOnce(new) => (Some(new), None),
            SecretChange::EndOld => (None, None),
        };
        let present = now.secret.clone();
        now.old_secret = until.map(|until| OldSecret { secret: present, until });
        now.secret = new.unwrap_or(now.secret);
    }
    match power {
        Some(Power::On) if !now.power.is_on() => {
            now.power = Power::On;
            now.consecutive_failures = 0;
            now.pause = None;
        }
        Some(off @ Power::Off(_)) if now.power.is_on() => {
            now.power = off;
            now.replay = None;
        }
        Some(_) | None => {}
    }
    now
}
