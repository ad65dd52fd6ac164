//! The first answer to a request with a key.

use sms_core::sending::settle::Sent;
use sms_core::time::Timestamp;

use crate::simulation::model::check::Check;
use crate::simulation::wish::Meaning;

/// The first answer to a request with a key.
#[derive(Debug)]
pub struct FirstSend {
    pub(crate) meaning: Option<Meaning>,
    pub(crate) sent: Sent,
    pub(crate) at: Timestamp,
    /// It has expired, so that the store may delete it.
    pub(crate) fading: bool,
}

impl FirstSend {
    pub(crate) fn check_replay(&self, meaning: Option<&Meaning>, sent: &Sent) -> Check {
        let same = self.meaning.as_ref() == meaning;
        ensure!(same, "another request was taken for a repeated one");
        let expected = self.sent.clone().repeated();
        ensure!(*sent == expected, "a repeated request answers {sent:?} for {expected:?}");
        Ok(())
    }
}
