//! A file that travels with a page in few bytes, because the server keeps nothing of an import.

use std::io::{self, Read as _, Write as _};

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use flate2::Compression;
use flate2::read::ZlibDecoder;
use flate2::write::ZlibEncoder;

/// The most bytes that one is unpacked to: all that an import may bring, with what is wrong beside
/// each row.
const MOST_BYTES: u64 = 16 << 20;

/// Packs a file into the value of a field.
pub(super) fn packed(file: &[u8]) -> io::Result<String> {
    let mut encoder = ZlibEncoder::new(Vec::new(), Compression::default());
    encoder.write_all(file)?;
    Ok(STANDARD.encode(encoder.finish()?))
}

/// Unpacks it again; `None` for what was not packed here.
pub(super) fn unpacked(value: &str) -> Option<Vec<u8>> {
    let packed = STANDARD.decode(value).ok()?;
    let mut file = Vec::new();
    let mut decoder = ZlibDecoder::new(&*packed).take(MOST_BYTES + 1);
    let length = decoder.read_to_end(&mut file).ok()?;
    (length as u64 <= MOST_BYTES).then_some(file)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_file_comes_back_as_it_was() {
        for file in ["", "phone,name\r\n0123,é\r\n", &"0123,Front desk\r\n".repeat(20_000)] {
            let packed = packed(file.as_bytes()).unwrap();
            // What does not get smaller grows by a header, and by a third in Base64.
            assert!(packed.len() <= 24 + file.len() * 4 / 3, "{} letters", packed.len());
            assert_eq!(unpacked(&packed).unwrap(), file.as_bytes());
        }
    }

    #[test]
    fn invalid_and_oversized_packed_files_are_refused() {
        let bomb = packed(&vec![0; 17 << 20]).unwrap();
        assert!(bomb.len() < 100_000);
        for value in ["", "?", "AAAA", &bomb] {
            assert_eq!(unpacked(value), None, "{} letters", value.len());
        }
    }
}
