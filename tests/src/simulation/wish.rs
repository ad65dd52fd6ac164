//! Requests to send: a small pool of recipients, bodies and mistakes.
//!
//! A [`Wish`] knows its meaning and its cost, so that neither comes from the code under test. Two
//! wishes are the same request if and only if they are equal, however their numbers are written.

use std::collections::BTreeSet;
use std::time::Duration;

use sms_core::account::Mode;
use sms_core::phone::E164;
use sms_core::sending::recipients::{Rejection, RejectionReason};
use sms_core::sending::{IdempotencyKey, SendRequest};
use sms_core::time::Timestamp;

use super::dice::Dice;

/// How many people there are besides those whose number forces an outcome.
const ORDINARY: u64 = 16;
/// How many numbers force an outcome: 07700 900901 and on.
const SPECIAL: u64 = 11;

/// Bodies of messages, and their number of segments, alone and with the opt-out line; or why every
/// recipient is rejected.
const BODIES: [(Words, Parts); 9] = [
    (Words::Plain("Your table is ready"), Ok((1, 1))),
    (Words::Plain("Caf\u{e9} open now \u{1F355}"), Ok((1, 1))),
    (Words::Many("x", 150), Ok((1, 2))),
    (Words::Many("x", 161), Ok((2, 2))),
    (Words::Many("\u{434}", 71), Ok((2, 2))),
    (Words::Plain("A parcel waits for {phone}"), Ok((1, 1))),
    (Words::Plain(" \t "), Err(RejectionReason::EmptyBody)),
    (Words::Many("\u{434}", 701), Err(RejectionReason::TooLong)),
    (Words::Plain("The menu: https://example.com/menu, see you"), Ok((1, 1))),
];

type Parts = Result<(u32, u32), RejectionReason>;

/// The opt-out lines of a message from a number, and of one with a sender name.
const OPT_OUT_LINES: [&str; 2] = ["Reply STOP to opt out", "Text STOP to {number} to opt out"];

/// The body of campaigns: one segment.
pub const CAMPAIGN: &str = "The new menu: https://example.com/menu";

/// Sender names that accounts ask for. The first two are the same name.
pub const SENDERS: [&str; 3] = ["Bistro", "BISTRO", "Garage Ltd"];

/// The URL in the last of the bodies.
pub const URL: &str = "https://example.com/menu";
/// What short URLs begin with.
pub const SHORT_URLS: &str = "http://127.0.0.1:8080/l/";

#[derive(Debug, Clone, Copy)]
enum Words {
    Plain(&'static str),
    Many(&'static str, usize),
}

impl Words {
    fn write(self) -> String {
        match self {
            Self::Plain(text) => text.to_owned(),
            Self::Many(text, count) => text.repeat(count),
        }
    }
}

/// One of the people's numbers.
pub fn person(dice: &mut Dice) -> E164 {
    let digits = if dice.percent(70) {
        447_700_900_100 + dice.between(0, ORDINARY - 1)
    } else {
        447_700_900_901 + dice.between(0, SPECIAL - 1)
    };
    number(digits)
}

/// A number from its digits.
///
/// # Panics
///
/// If the digits are not a number.
pub fn number(digits: u64) -> E164 {
    E164::from_digits(digits).expect("the pool holds numbers")
}

/// One entry of `to`.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Entry {
    Person(E164),
    Landline,
    Foreign,
    Junk,
}

/// A request, by meaning.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Wish {
    to: Vec<Entry>,
    body: usize,
    opt_out_line: bool,
    tracked: bool,
    sender: Option<&'static str>,
    schedule_at: Option<Timestamp>,
    client_ref: Option<u64>,
}

/// A request as an idempotency key compares it: the wish, and the kind of key.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Meaning {
    /// The request.
    pub wish: Wish,
    /// The kind of key.
    pub mode: Mode,
}

impl Wish {
    /// A wish of 1 to 20 recipients, now or for later.
    pub fn draw(dice: &mut Dice, now: Timestamp) -> Self {
        let count = dice.weighted(&[(60, 1), (25, 3), (10, 8), (5, 20)]);
        let count = dice.between(1, count);
        let to = (0..count).map(|_| Entry::draw(dice)).collect();
        let body = dice.weighted(&[
            (40, 0),
            (12, 1),
            (10, 2),
            (10, 3),
            (8, 4),
            (12, 5),
            (3, 6),
            (2, 7),
            (14, 8),
        ]);
        let ahead = dice.weighted(&[
            (70, None),
            (14, Some((1, 60))),
            (10, Some((60, 3_600))),
            (5, Some((3_600, 36_000))),
            (1, Some((36_000, 400_000))),
        ]);
        let schedule_at = ahead.map(|(low, high)| {
            now.plus(Duration::from_millis(dice.between(low * 1_000, high * 1_000)))
        });
        let client_ref = dice.percent(30).then(|| dice.between(1, 5));
        let (opt_out_line, tracked) = (dice.percent(15), dice.percent(40));
        let sender = dice.pick(&SENDERS).filter(|_| dice.percent(8));
        Self { to, body, opt_out_line, tracked, sender, schedule_at, client_ref }
    }

