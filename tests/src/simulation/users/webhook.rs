//! Webhook endpoints and deliveries.

use std::collections::BTreeSet;

use sms_core::account::Mode;
use sms_core::event::EventType;
use sms_core::ids::{AccountId, DeliveryId, EndpointId};
use sms_core::page::PageRequest;
use sms_core::service::replay::ReplayRequest;
use sms_core::service::webhook::Rotation;
use sms_core::webhook::EndpointInput;
use sms_core::webhook::endpoint::{DisabledReason, EndpointChange, Power};

use super::caller::Caller;
use super::replay::what_was_missed;
use crate::simulation::dice::Dice;
use crate::simulation::visits::any_url;
use crate::simulation::world::State;

/// Something done with endpoints.
#[derive(Debug, Clone)]
pub enum EndpointDeed {
    /// Makes one.
    Create(EndpointInput),
    /// Changes one.
    Update(EndpointId, EndpointChange, Rotation),
    /// Removes one.
    Delete(EndpointId),
    /// Tests one.
    Test(EndpointId),
    /// Reads one and its deliveries.
    Read(EndpointId),
    /// Sends one again what it missed.
    Replay(EndpointId, ReplayRequest),
}

impl EndpointDeed {
    /// A deed on this endpoint, or the creation of one.
    pub fn draw(dice: &mut Dice, state: &State, endpoint: Option<EndpointId>) -> Self {
        let choice = dice.weighted(&[(3, 0), (5, 1), (1, 2), (2, 3), (3, 4), (12, 5)]);
        let (Some(id), 1..) = (endpoint, choice) else {
            let power =
                if dice.percent(90) { Power::On } else { Power::Off(DisabledReason::ByOwner) };
            let (url, events) = (any_url(dice), events(dice));
            return Self::Create(EndpointInput::new(url, events).power(power));
        };
        match choice {
            1 => {
                let power = match dice.below(6) {
                    0 | 1 => Some(Power::On),
                    2 => Some(Power::Off(DisabledReason::ByOwner)),
                    _ => None,
                };
                let change = EndpointChange {
                    url: dice.percent(20).then(|| any_url(dice)),
                    events: dice.percent(30).then(|| events(dice)),
                    power,
                    ..EndpointChange::default()
                };
                let rotation = match dice.below(12) {
                    0 | 1 => Rotation::Rotate,
                    2 => Rotation::RotateAtOnce,
                    3 => Rotation::EndOld,
                    _ => Rotation::Keep,
                };
                Self::Update(id, change, rotation)
            }
            2 => Self::Delete(id),
            3 => Self::Test(id),
            5 => Self::Replay(id, what_was_missed(dice, state, id)),
            _ => Self::Read(id),
        }
    }

    /// What it is called in a trace.
    pub fn name(&self) -> &'static str {
        match self {
            Self::Create(_) => "make an endpoint",
            Self::Update(..) => "change an endpoint",
            Self::Delete(_) => "remove an endpoint",
            Self::Test(_) => "test an endpoint",
            Self::Read(_) => "read an endpoint",
            Self::Replay(..) => "replay what an endpoint missed",
        }
    }
}

/// Most event types.
fn events(dice: &mut Dice) -> BTreeSet<EventType> {
    let kinds = EventType::SUBSCRIBABLE.into_iter();
    let mut events: BTreeSet<EventType> = kinds.filter(|_| dice.percent(70)).collect();
    events.insert(EventType::MessageDelivered);
    events
}

impl Caller {
    pub(super) async fn webhook(&self, account: AccountId, deed: EndpointDeed) {
        let handle = self.sms.account(account, Mode::Live);
        match deed {
            EndpointDeed::Create(input) => {
                let codes = ["validation_failed", "webhook_limit_reached"];
                self.expect("making an endpoint", handle.webhook_create(input).await, &codes);
            }
            EndpointDeed::Update(id, change, rotation) => {
                let answer = handle.webhook_update(id, change, rotation).await;
                let codes = ["validation_failed", "not_found"];
                self.expect("changing an endpoint", answer, &codes);
            }
            EndpointDeed::Delete(id) => {
                let answer = handle.webhook_delete(id).await;
                self.expect("removing an endpoint", answer, &["not_found"]);
            }
            EndpointDeed::Test(id) => {
                self.expect("testing an endpoint", handle.webhook_test(id).await, &["not_found"]);
            }
            EndpointDeed::Read(id) => self.endpoint_read(account, id).await,
            EndpointDeed::Replay(id, request) => self.replay(account, id, request).await,
        }
    }

    async fn endpoint_read(&self, account: AccountId, id: EndpointId) {
        let handle = self.sms.account(account, Mode::Live);
        let all = self.expect("listing endpoints", handle.webhook_list().await, &[]);
        let all = all.unwrap_or_default();
        self.must(all.iter().all(|endpoint| endpoint.account == account), || {
            format!("{account} lists {all:?}")
        });
        let page = handle.delivery_list(id, PageRequest::default()).await;
        let page = self.expect("listing deliveries", page, &["not_found"]);
        let deliveries = page.map(|page| page.items).unwrap_or_default();
        self.must(deliveries.iter().all(|own| own.account == account), || {
            format!("{account} lists {deliveries:?}")
        });
    }

    pub(super) async fn retry(&self, account: AccountId, endpoint: EndpointId, id: DeliveryId) {
        let handle = self.sms.account(account, Mode::Live);
        let answer = handle.delivery_retry(endpoint, id).await;
        if let Some(delivery) = self.expect("sending again", answer, &["not_found"]) {
            self.must(delivery.account == account && delivery.id == id, || {
                format!("sending {id} of {account} again answers {delivery:?}")
            });
        }
    }
}
