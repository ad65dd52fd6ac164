//! Numbers: a text is the number that the rules read in it, or none; a number has one form, and
//! every way to write it leads back to it.

use sms_core::phone::{E164, PhoneRefused, parse_any, parse_uk_mobile, split_recipients};

use crate::text_of;

/// Tries the laws on a text.
pub fn check(input: &[u8]) {
    let text = text_of(input);
    read_by_the_rules(text);
    pieces_hold_all_that_shows(text);
    only_the_canonical_form_is_e164(text);
    for known in KNOWN_ABROAD {
        let end: String = text.chars().filter(char::is_ascii_digit).take(3).collect();
        read_by_the_rules(&format!("+{}{end:0>3}", &known[..known.len() - 3]));
    }
    if let Ok(number) = parse_any(text) {
        every_spelling_leads_back(number);
    }
}

/// What the rules say of a text.
#[derive(Debug, PartialEq, Eq)]
enum Reading {
    None,
    Uk(String),
    /// Its digits; whether the country exists, and has numbers so long, is not judged here.
    Abroad(String),
}

/// Mobile numbers of other countries, in ranges that are in use; any digits may stand at their end.
const KNOWN_ABROAD: [&str; 8] = [
    "33612345678",
    "353851234567",
    "4915112345678",
    "34612345678",
    "31612345678",
    "48512345678",
    "61412345678",
    "12025550123",
];

/// Whether a number differs from a known one in its last three digits at most.
fn same_plan(known: &str, digits: &str) -> bool {
    known.len() == digits.len() && known[..known.len() - 3] == digits[..digits.len() - 3]
}

fn read_by_the_rules(text: &str) {
    let any = parse_any(text).map(|number| number.to_string());
    match reading(text) {
        Reading::None => assert_eq!(any, Err(PhoneRefused::Invalid), "{text:?}"),
        Reading::Uk(digits) => assert_eq!(any, Ok(format!("+{digits}")), "{text:?}"),
        Reading::Abroad(digits) => {
            let is_known = KNOWN_ABROAD.iter().any(|known| same_plan(known, &digits));
            let is_refused = any.is_err() && !is_known;
            assert!(is_refused || any == Ok(format!("+{digits}")), "{text:?} {digits}");
        }
    }
    let number = match (parse_any(text), parse_uk_mobile(text)) {
        (Err(_), refused) => return assert_eq!(refused, Err(PhoneRefused::Invalid)),
        (Ok(number), Ok(mobile)) => {
            assert_eq!(number, mobile);
            assert!(is_mobile(number), "{number}");
            return;
        }
        (Ok(number), Err(refused)) => {
            assert_eq!(refused.number(), Some(number));
            let is_uk = number.to_string().starts_with("+44");
            assert_eq!(is_uk, refused == PhoneRefused::NotMobile(number));
            number
        }
    };
    assert!(!is_mobile(number), "{number}");
}

/// 071 to 075, 077 to 079 and 07624.
fn is_mobile(number: E164) -> bool {
    let ranges = ["71", "72", "73", "74", "75", "77", "78", "79", "7624"];
    number.to_string().strip_prefix("+44").is_some_and(|significant| {
        significant.len() == 10 && ranges.iter().any(|range| significant.starts_with(range))
    })
}

const LINE_BREAKS: [char; 7] = ['\n', '\r', '\u{b}', '\u{c}', '\u{85}', '\u{2028}', '\u{2029}'];

/// White space, and characters without width.
fn is_nothing(c: char) -> bool {
    let is_format = matches!(u32::from(c),
        0xAD | 0x61C | 0x180E | 0x200B..=0x200F | 0x202A..=0x202E | 0x2060..=0x2064
            | 0x2066..=0x206F | 0xFEFF);
    c.is_whitespace() || is_format
}

/// Every character as ASCII: digits, `+()`, and `-` for any dash or dot; `?` for all others.
fn plain(c: char) -> char {
    match c {
        '0'..='9' | '+' | '(' | ')' => c,
        '０'..='９' => char::from_digit(u32::from(c) - 0xFF10, 10).unwrap_or('?'),
        '＋' => '+',
        '（' => '(',
        '）' => ')',
        '-' | '.' | '‐' | '‑' | '‒' | '–' | '—' | '―' | '−' | '﹘' | '﹣' | '－' | '．' => {
            '-'
        }
        _ => '?',
    }
}

/// What may stand behind what; `d` is a digit, `^` the beginning and `$` the end.
const NEIGHBOURS: [&str; 18] = [
    "^+", "^(", "^d", "+(", "+d", "(+", "(d", "dd", "d-", "d(", "d)", "d$", "-d", "-(", ")d", ")-",
    ")(", ")$",
];

