//! Ids in paths: one that is malformed names nothing, so it reads as 404.

use sms_core::ids::{Id, Kind};

use crate::web::error::ApiError;

/// The id that a path holds.
pub fn path_id<K: Kind>(text: &str) -> Result<Id<K>, ApiError> {
    text.parse().map_err(|_| ApiError::not_found())
}
