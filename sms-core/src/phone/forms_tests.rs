//! Tests of the written forms: how people type a mobile number, and what is not a number.

use proptest::prelude::*;

use super::*;

#[test]
fn every_accepted_form_gives_the_same_number() {
    let expected: E164 = "+447700900123".parse().unwrap();
    for text in [
        "07700900123",
        "07700 900123",
        "07700-900-123",
        "(07700) 900123",
        "(07700)900123",
        "07700.900.123",
        "07700\t900123",
        "07700  900 123",
        "07700 - 900123",
        "(0)7700 900123",
        "(07700 900123)",
        "7700900123",
        "7700 900 123",
        "(7700) 900123",
        "+447700900123",
        "+44 7700 900123",
        "+44 (0)7700 900123",
        "+44(0)7700900123",
        "+44 (0) 7700 900123",
        "+44 0 7700 900123",
        "+4407700900123",
        "(+44) 7700 900123",
        "(+44)(0)7700 900123",
        "+(44) 7700 900123",
        "+ 44 7700 900123",
        "+44-7700-900-123",
        "+44.7700.900123",
        "+44 (7700) 900 123",
        "+44-(0)-7700-900123",
        "00447700900123",
        "0044 7700 900123",
        "00 44 7700 900123",
        "(0044) 7700 900123",
        "0044 (0)7700 900123",
        "00 44 (0) 7700 900 123",
        "004407700900123",
        "447700900123",
        "44 7700 900123",
        "44 (0)7700 900123",
        "4407700900123",
        " 07700 900123 ",
        "\n07700 900123\r\n",
        "\u{feff}07700 900123",
        "\u{200b}\t\t+44 (0)7700 900 123\u{feff} \r\n",
        "07700\u{a0}900123",
        "07700\u{202f}900\u{2009}123",
        "\u{202a}+44 7700 900123\u{202c}",
        "077\u{200b}00900123",
        "07700\u{2011}900\u{2011}123",
        "07700\u{2013}900123",
        "07700 \u{2014} 900123",
        "07700\u{2212}900123",
        "０７７００９００１２３",
        "＋４４ ７７００ ９００１２３",
        "＋４４（０）７７００－９００１２３",
        "07700\u{3000}900123",
        "07700\u{ad}900123",
    ] {
        assert_eq!(parse_uk_mobile(text), Ok(expected), "{text:?}");
        assert_eq!(parse_any(text), Ok(expected), "{text:?}");
    }
}

#[test]
fn text_that_is_not_a_number_is_invalid() {
    for text in [
        "",
        " ",
        "\u{200b}",
        "+",
        "()",
        "(",
        ")",
        "-",
        ".",
        "(+)",
        "hello",
        "ALPHANUM3R1C",
        "07\";DROP TABLE;\"",
        "07700x900123",
        "07700 90O123",
        "call 07700 900123",
        "tel:+447700900123",
        "07700 900123 ext 1",
        "07700900123x1",
        "07700900123#",
        "*07700900123",
        "07700/900123",
        "07700,900123",
        "07700;900123",
        "07700_900123",
        "~447700900123",
        "٠٧٧٠٠٩٠٠١٢٣",
        "07700 900123 👋",
        "{phone}",
        "07700 900\u{301}123",
        "null",
        "1e10",
    ] {
        assert_eq!(parse_uk_mobile(text), Err(PhoneRefused::Invalid), "{text:?}");
    }
}

