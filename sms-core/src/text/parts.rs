//! Counting and cutting a text into parts.
//!
//! A text that does not fit one part is cut into joined ones, each as full as it can be. A
//! character is never cut (3GPP TS 23.040, 9.2.3.24.1), neither an escape pair of GSM-7 nor a
//! surrogate pair, so a part may end a unit early and the number of parts is found by cutting,
//! not by dividing. [`measure`] and [`split`] share the rule; the first makes nothing.

use super::encoding::{Encoding, Segments};
use super::gsm7;

/// What a text takes to send.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Measure {
    /// GSM-7 if every character is in its alphabet, else UCS-2.
    pub encoding: Encoding,
    /// Septets in GSM-7 (two for a character of the extension table), UTF-16 code units in UCS-2.
    pub units: u32,
    /// SMS parts, at least one.
    pub segments: Segments,
}

/// Counts encoding, units and parts of a text. Allocates nothing.
///
/// An empty text counts one part: that is what it takes on the air, and no text is ever free
/// because of a zero here. Whether an empty text may be sent is decided elsewhere.
///
/// ```
/// use sms_core::text::{Encoding, measure};
///
/// let short = measure("Your table is booked for £20.");
/// assert_eq!((short.encoding, short.units, short.segments.get()), (Encoding::Gsm7, 29, 1));
///
/// // 306 septets would fill two parts, but the euro's pair may not be cut.
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

/// Cuts a text into the parts it is sent in, in order; their texts joined are the text. There
/// are as many as [`measure`] counts.
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

/// One part of a text; [`split`] makes them.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Part<'a> {
    text: &'a str,
    encoding: Encoding,
    number: u32,
    total: Segments,
}

impl<'a> Part<'a> {
    /// The characters of this part.
    pub const fn text(&self) -> &'a str {
        self.text
    }

    /// The encoding, the same for all parts of a text.
    pub const fn encoding(&self) -> Encoding {
        self.encoding
    }

    /// Which part this is, from 1.
    pub const fn number(&self) -> u32 {
        self.number
    }

    /// How many parts the text has.
    pub const fn total(&self) -> Segments {
        self.total
    }

    /// What goes to the network. `reference` tells texts to the same number apart and is the same
    /// for all parts of one; a text of one part has no use for it.
    ///
    /// `None` if the text has more than 255 parts, which no header can number.
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

/// A part as the network takes it.
#[derive(Clone, PartialEq, Eq)]
pub struct UserData {
    /// How `payload` is to be read.
    pub encoding: Encoding,
    /// The header that joins the parts; `None` for a text of one.
    pub header: Option<[u8; 6]>,
    /// GSM-7: septets, one a byte, as most SMPP peers want them. UCS-2: UTF-16, big end first.
    pub payload: Vec<u8>,
}

impl UserData {
    /// Header and payload as they travel on the air, septets packed; 140 octets at most.
    pub fn octets(&self) -> Vec<u8> {
        let header = self.header.as_ref().map_or(&[][..], |header| header);
        match self.encoding {
            Encoding::Gsm7 => gsm7::pack_after(header, &self.payload),
            Encoding::Ucs2 => [header, &self.payload].concat(),
        }
    }
}

impl std::fmt::Debug for UserData {
    /// Leaves the payload out: it is somebody's text, and this may end up in a log.
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("UserData")
            .field("encoding", &self.encoding)
            .field("header", &self.header)
            .field("payload_bytes", &self.payload.len())
            .finish()
    }
}

/// The user data header that joins parts, with a reference of eight bits (3GPP TS 23.040,
/// 9.2.3.24.1): length 5, element 0 of length 3, then reference, total and number from 1.
///
/// ```
/// assert_eq!(sms_core::text::concat_udh(0xCC, 2, 1), [0x05, 0x00, 0x03, 0xCC, 0x02, 0x01]);
/// ```
pub const fn concat_udh(reference: u8, total: u8, number: u8) -> [u8; 6] {
    [0x05, 0x00, 0x03, reference, total, number]
}

/// Units of a text, and how many of its characters take two of them.
#[derive(Debug, Clone, Copy)]
struct Count {
    units: usize,
    pairs: usize,
}

fn count_utf16(text: &str) -> Count {
    let mut characters = 0;
    let mut pairs = 0;
    // Counters of a byte let the compiler work on whole vectors; 128 bytes cannot overflow them.
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
    // Without pairs nothing can straddle, and every part but the last is full.
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

/// Where the first joined part of a text ends, in bytes; after one character at least.
///
/// Most of it is counted in blocks, and only its end character by character.
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

/// A beginning of a text that takes `room` code units at most: its length in bytes, and the units.
/// No character takes more units than bytes, so as many bytes as units are left always fit.
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

/// Texts beyond four thousand million units do not reach this program.
fn saturated(count: usize) -> u32 {
    u32::try_from(count).unwrap_or(u32::MAX)
}
