//! Reading numbers as people type them, beside reading the canonical form, and beside a port of
//! libphonenumber.

use std::hint::black_box;
use std::time::Duration;

use sms_core::phone::{E164, parse_uk_mobile};

use crate::table::print;
use crate::turns::by_turns;

const FORMS: [&str; 6] = [
    "07700 900123",
    "+447700900124",
    "+44 (0)7700 900125",
    "0044 7700 900126",
    "07700-900-127",
    "447700900128",
];

pub(crate) fn numbers(during: Duration) {
    let ours = || {
        for form in FORMS {
            let _ = black_box(parse_uk_mobile(black_box(form)));
        }
    };
    let canonical = || {
        for _ in FORMS {
            let _ = black_box(black_box("+447700900123").parse::<E164>());
        }
    };
    let turns = by_turns(during, FORMS.len() as f64, ours, canonical);
    print(&turns.row("numbers read/s, six forms", "in the canonical form/s"));
    #[cfg(feature = "other-crates")]
    beside_a_port(during, ours);
}

/// Ours tells mobile numbers from others as well, which is a further question to the port.
#[cfg(feature = "other-crates")]
fn beside_a_port(during: Duration, ours: impl FnMut()) {
    let uk = Some(phonenumber::country::Id::GB);
    let theirs = || {
        for form in FORMS {
            let _ = black_box(phonenumber::parse(uk, black_box(form)));
        }
    };
    let turns = by_turns(during, FORMS.len() as f64, ours, theirs);
    print(&turns.row("numbers read/s, six forms", "by phonenumber 0.3.10/s"));
}
