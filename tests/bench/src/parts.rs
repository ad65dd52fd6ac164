//! Counting parts: bytes a second, beside a scan for one byte and beside another crate.

use std::hint::black_box;
use std::time::Duration;

use sms_core::text::measure;

use crate::table::print;
use crate::turns::by_turns;

/// How many texts of a kind are counted in a row; together they fit the second cache.
const TEXTS: usize = 200;

/// Texts of a kind: as many characters as fit three parts and some more.
struct Kind {
    what: &'static str,
    texts: Vec<String>,
}

fn kinds() -> [Kind; 4] {
    let kind = |what, pattern: &str, characters| {
        let text = |start| pattern.chars().cycle().skip(start).take(characters).collect();
        Kind { what, texts: (0..TEXTS).map(text).collect() }
    };
    [
        kind("ASCII, 130 characters", "Your table for two is ready at 19:30. ", 130),
        kind("ASCII, 500 characters", "Your table for two is ready at 19:30. ", 500),
        kind(
            "GSM-7 with £, é and €, 500 characters",
            "Café for £20, not {25} or 18 €. Déjà? ",
            500,
        ),
        kind("UCS-2 with emoji, 500 characters", "Ваш столик готов 👍 в 19:30. ", 500),
    ]
}

pub(crate) fn parts(during: Duration) {
    for Kind { what, texts } in kinds() {
        let gigabytes = texts.iter().map(String::len).sum::<usize>() as f64 / 1e9;
        let ours = || {
            for text in &texts {
                black_box(measure(black_box(text)));
            }
        };
        let scan = || {
            for text in &texts {
                black_box(memchr::memchr(0, black_box(text.as_bytes())));
            }
        };
        let turns = by_turns(during, gigabytes, ours, scan);
        print(&turns.row(format!("GB/s of texts counted: {what}"), "GB/s scanned by memchr"));
        #[cfg(feature = "other-crates")]
        beside_a_splitter(during, what, &texts);
    }
}

/// The other crate cuts each text to count it, and takes it as a `String`; so ours cuts too.
#[cfg(feature = "other-crates")]
fn beside_a_splitter(during: Duration, what: &str, texts: &[String]) {
    use sms_core::text::split;
    use sms_splitter::SplitSms;

    let ours = || {
        for text in texts {
            black_box(split(black_box(text)).len());
        }
    };
    let theirs = || {
        for text in texts {
            black_box(SplitSms::default().split(black_box(text).clone()).parts.len());
        }
    };
    let turns = by_turns(during, texts.len() as f64, ours, theirs);
    let row = turns.row(format!("texts/s cut: {what}"), "by sms_splitter 0.1.9/s");
    let is_same = |text: &&String| {
        SplitSms::default().split((*text).clone()).parts.len() == split(text).len()
    };
    let same = texts.iter().filter(is_same).count();
    print(&row.note(format!("as many parts in {same} of {} texts", texts.len())));
}
