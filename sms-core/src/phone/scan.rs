//! From characters to digits: the punctuation that people put into phone numbers.
//!
//! This module knows where a plus, a bracket, a dash or a space may occur. The module above decides
//! what the digits mean. Nothing here allocates.

use crate::invisible::is_invisible;

/// The digits of a number as typed, and the punctuation that carries meaning.
#[derive(Debug)]
pub(super) struct Typed {
    digits: [u8; MOST_DIGITS],
    length: usize,
    plus: Plus,
    bracketed_zero: Option<usize>,
}

impl Typed {
    /// The digits in order, as values 0 to 9.
    pub(super) fn digits(&self) -> &[u8] {
        &self.digits[..self.length]
    }

    /// Whether the number starts with a plus.
    pub(super) fn has_plus(&self) -> bool {
        self.plus == Plus::Seen
    }

    /// The index of a digit zero that stands alone in brackets, as in `+44 (0)7700 900123`.
    pub(super) fn bracketed_zero(&self) -> Option<usize> {
        self.bracketed_zero
    }

    /// Whether there is no bracketed zero, or the only one is the digit at `index`.
    pub(super) fn bracketed_zero_only_at(&self, index: usize) -> bool {
        self.bracketed_zero.is_none_or(|at| at == index)
    }

    fn push(&mut self, digit: u8) -> Option<()> {
        *self.digits.get_mut(self.length)? = digit;
        self.length += 1;
        Some(())
    }
}

/// The text without white space and invisible characters at its ends.
pub(super) fn trimmed(text: &str) -> &str {
    text.trim_matches(|c: char| c.is_whitespace() || is_invisible(c))
}

/// Reads a number as typed; `None` if any character is out of place.
pub(super) fn scan(text: &str) -> Option<Typed> {
    let mut typed =
        Typed { digits: [0; MOST_DIGITS], length: 0, plus: Plus::Absent, bracketed_zero: None };
    let mut before = Before::Nothing;
    let mut bracket: Option<usize> = None;
    for c in trimmed(text).chars() {
        before = match Token::of(c)? {
            Token::Ignored => before,
            Token::Digit(digit) => {
                typed.push(digit)?;
                Before::Digit
            }
            Token::Plus if typed.plus == Plus::Absent && typed.length == 0 => {
                typed.plus = Plus::Seen;
                Before::Plus
            }
            Token::Mark if matches!(before, Before::Digit | Before::Closed) => Before::Mark,
            Token::Open if bracket.is_none() => {
                bracket = Some(typed.length);
                Before::Open
            }
            Token::Close if before == Before::Digit => {
                note_bracketed_zero(&mut typed, bracket.take()?)?;
                Before::Closed
            }
            Token::Plus | Token::Mark | Token::Open | Token::Close => return None,
        };
    }
    let ended = matches!(before, Before::Digit | Before::Closed) && bracket.is_none();
    ended.then_some(typed)
}

/// The most digits to read: `00`, fifteen digits and a trunk zero.
const MOST_DIGITS: usize = 18;

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Plus {
    Absent,
    Seen,
}

/// The last character that was not ignored.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Before {
    Nothing,
    Plus,
    Digit,
    /// A dash or a dot, which needs a digit or a bracket on both sides.
    Mark,
    Open,
    Closed,
}

#[derive(Debug, Clone, Copy)]
enum Token {
    Digit(u8),
    Plus,
    Mark,
    Open,
    Close,
    Ignored,
}

impl Token {
    fn of(c: char) -> Option<Self> {
        match c {
            '0'..='9' => Some(Self::Digit(offset(c, '0'))),
            '\u{FF10}'..='\u{FF19}' => Some(Self::Digit(offset(c, '\u{FF10}'))),
            '+' | '\u{FF0B}' => Some(Self::Plus),
            '(' | '\u{FF08}' => Some(Self::Open),
            ')' | '\u{FF09}' => Some(Self::Close),
            _ if is_mark(c) => Some(Self::Mark),
            // A line break more likely separates two numbers than the digits of one.
            '\n' | '\r' | '\u{B}' | '\u{C}' | '\u{85}' | '\u{2028}' | '\u{2029}' => None,
            _ if c.is_whitespace() || is_invisible(c) => Some(Self::Ignored),
            _ => None,
        }
    }
}

/// Dots, and dashes of every length; the last four are the small and full-width ones.
fn is_mark(c: char) -> bool {
    matches!(
        c,
        '-' | '.' | '\u{2010}'
            ..='\u{2015}' | '\u{2212}' | '\u{FE58}' | '\u{FE63}' | '\u{FF0D}' | '\u{FF0E}'
    )
}

/// The value of a digit, given the zero of its script. The callers' patterns keep it below ten.
fn offset(digit: char, zero: char) -> u8 {
    u8::try_from(u32::from(digit) - u32::from(zero)).unwrap_or_default()
}

/// Records the pair of brackets just closed if it holds a single zero. `None` if there is already
/// such a pair.
fn note_bracketed_zero(typed: &mut Typed, opened_at: usize) -> Option<()> {
    if typed.digits()[opened_at..] == [0] {
        if typed.bracketed_zero.is_some() {
            return None;
        }
        typed.bracketed_zero = Some(opened_at);
    }
    Some(())
}
