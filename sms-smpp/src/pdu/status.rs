//! The `command_status` of a response (5.1.3).

use std::fmt;

/// A `command_status`. SMSCs also use codes that the standard does not define.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Status(pub u32);

impl Status {
    /// `ESME_ROK`: success; also the status of every request.
    pub const OK: Self = Self(0x00);
    /// `ESME_RINVCMDLEN`: the length is invalid.
    pub const INVALID_LENGTH: Self = Self(0x02);
    /// `ESME_RINVCMDID`: the command is unknown.
    pub const INVALID_COMMAND: Self = Self(0x03);
    /// `ESME_RSYSERR`: the responder had an internal error.
    pub const SYSTEM_ERROR: Self = Self(0x08);
    /// `ESME_RINVSRCADR`: the source address is invalid.
    pub const INVALID_SOURCE: Self = Self(0x0A);
    /// `ESME_RINVDSTADR`: the destination address is invalid.
    pub const INVALID_DESTINATION: Self = Self(0x0B);
    /// `ESME_RINVPASWD`: the password is wrong.
    pub const INVALID_PASSWORD: Self = Self(0x0E);
    /// `ESME_RMSGQFUL`: the SMSC's queue is full.
    pub const QUEUE_FULL: Self = Self(0x14);
    /// `ESME_RSUBMITFAIL`: the submission failed, no reason given.
    pub const SUBMIT_FAILED: Self = Self(0x45);
    /// `ESME_RTHROTTLED`: the rate exceeds what the SMSC allows.
    pub const THROTTLED: Self = Self(0x58);
    /// `ESME_RX_T_APPN`: a temporary error at the receiver of a `deliver_sm`; send it again later.
    pub const TEMPORARY: Self = Self(0x64);

    /// Whether the request succeeded.
    pub fn is_ok(self) -> bool {
        self == Self::OK
    }

    /// How to react to this status.
    pub fn remedy(self) -> Remedy {
        match self {
            Self::THROTTLED | Self::QUEUE_FULL => Remedy::SlowDown,
            // Not caused by the message: wrong bind state, system error, or a temporary failure.
            Self(0x04 | 0x05 | 0x08 | 0x64) | Self::SUBMIT_FAILED => Remedy::TryLater,
            _ => Remedy::None,
        }
    }
}

/// How to react to a refused `submit_sm`.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Remedy {
    /// Lower the rate, and retry.
    SlowDown,
    /// Retry later: the refusal is not caused by the message.
    TryLater,
    /// Do not retry: the refusal is final.
    None,
}

impl fmt::Display for Status {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let name = match self.0 {
            0x00 => "ESME_ROK",
            0x01 => "ESME_RINVMSGLEN",
            0x02 => "ESME_RINVCMDLEN",
            0x03 => "ESME_RINVCMDID",
            0x04 => "ESME_RINVBNDSTS",
            0x05 => "ESME_RALYBND",
            0x08 => "ESME_RSYSERR",
            0x0A => "ESME_RINVSRCADR",
            0x0B => "ESME_RINVDSTADR",
            0x0C => "ESME_RINVMSGID",
            0x0D => "ESME_RBINDFAIL",
            0x0E => "ESME_RINVPASWD",
            0x0F => "ESME_RINVSYSID",
            0x14 => "ESME_RMSGQFUL",
            0x45 => "ESME_RSUBMITFAIL",
            0x48 => "ESME_RINVSRCTON",
            0x50 => "ESME_RINVDSTTON",
            0x58 => "ESME_RTHROTTLED",
            0x62 => "ESME_RINVEXPIRY",
            0x64 => "ESME_RX_T_APPN",
            0x65 => "ESME_RX_P_APPN",
            0x66 => "ESME_RX_R_APPN",
            _ => return write!(f, "status {:#010x}", self.0),
        };
        f.write_str(name)
    }
}

impl fmt::Debug for Status {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(self, f)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_failures_that_the_message_did_not_cause_are_retried() {
        let cases = [
            (Remedy::SlowDown, &[0x14, 0x58][..]),
            (Remedy::TryLater, &[0x04, 0x05, 0x08, 0x45, 0x64]),
            (Remedy::None, &[0x01, 0x0A, 0x0B, 0x33, 0x48, 0x50, 0x61, 0x62, 0x65, 0x66, 0x0400]),
        ];
        for (remedy, statuses) in cases {
            for status in statuses {
                assert_eq!(Status(*status).remedy(), remedy, "{}", Status(*status));
            }
        }
    }
}
