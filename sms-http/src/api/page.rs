//! Pages of cursor lists: `limit`, `cursor`, and the answer with `meta.next_cursor`.

use poem_openapi::registry::{MetaSchema, MetaSchemaRef};
use sms_core::page::{Cursor, Limit as PageLimit, Page, PageRequest};

use crate::web::envelope::{Answer, PageMeta};
use crate::web::field_error::{FieldCode, FieldErrors};
use crate::web::param::value::Mistake;
use crate::web::param::{Limit, ParamValue, QueryParam};

/// The pattern of a cursor, for the document.
pub(crate) const CURSOR_PATTERN: &str = "^[0-7][0-9a-hjkmnp-tv-z]{25}$";

/// A cursor: where the previous page ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct CursorText(Cursor);

impl Default for CursorText {
    fn default() -> Self {
        Self(Cursor::after_position(0))
    }
}

impl ParamValue for CursorText {
    const REQUIRED: bool = true;

    fn schema() -> MetaSchemaRef {
        MetaSchemaRef::Inline(Box::new(MetaSchema {
            pattern: Some(CURSOR_PATTERN.to_owned()),
            ..MetaSchema::new("string")
        }))
    }

    fn parse(text: &str) -> Result<Self, Mistake> {
        let cursor = text.parse::<Cursor>();
        cursor.map(Self).map_err(|reason| (FieldCode::InvalidFormat, reason.to_string()))
    }
}

/// The page that `limit` and `cursor` ask for.
pub(crate) fn page_request(
    limit: QueryParam<Limit>,
    cursor: QueryParam<Option<CursorText>>,
    errors: &mut FieldErrors,
) -> PageRequest {
    let limit = errors.take(limit);
    let after = errors.take(cursor).map(|CursorText(cursor)| cursor);
    PageRequest { limit: PageLimit::new(limit.0).unwrap_or_default(), after }
}

/// The answer with a page.
pub(crate) fn page_answer<T, S: From<T>>(page: Page<T>) -> Answer<Vec<S>, PageMeta> {
    let next = page.next.map(|cursor| cursor.to_string());
    Answer::page(page.items.into_iter().map(Into::into).collect(), next)
}
