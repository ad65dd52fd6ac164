//! Fields of a body that an operation does not have. They are ignored, and the header
//! [`UNKNOWN_FIELDS_HEADER`] of the answer names them.
//!
//! A request without such fields pays nothing for this.

use std::fmt::Write;

use poem::http::{HeaderName, HeaderValue};

/// The header that names the ignored fields, separated by commas.
pub const UNKNOWN_FIELDS_HEADER: HeaderName = HeaderName::from_static("x-unknown-fields");

/// The most fields that an answer names.
pub(super) const MOST_NAMED: usize = 20;

/// The most bytes of a name that an answer shows.
const MOST_BYTES: usize = 100;

/// The value of the header for these fields. What a header cannot hold is percent-encoded.
pub(super) fn header_of(fields: &[String]) -> Option<HeaderValue> {
    let names: Vec<String> = fields.iter().map(|field| encoded(field)).collect();
    HeaderValue::from_str(&names.join(", ")).ok()
}

fn encoded(name: &str) -> String {
    let bytes = name.bytes().take(MOST_BYTES);
    bytes.fold(String::new(), |mut text, byte| {
        if byte.is_ascii_graphic() && byte != b',' && byte != b'%' {
            text.push(char::from(byte));
        } else {
            let _ = write!(text, "%{byte:02X}");
        }
        text
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_name_fits_a_header() {
        let header = |names: &[&str]| {
            let names: Vec<String> = names.iter().map(|&name| name.to_owned()).collect();
            header_of(&names).unwrap()
        };
        assert_eq!(header(&["sendr", "rows[3].phonee"]), "sendr, rows[3].phonee");
        assert_eq!(header(&["a,b\r\nc d", "é%"]), "a%2Cb%0D%0Ac%20d, %C3%A9%25");
        assert_eq!(header(&[&"x".repeat(500)]).len(), 100);
    }
}
