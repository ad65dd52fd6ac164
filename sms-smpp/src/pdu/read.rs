//! Parses PDUs.

use bytes::{Buf, Bytes};

use super::{
    Bind, BindMode, BindResp, Body, CommandId, HEAD, Pdu, ShortMessage, Status, Tag, Tlv, Tlvs,
};
use crate::address::{Address, Npi, Ton};

/// A PDU with a readable header and a truncated body.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[error("PDU {command:?} ends before its last mandatory field")]
pub struct Malformed {
    /// Its command, which decides how it is refused.
    pub command: CommandId,
    /// Its sequence number, for the response.
    pub sequence: u32,
}

/// Parses exactly one PDU; [`length`](super::length) says how many octets it has.
///
/// # Errors
///
/// [`Malformed`] when a mandatory field is missing. A missing field of a response counts as empty.
pub fn read(mut octets: Bytes) -> Result<Pdu, Malformed> {
    if octets.len() < HEAD {
        return Err(Malformed { command: CommandId(0), sequence: 0 });
    }
    octets.advance(4);
    let command = CommandId(octets.get_u32());
    let status = Status(octets.get_u32());
    let sequence = octets.get_u32();
    let body = body(command, octets).ok_or(Malformed { command, sequence })?;
    Ok(Pdu { status, sequence, body })
}

fn body(command: CommandId, octets: Bytes) -> Option<Body> {
    let mode = match CommandId(command.0 & !CommandId::GENERIC_NACK.0) {
        CommandId::BIND_TRANSMITTER => Some(BindMode::Transmitter),
        CommandId::BIND_RECEIVER => Some(BindMode::Receiver),
        CommandId::BIND_TRANSCEIVER => Some(BindMode::Transceiver),
        _ => None,
    };
    let mut fields = Fields(octets);
    Some(match (mode, command) {
        (Some(mode), command) if command.is_answer() => Body::BindResp(mode, fields.bind_resp()),
        (Some(mode), _) => Body::Bind(mode, Box::new(fields.bind()?)),
        (None, CommandId::SUBMIT_SM) => Body::SubmitSm(Box::new(fields.short_message()?)),
        (None, CommandId::DELIVER_SM) => Body::DeliverSm(Box::new(fields.short_message()?)),
        (None, CommandId::DATA_SM) => Body::DataSm(Box::new(fields.data_message()?)),
        (None, CommandId::UNBIND) => Body::Unbind,
        (None, CommandId::ENQUIRE_LINK) => Body::EnquireLink,
        (None, CommandId::GENERIC_NACK) => Body::GenericNack,
        (None, command) if command == CommandId::SUBMIT_SM.answer() => {
            Body::SubmitSmResp { message_id: fields.rest_as_string() }
        }
        (None, command) if command == CommandId::DELIVER_SM.answer() => Body::DeliverSmResp,
        (None, command) if command == CommandId::DATA_SM.answer() => Body::DataSmResp,
        (None, command) if command == CommandId::UNBIND.answer() => Body::UnbindResp,
        (None, command) if command == CommandId::ENQUIRE_LINK.answer() => Body::EnquireLinkResp,
        (None, command) => Body::Other(command),
    })
}

/// Reads fields one after the other.
struct Fields(Bytes);

impl Fields {
    fn octet(&mut self) -> Option<u8> {
        self.0.try_get_u8().ok()
    }

    /// A string up to its terminating zero, however long.
    fn string(&mut self) -> Option<String> {
        Some(String::from_utf8_lossy(&self.until_zero()?).into_owned())
    }

    /// The octets before the next zero.
    fn until_zero(&mut self) -> Option<Bytes> {
        let end = self.0.iter().position(|octet| *octet == 0)?;
        let text = self.0.split_to(end);
        self.0.advance(1);
        Some(text)
    }

    /// A string that may be missing, or lack its terminating zero.
    fn rest_as_string(&mut self) -> String {
        let end = self.0.iter().position(|octet| *octet == 0).unwrap_or(self.0.len());
        let text = self.0.split_to(end);
        if self.0.has_remaining() {
            self.0.advance(1);
        }
        String::from_utf8_lossy(&text).into_owned()
    }

    /// An address. The standard allows only ASCII, but names are met in UTF-8 and in Latin-1.
    fn address(&mut self) -> Option<Address> {
        let (ton, npi) = (Ton(self.octet()?), Npi(self.octet()?));
        let octets = self.until_zero()?;
        let text = match std::str::from_utf8(&octets) {
            Ok(text) => text.into(),
            Err(_) => octets.iter().copied().map(char::from).collect::<String>().into(),
        };
        Some(Address { ton, npi, text })
    }

    fn bind(&mut self) -> Option<Bind> {
        Some(Bind {
            system_id: self.string()?,
            password: self.string()?,
            system_type: self.string()?,
            version: self.octet()?,
        })
    }

    fn bind_resp(&mut self) -> BindResp {
        let system_id = self.rest_as_string();
        let version = self.tlvs().number(Tag::SC_INTERFACE_VERSION);
        BindResp { system_id, version: version.and_then(|version| u8::try_from(version).ok()) }
    }

    fn short_message(&mut self) -> Option<ShortMessage> {
        let service_type = self.string()?;
        let source = self.address()?;
        let destination = self.address()?;
        let esm_class = self.octet()?;
        let protocol_id = self.octet()?;
        let priority = self.octet()?;
        let _schedule = self.string()?;
        let validity_period = self.string()?;
        let registered_delivery = self.octet()?;
        let _replace = self.octet()?;
        let data_coding = self.octet()?;
        let _canned = self.octet()?;
        let length = usize::from(self.octet()?);
        if length > self.0.len() {
            return None;
        }
        let short_message = self.0.split_to(length);
        let tlvs = self.tlvs();
        Some(ShortMessage {
            service_type,
            source,
            destination,
            esm_class,
            protocol_id,
            priority,
            validity_period,
            registered_delivery,
            data_coding,
            short_message,
            tlvs,
        })
    }

    fn data_message(&mut self) -> Option<ShortMessage> {
        let service_type = self.string()?;
        let (source, destination) = (self.address()?, self.address()?);
        let esm_class = self.octet()?;
        let registered_delivery = self.octet()?;
        let data_coding = self.octet()?;
        let tlvs = self.tlvs();
        Some(ShortMessage {
            service_type,
            esm_class,
            registered_delivery,
            data_coding,
            tlvs,
            ..ShortMessage::between(source, destination)
        })
    }

    /// The TLVs in what is left. A truncated last value is kept as far as it goes.
    fn tlvs(&mut self) -> Tlvs {
        let mut found = Vec::new();
        while self.0.len() >= 4 {
            let tag = Tag(self.0.get_u16());
            let length = usize::from(self.0.get_u16()).min(self.0.len());
            found.push(Tlv { tag, value: self.0.split_to(length) });
        }
        found.into_iter().collect()
    }
}
