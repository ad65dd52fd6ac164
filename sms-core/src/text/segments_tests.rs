//! Tests of measuring and splitting: published vectors, and a second counter to compare with.

use proptest::prelude::*;

use super::encoding::Encoding::{self, Gsm7, Ucs2};
use super::encoding::Segments;
use super::gsm7;
use super::segments::{Measure, measure, split};

/// A counter written for clarity only: it lists the width of every character, then fills segments.
mod reference {
    use super::{Encoding, Gsm7, Ucs2};

    const ONE_SEPTET: &str = concat!(
        "@£$¥èéùìòÇ\nØø\rÅåΔ_ΦΓΛΩΠΨΣΘΞÆæßÉ !\"#¤%&'()*+,-./0123456789:;<=>?",
        "¡ABCDEFGHIJKLMNOPQRSTUVWXYZÄÖÑÜ§¿abcdefghijklmnopqrstuvwxyzäöñüà"
    );
    const TWO_SEPTETS: &str = "\u{c}^{}\\[~]|€";

    pub(super) fn count(text: &str) -> (Encoding, u32, u32) {
        let listed = |c| ONE_SEPTET.contains(c) || TWO_SEPTETS.contains(c);
        let encoding = if text.chars().all(listed) { Gsm7 } else { Ucs2 };
        let widths: Vec<u32> = match encoding {
            Gsm7 => text.chars().map(|c| 1 + u32::from(TWO_SEPTETS.contains(c))).collect(),
            Ucs2 => text.chars().map(|c| 1 + u32::from(c > '\u{FFFF}')).collect(),
        };
        let (alone, joined) = if encoding == Gsm7 { (160, 153) } else { (70, 67) };
        let units: u32 = widths.iter().sum();
        if units <= alone {
            return (encoding, units, 1);
        }
        let mut parts = vec![0];
        for width in widths {
            if parts[parts.len() - 1] + width > joined {
                parts.push(0);
            }
            let last = parts.len() - 1;
            parts[last] += width;
        }
        (encoding, units, u32::try_from(parts.len()).unwrap())
    }
}

fn measured(text: &str) -> (Encoding, u32, u32) {
    let Measure { encoding, units, segments } = measure(text);
    (encoding, units, segments.get())
}

/// Checks everything that must hold between a text, its measure and its segments.
fn check(text: &str) {
    let (encoding, units, segments) = measured(text);
    assert_eq!((encoding, units, segments), reference::count(text), "{text:?}");
    let parts = split(text);
    assert_eq!(parts.len(), segments as usize);
    let mut joined = String::new();
    for (index, part) in parts.iter().enumerate() {
        assert_eq!(part.encoding(), encoding);
        assert_eq!(part.number() as usize, index + 1);
        assert_eq!(part.total(), Segments::new(segments));
        joined.push_str(part.text());
        if let Some(data) = part.user_data(7) {
            assert_eq!(data.header.is_some(), segments > 1);
            assert!(data.octets().len() <= 140);
            let room = if segments > 1 { encoding.joined_units() } else { encoding.single_units() };
            let octets_each = if encoding == Gsm7 { 1 } else { 2 };
            assert!(data.payload.len() <= room as usize * octets_each);
            assert_eq!(read_back(encoding, &data.payload), part.text());
        } else {
            assert!(segments > 255);
        }
    }
    assert_eq!(joined, text);
}

fn read_back(encoding: Encoding, payload: &[u8]) -> String {
    match encoding {
        Gsm7 => gsm7::decode(payload),
        Ucs2 => {
            let pairs = payload.chunks(2);
            let units: Vec<u16> = pairs.map(|p| u16::from_be_bytes([p[0], p[1]])).collect();
            // A surrogate pair cut in two could not be read back.
            String::from_utf16(&units).unwrap()
        }
    }
}

#[test]
fn known_texts_count_as_published() {
    let table: Vec<(String, Encoding, u32, u32)> = vec![
        (String::new(), Gsm7, 0, 1),
        ("a".repeat(160), Gsm7, 160, 1),
        ("a".repeat(161), Gsm7, 161, 2),
        ("a".repeat(306), Gsm7, 306, 2),
        ("a".repeat(307), Gsm7, 307, 3),
        ("a".repeat(1_530), Gsm7, 1_530, 10),
        ("a".repeat(1_531), Gsm7, 1_531, 11),
        ("a".repeat(1_600), Gsm7, 1_600, 11),
        (format!("{}€", "a".repeat(158)), Gsm7, 160, 1),
        (format!("{}€", "a".repeat(159)), Gsm7, 161, 2),
        (format!("{0}€{0}", "a".repeat(152)), Gsm7, 306, 3),
        ("]".repeat(80), Gsm7, 160, 1),
        ("]".repeat(153), Gsm7, 306, 3),
        ("\u{c}".to_owned(), Gsm7, 2, 1),
        ("£".repeat(160), Gsm7, 160, 1),
        ("Ω".repeat(161), Gsm7, 161, 2),
        ("д".repeat(70), Ucs2, 70, 1),
        ("д".repeat(71), Ucs2, 71, 2),
        ("д".repeat(134), Ucs2, 134, 2),
        ("д".repeat(135), Ucs2, 135, 3),
        ("д".repeat(670), Ucs2, 670, 10),
        ("д".repeat(671), Ucs2, 671, 11),
        ("д".repeat(700), Ucs2, 700, 11),
        ("д".repeat(1_600), Ucs2, 1_600, 24),
        ("👋".repeat(35), Ucs2, 70, 1),
        ("👋".repeat(36), Ucs2, 72, 2),
        (format!("{0}👋{0}", "д".repeat(66)), Ucs2, 134, 3),
        (format!("this is a {}👋", "]".repeat(75)), Ucs2, 87, 2),
        (format!("{}’", "a".repeat(100)), Ucs2, 101, 2),
        ("Ŵyt ti'n dod?".to_owned(), Ucs2, 13, 1),
        ("a\tb".to_owned(), Ucs2, 3, 1),
    ];
    for (text, encoding, units, segments) in table {
        assert_eq!(measured(&text), (encoding, units, segments), "{text:?}");
        check(&text);
    }
}

