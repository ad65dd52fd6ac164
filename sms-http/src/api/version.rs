//! Versions of resources: shown as `ETag`, and asked for with `If-Match`.

use sms_core::idempotency::Made;
use sms_core::version::{IfVersion, Versioned};

use crate::api::idempotency;
use crate::web::entity_tag::{IfMatch, Tagged};
use crate::web::envelope::{Answer, CreatedOrNot, ReplayMeta};

/// The versions that a change may be made on. A tag that is not of ours matches none.
pub(crate) fn if_version(given: IfMatch) -> IfVersion {
    match given {
        IfMatch::Anything => IfVersion::Any,
        IfMatch::OneOf(tags) => {
            IfVersion::OneOf(tags.iter().filter_map(|tag| tag.parse().ok()).collect())
        }
    }
}

/// 200 with the resource.
pub(crate) fn shown<T: Versioned, S: From<T>>(resource: T) -> Tagged<Answer<S>> {
    let tag = resource.version().to_string();
    Tagged::new(tag, Answer::new(resource.into()))
}

/// 201 with what was made now, 200 for a repetition, which has the version that it was made with.
pub(crate) fn created<T: Versioned, S: From<T>>(
    made: Made<T>,
) -> Tagged<CreatedOrNot<S, Option<ReplayMeta>>> {
    let tag = made.value.version().to_string();
    Tagged::new(tag, idempotency::created(made))
}
