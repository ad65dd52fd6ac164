//! What a unit tells besides its fields: tag, length, value (3.2.4, 5.3).

use std::fmt;

use bytes::Bytes;

/// What a value is about.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Tag(pub u16);

impl Tag {
    /// The peer's id of the text that a receipt is about: a string (5.3.2.12).
    pub const RECEIPTED_MESSAGE_ID: Self = Self(0x001E);
    /// What tells long texts to one number apart: two octets (5.3.2.22).
    pub const SAR_MSG_REF_NUM: Self = Self(0x020C);
    /// How many parts a long text has: one octet (5.3.2.23).
    pub const SAR_TOTAL_SEGMENTS: Self = Self(0x020E);
    /// Which part this is, from 1: one octet (5.3.2.24).
    pub const SAR_SEGMENT_SEQNUM: Self = Self(0x020F);
    /// The version that the peer speaks: one octet (5.3.2.25).
    pub const SC_INTERFACE_VERSION: Self = Self(0x0210);
    /// The network's own error: its kind and two octets (5.3.2.31).
    pub const NETWORK_ERROR_CODE: Self = Self(0x0423);
    /// The octets of a text, up to 64 KiB (5.3.2.32).
    pub const MESSAGE_PAYLOAD: Self = Self(0x0424);
    /// What became of a text: one octet (5.3.2.35).
    pub const MESSAGE_STATE: Self = Self(0x0427);
}

impl fmt::Debug for Tag {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{:#06x}", self.0)
    }
}

/// One value.
#[derive(Clone, PartialEq, Eq)]
pub struct Tlv {
    /// What it is about.
    pub tag: Tag,
    /// Its octets; a string has its closing zero among them, or has not.
    pub value: Bytes,
}

impl fmt::Debug for Tlv {
    /// Leaves the octets out: they may be somebody's words.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{:?} of {} octets", self.tag, self.value.len())
    }
}

/// All values of a unit, in order.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Tlvs(Vec<Tlv>);

impl Tlvs {
    /// Tells one more.
    #[must_use]
    pub fn with(mut self, tag: Tag, value: impl Into<Bytes>) -> Self {
        self.0.push(Tlv { tag, value: value.into() });
        self
    }

    /// The first value under a tag.
    pub fn find(&self, tag: Tag) -> Option<&Bytes> {
        self.0.iter().find(|tlv| tlv.tag == tag).map(|tlv| &tlv.value)
    }

    /// The first value under a tag as a whole number, whatever its width up to four octets.
    pub fn number(&self, tag: Tag) -> Option<u32> {
        let value = self.find(tag)?;
        let fits = (1..=4).contains(&value.len());
        fits.then(|| value.iter().fold(0, |number, octet| number << 8 | u32::from(*octet)))
    }

    /// The first value under a tag as a string, up to its closing zero if it has one.
    pub fn text(&self, tag: Tag) -> Option<String> {
        let value = self.find(tag)?;
        let end = value.iter().position(|octet| *octet == 0).unwrap_or(value.len());
        Some(String::from_utf8_lossy(&value[..end]).into_owned())
    }

    /// All of them.
    pub fn iter(&self) -> impl Iterator<Item = &Tlv> {
        self.0.iter()
    }
}

impl FromIterator<Tlv> for Tlvs {
    fn from_iter<I: IntoIterator<Item = Tlv>>(tlvs: I) -> Self {
        Self(tlvs.into_iter().collect())
    }
}
