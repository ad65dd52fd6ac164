//! The `command_id` of a PDU (5.1.2.1).

use std::fmt;

/// A `command_id`. Responses have the highest bit set.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct CommandId(pub u32);

impl CommandId {
    /// `generic_nack`, which is a response.
    pub const GENERIC_NACK: Self = Self(0x8000_0000);
    /// `bind_receiver`: opens a session that receives only (4.1.3).
    pub const BIND_RECEIVER: Self = Self(0x01);
    /// `bind_transmitter`: opens a session that submits only (4.1.1).
    pub const BIND_TRANSMITTER: Self = Self(0x02);
    /// `query_sm`: only an SMSC serves it.
    pub const QUERY_SM: Self = Self(0x03);
    /// `submit_sm`: submits one segment (4.4.1).
    pub const SUBMIT_SM: Self = Self(0x04);
    /// `deliver_sm`: brings a message or a receipt (4.6.1).
    pub const DELIVER_SM: Self = Self(0x05);
    /// `unbind`: ends a session (4.2.1).
    pub const UNBIND: Self = Self(0x06);
    /// `replace_sm`: only an SMSC serves it.
    pub const REPLACE_SM: Self = Self(0x07);
    /// `cancel_sm`: only an SMSC serves it.
    pub const CANCEL_SM: Self = Self(0x08);
    /// `bind_transceiver`: opens a session for both directions (4.1.5).
    pub const BIND_TRANSCEIVER: Self = Self(0x09);
    /// `outbind`: asks an ESME to bind. It has no response (4.1.7).
    pub const OUTBIND: Self = Self(0x0B);
    /// `enquire_link`: asks whether the other side is alive (4.11.1).
    pub const ENQUIRE_LINK: Self = Self(0x15);
    /// `submit_multi`: only an SMSC serves it.
    pub const SUBMIT_MULTI: Self = Self(0x21);
    /// `alert_notification`: a subscriber is reachable again. It has no response (4.12.1).
    pub const ALERT_NOTIFICATION: Self = Self(0x0102);
    /// `data_sm`: an alternative to `submit_sm` and `deliver_sm` (4.7.1).
    pub const DATA_SM: Self = Self(0x0103);
    /// `broadcast_sm` (5.0): only an SMSC serves it.
    pub const BROADCAST_SM: Self = Self(0x0111);
    /// `query_broadcast_sm` (5.0): only an SMSC serves it.
    pub const QUERY_BROADCAST_SM: Self = Self(0x0112);
    /// `cancel_broadcast_sm` (5.0): only an SMSC serves it.
    pub const CANCEL_BROADCAST_SM: Self = Self(0x0113);

    /// Every request of 3.4 and 5.0, with its name.
    pub const REQUESTS: [(Self, &'static str); 17] = [
        (Self::BIND_RECEIVER, "bind_receiver"),
        (Self::BIND_TRANSMITTER, "bind_transmitter"),
        (Self::QUERY_SM, "query_sm"),
        (Self::SUBMIT_SM, "submit_sm"),
        (Self::DELIVER_SM, "deliver_sm"),
        (Self::UNBIND, "unbind"),
        (Self::REPLACE_SM, "replace_sm"),
        (Self::CANCEL_SM, "cancel_sm"),
        (Self::BIND_TRANSCEIVER, "bind_transceiver"),
        (Self::OUTBIND, "outbind"),
        (Self::ENQUIRE_LINK, "enquire_link"),
        (Self::SUBMIT_MULTI, "submit_multi"),
        (Self::ALERT_NOTIFICATION, "alert_notification"),
        (Self::DATA_SM, "data_sm"),
        (Self::BROADCAST_SM, "broadcast_sm"),
        (Self::QUERY_BROADCAST_SM, "query_broadcast_sm"),
        (Self::CANCEL_BROADCAST_SM, "cancel_broadcast_sm"),
    ];

    const ANSWER: u32 = 0x8000_0000;

    /// The command of the response to this one.
    #[must_use]
    pub const fn answer(self) -> Self {
        Self(self.0 | Self::ANSWER)
    }

    /// Whether it is a request that the standard gives no response.
    pub const fn wants_no_answer(self) -> bool {
        matches!(self, Self::OUTBIND | Self::ALERT_NOTIFICATION)
    }

    /// Whether it is a response.
    pub const fn is_answer(self) -> bool {
        self.0 & Self::ANSWER != 0
    }
}

impl fmt::Debug for CommandId {
    /// Shows the name, if the standard has one.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if *self == Self::GENERIC_NACK {
            return f.write_str("generic_nack");
        }
        let request = Self(self.0 & !Self::ANSWER);
        let known = Self::REQUESTS.into_iter().find(|(command, _)| *command == request);
        match known {
            Some((_, name)) if self.is_answer() => write!(f, "{name}_resp"),
            Some((_, name)) => f.write_str(name),
            None => write!(f, "{:#010x}", self.0),
        }
    }
}
