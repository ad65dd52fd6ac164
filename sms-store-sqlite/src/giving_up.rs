//! Giving up the deliveries that wait for an endpoint which is switched off, in portions: a million
//! may wait. From the command on, readers show all of them as given up, and none is claimed.

use std::time::{Duration, Instant};

use rusqlite::params;
use sms_core::ids::{DeliveryId, EndpointId};
use sms_core::time::Timestamp;
use sms_core::webhook::delivery::Delivery;

use crate::db::Db;
use crate::delivery::{delivery, select_deliveries};
use crate::error::SqlResult;
use crate::row::{id, time};

/// How long a portion may take; everybody waits for it.
const PORTION: Duration = Duration::from_millis(3);
/// How many deliveries are read between two looks at the clock.
const ROWS: i64 = 50;

/// How much is done at once.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Extent {
    /// What takes a few milliseconds.
    Portion,
    /// All of it.
    All,
}

impl Db {
    /// Gives up an endpoint's deliveries that wait at this moment: some now, and others later.
    pub(crate) fn give_up_waiting(&self, endpoint: EndpointId, at: Timestamp) -> SqlResult<()> {
        let put = "INSERT OR REPLACE INTO giving_up (endpoint_id, at) VALUES (?1, ?2)";
        self.run(put, params![id(endpoint), time(at)])?;
        self.give_up_more(endpoint, Extent::Portion)
    }

    /// Goes on with an endpoint's deliveries, if some are still to be given up.
    pub(crate) fn give_up_more(&self, endpoint: EndpointId, extent: Extent) -> SqlResult<()> {
        let Some(at) = self.giving_up(endpoint)? else { return Ok(()) };
        let began = Instant::now();
        let mut after = (Timestamp::from_millis(i64::MIN), DeliveryId::from_u128(0));
        loop {
            let some = self.claimable_after(endpoint, after)?;
            let Some(last) = some.last() else {
                self.run("DELETE FROM giving_up WHERE endpoint_id = ?1", [id(endpoint)])?;
                return Ok(());
            };
            after = (last.claimable_at().unwrap_or(after.0), last.id);
            for delivery in some.iter().filter(|delivery| delivery.is_waiting(at)) {
                self.put_delivery(&delivery.clone().given_up())?;
            }
            if extent == Extent::Portion && began.elapsed() >= PORTION {
                self.has_chores.set(true);
                return Ok(());
            }
        }
    }

    /// When the endpoint was switched off, if some of its deliveries are still to be given up.
    pub(crate) fn giving_up(&self, endpoint: EndpointId) -> SqlResult<Option<Timestamp>> {
        self.one("SELECT at FROM giving_up WHERE endpoint_id = ?1", [id(endpoint)], |c| c.at())
    }

    /// A delivery as readers see it.
    pub(crate) fn shown(&self, delivery: Delivery) -> SqlResult<Delivery> {
        let off_since = self.giving_up(delivery.endpoint)?;
        Ok(shown_since(off_since, delivery))
    }

    fn claimable_after(
        &self,
        endpoint: EndpointId,
        (at, after): (Timestamp, DeliveryId),
    ) -> SqlResult<Vec<Delivery>> {
        self.all(
            concat!(
                select_deliveries!(),
                "INDEXED BY delivery_claimable
                 WHERE endpoint_id = ?1 AND claimable_at IS NOT NULL
                     AND (claimable_at, id) > (?2, ?3)
                 ORDER BY claimable_at, id LIMIT ?4"
            ),
            params![id(endpoint), time(at), id(after), ROWS],
            |c| delivery(self, c),
        )
    }
}

/// A delivery as readers see it, given what [`Db::giving_up`] says of its endpoint.
pub(crate) fn shown_since(off_since: Option<Timestamp>, delivery: Delivery) -> Delivery {
    let is_over = off_since.is_some_and(|at| delivery.is_waiting(at));
    if is_over { delivery.given_up() } else { delivery }
}

/// Does a portion of the first endpoint's deliveries. Returns whether there was one.
pub(crate) fn portion(db: &Db) -> SqlResult<bool> {
    let next = db.one("SELECT endpoint_id FROM giving_up LIMIT 1", [], |c| c.id())?;
    let Some(endpoint) = next else { return Ok(false) };
    db.give_up_more(endpoint, Extent::Portion)?;
    Ok(true)
}
