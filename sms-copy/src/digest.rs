//! Digests of rows, to compare two tables whose rows are in different orders.

use std::hash::{DefaultHasher, Hash as _, Hasher as _};

use sms_core::message::TimelineEntry;

use crate::catalogue::{Column, Table};
use crate::value::{Kind, Row, Value};

/// The number of rows, and the sum of their hashes.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub(crate) struct Digest {
    pub(crate) rows: u64,
    sum: u64,
}

impl Digest {
    pub(crate) fn add(&mut self, table: &Table, row: &Row) {
        let mut hasher = DefaultHasher::new();
        row.len().hash(&mut hasher);
        for (column, value) in table.columns.iter().zip(row) {
            hash(*column, value, &mut hasher);
        }
        self.rows += 1;
        self.sum = self.sum.wrapping_add(hasher.finish());
    }

    /// The digest as text.
    pub(crate) fn to_text(self) -> String {
        format!("{}:{:016x}", self.rows, self.sum)
    }
}

fn hash(column: Column, value: &Value, hasher: &mut DefaultHasher) {
    std::mem::discriminant(value).hash(hasher);
    match value {
        Value::Null => {}
        Value::Id(id) => id.hash(hasher),
        Value::Whole(number) => number.hash(hasher),
        Value::Flag(flag) => flag.hash(hasher),
        Value::Text(text) if column.kind == Kind::Json => without_spaces(text).hash(hasher),
        Value::Text(text) => text.hash(hasher),
        Value::Bytes(bytes) => bytes.hash(hasher),
        Value::Timeline(lines) => {
            for TimelineEntry { status, detail, at } in lines {
                (status.as_str(), detail, at.as_millis()).hash(hasher);
            }
        }
    }
}

/// JSON without the white space that a store may have put between values.
fn without_spaces(text: &str) -> String {
    let parsed = serde_json::from_str::<serde_json::Value>(text);
    parsed.map_or_else(|_| text.to_owned(), |json| json.to_string())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::catalogue::TABLES;

    fn digest(rows: &[Row]) -> Digest {
        let table = TABLES.iter().find(|table| table.name == "conversation").unwrap();
        let mut digest = Digest::default();
        for row in rows {
            digest.add(table, row);
        }
        digest
    }

    fn row(number: i64, replied: &str) -> Row {
        let replied = Value::Text(replied.to_owned());
        vec![Value::Id(1), Value::Whole(number), Value::Id(2), Value::Whole(0), replied]
    }

    #[test]
    fn neither_the_order_of_rows_nor_white_space_in_json_matters_and_all_else_does() {
        let rows = [row(1, "[1, 2]"), row(2, "[]")];
        assert_eq!(digest(&rows), digest(&[row(2, "[]"), row(1, "[1,2]")]));
        for others in [
            vec![row(1, "[1,2]")],
            vec![row(1, "[1,2]"), row(3, "[]")],
            vec![row(1, "[1,3]"), row(2, "[]")],
            vec![row(1, "[1,2]"), row(2, "[]"), row(2, "[]")],
        ] {
            assert_ne!(digest(&rows), digest(&others), "{others:?}");
        }
    }
}
