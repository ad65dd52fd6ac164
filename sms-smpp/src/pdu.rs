//! Protocol data units (PDUs): what goes over a connection, written and read.
//!
//! The platform is always the ESME, the side that binds. It writes binds, `submit_sm` and
//! responses; it reads responses and `deliver_sm`. Both directions are implemented for all of them,
//! so that a test can be the other side.
//!
//! # Why not `rusmpp`
//!
//! The reader accepts what networks send although the standard does not allow it: strings that are
//! too long or lack their terminating zero, responses without a body, TLVs that are unknown or cut
//! short. The crate `rusmpp` (0.4) refuses several of these, among them message ids longer than 64
//! octets and ids without a terminator. A message id that is not read costs dear: the message
//! counts as unanswered and is submitted again, or its receipt is lost. So `rusmpp` is the oracle
//! of the tests and no more: it must read every PDU that is written here, and one test lists what
//! it refuses and this reader must not. Run that test before you replace this module.
//!
//! Source: Short Message Peer to Peer Protocol Specification v3.4, sections 3 to 5.

mod command;
mod read;
pub mod status;
mod tlv;
mod write;

use bytes::Bytes;

pub use command::CommandId;
pub use read::{Malformed, read};
pub use status::Status;
pub use tlv::{Tag, Tlv, Tlvs};
pub use write::write;

use crate::address::Address;

/// Octets of a PDU's head: length, command, status, sequence number (3.2).
pub const HEAD: usize = 16;

/// More than any PDU has in practice: a `message_payload` holds 64 KiB at most.
pub const LONGEST: usize = 80 * 1024;

/// One unit.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Pdu {
    /// What an answer says of the request; [`Status::OK`] in a request.
    pub status: Status,
    /// Chosen by the side that asks, repeated by the one that answers. From 1 to 0x7FFF_FFFF.
    pub sequence: u32,
    /// What it says.
    pub body: Body,
}

/// What a unit says.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Body {
    /// A request to begin a session (4.1).
    Bind(BindMode, Box<Bind>),
    /// The answer to it, with the peer's version if it tells it.
    BindResp(BindMode, BindResp),
    /// A request to end the session (4.2).
    Unbind,
    /// The answer to it.
    UnbindResp,
    /// A text for somebody (4.4.1).
    SubmitSm(Box<ShortMessage>),
    /// The answer to it, with the peer's id of the text, empty when it refuses it.
    SubmitSmResp {
        /// The peer's id of the text, as it spells it.
        message_id: String,
    },
    /// A text or a receipt for us (4.6.1).
    DeliverSm(Box<ShortMessage>),
    /// The answer to it.
    DeliverSmResp,
    /// A request for a sign of life (4.11).
    EnquireLink,
    /// The sign of life.
    EnquireLinkResp,
    /// The answer to what cannot be read (4.3).
    GenericNack,
    /// Anything else.
    Other(CommandId),
}

/// In which directions a session carries texts.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum BindMode {
    /// From us.
    Transmitter,
    /// To us.
    Receiver,
    /// Both.
    Transceiver,
}

/// Who wants to begin a session.
#[derive(Clone, PartialEq, Eq)]
pub struct Bind {
    /// The account at the peer.
    pub system_id: String,
    /// Its password.
    pub password: String,
    /// The kind of client, where the peer wants one.
    pub system_type: String,
    /// The version spoken: 0x34 or 0x50.
    pub version: u8,
}

impl std::fmt::Debug for Bind {
    /// Leaves the password out.
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Bind").field("system_id", &self.system_id).finish_non_exhaustive()
    }
}

/// What the peer says of itself.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct BindResp {
    /// Its name.
    pub system_id: String,
    /// The version it speaks, where it tells it (5.3.2.25).
    pub version: Option<u8>,
}

/// A text or receipt: the mandatory fields of `submit_sm` and `deliver_sm`, which are the same.
#[derive(Clone, PartialEq, Eq)]
pub struct ShortMessage {
    /// Which service carries it; empty for the usual one.
    pub service_type: String,
    /// Who sent it.
    pub source: Address,
    /// Whom it goes to.
    pub destination: Address,
    /// What kind of message it is, and whether it begins with a user data header (5.2.12).
    pub esm_class: u8,
    /// GSM's protocol identifier.
    pub protocol_id: u8,
    /// 0 to 3.
    pub priority: u8,
    /// Until when it may be delivered, as 7.1.1 writes times; empty for the peer's default.
    pub validity_period: String,
    /// Which receipts are asked for (5.2.17).
    pub registered_delivery: u8,
    /// How its octets are to be read (5.2.19).
    pub data_coding: u8,
    /// Its octets, 254 at most; longer ones go into [`Tag::MESSAGE_PAYLOAD`].
    pub short_message: Bytes,
    /// What else is told.
    pub tlvs: Tlvs,
}

