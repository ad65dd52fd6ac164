//! Measures a text and cuts it into segments.
//!
//! A text that does not fit in one segment is cut into several, each as full as possible. A
//! character is never cut (3GPP TS 23.040, 9.2.3.24.1), neither an escape pair of GSM-7 nor a
//! surrogate pair. So a segment may end one unit early, and the number of segments follows from
//! cutting, not from dividing. [`measure`] and [`split`] share this rule; [`measure`] allocates
//! nothing.

use super::encoding::{Encoding, Segments};
use super::gsm7;

/// What a text takes to send.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Measure {
    /// GSM-7 if every character is in its alphabet, otherwise UCS-2.
    pub encoding: Encoding,
    /// Septets in GSM-7 (two for a character of the extension table), or UTF-16 code units in
    /// UCS-2.
    pub units: u32,
    /// The number of segments, at least 1.
    pub segments: Segments,
}

/// Measures the encoding, units and segments of a text. Allocates nothing.
///
/// An empty text counts as one segment, because that is what it takes to transmit; so no message is
/// free. Other code decides whether an empty message may be sent.
///
/// ```
/// use sms_core::text::{Encoding, measure};
///
/// let short = measure("Your table is booked for £20.");
/// assert_eq!((short.encoding, short.units, short.segments.get()), (Encoding::Gsm7, 29, 1));
///
/// // 306 septets would fill two segments, but the two septets of the euro stay together.
/// let straddling = format!("{0}€{0}", "a".repeat(152));
/// assert_eq!(measure(&straddling).segments.get(), 3);
/// ```
pub fn measure(text: &str) -> Measure {
    let (encoding, count) = match gsm7::count(text) {
        Some(count) => {
            let count = Count { units: count.septets, pairs: count.extended };
            (Encoding::Gsm7, count)
        }
        None => (Encoding::Ucs2, count_utf16(text)),
    };
    Measure {
        encoding,
        units: saturated(count.units),
        segments: Segments::new(saturated(segments(text, encoding, count))),
    }
}

/// Cuts a text into the segments in which it is sent, in order. Joined, their texts are the
/// original text. Their number is what [`measure`] counts.
///
/// ```
/// use sms_core::text::split;
///
/// let text = format!("{0}👋{0}", "д".repeat(66));
/// let parts = split(&text);
/// let lengths: Vec<usize> = parts.iter().map(|part| part.text().chars().count()).collect();
/// assert_eq!(lengths, [66, 66, 1]);
/// ```
pub fn split(text: &str) -> Vec<Part<'_>> {
    let measured = measure(text);
    let encoding = measured.encoding;
    let total = measured.segments;
    let mut parts = Vec::with_capacity(total.get() as usize);
    let mut rest = text;
    for number in 1..=total.get() {
        let (part, after) =
            if total.get() == 1 { (rest, "") } else { rest.split_at(cut(rest, encoding)) };
        parts.push(Part { text: part, encoding, number, total });
        rest = after;
    }
    parts
}

/// One segment of a text, made by [`split`].
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Part<'a> {
    text: &'a str,
    encoding: Encoding,
    number: u32,
    total: Segments,
}

impl<'a> Part<'a> {
    /// The characters of this segment.
    pub const fn text(&self) -> &'a str {
        self.text
    }

    /// The encoding, the same for all segments of a message.
    pub const fn encoding(&self) -> Encoding {
        self.encoding
    }

    /// The position of this segment in the message, from 1.
    pub const fn number(&self) -> u32 {
        self.number
    }

    /// The number of segments in the message.
    pub const fn total(&self) -> Segments {
        self.total
    }

    /// The data to submit to the network. `reference` distinguishes messages to the same number and
    /// is the same for all segments of one message; a message of one segment does not use it.
    ///
    /// `None` if the message has more than 255 segments, which the header cannot number.
    ///
    /// ```
    /// use sms_core::text::split;
    ///
    /// let text = "a".repeat(161);
    /// let second = split(&text)[1].user_data(0x2A);
    /// let header = second.as_ref().and_then(|data| data.header);
    /// assert_eq!(header, Some([0x05, 0x00, 0x03, 0x2A, 2, 2]));
    /// assert_eq!(second.map(|data| data.payload), Some(vec![0x61; 8]));
    /// ```
    pub fn user_data(&self, reference: u8) -> Option<UserData> {
        let header = if self.total.get() == 1 {
            None
        } else {
            let total = u8::try_from(self.total.get()).ok()?;
            let number = u8::try_from(self.number).ok()?;
            Some(concat_udh(reference, total, number))
        };
        let payload = match self.encoding {
            Encoding::Gsm7 => gsm7::encode(self.text)?,
            Encoding::Ucs2 => self.text.encode_utf16().flat_map(u16::to_be_bytes).collect(),
        };
        Some(UserData { encoding: self.encoding, header, payload })
    }
}

