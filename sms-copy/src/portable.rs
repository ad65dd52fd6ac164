//! What a store does to take part in a copy, as its source or as its target.

use async_trait::async_trait;
use serde_json::Value as Json;
use sms_core::store::{Reads, StoreError};

use crate::catalogue::Table;
use crate::value::Row;

/// The key of a row, in the terms of the store that it was read from.
pub type Place = Vec<String>;

/// Rows of a table in the order of its key.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Portion {
    /// The rows; none at the end of the table.
    pub rows: Vec<Row>,
    /// The key of the last one.
    pub last: Place,
}

/// How far a copy has come. The target keeps it, and writes it together with the rows.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Journal {
    /// What the source held when the copy began.
    pub source: String,
    /// The name of the table that is being copied; all tables before it are complete.
    pub table: String,
    /// The key of the last row that was written, in the source's terms; `None` before the first.
    pub place: Option<Place>,
}

impl Journal {
    /// The text that stores keep.
    pub fn to_text(&self) -> String {
        let Self { source, table, place } = self;
        serde_json::json!([source, table, place]).to_string()
    }

    /// Reads the text that a store kept; `None` if it is not such a text.
    pub fn from_text(text: &str) -> Option<Self> {
        let Ok(Json::Array(parts)) = serde_json::from_str(text) else { return None };
        let [Json::String(source), Json::String(table), place] = parts.as_slice() else {
            return None;
        };
        let place = match place {
            Json::Null => None,
            Json::Array(key) => Some(
                key.iter().map(|part| part.as_str().map(str::to_owned)).collect::<Option<_>>()?,
            ),
            _ => return None,
        };
        Some(Self { source: source.clone(), table: table.clone(), place })
    }
}

/// A store that can be copied from and to. While it is, no server may use it.
#[async_trait]
pub trait Portable: Send + Sync {
    /// The same store, to read its lists.
    fn lists(&self) -> &dyn Reads;

    /// How many other programs of the platform use the data now.
    async fn other_programs(&self) -> Result<u64, StoreError>;

    /// Tables and columns that the copy would leave behind, as this program does not know them.
    async fn unknown(&self) -> Result<Vec<String>, StoreError>;

    /// Does all work that commands left for later: adds up sums, removes what was deleted. Then the
    /// catalogue's tables say everything.
    async fn settle(&self) -> Result<(), StoreError>;

    /// How many rows a table has.
    async fn count(&self, table: &'static Table) -> Result<u64, StoreError>;

    /// Up to `limit` rows in the order of the store's key, after the row with the key `after`.
    async fn read(
        &self,
        table: &'static Table,
        after: Option<&Place>,
        limit: usize,
    ) -> Result<Portion, StoreError>;

    /// How far a copy into this store has come; `None` if none is under way.
    async fn journal(&self) -> Result<Option<Journal>, StoreError>;

    /// Writes rows, which are new, and the journal in one commit. From the first journal on, no
    /// server may open the store.
    async fn write(
        &self,
        table: &'static Table,
        rows: Vec<Row>,
        journal: Journal,
    ) -> Result<(), StoreError>;

    /// Writes what follows from the copied tables, once all of them are complete. It may run again.
    async fn derive(&self) -> Result<(), StoreError>;

    /// Removes the journal: servers may open the store.
    async fn finish(&self) -> Result<(), StoreError>;
}