    /// A short message to everybody at once.
    pub fn for_all() -> Self {
        let ordinary = (0..ORDINARY).map(|person| 447_700_900_100 + person);
        let special = (0..SPECIAL).map(|person| 447_700_900_901 + person);
        Self {
            to: ordinary.chain(special).map(|digits| Entry::Person(number(digits))).collect(),
            body: 0,
            opt_out_line: false,
            tracked: false,
            sender: None,
            schedule_at: None,
            client_ref: None,
        }
    }

    /// The same with one thing changed.
    #[must_use]
    pub fn changed(&self, dice: &mut Dice) -> Self {
        let mut other = self.clone();
        match dice.below(5) {
            4 => other.tracked = !other.tracked,
            0 => other.opt_out_line = !other.opt_out_line,
            1 => other.client_ref = other.client_ref.map_or(Some(1), |_| None),
            2 => other.body = (other.body + 1) % BODIES.len(),
            _ => other.to.push(Entry::draw(dice)),
        }
        other
    }

    /// The request, in one of several spellings.
    pub fn request(&self, key: Option<IdempotencyKey>, dice: &mut Dice) -> SendRequest {
        let mut request = SendRequest::new(BODIES[self.body].0.write());
        for entry in &self.to {
            let text = entry.write(dice);
            match request.to.last_mut() {
                Some(last) if dice.percent(40) => {
                    last.push_str(", ");
                    last.push_str(&text);
                }
                _ => request.to.push(text),
            }
        }
        request.append_opt_out = self.opt_out_line;
        request.track_links = self.tracked;
        request.sender = self.sender.map(str::to_owned);
        request.schedule_at = self.schedule_at;
        request.client_ref = self.client_ref();
        request.idempotency_key = key;
        request
    }

    /// The number of segments of each message, or why every recipient is rejected.
    pub fn parts(&self) -> Result<u32, RejectionReason> {
        let (_, parts) = BODIES[self.body];
        parts.map(|(alone, with_line)| if self.opt_out_line { with_line } else { alone })
    }

    /// The body that one recipient gets, without its link shortened.
    pub fn words(&self, to: E164, from: E164) -> String {
        let words = BODIES[self.body].0.write().replace("{phone}", &to.to_string());
        if !self.opt_out_line {
            return words;
        }
        let line = OPT_OUT_LINES[usize::from(self.sender.is_some())];
        format!("{words}\n{}", line.replace("{number}", &from.to_string()))
    }

    /// Whether links in it are tracked.
    pub fn tracked(&self) -> bool {
        self.tracked
    }

    /// The caller's own reference.
    pub fn client_ref(&self) -> Option<String> {
        self.client_ref.map(|number| format!("order {number}"))
    }

    /// The sender name that it asks for.
    pub fn sender(&self) -> Option<&'static str> {
        self.sender
    }

    /// Recipients and rejections, each in order, given these opt-outs.
    pub fn people(&self, opted_out: &BTreeSet<E164>) -> (Vec<E164>, Vec<Rejection>) {
        let (mut people, mut rejected) = (Vec::new(), Vec::new());
        for (place, entry) in self.to.iter().enumerate() {
            let is_again = *entry != Entry::Junk && self.to[..place].contains(entry);
            let reason = match entry {
                _ if is_again => Some(RejectionReason::Duplicate),
                Entry::Landline => Some(RejectionReason::NotMobile),
                Entry::Foreign => Some(RejectionReason::UnsupportedDestination),
                Entry::Junk => Some(RejectionReason::InvalidNumber),
                Entry::Person(number) if opted_out.contains(number) => {
                    Some(RejectionReason::OptedOut)
                }
                Entry::Person(_) => self.parts().err(),
            };
            match (entry, reason) {
                (Entry::Person(number), None) => people.push(*number),
                (_, reason) => {
                    let reason = reason.unwrap_or(RejectionReason::InvalidNumber);
                    rejected.push(Rejection::as_given(&entry.as_read(), reason));
                }
            }
        }
        (people, rejected)
    }

    /// The scheduled time, if any.
    pub fn schedule_at(&self) -> Option<Timestamp> {
        self.schedule_at
    }
}

impl Entry {
    fn draw(dice: &mut Dice) -> Self {
        match dice.below(40) {
            0 => Self::Landline,
            1 => Self::Foreign,
            2 => Self::Junk,
            _ => Self::Person(person(dice)),
        }
    }

    /// In E.164 where it is a number.
    fn as_read(self) -> String {
        match self {
            Self::Landline => "+442079460018".to_owned(),
            Self::Foreign => "+33639980012".to_owned(),
            Self::Junk => "nobody".to_owned(),
            Self::Person(number) => number.to_string(),
        }
    }

    fn write(self, dice: &mut Dice) -> String {
        let digits = match self {
            Self::Landline => return "020 7946 0018".to_owned(),
            Self::Foreign => return "+33 6 39 98 00 12".to_owned(),
            Self::Junk => return "nobody".to_owned(),
            Self::Person(number) => number.to_string(),
        };
        let national = &digits[3..];
        match dice.below(4) {
            0 => format!("0{} {}", &national[..4], &national[4..]),
            1 => format!("+44 (0){}-{}", &national[..4], &national[4..]),
            2 => format!("0044{national}"),
            _ => digits,
        }
    }
}
