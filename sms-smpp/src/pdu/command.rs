//! The `command_id` of a PDU (5.1.2.1).

use std::fmt;

/// A `command_id`. Responses have the highest bit set.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct CommandId(pub u32);

impl CommandId {
    /// `generic_nack`, which is a response.
    pub const GENERIC_NACK: Self = Self(0x8000_0000);
    /// `bind_receiver`.
    pub const BIND_RECEIVER: Self = Self(0x01);
    /// `bind_transmitter`.
    pub const BIND_TRANSMITTER: Self = Self(0x02);
    /// `submit_sm`.
    pub const SUBMIT_SM: Self = Self(0x04);
    /// `deliver_sm`.
    pub const DELIVER_SM: Self = Self(0x05);
    /// `unbind`.
    pub const UNBIND: Self = Self(0x06);
    /// `bind_transceiver`.
    pub const BIND_TRANSCEIVER: Self = Self(0x09);
    /// `enquire_link`.
    pub const ENQUIRE_LINK: Self = Self(0x15);

    const ANSWER: u32 = 0x8000_0000;

    /// The command of the response to this one.
    #[must_use]
    pub const fn answer(self) -> Self {
        Self(self.0 | Self::ANSWER)
    }

    /// Whether it is a response.
    pub const fn is_answer(self) -> bool {
        self.0 & Self::ANSWER != 0
    }
}

impl fmt::Debug for CommandId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{:#010x}", self.0)
    }
}
