//! What a cell says, behind the signs by which spreadsheets keep a number as text.

use sms_core::text::is_invisible;

/// What is said of a number of which digits are lost.
pub(crate) const ROUNDED: &str =
    "Excel rounded this number: format the column as text and export again";

/// The sign before a cell that says: this is text. People type any of these.
const TEXT_SIGNS: [char; 3] = ['\'', '\u{2018}', '\u{2019}'];

/// The text of a cell: `="07700 900123"` and `'07700 900123` are numbers that were kept as text.
/// Names such as `'t Hart` keep their sign.
pub(crate) fn plain(cell: &str) -> &str {
    let mut cell = cell;
    // A cell of many nested signs must not affect anything beyond the cell.
    loop {
        let trimmed = cell.trim();
        let quoted = trimmed.strip_prefix("=\"").and_then(|rest| rest.strip_suffix('"'));
        let signed = || trimmed.strip_prefix(TEXT_SIGNS).filter(|rest| is_marked(rest));
        match quoted.or_else(signed) {
            Some(text) => cell = text,
            None => return cell,
        }
    }
}

/// Whether a text is one that a sign is put before: a number, or what would run as a formula.
fn is_marked(text: &str) -> bool {
    let is_of_number = |c: char| c.is_ascii_digit() || " +()-./\u{a0}".contains(c);
    let is_number = text.chars().all(is_of_number) && text.contains(|c: char| c.is_ascii_digit());
    is_number || text.starts_with(['=', '+', '-', '@', '\t', '\r'])
}

/// The phone number that a cell has, as people write it. Programs write numbers as decimals
/// (`447700900123.0`), with exponents (`4.47700900123E+11`) and as links (`tel:+447700900123`).
///
/// # Errors
///
/// [`ROUNDED`] if digits are lost.
pub(crate) fn number(cell: &str) -> Result<String, &'static str> {
    let cell = bare(bare(cell).trim_start_matches(TEXT_SIGNS));
    let cell = match cell.split_at_checked(4) {
        Some((scheme, rest)) if scheme.eq_ignore_ascii_case("tel:") => bare(rest),
        _ => cell,
    };
    if let Some(number) = with_exponent(cell) {
        return number.ok_or(ROUNDED);
    }
    let whole = match cell.split_once(['.', ',']) {
        Some((whole, zeros)) if is_digits(zeros) && zeros.bytes().all(|b| b == b'0') => whole,
        _ => cell,
    };
    if !is_digits(whole.strip_prefix('+').unwrap_or(whole)) {
        return Ok(cell.to_owned());
    }
    if is_rounded(whole) {
        return Err(ROUNDED);
    }
    Ok(whole.to_owned())
}

/// A text without the invisible characters at its ends.
fn bare(text: &str) -> &str {
    text.trim_matches(|c: char| c.is_whitespace() || is_invisible(c))
}

fn is_digits(text: &str) -> bool {
    !text.is_empty() && text.bytes().all(|byte| byte.is_ascii_digit())
}

/// Whether these digits are what is left of an international number that Excel showed as
/// `4.47701E+11`.
fn is_rounded(digits: &str) -> bool {
    digits.len() == 12 && digits.starts_with("44") && digits.ends_with("000000")
}

/// The digits of a number such as `4.47701E+11`; `Some(None)` if it does not have them all, `None`
/// if it is not of this form.
#[expect(clippy::option_option, reason = "said in the line above")]
fn with_exponent(cell: &str) -> Option<Option<String>> {
    let (mantissa, exponent) = cell.split_once(['e', 'E'])?;
    let exponent = exponent.strip_prefix('+').unwrap_or(exponent);
    let mantissa = mantissa.strip_prefix('+').unwrap_or(mantissa);
    let (whole, decimals) = mantissa.split_once(['.', ',']).unwrap_or((mantissa, ""));
    let has_form = is_digits(whole) && (decimals.is_empty() || is_digits(decimals));
    if !has_form || !is_digits(exponent) {
        return None;
    }
    let digits = format!("{whole}{decimals}");
    let is_exact = exponent.parse() == Ok(decimals.len()) && !is_rounded(&digits);
    Some(is_exact.then_some(digits))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn signs_within_each_other_take_no_more_than_their_cell() {
        let deep = format!("{}07700900123{}", "=\"".repeat(30_000), "\"".repeat(30_000));
        assert_eq!(plain(&deep), "07700900123");
    }

    #[test]
    fn the_signs_that_keep_a_number_as_text_are_taken_off() {
        for (cell, text) in [
            ("'07700900123", "07700900123"),
            (" '07700 900123", "07700 900123"),
            ("\u{2019}07700 900123", "07700 900123"),
            ("'+44 (0)7700 900123", "+44 (0)7700 900123"),
            ("=\"07700900123\"", "07700900123"),
            ("=\"'07700900123\"", "07700900123"),
            ("'=\"07700900123\"", "07700900123"),
            ("=\"Ann\"", "Ann"),
            ("'=1+1", "=1+1"),
            ("'-x", "-x"),
            ("'t Hart", "'t Hart"),
            ("'", "'"),
            ("=\"", "=\""),
            ("=A1", "=A1"),
            (" Ann ", " Ann "),
            ("", ""),
        ] {
            assert_eq!(plain(cell), text, "{cell}");
        }
    }

    #[test]
    fn a_number_is_read_in_the_forms_of_spreadsheets_and_programs() {
        for (cell, digits) in [
            ("07700 900123", "07700 900123"),
            ("447700900123", "447700900123"),
            ("447700900123.0", "447700900123"),
            ("7700900123.00", "7700900123"),
            ("4.47700900123E+11", "447700900123"),
            ("4,47700900123e11", "447700900123"),
            ("07700.900.123", "07700.900.123"),
            ("+447701000000", "+447701000000"),
            ("0044 7700 900123", "0044 7700 900123"),
            ("none", "none"),
            ("", ""),
        ] {
            assert_eq!(number(cell).as_deref(), Ok(digits), "{cell}");
        }
    }

    #[test]
    fn a_number_that_was_rounded_is_refused() {
        for cell in [
            "4.47701E+11",
            "4,47701E+11",
            "+4.47701E+11",
            " 4.47701e+11 ",
            "4.47701E11",
            "4.5E+11",
            "4E+11",
            "7.7009E+09",
            "447.701E+09",
            "4.4770090012E+11",
            "4.47701000000E+11",
            "447701000000",
            "447701000000.0",
        ] {
            assert_eq!(number(cell), Err(ROUNDED), "{cell}");
        }
    }
}
