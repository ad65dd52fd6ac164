//! PDUs: any octets are read or refused; what is read is written as octets that are read the same;
//! what keeps to the standard's limits comes back as it was.
//!
//! An input is the octets of a connection. It also is, octet by octet, what a unit is made of.

use bytes::{Buf, Bytes, BytesMut};
use sms_smpp::address::{Address, Npi, Ton};
use sms_smpp::pdu::{
    self, Bind, BindMode, BindResp, Body, CommandId, HEAD, LONGEST, Pdu, ShortMessage, Status, Tag,
    Tlv, Tlvs,
};

/// Tries the laws on the octets of a connection, and on a unit made of them.
pub fn check(input: &[u8]) {
    a_connection_is_cut_into_units(input);
    if let Ok(pdu) = pdu::read(Bytes::copy_from_slice(input)) {
        let once = written(&pdu);
        let read = pdu::read(once.clone()).expect("what is written can be read");
        assert_eq!((read.status, read.sequence), (pdu.status, pdu.sequence));
        assert_eq!(read.body.command(), pdu.body.command());
        if is_within_limits(&pdu) {
            assert_eq!(read, pdu);
        }
        assert_eq!(written(&read), once, "once cut, it stays");
        shows_no_words(&pdu);
    }
    let made = Pieces(Bytes::copy_from_slice(input)).pdu();
    assert!(is_within_limits(&made), "{made:?}");
    assert_eq!(pdu::read(written(&made)), Ok(made));
}

fn written(pdu: &Pdu) -> Bytes {
    let mut octets = BytesMut::from(&b"before"[..]);
    pdu::write(pdu, &mut octets);
    assert!(octets.starts_with(b"before"), "it is appended");
    let octets = octets.split_off(6).freeze();
    let length = u32::try_from(octets.len()).expect("it is short");
    assert_eq!(octets[..4], length.to_be_bytes());
    assert_eq!(octets[4..8], pdu.body.command().0.to_be_bytes());
    if octets.len() <= LONGEST {
        assert_eq!(pdu::length(&octets), Ok(Some(octets.len())));
    }
    octets
}

/// Unit by unit, as a session reads; and whatever is missing, nothing is read beyond it.
fn a_connection_is_cut_into_units(mut octets: &[u8]) {
    loop {
        let told = octets.first_chunk().map(|length| u32::from_be_bytes(*length) as usize);
        let found = pdu::length(octets);
        let length = match told {
            None => return assert_eq!(found, Ok(None)),
            Some(length) if !(HEAD..=LONGEST).contains(&length) => return assert!(found.is_err()),
            Some(length) => length,
        };
        assert_eq!(found, Ok(Some(length)));
        if octets.len() < length {
            return;
        }
        let unit = Bytes::copy_from_slice(&octets[..length]);
        let (command, sequence) = ((&unit[4..8]).get_u32(), (&unit[12..16]).get_u32());
        match pdu::read(unit.clone()) {
            Ok(pdu) => {
                assert_eq!((pdu.body.command().0, pdu.sequence), (command, sequence));
                assert_eq!(pdu.status.0, (&unit[8..12]).get_u32());
            }
            Err(malformed) => {
                assert_eq!((malformed.command.0, malformed.sequence), (command, sequence));
                // Answers may leave out whatever they like.
                assert!(!malformed.command.is_answer());
            }
        }
        octets = &octets[length..];
    }
}

/// No string longer than the standard's fields (section 4), without their closing zeros, and none
/// that was mended.
fn is_within_limits(pdu: &Pdu) -> bool {
    let fits = |text: &str, most: usize| text.len() <= most && !text.contains('\0');
    let address = |address: &Address| fits(&address.text, 20);
    match &pdu.body {
        Body::Bind(_, bind) => {
            let Bind { system_id, password, system_type, version: _ } = &**bind;
            fits(system_id, 15) && fits(password, 8) && fits(system_type, 12)
        }
        Body::BindResp(_, BindResp { system_id, version: _ }) => fits(system_id, 15),
        Body::SubmitSmResp { message_id } => {
            fits(message_id, 64) && (pdu.status.is_ok() || message_id.is_empty())
        }
        Body::SubmitSm(text) | Body::DeliverSm(text) => {
            fits(&text.service_type, 5)
                && address(&text.source)
                && address(&text.destination)
                && fits(&text.validity_period, 16)
                && text.short_message.len() <= 254
        }
        Body::DataSm(text) => {
            fits(&text.service_type, 5) && address(&text.source) && address(&text.destination)
        }
        _ => true,
    }
}

