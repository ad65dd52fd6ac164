//! Optional parameters: tag, length, value (3.2.4, 5.3).

use std::fmt;

use bytes::Bytes;

/// The tag of a TLV (5.3.2).
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Tag(pub u16);

impl Tag {
    /// The message id that a receipt refers to: a string (5.3.2.12).
    pub const RECEIPTED_MESSAGE_ID: Self = Self(0x001E);
    /// The reference that joins the segments of a message: two octets (5.3.2.22).
    pub const SAR_MSG_REF_NUM: Self = Self(0x020C);
    /// How many segments the message has: one octet (5.3.2.23).
    pub const SAR_TOTAL_SEGMENTS: Self = Self(0x020E);
    /// Which segment this is, from 1: one octet (5.3.2.24).
    pub const SAR_SEGMENT_SEQNUM: Self = Self(0x020F);
    /// The SMSC's protocol version: one octet (5.3.2.25).
    pub const SC_INTERFACE_VERSION: Self = Self(0x0210);
    /// The network's error: one octet for the network type, two for the code (5.3.2.31).
    pub const NETWORK_ERROR_CODE: Self = Self(0x0423);
    /// The user data, up to 64 KiB (5.3.2.32).
    pub const MESSAGE_PAYLOAD: Self = Self(0x0424);
    /// The state of the message: one octet (5.3.2.35).
    pub const MESSAGE_STATE: Self = Self(0x0427);
}

impl fmt::Debug for Tag {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{:#06x}", self.0)
    }
}

/// One optional parameter of a PDU.
#[derive(Clone, PartialEq, Eq)]
pub struct Tlv {
    /// What the value means. Tags 0x1400 to 0x3FFF are the SMSC's own (5.3.1).
    pub tag: Tag,
    /// Its octets; strings should end with a zero, but not all SMSCs send it.
    pub value: Bytes,
}

impl fmt::Debug for Tlv {
    /// Leaves out the octets, because they may be the text of a message.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{:?} of {} octets", self.tag, self.value.len())
    }
}

/// The TLVs of a PDU, in order.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Tlvs(Vec<Tlv>);

impl Tlvs {
    /// Adds a TLV at the end.
    #[must_use]
    pub fn with(mut self, tag: Tag, value: impl Into<Bytes>) -> Self {
        self.0.push(Tlv { tag, value: value.into() });
        self
    }

    /// The first value with this tag.
    pub fn find(&self, tag: Tag) -> Option<&Bytes> {
        self.0.iter().find(|tlv| tlv.tag == tag).map(|tlv| &tlv.value)
    }

    /// The first value with this tag as an unsigned integer of one to four octets.
    pub fn number(&self, tag: Tag) -> Option<u32> {
        let value = self.find(tag)?;
        let fits = (1..=4).contains(&value.len());
        fits.then(|| value.iter().fold(0, |number, octet| number << 8 | u32::from(*octet)))
    }

    /// The first value with this tag as a string, without its terminating zero.
    pub fn text(&self, tag: Tag) -> Option<String> {
        let value = self.find(tag)?;
        let end = value.iter().position(|octet| *octet == 0).unwrap_or(value.len());
        Some(String::from_utf8_lossy(&value[..end]).into_owned())
    }

    /// All TLVs, in order.
    pub fn iter(&self) -> impl Iterator<Item = &Tlv> {
        self.0.iter()
    }
}

impl FromIterator<Tlv> for Tlvs {
    fn from_iter<I: IntoIterator<Item = Tlv>>(tlvs: I) -> Self {
        Self(tlvs.into_iter().collect())
    }
}
