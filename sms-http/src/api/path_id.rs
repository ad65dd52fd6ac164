//! Ids in paths. A malformed id names nothing, so the answer is 404.

use sms_core::ids::{Id, Kind};

use crate::web::error::ApiError;

/// The id in a path; 404 if it is malformed.
pub fn path_id<K: Kind>(text: &str) -> Result<Id<K>, ApiError> {
    text.parse().map_err(|_| ApiError::not_found())
}
