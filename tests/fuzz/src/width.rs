//! How much room each character takes in a segment, counted apart from the program's own code.

use sms_core::text::Encoding;

/// 3GPP TS 23.038, 6.2.1, but for the escape.
const ONE_SEPTET: &str = concat!(
    "@£$¥èéùìòÇ\nØø\rÅåΔ_ΦΓΛΩΠΨΣΘΞÆæßÉ !\"#¤%&'()*+,-./0123456789:;<=>?",
    "¡ABCDEFGHIJKLMNOPQRSTUVWXYZÄÖÑÜ§¿abcdefghijklmnopqrstuvwxyzäöñüà"
);
const TWO_SEPTETS: &str = "\u{c}^{}\\[~]|€";

/// Units of each character, and how many fit a part that is alone and one that is not.
pub(crate) fn widths(text: &str) -> (Encoding, Vec<usize>, usize, usize) {
    let wide = |c: char| TWO_SEPTETS.contains(c);
    if text.chars().all(|c| ONE_SEPTET.contains(c) || wide(c)) {
        let widths = text.chars().map(|c| 1 + usize::from(wide(c))).collect();
        (Encoding::Gsm7, widths, 160, 153)
    } else {
        let widths = text.chars().map(|c| 1 + usize::from(c > '\u{FFFF}')).collect();
        (Encoding::Ucs2, widths, 70, 67)
    }
}
