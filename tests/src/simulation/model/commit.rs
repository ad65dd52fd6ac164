//! What one commit changed, and the checks after it: ledgers, events, next work.

use std::collections::{BTreeMap, BTreeSet};

use serde_json::{Value, json};
use sms_core::event::log::LoggedEvent;
use sms_core::event::{EventData, EventType};
use sms_core::ids::{AccountId, DeliveryKind, EndpointId, EventId, Id, Ids};
use sms_core::page::{Cursor, Limit, PageRequest};
use sms_core::time::Timestamp;
use sms_core::upkeep::Due;
use sms_core::webhook::DeliveryStatus;
use sms_core::webhook::delivery::Delivery;

use super::{Check, DeliveryModel, Model, Moment, read};

/// An event that a commit must have raised.
#[derive(Debug, Clone)]
pub struct Owed {
    /// Its account.
    pub account: AccountId,
    /// Its kind.
    pub kind: EventType,
    /// What its body must contain.
    pub data: EventData,
    /// When it happened.
    pub at: Timestamp,
}

impl Owed {
    /// Checks what is told of the event under this id.
    pub(super) fn check_body(&self, id: EventId, body: &str) -> Check {
        let told: Result<Value, _> = serde_json::from_str(body);
        let must = json!({
            "id": id.to_string(),
            "type": self.kind.as_str(),
            "created_at": self.at.to_string(),
            "data": self.data,
        });
        let right = told.as_ref().is_ok_and(|told| *told == must);
        ensure!(right, "event {id} tells {told:?} and must tell {must}");
        Ok(())
    }
}

/// What one commit changed.
#[derive(Debug, Default)]
pub struct Commit {
    accounts: BTreeSet<AccountId>,
    events: Vec<(Ids, Vec<Owed>)>,
}

impl Commit {
    /// The account's ledger may have changed.
    pub fn touch(&mut self, account: AccountId) {
        self.accounts.insert(account);
    }

    /// The commit took new ids from these.
    pub fn plan(&mut self, ids: Ids) {
        self.events.push((ids, Vec::new()));
    }

    /// An event was raised.
    pub fn owe(&mut self, event: Owed) {
        if let Some((_, events)) = self.events.last_mut() {
            events.push(event);
        }
    }
}

impl Model {
    /// Checks everything that a commit changed.
    pub fn close(&mut self, moment: &Moment<'_>, commit: Commit) -> Check {
        for account in commit.accounts {
            self.check_ledger(moment, account)?;
        }
        let owed: Vec<&Owed> = commit.events.iter().flat_map(|(_, owed)| owed).collect();
        let mut logged = self.check_log(moment, &owed)?.into_iter();
        for (ids, owed) in &commit.events {
            let logged: Vec<LoggedEvent> = logged.by_ref().take(owed.len()).collect();
            self.check_deliveries(moment, ids, owed, &logged)?;
        }
        self.check_heads(moment)
    }

    /// Checks that the store and the model agree on the next work of each kind.
    pub fn check_heads(&self, moment: &Moment<'_>) -> Check {
        let text = read(moment.books.next(Due::Messages))?;
        let own = self.queue.first().map(|(at, _)| *at);
        ensure!(text == own, "the next text is due at {text:?} and must be at {own:?}");
        let delivery = read(moment.books.next(Due::Deliveries))?;
        let own = self.next_delivery();
        ensure!(delivery == own, "the next delivery is due at {delivery:?} and must be at {own:?}");
        let portion = read(moment.books.next(Due::Replays))?;
        let own = self.next_portion();
        ensure!(portion == own, "the next portion is due at {portion:?} and must be at {own:?}");
        Ok(())
    }

    /// Checks that each event made exactly one delivery for each enabled, subscribed endpoint, with
    /// the id and the body that it has in the log.
    fn check_deliveries(
        &mut self,
        moment: &Moment<'_>,
        ids: &Ids,
        owed: &[Owed],
        logged: &[LoggedEvent],
    ) -> Check {
        let mut wanted: BTreeMap<EndpointId, Vec<usize>> = BTreeMap::new();
        for (index, event) in owed.iter().enumerate() {
            let Some(account) = self.accounts.get(&event.account) else { continue };
            for id in &account.endpoints {
                if self.endpoints.get(id).is_some_and(|own| own.hears_of(event.kind)) {
                    wanted.entry(*id).or_default().push(index);
                }
            }
        }
        for (endpoint, events) in wanted {
            let account = owed[events[0]].account;
            let found = deliveries_of(moment, ids, account, endpoint, owed.len())?;
            ensure!(
                found.len() == events.len(),
                "{} events made {} deliveries for endpoint {endpoint}",
                events.len(),
                found.len()
            );
            for (index, delivery) in events.into_iter().zip(found) {
                check_new(&delivery, &owed[index])?;
                let same = &logged[index].event;
                ensure!(
                    same.id == delivery.event_id && same.body() == delivery.body,
                    "delivery {} tells another story than event {} of the log",
                    delivery.id,
                    same.id
                );
                self.delivery_made(delivery);
            }
        }
        Ok(())
    }

    /// Adds a new delivery to the model.
    pub fn delivery_made(&mut self, delivery: Delivery) {
        self.tally.deliveries += 1;
        if let Some(at) = delivery.next_attempt_at {
            self.due.insert((at, delivery.id));
        }
        if let Some(endpoint) = self.endpoints.get_mut(&delivery.endpoint) {
            endpoint.deliveries.insert(delivery.id);
        }
        self.recent_deliveries.push((delivery.account, delivery.endpoint, delivery.id));
        self.deliveries.insert(delivery.id, DeliveryModel::new(delivery));
    }
}

/// The deliveries of an endpoint with ids from `ids`, in order of creation.
pub(super) fn deliveries_of(
    moment: &Moment<'_>,
    ids: &Ids,
    account: AccountId,
    endpoint: EndpointId,
    events: usize,
) -> Result<Vec<Delivery>, String> {
    // A run of ids rises; more than this many no commit of so many events can draw.
    let mut ids = ids.clone();
    let first: Id<DeliveryKind> = ids.next();
    let mut last = first;
    for _ in 0..32 + events * 16 {
        last = ids.next();
    }
    let limit = Limit::new(u32::try_from(events + 1).unwrap_or(u32::MAX)).unwrap_or(Limit::EXPORT);
    let page = PageRequest { limit, after: Some(Cursor::after(last)) };
    let page = read(moment.books.delivery_list(account, endpoint, page))?;
    let mut found: Vec<Delivery> =
        page.items.into_iter().take_while(|delivery| delivery.id >= first).collect();
    found.reverse();
    Ok(found)
}

/// Checks that a new delivery waits for its first attempt and contains the event.
fn check_new(delivery: &Delivery, event: &Owed) -> Check {
    let expected = fresh(delivery, event.account, event.kind, event.at);
    ensure!(*delivery == expected, "a new delivery is {delivery:?} for {event:?}");
    event.check_body(delivery.event_id, delivery.body.as_str())
}

/// A delivery as it must be when it was just made, at `at`.
pub(super) fn fresh(
    delivery: &Delivery,
    account: AccountId,
    event_type: EventType,
    at: Timestamp,
) -> Delivery {
    Delivery {
        account,
        event_type,
        status: DeliveryStatus::Pending,
        attempts: 0,
        last_status_code: None,
        last_error: None,
        last_attempt_at: None,
        next_attempt_at: Some(at),
        delivered_at: None,
        lease: None,
        leased_until: None,
        created_at: at,
        ..delivery.clone()
    }
}
