//! Merges the path items of the framework's document.
//!
//! The framework writes a path once for every struct of handlers with operations on it. So the JSON
//! repeats keys, of which an ordinary parser keeps only the last, and the document would lose
//! operations.

use std::fmt;

use serde::de::{Deserialize, Deserializer, MapAccess, Visitor};
use serde_json::{Map, Value};

/// The path items of a document, merged.
pub(super) fn merged(spec: &str) -> Map<String, Value> {
    let document: PathsOnly = serde_json::from_str(spec).unwrap_or_default();
    document.paths.0
}

#[derive(Default, serde::Deserialize)]
struct PathsOnly {
    #[serde(default)]
    paths: PathItems,
}

#[derive(Default)]
struct PathItems(Map<String, Value>);

impl<'de> Deserialize<'de> for PathItems {
    fn deserialize<D: Deserializer<'de>>(source: D) -> Result<Self, D::Error> {
        source.deserialize_map(Merging)
    }
}

struct Merging;

impl<'de> Visitor<'de> for Merging {
    type Value = PathItems;

    fn expecting(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str("the paths of a document")
    }

    fn visit_map<A: MapAccess<'de>>(self, mut entries: A) -> Result<PathItems, A::Error> {
        let mut items: Map<String, Value> = Map::new();
        while let Some((path, item)) = entries.next_entry::<String, Map<String, Value>>()? {
            let merged = items.entry(path).or_insert_with(|| Map::new().into());
            if let Value::Object(operations) = merged {
                operations.extend(item);
            }
        }
        Ok(PathItems(items))
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn a_repeated_path_keeps_all_its_operations() {
        let spec = r#"{"openapi":"3.0.0","paths":{"/a":{"get":1},"/b":{},"/a":{"post":2}}}"#;
        assert_eq!(Value::from(merged(spec)), json!({ "/a": { "get": 1, "post": 2 }, "/b": {} }));
    }
}
