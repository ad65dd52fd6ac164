//! Writes PDUs.

use bytes::{BufMut, BytesMut};

use super::{Bind, Body, HEAD, Pdu, ShortMessage, Tag, Tlvs};
use crate::address::Address;

/// Appends a PDU. Truncates strings to the lengths that the standard allows, so that what is
/// written is always valid; callers pass strings that fit.
pub fn write(pdu: &Pdu, octets: &mut BytesMut) {
    let start = octets.len();
    octets.reserve(HEAD + 128);
    octets.put_u32(0);
    octets.put_u32(pdu.body.command().0);
    octets.put_u32(pdu.status.0);
    octets.put_u32(pdu.sequence);
    body(&pdu.body, pdu.status.is_ok(), octets);
    let length = u32::try_from(octets.len() - start).unwrap_or(u32::MAX);
    octets[start..start + 4].copy_from_slice(&length.to_be_bytes());
}

fn body(body: &Body, is_ok: bool, octets: &mut BytesMut) {
    match body {
        Body::Bind(_, request) => bind(request, octets),
        Body::BindResp(_, answer) => {
            string(&answer.system_id, 15, octets);
            if let Some(version) = answer.version {
                let tlv = Tlvs::default().with(Tag::SC_INTERFACE_VERSION, vec![version]);
                tlvs(&tlv, octets);
            }
        }
        Body::SubmitSm(message) | Body::DeliverSm(message) => short_message(message, octets),
        // A refusal has no body (4.4.2), although many SMSCs send one.
        Body::SubmitSmResp { message_id } if is_ok => string(message_id, 64, octets),
        // Its message id is unused and empty (4.6.2).
        Body::DeliverSmResp | Body::DataSmResp => octets.put_u8(0),
        Body::DataSm(message) => data_message(message, octets),
        Body::SubmitSmResp { .. }
        | Body::Unbind
        | Body::UnbindResp
        | Body::EnquireLink
        | Body::EnquireLinkResp
        | Body::GenericNack
        | Body::Other(_) => {}
    }
}

fn bind(request: &Bind, octets: &mut BytesMut) {
    string(&request.system_id, 15, octets);
    string(&request.password, 8, octets);
    string(&request.system_type, 12, octets);
    octets.put_u8(request.version);
    // TON, NPI and address range: unused (5.2.7).
    octets.put_u8(0);
    octets.put_u8(0);
    octets.put_u8(0);
}

fn short_message(message: &ShortMessage, octets: &mut BytesMut) {
    string(&message.service_type, 5, octets);
    address(&message.source, octets);
    address(&message.destination, octets);
    octets.put_u8(message.esm_class);
    octets.put_u8(message.protocol_id);
    octets.put_u8(message.priority);
    // schedule_delivery_time: at once.
    octets.put_u8(0);
    string(&message.validity_period, 16, octets);
    octets.put_u8(message.registered_delivery);
    // replace_if_present_flag: no.
    octets.put_u8(0);
    octets.put_u8(message.data_coding);
    // sm_default_msg_id: none.
    octets.put_u8(0);
    let text = &message.short_message[..message.short_message.len().min(254)];
    octets.put_u8(u8::try_from(text.len()).unwrap_or_default());
    octets.put_slice(text);
    tlvs(&message.tlvs, octets);
}

fn data_message(message: &ShortMessage, octets: &mut BytesMut) {
    string(&message.service_type, 5, octets);
    address(&message.source, octets);
    address(&message.destination, octets);
    octets.put_u8(message.esm_class);
    octets.put_u8(message.registered_delivery);
    octets.put_u8(message.data_coding);
    tlvs(&message.tlvs, octets);
}

fn address(address: &Address, octets: &mut BytesMut) {
    octets.put_u8(address.ton.0);
    octets.put_u8(address.npi.0);
    string(&address.text, 20, octets);
}

/// A string of at most `longest` octets and its terminating zero; never splits a character.
fn string(text: &str, longest: usize, octets: &mut BytesMut) {
    let end = text.find('\0').unwrap_or(text.len()).min(longest);
    octets.put_slice(&text.as_bytes()[..text.floor_char_boundary(end)]);
    octets.put_u8(0);
}

fn tlvs(tlvs: &Tlvs, octets: &mut BytesMut) {
    for tlv in tlvs.iter() {
        let value = &tlv.value[..tlv.value.len().min(usize::from(u16::MAX))];
        octets.put_u16(tlv.tag.0);
        octets.put_u16(u16::try_from(value.len()).unwrap_or_default());
        octets.put_slice(value);
    }
}
