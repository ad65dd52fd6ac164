//! Tests of the number type and of the numbering plan: which ranges are mobiles, and which are not.

use proptest::prelude::*;

use super::*;

fn e164(text: &str) -> E164 {
    text.parse().unwrap()
}

fn not_mobile(text: &str) -> Result<E164, PhoneRefused> {
    Err(PhoneRefused::NotMobile(e164(text)))
}

#[test]
fn every_range_of_07_is_sorted() {
    for range in 0..=999_u64 {
        let number = E164::from_digits(447_000_900_123 + range * 1_000_000).unwrap();
        let national = format!("0{}", number.digits() - 440_000_000_000);
        let expected = match range {
            624 | 100..=599 | 700..=999 => Ok(number),
            _ => Err(PhoneRefused::NotMobile(number)),
        };
        assert_eq!(parse_uk_mobile(&national), expected, "07{range:03}");
        assert_eq!(number.is_uk_mobile(), expected.is_ok(), "07{range:03}");
    }
}

#[test]
fn drama_numbers_and_the_islands_are_mobiles() {
    for text in [
        "07700 900000",
        "07700 900123",
        "07700 900999",
        "07797 900123",
        "07781 900123",
        "07624 900123",
        "07509 900123",
        "07911 190012",
    ] {
        assert!(parse_uk_mobile(text).is_ok(), "{text}");
    }
}

#[test]
fn uk_numbers_that_are_not_mobiles_are_refused_as_such() {
    let table = [
        ("020 7946 0123", "+442079460123"),
        ("(0113) 496 0123", "+441134960123"),
        ("0121 496 0123", "+441214960123"),
        ("01632 960123", "+441632960123"),
        ("01204 96012", "+44120496012"),
        ("016977 2960", "+44169772960"),
        ("029 2018 0123", "+442920180123"),
        ("0306 999 0123", "+443069990123"),
        ("055 0000 0123", "+445500000123"),
        ("056 0000 0123", "+445600000123"),
        ("070 0000 0123", "+447000000123"),
        ("076 0000 0123", "+447600000123"),
        ("07623 900123", "+447623900123"),
        ("07625 900123", "+447625900123"),
        ("0808 157 0123", "+448081570123"),
        ("0800 000 012", "+44800000012"),
        ("0800 1111", "+448001111"),
        ("0845 46 47", "+448454647"),
        ("0909 879 0123", "+449098790123"),
        ("+44 20 7946 0123", "+442079460123"),
        ("+44 (0)20 7946 0123", "+442079460123"),
        ("0044 20 7946 0123", "+442079460123"),
        ("442079460123", "+442079460123"),
        ("7000000123", "+447000000123"),
    ];
    for (text, number) in table {
        assert_eq!(parse_uk_mobile(text), not_mobile(number), "{text}");
        assert_eq!(parse_any(text), Ok(e164(number)), "{text}");
    }
}

#[test]
fn uk_numbers_that_cannot_exist_are_invalid() {
    for text in [
        "0770090012",
        "077009001234",
        "07700 90012",
        "+44770090012",
        "+4477009001234",
        "0400 900 0123",
        "0600 900 0123",
        "0500 123456",
        "0500 000 0123",
        "051 0000 0123",
        "0000000000",
        "00000000000",
        "0113 496 012",
        "0121 496 012",
        "0208 123",
        "0800 1112",
        "0845 4567",
        "0300 123 456",
        "020 7946 012",
        "999",
        "101",
        "60000",
        "0",
        "00",
        "44",
        "+44",
        "0044",
        "2079460123",
        "8001570123",
        "44770090012",
        "4477009001234",
        "44120496012",
        "+440",
        "+4400 7700 900123",
        "770090012",
        "77009001234",
    ] {
        assert_eq!(parse_any(text), Err(PhoneRefused::Invalid), "{text}");
        assert_eq!(parse_uk_mobile(text), Err(PhoneRefused::Invalid), "{text}");
    }
}

#[test]
fn numbers_of_other_countries_are_unsupported_destinations() {
    let table = [
        ("+1 202 555 0123", "+12025550123"),
        ("001 (202) 555-0123", "+12025550123"),
        ("+33 1 99 00 01 23", "+33199000123"),
        ("0033 (0)1 99 00 01 23", "+33199000123"),
        ("+49 (0)30 23125 012", "+493023125012"),
        ("+39 06 9876 0123", "+390698760123"),
        ("+353 20 910 0123", "+353209100123"),
        ("+61 491 570 123", "+61491570123"),
        ("+7 900 000 01 23", "+79000000123"),
        ("+350 200 00123", "+35020000123"),
        ("+298 200123", "+298200123"),
        ("+800 0000 0123", "+80000000123"),
        ("+883 5100 0000 0123", "+883510000000123"),
        ("(+353) 20 910 0123", "+353209100123"),
    ];
    for (text, number) in table {
        let expected = Err(PhoneRefused::UnsupportedDestination(e164(number)));
        assert_eq!(parse_uk_mobile(text), expected, "{text}");
        assert_eq!(parse_any(text), Ok(e164(number)), "{text}");
    }
}

