//! The first answer to a request with a key.

use std::collections::BTreeMap;

use sms_core::ids::MessageId;
use sms_core::sending::settle::Sent;
use sms_core::time::Timestamp;

use super::MessageModel;
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
    /// A replay shows the messages as they were accepted, except that some may have got another
    /// number since.
    pub(crate) fn check_replay(
        &self,
        meaning: Option<&Meaning>,
        messages: &BTreeMap<MessageId, MessageModel>,
        sent: &Sent,
    ) -> Check {
        let same = self.meaning.as_ref() == meaning;
        ensure!(same, "another request was taken for a repeated one");
        let mut expected = self.sent.clone().repeated();
        for message in &mut expected.messages {
            if let Some(now) = messages.get(&message.id) {
                message.from = now.last.from;
                message.route = now.last.route.clone();
            }
        }
        ensure!(*sent == expected, "a repeated request answers {sent:?} for {expected:?}");
        Ok(())
    }
}
