//! Fingerprints of requests, as rows of `idempotency_key` hold them.

use sms_core::idempotency::Fingerprint;
use sqlx::Row;
use sqlx::postgres::PgRow;

use crate::error::{PgError, PgResult};

pub(crate) fn fingerprint(row: &PgRow) -> PgResult<Fingerprint> {
    let bytes = row.try_get::<Vec<u8>, _>("fingerprint")?.try_into();
    bytes.map(Fingerprint).map_err(|_| PgError::invalid("fingerprint"))
}
