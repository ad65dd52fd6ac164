//! Times of the core as answers show them.

use sms_core::time::Timestamp;

use crate::web::moment::Moment;

impl From<Timestamp> for Moment {
    fn from(at: Timestamp) -> Self {
        Self(at.to_chrono())
    }
}
