//! The idempotency key of a form: the server makes it when it shows the form, so that a form that
//! is sent twice does its work once.

use std::fmt::Write as _;

use sms_core::Error;
use sms_core::idempotency::IdempotencyKey;
use sms_core::random::{Random, SystemRandom};

use crate::form::Form;
use crate::reply::Trouble;

/// A key for a form that is shown anew.
pub(crate) fn new_key() -> String {
    let mut bytes = [0; 16];
    SystemRandom.fill(&mut bytes);
    bytes.iter().fold(String::new(), |mut text, byte| {
        // Writing to a string cannot fail.
        let _ = write!(text, "{byte:02x}");
        text
    })
}

/// The key that a form brought.
pub(crate) fn key_of(form: &Form) -> Result<IdempotencyKey, Trouble> {
    form.text("key").parse().map_err(|_| Trouble::BadForm("its key"))
}

/// The key of a form that is shown again. One that was used for other values has done its work.
pub(crate) fn key_again(form: &Form, error: &Error) -> String {
    match error {
        Error::IdempotencyConflict => new_key(),
        _ => form.text("key").to_owned(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_form_has_a_key_of_its_own() {
        let (one, two) = (new_key(), new_key());
        assert_ne!(one, two);
        assert!(one.len() == 32 && one.parse::<IdempotencyKey>().is_ok());
    }
}