impl ShortMessage {
    /// The bit of `esm_class` that says that the octets begin with a user data header.
    pub const HAS_HEADER: u8 = 0x40;
    /// The bits of `esm_class` that say what a `deliver_sm` is.
    const KIND: u8 = 0x3C;
    /// The kind of a receipt of the network.
    const RECEIPT: u8 = 0x04;

    /// A message with empty octets and nothing else told.
    pub fn between(source: Address, destination: Address) -> Self {
        Self {
            service_type: String::new(),
            source,
            destination,
            esm_class: 0,
            protocol_id: 0,
            priority: 0,
            validity_period: String::new(),
            registered_delivery: 0,
            data_coding: 0,
            short_message: Bytes::new(),
            tlvs: Tlvs::default(),
        }
    }

    /// Whether the octets begin with a user data header.
    pub fn has_header(&self) -> bool {
        self.esm_class & Self::HAS_HEADER != 0
    }

    /// Whether it says of itself that it is a receipt of the network.
    pub fn is_marked_as_receipt(&self) -> bool {
        self.esm_class & Self::KIND == Self::RECEIPT
    }

    /// The octets, wherever they stand (5.3.2.32: the one excludes the other).
    pub fn octets(&self) -> &Bytes {
        match self.tlvs.find(Tag::MESSAGE_PAYLOAD) {
            Some(payload) if self.short_message.is_empty() => payload,
            _ => &self.short_message,
        }
    }
}

impl std::fmt::Debug for ShortMessage {
    /// Leaves out numbers and words: this may end up in a log.
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("ShortMessage")
            .field("esm_class", &self.esm_class)
            .field("data_coding", &self.data_coding)
            .field("octets", &self.octets().len())
            .field("tlvs", &self.tlvs)
            .finish_non_exhaustive()
    }
}

impl Body {
    /// The command that says it.
    pub fn command(&self) -> CommandId {
        match self {
            Self::Bind(BindMode::Transmitter, _) => CommandId::BIND_TRANSMITTER,
            Self::Bind(BindMode::Receiver, _) => CommandId::BIND_RECEIVER,
            Self::Bind(BindMode::Transceiver, _) => CommandId::BIND_TRANSCEIVER,
            Self::BindResp(BindMode::Transmitter, _) => CommandId::BIND_TRANSMITTER.answer(),
            Self::BindResp(BindMode::Receiver, _) => CommandId::BIND_RECEIVER.answer(),
            Self::BindResp(BindMode::Transceiver, _) => CommandId::BIND_TRANSCEIVER.answer(),
            Self::Unbind => CommandId::UNBIND,
            Self::UnbindResp => CommandId::UNBIND.answer(),
            Self::SubmitSm(_) => CommandId::SUBMIT_SM,
            Self::SubmitSmResp { .. } => CommandId::SUBMIT_SM.answer(),
            Self::DeliverSm(_) => CommandId::DELIVER_SM,
            Self::DeliverSmResp => CommandId::DELIVER_SM.answer(),
            Self::EnquireLink => CommandId::ENQUIRE_LINK,
            Self::EnquireLinkResp => CommandId::ENQUIRE_LINK.answer(),
            Self::GenericNack => CommandId::GENERIC_NACK,
            Self::Other(command) => *command,
        }
    }
}

impl Pdu {
    /// A request.
    pub fn request(sequence: u32, body: Body) -> Self {
        Self { status: Status::OK, sequence, body }
    }

    /// An answer that all is well.
    pub fn answer(sequence: u32, body: Body) -> Self {
        Self { status: Status::OK, sequence, body }
    }

    /// An answer that it is not.
    pub fn refusal(status: Status, sequence: u32, body: Body) -> Self {
        Self { status, sequence, body }
    }
}

/// How long the first PDU of these octets is; `None` until its head is there whole.
///
/// # Errors
///
/// A length that no PDU has: whatever follows cannot be read either.
pub fn length(octets: &[u8]) -> Result<Option<usize>, BadLength> {
    let Some(head) = octets.first_chunk::<4>() else { return Ok(None) };
    let length = u32::from_be_bytes(*head);
    match usize::try_from(length) {
        Ok(length) if (HEAD..=LONGEST).contains(&length) => Ok(Some(length)),
        _ => Err(BadLength(length)),
    }
}

/// A length that no PDU has.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[error("a PDU of {0} octets: the peer speaks another protocol or has lost its place")]
pub struct BadLength(pub u32);

#[cfg(test)]
mod tests;
