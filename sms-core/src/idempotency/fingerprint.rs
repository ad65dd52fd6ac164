//! A digest of what a request means.
//!
//! Requests are compared by meaning: the layout of the JSON and the format of numbers do not
//! matter. The operation and the kind of key (live or test) are part of the meaning.

use sha2::{Digest, Sha256};

use crate::mode::Mode;

/// A digest of what a request means, 32 bytes.
#[derive(Clone, Copy, PartialEq, Eq, Hash)]
pub struct Fingerprint(pub [u8; 32]);

impl std::fmt::Debug for Fingerprint {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("Fingerprint(…)")
    }
}

impl Fingerprint {
    /// The fingerprint of a call: its operation, the kind of key, and the fields that `write` adds.
    /// The operator has no kind of key.
    pub fn of_call(operation: &str, mode: Option<Mode>, write: impl FnOnce(&mut Fields)) -> Self {
        let mut fields = Fields::new();
        fields.add("operation", [operation]);
        fields.add("mode", mode.map(Mode::as_str));
        write(&mut fields);
        fields.fingerprint()
    }
}

/// Collects the fields that a request has, each with its name, so that no two different requests
/// write the same bytes. A field that a request does not have writes nothing. So a field that is
/// added to requests later does not change the fingerprints of earlier requests.
#[derive(Debug)]
pub struct Fields(Sha256);

impl Fields {
    pub(crate) fn new() -> Self {
        Self(Sha256::new())
    }

    /// Adds a field with its values, if it has any.
    pub fn add(&mut self, name: &str, values: impl IntoIterator<Item = impl AsRef<str>>) {
        let mut values = values.into_iter().peekable();
        if values.peek().is_none() {
            return;
        }
        self.text(FIELD, name);
        for value in values {
            self.text(VALUE, value.as_ref());
        }
    }

    pub(crate) fn fingerprint(self) -> Fingerprint {
        Fingerprint(self.0.finalize().into())
    }

    fn text(&mut self, kind: u8, text: &str) {
        self.0.update([kind]);
        self.0.update((text.len() as u64).to_le_bytes());
        self.0.update(text.as_bytes());
    }
}

/// Marks the start of a field.
const FIELD: u8 = 1;
const VALUE: u8 = 2;

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_operation_and_the_kind_of_key_are_part_of_the_meaning() {
        let of = |operation, mode| {
            Fingerprint::of_call(operation, mode, |fields| fields.add("name", ["a"]))
        };
        let one = of("list_create", Some(Mode::Live));
        assert_eq!(one, of("list_create", Some(Mode::Live)));
        assert_ne!(one, of("list_create", Some(Mode::Test)));
        assert_ne!(one, of("list_create", None));
        assert_ne!(one, of("template_create", Some(Mode::Live)));
    }

    #[test]
    fn the_fingerprint_of_a_call_stays_the_same() {
        // Stores keep fingerprints for 7 days. A change of this value refuses repetitions of
        // requests that were accepted before the change.
        let digest = Fingerprint::of_call("list_create", Some(Mode::Live), |fields| {
            fields.add("name", ["a"]);
        });
        let hex = digest.0.map(|byte| format!("{byte:02x}")).concat();
        assert_eq!(hex, "5f3288fdb10dd2ebada702c8af90fde151929e8270e2a6a54d6e30ae977b9422");
    }
}
