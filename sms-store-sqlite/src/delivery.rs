//! Webhook deliveries as rows. A delivery exists only while its endpoint does: those of a deleted
//! endpoint are removed in portions, and no read finds them meanwhile.

use rusqlite::params;
use sms_core::event::{EventBody, EventType};
use sms_core::ids::{AccountId, DeliveryId, EndpointId};
use sms_core::time::Timestamp;
use sms_core::webhook::delivery::{Delivery, DeliveryError, DeliveryStatus};

use crate::db::Db;
use crate::error::SqlResult;
use crate::row::{Cols, id, maybe_time, size, time, token};

/// The columns that [`delivery`] reads.
macro_rules! select_deliveries {
    () => {
        "SELECT id, account, endpoint_id, event_id, event_type, body, status, attempts, \
         last_status_code, last_error, last_attempt_at, next_attempt_at, delivered_at, lease, \
         leased_until, created_at FROM delivery "
    };
}
pub(crate) use select_deliveries;

/// The errors by their place in the column.
pub(crate) const ERRORS: [DeliveryError; 7] = [
    DeliveryError::DnsFailed,
    DeliveryError::ForbiddenAddress,
    DeliveryError::ConnectFailed,
    DeliveryError::TlsFailed,
    DeliveryError::Timeout,
    DeliveryError::HttpStatus,
    DeliveryError::EndpointOff,
];

pub(crate) fn delivery(db: &Db, c: &mut Cols<'_>) -> SqlResult<Delivery> {
    Ok(Delivery {
        id: c.id()?,
        account: db.account_id(c.get()?)?,
        endpoint: c.id()?,
        event_id: c.id()?,
        event_type: c.map(|name: String| event_type(&name))?,
        body: EventBody::from_stored(c.get::<String>()?),
        status: c.among(&DeliveryStatus::ALL)?,
        attempts: c.count()?,
        last_status_code: c.get()?,
        last_error: c.maybe(|place: i64| ERRORS.get(usize::try_from(place).ok()?).copied())?,
        last_attempt_at: c.maybe_at()?,
        next_attempt_at: c.maybe_at()?,
        delivered_at: c.maybe_at()?,
        lease: c.maybe_token()?,
        leased_until: c.maybe_at()?,
        created_at: c.at()?,
    })
}

fn event_type(name: &str) -> Option<EventType> {
    if name == EventType::WebhookTest.as_str() {
        return Some(EventType::WebhookTest);
    }
    name.parse().ok()
}

fn status_code(status: DeliveryStatus) -> i64 {
    match status {
        DeliveryStatus::Pending => 0,
        DeliveryStatus::Delivered => 1,
        DeliveryStatus::GivenUp => 2,
    }
}

fn error_code(error: DeliveryError) -> i64 {
    size(ERRORS.iter().position(|one| *one == error).unwrap_or(usize::MAX))
}

impl Db {
    /// Writes a delivery, new or not.
    pub(crate) fn put_delivery(&self, delivery: &Delivery) -> SqlResult<()> {
        let Delivery {
            id: of,
            account,
            endpoint,
            event_id,
            event_type,
            body,
            status,
            attempts,
            last_status_code,
            last_error,
            last_attempt_at,
            next_attempt_at,
            delivered_at,
            lease,
            leased_until,
            created_at,
        } = delivery;
        self.run(
            "INSERT INTO delivery (id, account, endpoint_id, event_id, event_type, body, status,
                 attempts, last_status_code, last_error, last_attempt_at, next_attempt_at,
                 delivered_at, lease, leased_until, created_at, claimable_at)
             VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9, ?10, ?11, ?12, ?13, ?14, ?15, ?16, ?17)
             ON CONFLICT (id) DO UPDATE SET status = ?7, attempts = ?8, last_status_code = ?9,
                 last_error = ?10, last_attempt_at = ?11, next_attempt_at = ?12,
                 delivered_at = ?13, lease = ?14, leased_until = ?15, claimable_at = ?17",
            params![
                id(*of),
                self.known_account(*account)?,
                id(*endpoint),
                id(*event_id),
                event_type.as_str(),
                body.as_str(),
                status_code(*status),
                attempts,
                last_status_code,
                last_error.map(error_code),
                maybe_time(*last_attempt_at),
                maybe_time(*next_attempt_at),
                maybe_time(*delivered_at),
                lease.map(token),
                maybe_time(*leased_until),
                time(*created_at),
                maybe_time(delivery.claimable_at())
            ],
        )?;
        Ok(())
    }

    /// The delivery with this id, of any endpoint.
    pub(crate) fn delivery(&self, of: DeliveryId) -> SqlResult<Option<Delivery>> {
        self.one(concat!(select_deliveries!(), "WHERE id = ?1"), [id(of)], |c| delivery(self, c))
    }

    /// A delivery of this endpoint, if the account has the endpoint.
    pub(crate) fn delivery_of(
        &self,
        account: AccountId,
        endpoint: EndpointId,
        of: DeliveryId,
    ) -> SqlResult<Option<Delivery>> {
        if self.endpoint(account, endpoint)?.is_none() {
            return Ok(None);
        }
        let found = self.delivery(of)?.filter(|delivery| delivery.endpoint == endpoint);
        found.map(|delivery| self.shown(delivery)).transpose()
    }

    /// When the first delivery of each endpoint can be claimed, the earliest first: a leap over the
    /// index for each.
    pub(crate) fn first_due(&self) -> SqlResult<Vec<(Timestamp, EndpointId)>> {
        let mut all: Vec<(Timestamp, EndpointId)> = Vec::new();
        let mut after: Option<EndpointId> = None;
        loop {
            let next = self.one(
                "SELECT claimable_at, endpoint_id FROM delivery INDEXED BY delivery_claimable
                 WHERE endpoint_id > ?1 AND claimable_at IS NOT NULL
                 ORDER BY endpoint_id, claimable_at LIMIT 1",
                [after.map_or([0; 16], id)],
                |c| Ok((c.at()?, c.id()?)),
            )?;
            let Some(first) = next else { break };
            after = Some(first.1);
            // What waited for an endpoint that was switched off is not claimed any more.
            if self.giving_up(first.1)?.is_none() {
                all.push(first);
            }
        }
        all.sort_unstable();
        Ok(all)
    }

    /// Up to `limit` of an endpoint's deliveries that can be claimed at `at`, the longest due
    /// first.
    pub(crate) fn claimable_deliveries(
        &self,
        endpoint: EndpointId,
        at: Timestamp,
        limit: usize,
    ) -> SqlResult<Vec<Delivery>> {
        self.all(
            concat!(
                select_deliveries!(),
                "INDEXED BY delivery_claimable
                 WHERE endpoint_id = ?1 AND claimable_at <= ?2 ORDER BY claimable_at, id LIMIT ?3"
            ),
            params![id(endpoint), time(at), size(limit)],
            |c| delivery(self, c),
        )
    }
}