/// A segment as the network takes it.
#[derive(Clone, PartialEq, Eq)]
pub struct UserData {
    /// How to read `payload`.
    pub encoding: Encoding,
    /// The user data header that joins the segments; `None` for a message of one segment.
    pub header: Option<[u8; 6]>,
    /// The characters without the header. In GSM-7: septets, one per byte, as most SMSCs expect
    /// over SMPP. In UCS-2: UTF-16, big-endian.
    pub payload: Vec<u8>,
}

impl UserData {
    /// Header and payload as transmitted, with septets packed; at most 140 octets.
    pub fn octets(&self) -> Vec<u8> {
        let header = self.header.as_ref().map_or(&[][..], |header| header);
        match self.encoding {
            Encoding::Gsm7 => gsm7::pack_after(header, &self.payload),
            Encoding::Ucs2 => [header, &self.payload].concat(),
        }
    }
}

impl std::fmt::Debug for UserData {
    /// Omits the payload, which holds a customer's text and must not reach a log.
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("UserData")
            .field("encoding", &self.encoding)
            .field("header", &self.header)
            .field("payload_bytes", &self.payload.len())
            .finish()
    }
}

/// The user data header that joins segments, with an 8-bit reference (3GPP TS 23.040, 9.2.3.24.1):
/// length 5, information element 0 of length 3, then reference, total and number. `number` starts
/// at 1.
///
/// ```
/// assert_eq!(sms_core::text::concat_udh(0xCC, 2, 1), [0x05, 0x00, 0x03, 0xCC, 0x02, 0x01]);
/// ```
pub const fn concat_udh(reference: u8, total: u8, number: u8) -> [u8; 6] {
    [0x05, 0x00, 0x03, reference, total, number]
}

/// The units of a text, and how many of its characters take two units.
#[derive(Debug, Clone, Copy)]
struct Count {
    units: usize,
    pairs: usize,
}

fn count_utf16(text: &str) -> Count {
    let mut characters = 0;
    let mut pairs = 0;
    // One-byte counters let the compiler use vectors; 128 bytes cannot overflow them.
    for block in text.as_bytes().chunks(128) {
        let mut starts = 0_u8;
        let mut four_byte_starts = 0_u8;
        for &byte in block {
            starts += u8::from(byte & 0xC0 != 0x80);
            four_byte_starts += u8::from(byte >= 0xF0);
        }
        characters += usize::from(starts);
        pairs += usize::from(four_byte_starts);
    }
    Count { units: characters + pairs, pairs }
}

fn segments(text: &str, encoding: Encoding, count: Count) -> usize {
    if count.units <= encoding.single_units() as usize {
        return 1;
    }
    // Without pairs nothing can straddle a boundary, and every segment but the last is full.
    if count.pairs == 0 {
        return count.units.div_ceil(encoding.joined_units() as usize);
    }
    let mut parts = 0;
    let mut rest = text;
    while !rest.is_empty() {
        rest = &rest[cut(rest, encoding)..];
        parts += 1;
    }
    parts
}

/// Where the first segment of a long text ends, in bytes; after at least one character.
///
/// Most of it is counted in blocks, and only the end character by character.
fn cut(text: &str, encoding: Encoding) -> usize {
    let room = encoding.joined_units() as usize;
    let (whole, mut used) = match encoding {
        Encoding::Gsm7 => gsm7::beginning(text, room),
        Encoding::Ucs2 => utf16_beginning(text, room),
    };
    for (at, c) in text[whole..].char_indices() {
        used += match encoding {
            Encoding::Gsm7 => gsm7::width(c).unwrap_or(1),
            Encoding::Ucs2 => c.len_utf16(),
        };
        if used > room {
            return whole + at;
        }
    }
    text.len()
}

/// The start of a text that takes at most `room` code units: its length in bytes, and its units. A
/// character takes at most as many units as bytes, so that as many bytes as units remain always
/// fit.
fn utf16_beginning(text: &str, room: usize) -> (usize, usize) {
    let (mut length, mut units) = (0, 0);
    while room - units > 8 {
        let more = &text[length..text.floor_char_boundary(length + room - units)];
        if more.is_empty() {
            break;
        }
        length += more.len();
        units += count_utf16(more).units;
    }
    (length, units)
}

/// Texts of more than 2^32 - 1 units do not reach this program.
fn saturated(count: usize) -> u32 {
    u32::try_from(count).unwrap_or(u32::MAX)
}
