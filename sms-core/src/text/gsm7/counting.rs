//! Counts septets without producing them, one block of bytes at a time.
//!
//! Each byte of a character, together with the byte before it, decides whether the character is in
//! the alphabet. So a block is counted by looking up pairs of bytes, without a branch between them:
//! a branch on every `é` would cost more than everything else. Blocks of plain ASCII, which are
//! nearly all blocks, are classified by comparisons alone, which compilers turn into vector
//! instructions.

use super::alphabet::{BASIC, ESCAPE, EXTENSION};

/// The septets of a text.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(in crate::text) struct Count {
    /// All septets; a character of the extension table counts two.
    pub(in crate::text) septets: usize,
    /// Characters that take two septets.
    pub(in crate::text) extended: usize,
}

impl Count {
    fn with(self, more: Self) -> Self {
        let septets = self.septets + more.septets;
        Self { septets, extended: self.extended + more.extended }
    }
}

/// Counts the septets of a text without producing them. `None` if a character is not in the
/// alphabet.
pub(in crate::text) fn count(text: &str) -> Option<Count> {
    let (blocks, rest) = text.as_bytes().as_chunks::<BLOCK>();
    let mut total = Count::default();
    let mut before = &NOTHING;
    for block in blocks {
        total = total.with(count_block(before, block)?);
        before = block;
    }
    if !rest.is_empty() {
        total = total.with(count_block(before, &padded(rest))?);
        total.septets -= BLOCK - rest.len();
    }
    Some(total)
}

/// The start of a text that takes at most `room` septets: its length in bytes, and its septets. It
/// ends at a character boundary, before any character that is not in the alphabet, and less than
/// one block before `room` is full.
pub(in crate::text) fn beginning(text: &str, room: usize) -> (usize, usize) {
    let mut before = &NOTHING;
    let mut septets = 0;
    let mut length = 0;
    for block in text.as_bytes().as_chunks::<BLOCK>().0 {
        match count_block(before, block) {
            Some(counted) if septets + counted.septets <= room => septets += counted.septets,
            _ => break,
        }
        length += BLOCK;
        before = block;
    }
    // A character that the last block cuts is not counted yet: its last byte counts it.
    (text.floor_char_boundary(length), septets)
}

/// Counts a block that follows `before`. `None` if a character is not in the alphabet.
#[inline]
fn count_block(before: &[u8; BLOCK], block: &[u8; BLOCK]) -> Option<Count> {
    match extended_in_plain(block) {
        Some(extended) => Some(Count { septets: BLOCK + extended, extended }),
        None => count_mixed(before[BLOCK - 1], block),
    }
}

#[inline(never)]
fn count_mixed(mut before: u8, block: &[u8; BLOCK]) -> Option<Count> {
    let mut sum = 0;
    for &byte in block {
        let row = AFTER[usize::from(before)];
        sum += ADDS[usize::from(row)][usize::from(byte)];
        before = byte;
    }
    let [septets, extended, foreign, _] = sum.to_le_bytes();
    let (septets, extended) = (usize::from(septets), usize::from(extended));
    (foreign == 0).then_some(Count { septets, extended })
}

/// Stands before the first block of a text.
const NOTHING: [u8; BLOCK] = [b' '; BLOCK];

/// The number of bytes counted at once: twice the width of a vector, and few enough that 64
/// septets, 32 characters of two septets and 32 foreign bytes each fit one byte of a sum of
/// [`ADDS`].
const BLOCK: usize = 32;

/// What a byte adds to the sum of a block. The first byte of the sum counts septets, the second
/// counts characters of two septets, and the third counts bytes that are not in the alphabet at
/// that place.
const SEPTET: u32 = 1;
const PAIR: u32 = 2 + (1 << 8);
const FOREIGN: u32 = 1 << 16;

/// The bytes that may precede a byte of 0x80 or more in a text of the alphabet, by row of [`ADDS`].
/// Row 0 stands for all other bytes. `£` to `ü` start with the first two, Greek letters with the
/// third. The last two belong to the euro sign, the only character of three bytes.
const ROWS: [u8; 6] = [0, 0xC2, 0xC3, 0xCE, 0xE2, 0x82];

/// The rows of bytes that start a character.
const LEADS: std::ops::RangeInclusive<usize> = 1..=4;

/// The row of [`ADDS`] that applies after a given byte.
static AFTER: [u8; 256] = after();

/// What a byte adds, by row. The first and middle bytes of a character add nothing; its last byte
/// adds its septets. This relies on valid UTF-8: only then does a byte that ends a character end
/// one that started as its row says.
static ADDS: [[u32; 256]; ROWS.len()] = adds();

const fn after() -> [u8; 256] {
    let mut rows = [0; 256];
    let mut row = 1_u8;
    while (row as usize) < ROWS.len() {
        rows[ROWS[row as usize] as usize] = row;
        row += 1;
    }
    rows
}

