//! What the merge fields of a text could not show: names that no contact has, and contacts without
//! a value.

use serde_json::{Value, json};

/// What the merge fields of a send could not show.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct FieldGaps {
    /// Names in braces that are neither built in nor a custom field of any contact of the account:
    /// each once, in order of appearance. Without a fallback, such a field stays as typed.
    pub unknown: Vec<String>,
    /// Fields without a value and without a fallback, in order of appearance. They render as
    /// nothing.
    pub blank: Vec<BlankField>,
}

/// A field that is blank in some messages.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct BlankField {
    /// Its name, without braces.
    pub field: String,
    /// In how many messages it is blank; at least one.
    pub recipients: u64,
}

impl FieldGaps {
    /// Whether every field could be shown to everybody.
    pub fn is_empty(&self) -> bool {
        self.unknown.is_empty() && self.blank.is_empty()
    }

    /// The form in which stores keep it: `None` if it is empty.
    pub fn to_stored(&self) -> Option<Value> {
        let Self { unknown, blank } = self;
        let blank: Vec<_> = blank.iter().map(|one| (&one.field, one.recipients)).collect();
        (!self.is_empty()).then(|| json!([unknown, blank]))
    }

    /// Reads the form in which stores keep it. `None` if the value is of another form.
    pub fn from_stored(stored: Option<Value>) -> Option<Self> {
        let Some(stored) = stored else { return Some(Self::default()) };
        let (unknown, blank): (_, Vec<(String, u64)>) = serde_json::from_value(stored).ok()?;
        let blank = blank.into_iter().map(|(field, recipients)| BlankField { field, recipients });
        Some(Self { unknown, blank: blank.collect() })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_stored_is_read_again() {
        let blank = vec![BlankField { field: "first_name".to_owned(), recipients: 3 }];
        for gaps in [
            FieldGaps::default(),
            FieldGaps { unknown: vec!["nosuch".to_owned()], blank: Vec::new() },
            FieldGaps { unknown: vec!["a".to_owned(), "b".to_owned()], blank },
        ] {
            let stored = gaps.to_stored();
            assert_eq!(stored.is_none(), gaps.is_empty());
            assert_eq!(FieldGaps::from_stored(stored), Some(gaps));
        }
        assert_eq!(FieldGaps::from_stored(Some(json!({ "unknown": [] }))), None);
    }
}