#[test]
fn a_pair_is_kept_whole_at_every_position() {
    for place in 140..165 {
        check(&format!("{}€{}", "a".repeat(place), "b".repeat(160)));
        check(&format!("{}€{}]", "é".repeat(place), "b".repeat(160)));
    }
    for place in 60..75 {
        check(&format!("{}👋{}", "д".repeat(place), "a".repeat(70)));
    }
}

#[test]
fn every_length_around_the_boundaries_agrees_with_the_reference() {
    for unit in ["a", "€", "£", "д", "👋", "漢", "a€", "£]a"] {
        for times in (0..320).chain(1_520..1_620) {
            let text = unit.repeat(times);
            assert_eq!(measured(&text), reference::count(&text), "{times} of {unit}");
        }
    }
}

#[test]
fn more_segments_than_a_header_can_number_are_counted_but_not_sent() {
    let most = "a".repeat(153 * 255);
    assert_eq!(measured(&most).2, 255);
    assert!(split(&most).iter().all(|part| part.user_data(0).is_some()));
    let over = "a".repeat(153 * 255 + 1);
    let parts = split(&over);
    assert_eq!(parts.len(), 256);
    assert!(parts.iter().all(|part| part.user_data(0).is_none()));
}

#[test]
fn headers_number_the_segments_from_one() {
    let text = "a".repeat(400);
    let headers: Vec<_> =
        split(&text).iter().map(|part| part.user_data(0xAB).unwrap().header).collect();
    let expected = [1, 2, 3].map(|number| Some([5, 0, 3, 0xAB, 3, number]));
    assert_eq!(headers, expected);
}

#[test]
fn a_segment_is_transmitted_as_its_header_and_its_text() {
    let octets = |text: &str| -> Vec<Vec<u8>> {
        split(text).iter().map(|part| part.user_data(7).unwrap().octets()).collect()
    };
    assert_eq!(octets("hello"), [[0xE8, 0x32, 0x9B, 0xFD, 0x06]]);
    assert_eq!(octets("д€"), [[0x04, 0x34, 0x20, 0xAC]]);
    let joined = octets(&"д".repeat(71));
    assert_eq!(joined.iter().map(Vec::len).collect::<Vec<_>>(), [140, 14]);
    assert_eq!(joined[1][..8], [5, 0, 3, 7, 2, 2, 0x04, 0x34]);
}

#[test]
fn debug_output_holds_no_text() {
    let data = split("secret")[0].user_data(0).unwrap();
    let shown = format!("{data:?}");
    assert!(shown.contains("payload_bytes: 6"), "{shown}");
}

/// Runs of one character and single others, so that most lengths fall close to a boundary.
fn near_a_boundary() -> impl Strategy<Value = String> {
    let gsm = prop::sample::select(&["a", " ", "£", "é", "Δ", "€", "]", "{", "\n", "\u{c}"][..]);
    let other = prop::sample::select(&["д", "👋", "漢", "`", "’", "\u{301}", "\u{FFFF}"][..]);
    let length = prop_oneof![
        0..4_usize,
        Just(66),
        Just(67),
        Just(69),
        Just(70),
        76..81_usize,
        150..155_usize,
        158..162_usize
    ];
    let gsm_runs = prop::collection::vec((gsm.clone(), length.clone()), 0..6);
    let mixed_runs = prop::collection::vec((prop_oneof![3 => gsm, 1 => other], length), 0..6);
    prop_oneof![gsm_runs, mixed_runs].prop_map(|runs| {
        let repeated = runs.into_iter().map(|(unit, times)| unit.repeat(times));
        repeated.collect()
    })
}

proptest! {
    #[test]
    fn counting_cutting_and_the_reference_agree(text in near_a_boundary()) {
        check(&text);
    }

    #[test]
    fn they_agree_on_any_text(text in any::<String>()) {
        check(&text);
    }

    #[test]
    fn more_text_in_one_encoding_never_takes_fewer_segments(
        text in near_a_boundary(),
        more in near_a_boundary(),
    ) {
        let before = measure(&text);
        let after = measure(&format!("{text}{more}"));
        if before.encoding == after.encoding {
            prop_assert!(before.segments <= after.segments);
            prop_assert!(before.units <= after.units);
        }
    }
}
