//! The text of a file, byte by byte, whatever its encoding.

use std::io::{self, Read};

use encoding_rs::{CoderResult, Decoder};

use crate::encoding::Encoding;

const PORTION: usize = 16 * 1_024;

/// A file, decoded into UTF-8 portion by portion. What is not valid becomes U+FFFD.
pub(crate) struct Letters<R> {
    file: R,
    decoder: Decoder,
    bytes: Box<[u8]>,
    /// Where the bytes begin that are not decoded yet, and where they end.
    undecoded: (usize, usize),
    text: Box<[u8]>,
    /// Where the text begins that is not read yet, and where it ends.
    unread: (usize, usize),
    is_read: bool,
    is_decoded: bool,
}

impl<R: Read> Letters<R> {
    pub(crate) fn new(file: R, encoding: Encoding) -> Self {
        Self {
            file,
            decoder: encoding.coder().new_decoder_with_bom_removal(),
            bytes: vec![0; PORTION].into(),
            undecoded: (0, 0),
            text: vec![0; PORTION].into(),
            unread: (0, 0),
            is_read: false,
            is_decoded: false,
        }
    }

    /// The next byte of the UTF-8, which comes again.
    pub(crate) fn peek(&mut self) -> io::Result<Option<u8>> {
        while self.unread.0 == self.unread.1 {
            if self.is_decoded {
                return Ok(None);
            }
            self.decode()?;
        }
        Ok(Some(self.text[self.unread.0]))
    }

    /// The next byte of the UTF-8.
    pub(crate) fn next(&mut self) -> io::Result<Option<u8>> {
        let next = self.peek()?;
        self.unread.0 += usize::from(next.is_some());
        Ok(next)
    }

    fn decode(&mut self) -> io::Result<()> {
        if self.undecoded.0 == self.undecoded.1 && !self.is_read {
            let count = self.file.read(&mut self.bytes)?;
            self.is_read = count == 0;
            self.undecoded = (0, count);
        }
        let bytes = &self.bytes[self.undecoded.0..self.undecoded.1];
        let (result, read, written, _) =
            self.decoder.decode_to_utf8(bytes, &mut self.text, self.is_read);
        self.undecoded.0 += read;
        self.unread = (0, written);
        self.is_decoded = self.is_read && result == CoderResult::InputEmpty;
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn text(bytes: &[u8], encoding: Encoding) -> String {
        let mut letters = Letters::new(bytes, encoding);
        let mut text = Vec::new();
        while let Some(byte) = letters.next().unwrap() {
            text.push(byte);
        }
        String::from_utf8(text).unwrap()
    }

    #[test]
    fn a_file_is_decoded_over_any_number_of_portions() {
        let long = "ë😀x".repeat(20_000);
        assert_eq!(text(long.as_bytes(), Encoding::Utf8), long);
        let wide: Vec<u8> = long.encode_utf16().flat_map(u16::to_be_bytes).collect();
        assert_eq!(text(&wide, Encoding::Utf16Be), long);
        let narrow = b"Zo\xEB \x80".repeat(9_000);
        assert_eq!(text(&narrow, Encoding::Windows1252), "Zoë €".repeat(9_000));
    }

    #[test]
    fn what_is_not_valid_is_marked_and_the_rest_is_read() {
        assert_eq!(text(b"Zo\xEB!", Encoding::Utf8), "Zo\u{fffd}!");
        assert_eq!(text(b"Zo\xEB", Encoding::Utf8), "Zo\u{fffd}");
        assert_eq!(text(b"\x00Z\x00", Encoding::Utf16Be), "Z\u{fffd}");
        assert_eq!(text(b"\xEF\xBB\xBFZ", Encoding::Utf8), "Z", "the mark is no text");
    }
}
