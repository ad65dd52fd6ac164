//! Arrays: [`list`].

use poem_openapi::registry::{MetaSchema, MetaSchemaRef, Registry};
use serde_json::Value;

use super::rule::{Rule, inline, note, wrong_type};
use crate::web::field_error::{FieldCode, FieldErrors};
use crate::web::json::Path;

/// An array whose items all follow one rule. Limit it with [`List::max`].
pub fn list<R: Rule>(item: R) -> List<R> {
    List { item, min_items: 0, max_items: usize::MAX }
}

/// See [`list`].
#[derive(Debug, Clone)]
pub struct List<R> {
    item: R,
    min_items: usize,
    max_items: usize,
}

impl<R> List<R> {
    /// At least this many items.
    #[must_use]
    pub fn min(mut self, items: usize) -> Self {
        self.min_items = items;
        self
    }

    /// At most this many items. The items of a longer array are not checked.
    #[must_use]
    pub fn max(mut self, items: usize) -> Self {
        self.max_items = items;
        self
    }
}

impl<R: Rule> Rule for List<R> {
    type Value = Vec<R::Value>;

    fn read(
        &self,
        value: Value,
        path: &Path<'_>,
        errors: &mut FieldErrors,
    ) -> Option<Vec<R::Value>> {
        let Value::Array(items) = value else {
            return wrong_type(path, errors, "an array");
        };
        let (count, least, most) = (items.len(), self.min_items, self.max_items);
        if count > most {
            let message = format!("the array must have at most {most} items; it has {count}");
            return note(path, errors, FieldCode::TooMany, message);
        }
        if count < least {
            let message = format!("the array must have at least {least} items");
            return note(path, errors, FieldCode::TooFew, message);
        }
        let mut values = Vec::with_capacity(count);
        for (index, item) in items.into_iter().enumerate() {
            values.extend(self.item.read(item, &path.index(index), errors));
        }
        (values.len() == count).then_some(values)
    }

    fn stand_in(&self) -> Vec<R::Value> {
        Vec::new()
    }

    fn schema(&self, registry: &mut Registry) -> MetaSchemaRef {
        inline(MetaSchema {
            items: Some(Box::new(self.item.schema(registry))),
            min_items: Some(self.min_items).filter(|least| *least > 0),
            max_items: Some(self.max_items).filter(|most| *most < usize::MAX),
            ..MetaSchema::new("array")
        })
    }
}
