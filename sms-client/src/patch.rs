//! A field of a change: left as it is, cleared, or set.

use serde::{Serialize, Serializer};

/// What a change does with a field that may be empty.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Patch<T> {
    /// The field stays as it is.
    #[default]
    Keep,
    /// The field becomes empty.
    Clear,
    /// The field gets this value.
    Set(T),
}

impl<T> Patch<T> {
    pub(crate) fn is_keep(&self) -> bool {
        matches!(self, Self::Keep)
    }
}

impl<T> From<T> for Patch<T> {
    fn from(value: T) -> Self {
        Self::Set(value)
    }
}

/// Structs leave a field out that stays as it is.
impl<T: Serialize> Serialize for Patch<T> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        match self {
            Self::Keep | Self::Clear => serializer.serialize_none(),
            Self::Set(value) => value.serialize(serializer),
        }
    }
}
