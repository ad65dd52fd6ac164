//! A file that travels with a page in few bytes, because the server keeps nothing of an import.

use std::io::{self, Cursor, Read as _, Write as _};

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use bytes::Bytes;
use flate2::Compression;
use flate2::read::ZlibDecoder;
use flate2::write::ZlibEncoder;

/// The most bytes that one is unpacked to: all that an import may bring, with what is wrong beside
/// each row.
const MOST_BYTES: usize = 16 << 20;
/// How many bytes are unpacked at once.
const PIECE: usize = 16 << 10;

/// Packs a file into the value of a field.
pub(super) fn packed(file: &[u8]) -> io::Result<String> {
    let mut encoder = ZlibEncoder::new(Vec::new(), Compression::default());
    encoder.write_all(file)?;
    Ok(STANDARD.encode(encoder.finish()?))
}

/// A packed file, which is unpacked piece by piece as its reader takes them: a few bytes may become
/// many. It ends with an error where data follows that was not packed here.
pub(super) struct Unpacking {
    decoder: ZlibDecoder<Cursor<Vec<u8>>>,
    /// What was unpacked before it was known to be a file.
    first: Option<Bytes>,
    /// How many bytes have come.
    came: usize,
    is_over: bool,
}

impl Unpacking {
    /// Begins to unpack; `None` for what was not packed here.
    pub(super) fn of(value: &str) -> Option<Self> {
        let packed = Cursor::new(STANDARD.decode(value).ok()?);
        let decoder = ZlibDecoder::new(packed);
        let mut unpacking = Self { decoder, first: None, came: 0, is_over: false };
        unpacking.first = Some(unpacking.piece().ok()?);
        Some(unpacking)
    }

    /// The next piece; empty at the end.
    fn piece(&mut self) -> io::Result<Bytes> {
        let mut piece = vec![0; PIECE];
        let mut length = 0;
        while length < PIECE {
            match self.decoder.read(&mut piece[length..])? {
                0 => break,
                read => length += read,
            }
        }
        self.came += length;
        if self.came > MOST_BYTES {
            return Err(io::Error::other("this is more than a file of an import can be"));
        }
        piece.truncate(length);
        Ok(piece.into())
    }
}

impl Iterator for Unpacking {
    type Item = io::Result<Bytes>;

    fn next(&mut self) -> Option<io::Result<Bytes>> {
        if self.is_over {
            return None;
        }
        let piece = self.first.take().map_or_else(|| self.piece(), Ok);
        self.is_over = piece.as_ref().is_ok_and(Bytes::is_empty) || piece.is_err();
        piece.map(|piece| (!piece.is_empty()).then_some(piece)).transpose()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn unpacked(value: &str) -> Option<io::Result<Vec<u8>>> {
        let pieces: io::Result<Vec<Bytes>> = Unpacking::of(value)?.collect();
        Some(pieces.map(|pieces| pieces.concat()))
    }

    #[test]
    fn a_file_comes_back_as_it_was() {
        for file in ["", "phone,name\r\n0123,é\r\n", &"0123,Front desk\r\n".repeat(20_000)] {
            let packed = packed(file.as_bytes()).unwrap();
            // What does not get smaller grows by a header, and by a third in Base64.
            assert!(packed.len() <= 24 + file.len() * 4 / 3, "{} letters", packed.len());
            assert_eq!(unpacked(&packed).unwrap().unwrap(), file.as_bytes());
        }
    }

    #[test]
    fn invalid_and_oversized_packed_files_are_refused_or_cut() {
        for value in ["", "?", "AAAA"] {
            assert!(unpacked(value).is_none(), "{value}");
        }
        let bomb = packed(&vec![0; 17 << 20]).unwrap();
        assert!(bomb.len() < 100_000);
        assert!(unpacked(&bomb).unwrap().is_err());
        let whole = packed("0123,Front desk\r\n".repeat(20_000).as_bytes()).unwrap();
        let broken = STANDARD.decode(whole).unwrap();
        let broken = STANDARD.encode(&broken[..broken.len() - 9]);
        assert!(unpacked(&broken).unwrap().is_err());
    }

    #[test]
    fn a_reader_that_takes_nothing_has_one_piece_unpacked() {
        let mut unpacking = Unpacking::of(&packed(&vec![0; 16 << 20]).unwrap()).unwrap();
        assert_eq!(unpacking.came, PIECE);
        assert_eq!(unpacking.next().unwrap().unwrap().len(), PIECE);
        assert_eq!(unpacking.came, PIECE);
        assert_eq!(unpacking.map(|piece| piece.unwrap().len()).sum::<usize>(), (16 << 20) - PIECE);
    }
}