/// `Debug` ends up in logs. Words that it says of a unit without any are its own.
fn shows_no_words(pdu: &Pdu) {
    if let Body::SubmitSm(text) | Body::DeliverSm(text) = &pdu.body {
        let mut bare = pdu.clone();
        if let Body::SubmitSm(bare) | Body::DeliverSm(bare) = &mut bare.body {
            bare.source.text = "".into();
            bare.destination.text = "".into();
            bare.short_message = Bytes::default();
        }
        let (shown, own) = (format!("{pdu:?}"), format!("{bare:?}"));
        let is_told = |words: &str| shown.contains(words) && !own.contains(words);
        for words in [&text.source.text, &text.destination.text] {
            assert!(words.len() < 8 || !is_told(words), "{shown}");
        }
        let words = String::from_utf8_lossy(&text.short_message);
        assert!(words.len() < 16 || !is_told(&words), "{shown}");
    }
}

/// What a unit is made of; when nothing is left, zeros.
struct Pieces(Bytes);

impl Pieces {
    fn octet(&mut self) -> u8 {
        self.0.try_get_u8().unwrap_or_default()
    }

    fn number(&mut self) -> u32 {
        u32::from_be_bytes([self.octet(), self.octet(), self.octet(), self.octet()])
    }

    fn octets(&mut self, most: usize) -> Bytes {
        let wanted = usize::from(self.octet()) % (most + 1);
        self.0.split_to(wanted.min(self.0.len()))
    }

    /// ASCII without zeros.
    fn text(&mut self, most: usize) -> String {
        self.octets(most).iter().map(|octet| char::from((octet & 0x7F).max(1))).collect()
    }

    fn address(&mut self) -> Address {
        let (ton, npi) = (Ton(self.octet()), Npi(self.octet()));
        Address { ton, npi, text: self.text(20).into() }
    }

    fn tlvs(&mut self) -> Tlvs {
        let mut tlvs = Vec::new();
        while self.0.len() > 2 && tlvs.len() < 8 {
            let tag = Tag(u16::from_be_bytes([self.octet(), self.octet()]));
            tlvs.push(Tlv { tag, value: self.octets(255) });
        }
        tlvs.into_iter().collect()
    }

    fn short_message(&mut self) -> Box<ShortMessage> {
        Box::new(ShortMessage {
            service_type: self.text(5),
            source: self.address(),
            destination: self.address(),
            esm_class: self.octet(),
            protocol_id: self.octet(),
            priority: self.octet(),
            validity_period: self.text(16),
            registered_delivery: self.octet(),
            data_coding: self.octet(),
            short_message: self.octets(254),
            tlvs: self.tlvs(),
        })
    }

    fn mode(&mut self) -> BindMode {
        match self.octet() % 3 {
            0 => BindMode::Transmitter,
            1 => BindMode::Receiver,
            _ => BindMode::Transceiver,
        }
    }

    fn pdu(&mut self) -> Pdu {
        let kind = self.octet();
        let sequence = self.number();
        let mut status = Status(u32::from(self.octet()));
        let body = match kind % 14 {
            0 => {
                let mode = self.mode();
                let (system_id, password) = (self.text(15), self.text(8));
                let (system_type, version) = (self.text(12), self.octet());
                Body::Bind(mode, Box::new(Bind { system_id, password, system_type, version }))
            }
            1 => {
                let mode = self.mode();
                let version = self.octet().is_multiple_of(2).then(|| self.octet());
                Body::BindResp(mode, BindResp { system_id: self.text(15), version })
            }
            2 => Body::Unbind,
            3 => Body::UnbindResp,
            4 => Body::SubmitSm(self.short_message()),
            5 => {
                status = Status::OK;
                Body::SubmitSmResp { message_id: self.text(64) }
            }
            6 => Body::DeliverSm(self.short_message()),
            7 => Body::DeliverSmResp,
            8 => Body::EnquireLink,
            9 => Body::EnquireLinkResp,
            10 => Body::GenericNack,
            11 => {
                let message = self.short_message();
                let ShortMessage { service_type, source, destination, tlvs, .. } = *message;
                Body::DataSm(Box::new(ShortMessage {
                    service_type,
                    esm_class: message.esm_class,
                    registered_delivery: message.registered_delivery,
                    data_coding: message.data_coding,
                    tlvs,
                    ..ShortMessage::between(source, destination)
                }))
            }
            12 => Body::DataSmResp,
            _ => Body::Other(CommandId(0x0103_0000 | self.number() >> 16)),
        };
        Pdu { status, sequence, body }
    }
}