fn reading(text: &str) -> Reading {
    let shown = text.trim_matches(is_nothing);
    if shown.contains(LINE_BREAKS) {
        return Reading::None;
    }
    let plain: String = shown.chars().filter(|c| !is_nothing(*c)).map(plain).collect();
    let shape = format!("^{}$", plain.replace(|c: char| c.is_ascii_digit(), "d"));
    let fits = |pair: &[u8]| NEIGHBOURS.iter().any(|known| known.as_bytes() == pair);
    let brackets: String = plain.chars().filter(|c| matches!(c, '(' | ')')).collect();
    let digits: String = plain.chars().filter(char::is_ascii_digit).collect();
    let plus = plain.rfind('+').map_or(0, |at| at + 1);
    let is_formed = shape.as_bytes().windows(2).all(fits)
        && brackets.replace("()", "").is_empty()
        && plain.matches('+').count() <= 1
        && !plain[..plus].contains(|c: char| c.is_ascii_digit())
        && digits.len() <= 18;
    let zeros: Vec<usize> = plain.match_indices("(0)").map(|(at, _)| at).collect();
    let with_plus_inside = usize::from(plain.contains("(+0)"));
    if !is_formed || zeros.len() + with_plus_inside > 1 {
        return Reading::None;
    }
    let zero = zeros.first().copied().or_else(|| plain.find("(+0)"));
    let zero = zero.map(|at| plain[..at].chars().filter(char::is_ascii_digit).count());
    let is_bare_uk = match digits.as_bytes() {
        [b'4', b'4', b'0', ..] => digits.len() == 13,
        [b'4', b'4', ..] => digits.len() == 12,
        _ => false,
    };
    if plus > 0 || is_bare_uk {
        with_country(&digits, zero)
    } else if let Some(rest) = digits.strip_prefix("00") {
        match zero.map(|at| at.checked_sub(2)) {
            Some(None) => Reading::None,
            inside => with_country(rest, inside.flatten()),
        }
    } else if let Some(rest) = digits.strip_prefix('0') {
        if zero.is_none_or(|at| at == 0) { uk(rest) } else { Reading::None }
    } else if digits.starts_with('7') && digits.len() == 10 && zero.is_none() {
        uk(&digits)
    } else {
        Reading::None
    }
}

/// Digits that begin with a country code; the one at `zero` is a zero in brackets.
fn with_country(digits: &str, zero: Option<usize>) -> Reading {
    if let Some(rest) = digits.strip_prefix("44") {
        return match (rest.strip_prefix('0'), zero) {
            (Some(subscriber), None | Some(2)) => uk(subscriber),
            (None, None) => uk(rest),
            _ => Reading::None,
        };
    }
    let mut digits = digits.to_owned();
    if let Some(at) = zero {
        // Country codes have one to three digits, and none begins with a zero.
        if !(1..=3).contains(&at) {
            return Reading::None;
        }
        digits.remove(at);
    }
    if (7..=15).contains(&digits.len()) && !digits.starts_with('0') {
        Reading::Abroad(digits)
    } else {
        Reading::None
    }
}

/// Significant digits of a UK number, where the plan has any such.
fn uk(digits: &str) -> Reading {
    let begins = |starts: &[&str]| starts.iter().any(|start| digits.starts_with(start));
    let has_room = match digits.len() {
        10 => begins(&["1", "2", "3", "7", "8", "9", "55", "56"]),
        9 if digits.starts_with('1') => !begins(&["11"]) && digits.as_bytes()[2] != b'1',
        9 => begins(&["800"]),
        7 => digits == "8001111" || begins(&["845464"]),
        _ => false,
    };
    if has_room { Reading::Uk(format!("44{digits}")) } else { Reading::None }
}

fn every_spelling_leads_back(number: E164) {
    let canonical = number.to_string();
    assert_eq!(canonical.parse(), Ok(number));
    assert_eq!(E164::from_digits(number.digits()), Some(number));
    let json = serde_json::to_string(&number).unwrap_or_default();
    assert_eq!(json, format!("\"{canonical}\""));
    assert_eq!(serde_json::from_str::<E164>(&json).ok(), Some(number));
    let digits = &canonical[1..];
    let mut spellings = vec![canonical.clone(), format!("00{digits}"), format!(" ＋ {digits}\t")];
    if let Some(national) = digits.strip_prefix("44") {
        spellings.push(format!("0{national}"));
        spellings.push(format!("+44 (0){national}"));
        spellings.push(format!("(0044) 0{national}"));
        if national.len() == 10 {
            spellings.push(digits.to_owned());
            spellings.push(format!("440{national}"));
        }
        if national.len() == 10 && national.starts_with('7') {
            spellings.push(national.to_owned());
        }
    }
    for spelling in spellings {
        assert_eq!(parse_any(&spelling), Ok(number), "{spelling}");
    }
    let shown = format!("{number:?}");
    let hidden = digits.len() - shown.chars().filter(char::is_ascii_digit).count() + "164".len();
    assert!(hidden >= 5, "{shown} gives {canonical} away");
}

fn only_the_canonical_form_is_e164(text: &str) {
    let is_canonical = text.strip_prefix('+').is_some_and(|digits| {
        (7..=15).contains(&digits.len())
            && digits.bytes().all(|digit| digit.is_ascii_digit())
            && !digits.starts_with('0')
    });
    assert_eq!(text.parse::<E164>().is_ok(), is_canonical, "{text:?}");
    if let Ok(number) = text.parse::<E164>() {
        assert_eq!(number.to_string(), text);
    }
}

/// Between numbers nothing is lost but what separates them.
fn pieces_hold_all_that_shows(text: &str) {
    let shows = |c: &char| !is_nothing(*c) && !matches!(c, ',' | ';');
    let pieces: Vec<&str> = split_recipients(text).collect();
    for piece in &pieces {
        assert!(!piece.is_empty() && !piece.contains([',', ';', '\n', '\r']));
        assert_eq!(piece.trim_matches(is_nothing), *piece);
    }
    let all: String = text.chars().filter(shows).collect();
    let kept: String = pieces.concat().chars().filter(shows).collect();
    assert_eq!(kept, all);
}
