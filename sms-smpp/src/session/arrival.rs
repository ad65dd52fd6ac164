//! A `deliver_sm` or `data_sm` from the SMSC, and the response to it.

use tokio::sync::mpsc;

use crate::pdu::{Body, Pdu, ShortMessage, Status};

/// A `deliver_sm` or `data_sm` from the SMSC, and the means to answer it.
#[derive(Debug)]
pub struct Arrival {
    /// Its fields, with the text or the receipt.
    pub message: ShortMessage,
    /// Answers it. Dropping this unused asks the SMSC to send the message again later.
    pub answer: Answer,
}

/// Answers one `deliver_sm` or `data_sm`.
#[derive(Debug)]
pub struct Answer {
    pub(super) sequence: u32,
    /// The response, but for its status.
    pub(super) response: Body,
    pub(super) answers: mpsc::UnboundedSender<Pdu>,
    pub(super) is_given: bool,
}

impl Answer {
    /// Acknowledges it with `ESME_ROK`: it is stored, or cannot be used.
    pub fn taken(mut self) {
        self.give(Status::OK);
    }

    /// Answers `ESME_RX_T_APPN`, so that the SMSC sends it again later: it could not be stored.
    pub fn later(mut self) {
        self.give(Status::TEMPORARY);
    }

    fn give(&mut self, status: Status) {
        self.is_given = true;
        // This fails when the session has ended; the SMSC then sends it again.
        let body = self.response.clone();
        let _ = self.answers.send(Pdu { status, sequence: self.sequence, body });
    }
}

impl Drop for Answer {
    fn drop(&mut self) {
        if !self.is_given {
            self.give(Status::TEMPORARY);
        }
    }
}
