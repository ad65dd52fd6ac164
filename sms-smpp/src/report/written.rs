//! The text of a receipt: pairs of names and values (appendix B), as SMSCs write them.
//!
//! They agree on little. The text may be in any alphabet, whatever `data_coding` says; the names in
//! any case, with spaces before or after their colons; the pairs apart by spaces, control
//! characters, commas or semicolons; the values in quotes. What the message said (`text:`) may
//! stand at the end or in the middle, and may itself contain pairs.

use sms_core::text::gsm7;

use crate::joining::user_data;
use crate::pdu::ShortMessage;

/// What a receipt's text says. A value that is missing is `None`, one that is empty is empty.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(super) struct Written {
    pub(super) id: Option<String>,
    pub(super) state: Option<String>,
    pub(super) error: Option<String>,
}

/// The names of all pairs, in lower case.
fn names() -> impl Iterator<Item = &'static str> {
    [&ID[..], &STATE, &ERROR, &TEXT, &OTHERS].into_iter().flatten().copied()
}

/// Whether the text has to say the state.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Wanted {
    /// It does: no TLV says it.
    State,
    /// A TLV says it.
    Nothing,
}

/// The names of the pairs that matter. After an empty value comes one of them, or of the others.
const ID: [&str; 1] = ["id"];
const STATE: [&str; 3] = ["stat", "state", "status"];
const ERROR: [&str; 2] = ["err", "error"];
const TEXT: [&str; 1] = ["text"];
/// The names of the other pairs; those of two words by each of these.
const OTHERS: [&str; 5] = ["sub", "dlvrd", "submit", "done", "date"];

impl Written {
    /// What the receipt says in the alphabet in which it says most. Many SMSCs send ASCII under any
    /// `data_coding`, so this comes first.
    pub(super) fn of(message: &ShortMessage, state: Wanted) -> Self {
        let data = user_data(message);
        let octets = &data.words[..];
        let read = |words: &str| Self::read(words, state);
        let mut best = read(&one_by_one(octets));
        for words in [wide(octets, u16::from_be_bytes), wide(octets, u16::from_le_bytes)] {
            if best.is_whole() {
                return best;
            }
            best = best.or_better(read(&words));
        }
        if !best.is_whole() {
            let before = vec![0; data.header];
            let whole = [&before[..], octets].concat();
            let septets = gsm7::unpack_after(&whole, data.header, usize::MAX);
            best = best.or_better(read(&gsm7::decode(&septets)));
        }
        best
    }

    /// Whether it names a message and its state.
    fn is_whole(&self) -> bool {
        let has = |value: &Option<String>| value.as_ref().is_some_and(|value| !value.is_empty());
        has(&self.id) && has(&self.state)
    }

    fn or_better(self, other: Self) -> Self {
        let count = |it: &Self| {
            [&it.id, &it.state, &it.error].into_iter().filter(|value| value.is_some()).count()
        };
        if count(&other) > count(&self) { other } else { self }
    }

    /// Reads the pairs before `text:`. If none of them is a state, some SMSC has put the message in
    /// the middle: then the last pairs after it count, because a person wrote what comes first.
    fn read(words: &str, wanted: Wanted) -> Self {
        let words = words.replace(is_apart, " ");
        let start = find(&words, &TEXT).next();
        let (head, tail) = start.map_or((&words[..], ""), |pair| words.split_at(pair.start));
        let first = |names: &[&str]| find(head, names).next().map(|pair| pair.value(head));
        let last = |names: &[&str]| {
            let skipped = find(tail, &TEXT).next().map_or(0, |text| text.end);
            let tail = &tail[skipped..];
            find(tail, names).last().map(|pair| pair.value(tail))
        };
        let (id, state, error) = (first(&ID), first(&STATE), first(&ERROR));
        if wanted == Wanted::Nothing || state.is_some() || tail.is_empty() {
            return Self { id, state, error };
        }
        Self {
            id: id.or_else(|| last(&ID)),
            state: last(&STATE),
            error: error.or_else(|| last(&ERROR)),
        }
    }
}

/// Whether a character stands between pairs, and in none.
fn is_apart(character: char) -> bool {
    // A byte order mark, and spaces of no width.
    let is_invisible = matches!(character, '\u{FEFF}' | '\u{200B}'..='\u{200F}' | '\u{2060}');
    character.is_control() || character.is_whitespace() || is_invisible
}

/// A character for each octet; UTF-8 if it is that. The underscore of GSM-7 is no control
/// character.
fn one_by_one(octets: &[u8]) -> String {
    match std::str::from_utf8(octets) {
        Ok(text) => text.replace('\u{11}', "_"),
        Err(_) => octets.iter().map(|octet| char::from(*octet)).collect(),
    }
}

/// UTF-16 of this order. A lone octet is not read.
fn wide(octets: &[u8], unit: fn([u8; 2]) -> u16) -> String {
    let units = octets.chunks_exact(2).map(|pair| unit([pair[0], pair[1]]));
    char::decode_utf16(units).map(|it| it.unwrap_or(char::REPLACEMENT_CHARACTER)).collect()
}

/// Where a name and its colon stand.
#[derive(Debug, Clone, Copy)]
struct Pair {
    start: usize,
    end: usize,
}

impl Pair {
    /// The value of the pair; empty if the next pair follows at once.
    fn value(self, words: &str) -> String {
        const ENDS: [char; 6] = [' ', ',', ';', '|', '"', '\''];
        let rest = words[self.end..].trim_start_matches(' ');
        if rest.starts_with(['"', '\'']) {
            let inner = rest[1..].trim_start_matches(' ');
            return inner.split(ENDS).next().unwrap_or_default().to_owned();
        }
        let value = rest.split(ENDS).next().unwrap_or_default();
        let after = rest[value.len()..].trim_start_matches(' ');
        let (name, has_colon) = match value.split_once([':', '=']) {
            Some((name, _)) => (name, true),
            None => (value, after.starts_with([':', '='])),
        };
        let is = |known: &&str| name.eq_ignore_ascii_case(known);
        let is_date = ["submit", "done"].iter().any(&is) && begins(after, "date");
        let is_pair = has_colon && names().any(|known| is(&known));
        if is_date || is_pair { String::new() } else { value.to_owned() }
    }
}

/// Whether a text begins with these letters, in any case.
fn begins(text: &str, with: &str) -> bool {
    text.get(..with.len()).is_some_and(|start| start.eq_ignore_ascii_case(with))
}

/// The pairs with one of these names, in any case. Other names may end in the same letters.
fn find(words: &str, names: &[&str]) -> impl Iterator<Item = Pair> {
    let octets = words.as_bytes();
    let is_start =
        |at: usize| at == 0 || matches!(octets[at - 1], b' ' | b',' | b';' | b'|' | b'"' | b'\'');
    let at = move |start: usize| {
        let longest = names.iter().filter(|name| {
            let named = octets.get(start..start + name.len());
            named.is_some_and(|named| named.eq_ignore_ascii_case(name.as_bytes()))
        });
        let after = longest.filter_map(|name| {
            let rest = &octets[start + name.len()..];
            let spaces = rest.iter().take_while(|octet| **octet == b' ').count();
            let is_pair = matches!(rest.get(spaces), Some(b':' | b'='));
            is_pair.then_some(Pair { start, end: start + name.len() + spaces + 1 })
        });
        after.max_by_key(|pair| pair.end)
    };
    (0..octets.len()).filter(move |start| is_start(*start)).filter_map(at)
}
