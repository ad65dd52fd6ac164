//! `Idempotency-Key`: read from the header, and answered with `meta.replayed`.

use poem_openapi::registry::MetaSchemaRef;
use sms_core::idempotency::{IdempotencyKey, MAX_KEY, Made, Replay};

use crate::web::envelope::{Answer, CreatedOrNot, ReplayMeta};
use crate::web::field_error::FieldCode;
use crate::web::param::value::Mistake;
use crate::web::param::{ParamValue, Text};

/// The key of a request, if it has one.
#[derive(Debug, Default)]
pub struct KeyHeader(pub Option<IdempotencyKey>);

impl ParamValue for KeyHeader {
    const REQUIRED: bool = false;

    fn schema() -> MetaSchemaRef {
        Text::<MAX_KEY>::schema()
    }

    fn parse(text: &str) -> Result<Self, Mistake> {
        let Text(text) = Text::<MAX_KEY>::parse(text)?;
        let key = text.parse::<IdempotencyKey>();
        key.map(|key| Self(Some(key)))
            .map_err(|reason| (FieldCode::InvalidCharacter, reason.to_string()))
    }
}

/// 201 for what was made now, 200 with `meta.replayed` for a repetition.
pub(crate) fn created<T, S: From<T>>(made: Made<T>) -> CreatedOrNot<S, Option<ReplayMeta>> {
    let Made { value, replay } = made;
    match replay {
        Replay::First => CreatedOrNot::Created(value.into(), None),
        Replay::Repeated => CreatedOrNot::Existing(value.into(), Some(ReplayMeta::repeated())),
    }
}

/// 200 in either case, with `meta.replayed` for a repetition.
pub(crate) fn answered<T, S: From<T>>(made: Made<T>) -> Answer<S, Option<ReplayMeta>> {
    let Made { value, replay } = made;
    let meta = match replay {
        Replay::First => None,
        Replay::Repeated => Some(ReplayMeta::repeated()),
    };
    Answer { data: value.into(), meta }
}
