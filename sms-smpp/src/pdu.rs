//! Protocol data units (PDUs): what goes over a connection, written and read.
//!
//! The platform is always the ESME, the side that binds. It writes binds, `submit_sm` and
//! responses; it reads responses, `deliver_sm` and `data_sm`. Both directions are implemented for
//! all of them, so that a test can be the other side.
//!
//! # Why not `rusmpp`
//!
//! The reader accepts what networks send although the standard does not allow it: strings that are
//! too long or lack their terminating zero, responses without a body, TLVs that are unknown or cut
//! short. The crate `rusmpp` (0.4) refuses several of these, among them message ids longer than 64
//! octets and ids without a terminator. A message id that is not read does harm: the message counts
//! as unanswered and is submitted again, or its receipt is lost. So `rusmpp` is the oracle of the
//! tests and no more: it must read every PDU that is written here, and one test lists what it
//! refuses and this reader must not. Run that test before you replace this module.
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

/// How many octets a PDU's header has: length, command, status, sequence number (3.2).
pub const HEAD: usize = 16;

/// The longest PDU accepted. None is longer in practice: a `message_payload` holds 64 KiB.
pub const LONGEST: usize = 80 * 1024;

/// One PDU: a request or a response, without its length.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Pdu {
    /// The result in a response; [`Status::OK`] in a request.
    pub status: Status,
    /// Chosen by the requester and repeated in the response, from 1 to 0x7FFF_FFFF.
    pub sequence: u32,
    /// The command and its fields.
    pub body: Body,
}

/// A PDU's command and its fields.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Body {
    /// `bind_transmitter`, `bind_receiver` or `bind_transceiver` (4.1).
    Bind(BindMode, Box<Bind>),
    /// The response to a bind (4.1.2, 4.1.4 and 4.1.6).
    BindResp(BindMode, BindResp),
    /// `unbind`: asks to end the session; from either side (4.2.1).
    Unbind,
    /// `unbind_resp`: the session is over (4.2.2).
    UnbindResp,
    /// `submit_sm`: submits one segment to the SMSC (4.4.1).
    SubmitSm(Box<ShortMessage>),
    /// `submit_sm_resp`, also when [`Pdu::status`] is a refusal (4.4.2).
    SubmitSmResp {
        /// The message id, as the SMSC spells it; empty in a refusal.
        message_id: String,
    },
    /// `deliver_sm`: an inbound message or a delivery receipt (4.6.1).
    DeliverSm(Box<ShortMessage>),
    /// `deliver_sm_resp`, whose message id is unused (4.6.2).
    DeliverSmResp,
    /// `data_sm` from an SMSC: the same as [`DeliverSm`](Self::DeliverSm), whose user data is in
    /// [`Tag::MESSAGE_PAYLOAD`] (4.7.1).
    DataSm(Box<ShortMessage>),
    /// `data_sm_resp`, whose message id is unused (4.7.2).
    DataSmResp,
    /// `enquire_link`: asks whether the other side is alive (4.11.1).
    EnquireLink,
    /// `enquire_link_resp`: this side is alive (4.11.2).
    EnquireLinkResp,
    /// `generic_nack`: refuses a PDU that is malformed or unknown (4.3.1).
    GenericNack,
    /// Any other command, whose fields are not read.
    Other(CommandId),
}

/// In which directions a session carries messages.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum BindMode {
    /// The ESME submits messages only.
    Transmitter,
    /// The ESME receives messages and receipts only.
    Receiver,
    /// The ESME submits messages and receives messages and receipts.
    Transceiver,
}

/// The fields of a bind request.
#[derive(Clone, PartialEq, Eq)]
pub struct Bind {
    /// The account at the SMSC.
    pub system_id: String,
    /// Its password, at most 8 octets (5.2.2). `Debug` does not show it.
    pub password: String,
    /// The kind of client, where the SMSC requires one.
    pub system_type: String,
    /// The protocol version (5.2.4): 0x34 or 0x50.
    pub version: u8,
}

impl std::fmt::Debug for Bind {
    /// Leaves out the password.
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Bind").field("system_id", &self.system_id).finish_non_exhaustive()
    }
}

/// The fields of a bind response.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct BindResp {
    /// The SMSC's name, at most 15 octets; empty in a refusal (5.2.1).
    pub system_id: String,
    /// The SMSC's protocol version, if the response has it (5.3.2.25).
    pub version: Option<u8>,
}