#[test]
fn foreign_numbers_need_a_code_in_use_and_a_likely_length() {
    for text in [
        "+210 1234567",
        "+888 12345678",
        "+999 1234567",
        "+1 202 555 012",
        "+1 202 555 01234",
        "+33 1 99 00 01 2",
        "+7 900 000 01",
        "+33",
        "+1",
        "00",
        "001",
        "+0 202 555 0123",
        "12025550123",
        "33199000123",
        "+3531",
        "+4912",
        "007700900123",
        "+7700900123",
        "+33 1 (0) 99 00 01 23",
        "+49 30 (0) 23125",
        "+1234567890123456",
    ] {
        assert_eq!(parse_uk_mobile(text), Err(PhoneRefused::Invalid), "{text}");
    }
}

#[test]
fn the_canonical_form_is_strict() {
    for text in ["+1234567", "+447700900123", "+123456789012345"] {
        assert_eq!(e164(text).to_string(), text);
    }
    for text in [
        "",
        "+",
        "447700900123",
        "+123456",
        "+1234567890123456",
        "+0447700900123",
        "++4477009001",
        "+44 7700900123",
        "+44770090012a",
        " +447700900123",
        "+447700900123\n",
        "+44770090012٣",
        "-447700900123",
        "+00000000000001234567",
    ] {
        assert_eq!(text.parse::<E164>(), Err(ParseE164Error), "{text}");
    }
    assert_eq!(E164::from_digits(999_999), None);
    assert_eq!(E164::from_digits(1_000_000_000_000_000), None);
    assert_eq!(E164::from_digits(u64::MAX), None);
}

#[test]
fn json_is_the_canonical_string() {
    let number = e164("+447700900123");
    assert_eq!(serde_json::to_string(&number).unwrap(), "\"+447700900123\"");
    let read: E164 = serde_json::from_str("\"+447700900123\"").unwrap();
    assert_eq!(read, number);
    for json in ["\"07700900123\"", "447700900123", "null", "\"\""] {
        assert!(serde_json::from_str::<E164>(json).is_err(), "{json}");
    }
    let error = serde_json::from_str::<E164>("\"07700900123\"").unwrap_err();
    assert!(!error.to_string().contains("7700"), "{error}");
}

#[test]
fn debug_and_messages_hide_the_number() {
    let table = [
        ("+447700900123", "E164(+4477…23)"),
        ("+12025550123", "E164(+120…23)"),
        ("+353209100123", "E164(+35320…23)"),
        ("+298200123", "E164(+29…23)"),
        ("+1234567", "E164(+…67)"),
        ("+999123456789", "E164(+999…89)"),
    ];
    for (text, shown) in table {
        assert_eq!(format!("{:?}", e164(text)), shown);
    }
    let refused = parse_uk_mobile("020 7946 0123").unwrap_err();
    assert_eq!(refused.number(), Some(e164("+442079460123")));
    assert!(!refused.to_string().contains("7946"));
    assert!(!format!("{refused:?}").contains("7946"));
    assert_eq!(PhoneRefused::Invalid.number(), None);
}

#[test]
fn lists_of_recipients_are_split_and_trimmed() {
    let pieces = |text| split_recipients(text).map(str::to_owned).collect::<Vec<_>>();
    assert_eq!(pieces("a,b;c\nd\r\ne\rf"), ["a", "b", "c", "d", "e", "f"]);
    assert_eq!(pieces(" a , \u{a0}b\u{200b} "), ["a", "b"]);
    assert_eq!(pieces("07700 900123"), ["07700 900123"]);
    assert_eq!(pieces("a b\tc"), ["a b\tc"]);
    for nothing in ["", ",", " ;\r\n, \u{feff}"] {
        assert!(pieces(nothing).is_empty(), "{nothing:?}");
    }
}

#[test]
fn json_that_is_not_a_number_is_refused_with_the_expected_form() {
    let refused = serde_json::from_str::<E164>("447700900123").unwrap_err();
    assert!(refused.to_string().contains("a phone number in E.164 form"), "{refused}");
}

proptest! {
    #[test]
    fn no_text_makes_the_parsers_panic(text in any::<String>()) {
        let _ = parse_uk_mobile(&text);
        let _ = parse_any(&text);
        let _ = text.parse::<E164>();
        for piece in split_recipients(&text) {
            prop_assert!(!piece.is_empty());
        }
    }

    #[test]
    fn no_text_that_looks_like_a_number_makes_them_panic(text in "[+0-9 ().\u{200b}-]{0,30}") {
        let read = parse_any(&text);
        if let Ok(number) = read {
            prop_assert_eq!(parse_any(&number.to_string()), Ok(number));
            let refused = parse_uk_mobile(&text).err().and_then(PhoneRefused::number);
            prop_assert!(refused.is_none_or(|kept| kept == number));
        }
    }

    #[test]
    fn the_text_of_a_number_parses_back(digits in 1_000_000_u64..=999_999_999_999_999) {
        let number = E164::from_digits(digits).unwrap();
        prop_assert_eq!(number.to_string().parse(), Ok(number));
        let json = serde_json::to_string(&number).unwrap();
        prop_assert_eq!(serde_json::from_str::<E164>(&json).unwrap(), number);
        let shown = format!("{number:?}").bytes().filter(u8::is_ascii_digit).count();
        // The name of the type itself has three digits.
        prop_assert!(shown - 3 + HIDDEN <= digits.to_string().len());
    }
}