const fn adds() -> [[u32; 256]; ROWS.len()] {
    let mut adds = [[FOREIGN; 256]; ROWS.len()];
    let mut row = 0;
    while row < ROWS.len() {
        let mut lead = *LEADS.start();
        while lead <= *LEADS.end() {
            adds[row][ROWS[lead] as usize] = 0;
            lead += 1;
        }
        row += 1;
    }
    let mut code = 0;
    while code < BASIC.len() {
        if code != ESCAPE as usize {
            adds = with(adds, BASIC[code], SEPTET);
        }
        code += 1;
    }
    let mut row = 0;
    while row < EXTENSION.len() {
        adds = with(adds, EXTENSION[row].1, PAIR);
        row += 1;
    }
    adds
}

/// The table with one more character: its last byte adds `septets`, the bytes before it add
/// nothing.
const fn with(
    mut adds: [[u32; 256]; ROWS.len()],
    c: char,
    septets: u32,
) -> [[u32; 256]; ROWS.len()] {
    let mut bytes = [0; 4];
    let length = c.encode_utf8(&mut bytes).len();
    let mut at = 1;
    while at < length {
        let row = AFTER[bytes[at - 1] as usize] as usize;
        assert!(row != 0, "a byte that begins a character of the alphabet has a row");
        adds[row][bytes[at] as usize] = if at + 1 == length { septets } else { 0 };
        at += 1;
    }
    if length == 1 {
        let mut row = 0;
        while row < ROWS.len() {
            adds[row][bytes[0] as usize] = septets;
            row += 1;
        }
    }
    adds
}

/// The last bytes of a text, padded with spaces, which take one septet each. A block of fixed
/// length saves the loop over it a slow end.
fn padded(rest: &[u8]) -> [u8; BLOCK] {
    let mut block = NOTHING;
    for (to, from) in block.iter_mut().zip(rest) {
        *to = *from;
    }
    block
}

/// How many characters of a plain block take two septets. A block is plain if it holds only
/// printable ASCII without the backtick, and line ends. `None` if the block is not plain; the other
/// characters may still be in the alphabet.
///
/// Truth values are kept as 0 and 1 in bytes and combined without branches, so that the loop
/// becomes vector instructions.
fn extended_in_plain(block: &[u8; BLOCK]) -> Option<usize> {
    let mut other = 0_u8;
    let mut extended = 0_u8;
    for byte in *block {
        let printable = u8::from(byte.wrapping_sub(b' ') < 0x5F);
        let line_end = u8::from(byte == b'\n') | u8::from(byte == b'\r');
        let backtick = u8::from(byte == b'`');
        other |= (printable | line_end) ^ 1 | backtick;
        // `[ \ ] ^` and `{ | } ~` are two runs of four, 0x20 apart.
        extended += u8::from((byte & 0xDF).wrapping_sub(b'[') < 4);
    }
    (other == 0).then_some(usize::from(extended))
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::super::{encode, width};
    use super::*;

    #[test]
    fn every_character_counts_as_its_table_says_at_every_position() {
        for c in char::MIN..=char::MAX {
            let expected = width(c).map(|septets| (septets, septets - 1));
            for place in [0, BLOCK - 2] {
                let text = format!("{}{c}", "a".repeat(place));
                let counted = count(&text).map(|count| (count.septets - place, count.extended));
                assert_eq!(counted, expected, "{c:?} at {place}");
            }
        }
    }

    #[test]
    fn a_block_full_of_pairs_is_counted() {
        for c in ['~', '€', '\u{C}'] {
            let text = c.to_string().repeat(3 * BLOCK);
            let septets = 6 * BLOCK;
            assert_eq!(count(&text), Some(Count { septets, extended: septets / 2 }), "{c:?}");
        }
        assert_eq!(count(&"\u{7f}".repeat(BLOCK)), None, "a sum holds a whole block of them");
    }

    #[test]
    fn comparisons_agree_with_the_tables_for_every_byte() {
        for byte in 0..=0xFF_u8 {
            let ascii = Some(char::from(byte)).filter(char::is_ascii);
            // The form feed is rare, so the table handles it.
            let expected = ascii.filter(|&c| c != '\u{C}').and_then(width);
            for place in [0, 1, BLOCK - 1] {
                let mut block = [b'a'; BLOCK];
                block[place] = byte;
                let septets = extended_in_plain(&block).map(|extended| extended + 1);
                assert_eq!(septets, expected, "{byte:#x} at {place}");
            }
        }
        assert_eq!(extended_in_plain(&[b'~'; BLOCK]), Some(BLOCK));
    }

    proptest! {
        #[test]
        fn counting_agrees_with_encoding(text in "[ -~£€éΔ\n\u{c}]{0,120}[`д👋\u{c}€]{0,1}") {
            let counted = count(&text).map(|total| total.septets);
            prop_assert_eq!(counted, encode(&text).map(|septets| septets.len()));
        }

        #[test]
        fn the_counted_start_of_a_text_is_as_long_as_possible(
            text in "[ -_a-~£€éΔ\n]{0,200}", room in 0..200_usize,
        ) {
            let (length, septets) = beginning(&text, room);
            prop_assert!(septets <= room);
            let (whole, rest) = text.split_at(length);
            prop_assert_eq!(count(whole).map(|count| count.septets), Some(septets));
            let more = rest.chars().take(BLOCK).filter_map(width).sum::<usize>();
            prop_assert!(rest.len() < BLOCK + 4 || septets + more > room);
        }
    }
}