/// The fields of `submit_sm` and `deliver_sm`, which are the same.
#[derive(Clone, PartialEq, Eq)]
pub struct ShortMessage {
    /// The SMS application service; empty for the default (5.2.11).
    pub service_type: String,
    /// Who sent it; of a receipt, usually the recipient of its message.
    pub source: Address,
    /// Who receives it; of a receipt, usually the sender of its message.
    pub destination: Address,
    /// The kind of message, and whether it starts with a user data header (5.2.12).
    pub esm_class: u8,
    /// The GSM protocol identifier, TP-PID (5.2.13).
    pub protocol_id: u8,
    /// The priority, 0 to 3 (5.2.14).
    pub priority: u8,
    /// Until when it may be delivered (5.2.16), in the format of 7.1.1; empty for the SMSC's
    /// default.
    pub validity_period: String,
    /// Which receipts are requested (5.2.17).
    pub registered_delivery: u8,
    /// How its octets are encoded (5.2.19).
    pub data_coding: u8,
    /// Its user data, 254 octets at most; longer ones go into [`Tag::MESSAGE_PAYLOAD`].
    pub short_message: Bytes,
    /// The optional parameters, in the order in which they were written.
    pub tlvs: Tlvs,
}

/// The message types of a `deliver_sm` (5.2.12).
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Kind {
    /// A person's message. Some SMSCs leave receipts unmarked as well.
    Message,
    /// A delivery receipt, marked by `esm_class` 0x04.
    Receipt,
    /// An intermediate delivery notification: the message is still under way.
    Intermediate,
    /// Anything else; never a person's message.
    Other,
}

impl ShortMessage {
    /// The bit of `esm_class` that says that the user data starts with a header (UDHI).
    pub const HAS_HEADER: u8 = 0x40;
    /// The bits of `esm_class` that hold the message type.
    const KIND: u8 = 0x3C;

    /// An empty message, with default values for everything else.
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

    /// Whether the user data starts with a header.
    pub fn has_header(&self) -> bool {
        self.esm_class & Self::HAS_HEADER != 0
    }

    /// What its `esm_class` says that it is, as a `deliver_sm` (5.2.12).
    pub fn kind(&self) -> Kind {
        match self.esm_class & Self::KIND {
            0x00 => Kind::Message,
            0x04 => Kind::Receipt,
            0x20 => Kind::Intermediate,
            // Acknowledgements by the recipient's device or hand, the end of a conversation, and
            // what is reserved.
            _ => Kind::Other,
        }
    }

    /// The user data, from `short_message` or `message_payload`, which exclude each other
    /// (5.3.2.32).
    pub fn octets(&self) -> &Bytes {
        match self.tlvs.find(Tag::MESSAGE_PAYLOAD) {
            Some(payload) if self.short_message.is_empty() => payload,
            _ => &self.short_message,
        }
    }
}

impl std::fmt::Debug for ShortMessage {
    /// Leaves out numbers and text, because this may end up in a log.
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
    /// The `command_id` of this body.
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
            Self::DataSm(_) => CommandId::DATA_SM,
            Self::DataSmResp => CommandId::DATA_SM.answer(),
            Self::EnquireLink => CommandId::ENQUIRE_LINK,
            Self::EnquireLinkResp => CommandId::ENQUIRE_LINK.answer(),
            Self::GenericNack => CommandId::GENERIC_NACK,
            Self::Other(command) => *command,
        }
    }
}

impl Pdu {
    /// A request, whose status field is unused.
    pub fn request(sequence: u32, body: Body) -> Self {
        Self { status: Status::OK, sequence, body }
    }

    /// A response that accepts the request with this sequence number.
    pub fn answer(sequence: u32, body: Body) -> Self {
        Self { status: Status::OK, sequence, body }
    }

    /// A response that refuses the request.
    pub fn refusal(status: Status, sequence: u32, body: Body) -> Self {
        Self { status, sequence, body }
    }
}

/// The length of the first PDU in these octets; `None` until the length field is complete.
///
/// # Errors
///
/// When no PDU can have this length. What follows cannot be parsed either.
pub fn length(octets: &[u8]) -> Result<Option<usize>, BadLength> {
    let Some(head) = octets.first_chunk::<4>() else { return Ok(None) };
    let length = u32::from_be_bytes(*head);
    match usize::try_from(length) {
        Ok(length) if (HEAD..=LONGEST).contains(&length) => Ok(Some(length)),
        _ => Err(BadLength(length)),
    }
}

/// A length that no PDU can have.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[error("a PDU of {0} octets is too short or too long: this is not SMPP")]
pub struct BadLength(pub u32);

#[cfg(test)]
mod tests;