#[test]
fn punctuation_out_of_place_is_invalid() {
    for text in [
        // Marks at the ends, and more than one between two digits.
        "07700 900123...",
        "07700 900123…",
        "07700 900123.",
        "07700900123-",
        "...07700 900123",
        ".07700900123",
        "-07700900123",
        "07700..900123",
        "07700--900123",
        "07700-.900123",
        "07700 . - 900123",
        // Brackets that do not pair, are nested, or are empty.
        "(07700 900123",
        "07700) 900123",
        "07700 900123)",
        "((07700) 900123",
        "((07700)) 900123",
        ")07700( 900123",
        "07700 () 900123",
        "(-07700) 900123",
        "(07700-) 900123",
        "07700 900123 (",
        "[07700] 900123",
        // A plus anywhere but first, or without its code.
        "++447700900123",
        "+44+7700900123",
        "07700+900123",
        "07700900123+",
        "0+447700900123",
        "00+447700900123",
        "+",
        "+-447700900123",
        "-+447700900123",
        "(+)447700900123",
        "+07700900123",
        "+00447700900123",
        "000447700900123",
        "+7700900123",
        "044 7700 900123",
        // A bracketed zero that is not in the place of the trunk zero.
        "+44 7700 (0) 900123",
        "+44 77(0)0 900123",
        "+44 07700 9(0)0123",
        "07700 (0) 90123",
        "(0)(0)7700900123",
        "+44 (0)(0)7700900123",
        "+44 (0)07700900123",
        "+44 (00)7700900123",
        "(0)0447700900123",
        "+(0)447700900123",
        "7(0)0 900 1234",
        // Two numbers, or one number broken over two lines.
        "07700 900123 07700 900124",
        "07700 900123\n07700 900124",
        "07700\n900123",
        "07700\r\n900123",
        "07700\u{2028}900123",
    ] {
        assert_eq!(parse_uk_mobile(text), Err(PhoneRefused::Invalid), "{text:?}");
    }
}

#[test]
fn endless_input_is_refused_without_reading_it_all() {
    assert!(parse_any(&"0".repeat(1_000_000)).is_err());
    assert!(parse_any(&"(".repeat(1_000_000)).is_err());
    let padded = format!("{}07700900123{}", " ".repeat(10_000), "\u{200b}".repeat(10_000));
    assert!(parse_uk_mobile(&padded).is_ok());
}

/// A digit in one of its two shapes, plain or full-width.
fn shaped(digit: char, shape: Shape) -> char {
    match shape {
        Shape::Ascii => digit,
        Shape::FullWidth => char::from_u32(u32::from(digit) - u32::from('0') + 0xFF10).unwrap(),
    }
}

#[derive(Debug, Clone, Copy)]
enum Shape {
    Ascii,
    FullWidth,
}

const PREFIXES: &[&str] = &[
    "0",
    "(0)",
    "",
    "+44",
    "+44 ",
    "+44 (0)",
    "+44(0) ",
    "(+44) ",
    "(+44)(0)",
    "+44 0",
    "0044",
    "00 44 ",
    "(0044) (0)",
    "44",
    "44 (0)",
    "＋44",
];

const GAPS: &[&str] = &[
    "",
    "",
    "",
    " ",
    "-",
    ".",
    "\t",
    " - ",
    "\u{a0}",
    "\u{200b}",
    "\u{2011}",
    "\u{2013}",
    "\u{feff}",
    "\u{202f}.",
    "\u{2060}",
];

const ENDS: &[&str] = &["", "", " ", "\t", "\r\n", "\u{feff}", "\u{200b} ", "\u{a0}"];

proptest! {
    #[test]
    fn every_decorated_spelling_reads_the_same(
        last in 0..1_000_u64,
        prefix in prop::sample::select(PREFIXES),
        gaps in prop::collection::vec(prop::sample::select(GAPS), 10),
        shapes in prop::collection::vec(
            prop_oneof![9 => Just(Shape::Ascii), 1 => Just(Shape::FullWidth)],
            10,
        ),
        ends in prop::array::uniform2(prop::sample::select(ENDS)),
    ) {
        let number = E164::from_digits(447_700_900_000 + last).unwrap();
        let significant = (number.digits() - 440_000_000_000).to_string();
        let mut text = format!("{}{prefix}", ends[0]);
        for (index, digit) in significant.chars().enumerate() {
            // A mark may not come first.
            if index > 0 {
                text.push_str(gaps[index]);
            }
            text.push(shaped(digit, shapes[index]));
        }
        text.push_str(ends[1]);
        prop_assert_eq!(parse_uk_mobile(&text), Ok(number), "{:?}", text);
    }

    #[test]
    fn a_letter_anywhere_makes_a_number_invalid(at in 0..11_usize, letter in "[A-Za-z]") {
        let mut text = "07700900123".to_owned();
        text.insert_str(at, &letter);
        prop_assert_eq!(parse_uk_mobile(&text), Err(PhoneRefused::Invalid));
    }
}
