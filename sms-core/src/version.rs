//! Versions of single resources, and changes that are made on a version only.
//!
//! Two people who edit the same contact must not undo each other's changes unnoticed. So a caller
//! may name the version that it read. A change on another version is [refused](Changed), and
//! nothing is written. The rule runs under the store's lock, beside the change itself.

use std::fmt;
use std::str::FromStr;

use crate::idempotency::fingerprint::Fields;

/// The version of a resource: a digest of those values that a change can set. Equal values have
/// equal versions, in every process and in every store. Counts, and times such as `updated_at`, are
/// no part of it.
#[derive(Clone, Copy, PartialEq, Eq, Hash)]
pub struct Version([u8; Version::BYTES]);

/// The text is not a version.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[error("a version has 32 hexadecimal digits")]
pub struct NotAVersion;

impl Version {
    const BYTES: usize = 16;

    /// The version of the resource of this kind and id that has the fields that `write` adds.
    pub fn of(kind: &str, id: impl fmt::Display, write: impl FnOnce(&mut Fields)) -> Self {
        let mut fields = Fields::new();
        fields.add("kind", [kind]);
        fields.add("id", [id.to_string()]);
        write(&mut fields);
        let digest = fields.fingerprint().0;
        let mut bytes = [0; Self::BYTES];
        for (byte, of_digest) in bytes.iter_mut().zip(digest) {
            *byte = of_digest;
        }
        Self(bytes)
    }
}

impl fmt::Display for Version {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.iter().try_for_each(|byte| write!(f, "{byte:02x}"))
    }
}

impl fmt::Debug for Version {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Version({self})")
    }
}

impl FromStr for Version {
    type Err = NotAVersion;

    fn from_str(text: &str) -> Result<Self, NotAVersion> {
        let is_digit = |byte: u8| matches!(byte, b'0'..=b'9' | b'a'..=b'f');
        if text.len() != 2 * Self::BYTES || !text.bytes().all(is_digit) {
            return Err(NotAVersion);
        }
        let number = u128::from_str_radix(text, 16).map_err(|_| NotAVersion)?;
        Ok(Self(number.to_be_bytes()))
    }
}

/// A resource that has versions.
pub trait Versioned {
    /// What errors call a resource of this kind.
    const KIND: &'static str;

    /// Its version now: a digest of what a change can set.
    fn version(&self) -> Version;
}

/// The versions on which a change or a removal may be made.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub enum IfVersion {
    /// Any version: the change is made whatever happened before.
    #[default]
    Any,
    /// These only; none if the list is empty.
    OneOf(Vec<Version>),
}

/// The resource has another version than those on which the change may be made. Nothing was
/// written.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[error("this {0} changed meanwhile")]
pub struct Changed(pub &'static str);

impl IfVersion {
    /// Whether every version will do, so that the resource need not be read.
    pub fn is_any(&self) -> bool {
        *self == Self::Any
    }

    /// Checks the resource that the store found under its lock.
    ///
    /// # Errors
    ///
    /// The change may not be made on the present version of the resource.
    pub fn check<T: Versioned>(&self, found: &T) -> Result<(), Changed> {
        match self {
            Self::Any => Ok(()),
            Self::OneOf(versions) if versions.contains(&found.version()) => Ok(()),
            Self::OneOf(_) => Err(Changed(T::KIND)),
        }
    }
}

impl From<Version> for IfVersion {
    fn from(version: Version) -> Self {
        Self::OneOf(vec![version])
    }
}

/// Without a version, any version will do.
impl From<Option<Version>> for IfVersion {
    fn from(version: Option<Version>) -> Self {
        version.map_or(Self::Any, Self::from)
    }
}

#[cfg(test)]
mod tests;
