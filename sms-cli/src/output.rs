//! What commands print: text for people, or JSON for programs.

use std::fmt::Write as _;
use std::io::{self, Write as _};

use anstyle::Style;
use chrono::Local;
use serde::Serialize;
use sms_client::Timestamp;
use sms_client::message::MessageStatus;
use sms_core::text::shown_json;

use crate::failure::Failure;
use crate::style::fit;
pub(crate) use crate::style::{BOLD, DIM, Form, GREEN, PLAIN, RED, YELLOW, paint, shown};

/// Prints a line for people.
pub(crate) fn say(text: &str) -> Result<(), Failure> {
    print(&fit(text))
}

fn print(line: &str) -> Result<(), Failure> {
    let mut out = anstream::stdout().lock();
    out.write_all(line.as_bytes())?;
    out.write_all(b"\n")?;
    Ok(out.flush()?)
}

/// Prints over the line that is there. The next one goes over this one.
pub(crate) fn say_again(text: &str) -> Result<(), Failure> {
    let mut out = anstream::stdout().lock();
    write!(out, "\r\x1b[2K{}", fit(text))?;
    Ok(out.flush()?)
}

/// Prints a value as JSON on one line.
pub(crate) fn say_json<T: Serialize>(value: &T) -> Result<(), Failure> {
    let json = serde_json::to_string(value).map_err(sms_client::Error::from)?;
    print(&shown_json(&json))
}

/// Writes text as it comes. A file or a pipe gets the octets as they are. On a terminal, a person
/// reads it: what would control the terminal has a visible escape, and lines end without `\r`.
#[derive(Debug)]
pub(crate) struct Streamed<W> {
    out: W,
    is_terminal: bool,
    /// The first octets of a character whose others are still to come.
    begun: Vec<u8>,
}

impl Streamed<io::Stdout> {
    pub(crate) fn standard() -> Self {
        Self::to(io::stdout())
    }
}

impl<W: io::IsTerminal> Streamed<W> {
    pub(crate) fn to(out: W) -> Self {
        Self { is_terminal: out.is_terminal(), out, begun: Vec::new() }
    }
}

impl<W: io::Write> io::Write for Streamed<W> {
    fn write(&mut self, octets: &[u8]) -> io::Result<usize> {
        if self.is_terminal {
            self.begun.extend_from_slice(octets);
            let text = whole_characters(&mut self.begun).replace('\r', "");
            self.out.write_all(sms_core::text::shown(&text).as_bytes())?;
        } else {
            self.out.write_all(octets)?;
        }
        Ok(octets.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        self.out.flush()
    }
}

/// Takes the octets that are whole characters. What is no text is replaced.
fn whole_characters(octets: &mut Vec<u8>) -> String {
    let rest = match std::str::from_utf8(octets) {
        Err(error) if error.error_len().is_none() => octets.split_off(error.valid_up_to()),
        _ => Vec::new(),
    };
    let whole = std::mem::replace(octets, rest);
    String::from_utf8_lossy(&whole).into_owned()
}

/// A time in the time zone of the machine.
pub(crate) fn local(time: Timestamp) -> String {
    time.utc().with_timezone(&Local).format("%Y-%m-%d %H:%M:%S").to_string()
}

/// A number with commas between thousands.
pub(crate) fn grouped(number: u64) -> String {
    let digits = number.to_string();
    let groups: Vec<&str> = digits
        .as_bytes()
        .rchunks(3)
        .rev()
        .map(|group| std::str::from_utf8(group).unwrap_or_default())
        .collect();
    groups.join(",")
}

/// `1 message`, `2,000 messages`.
pub(crate) fn counted(number: u64, noun: &str) -> String {
    let plural = if number == 1 { "" } else { "s" };
    format!("{} {noun}{plural}", grouped(number))
}

pub(crate) fn style_of(status: &MessageStatus) -> Style {
    match status {
        MessageStatus::Delivered | MessageStatus::Received => GREEN,
        MessageStatus::Failed | MessageStatus::Undelivered => RED,
        MessageStatus::Cancelled => DIM,
        _ => YELLOW,
    }
}

/// A cell of a table.
#[derive(Debug, Clone)]
pub(crate) struct Cell {
    text: String,
    style: Style,
}

impl Cell {
    pub(crate) fn styled(text: impl AsRef<str>, style: Style) -> Self {
        Self { text: shown(text.as_ref()), style }
    }
}

impl<T: AsRef<str>> From<T> for Cell {
    fn from(text: T) -> Self {
        Self::styled(text, PLAIN)
    }
}

/// Prints a table with these headings.
pub(crate) fn say_table(headings: &[&str], rows: &[Vec<Cell>]) -> Result<(), Failure> {
    let heading = headings.iter().map(|text| Cell::styled(text, BOLD)).collect();
    let all: Vec<&Vec<Cell>> = std::iter::once(&heading).chain(rows).collect();
    let width = |column: usize| {
        all.iter().map(|row| row.get(column).map_or(0, |cell| cell.text.chars().count())).max()
    };
    let widths: Vec<usize> = (0..headings.len()).map(|column| width(column).unwrap_or(0)).collect();
    for row in all {
        let mut line = String::new();
        for (column, Cell { text, style }) in row.iter().enumerate() {
            let gap = if column + 1 == row.len() { 0 } else { widths[column] + 2 };
            let padding = gap.saturating_sub(text.chars().count());
            let _ = write!(line, "{}{:padding$}", paint(*style, text), "");
        }
        say(line.trim_end())?;
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn characters_that_come_in_pieces_are_put_together() {
        let mut begun = Vec::new();
        let mut told = String::new();
        for octet in "a\u{202E}ü👋".bytes() {
            begun.push(octet);
            told.push_str(&whole_characters(&mut begun));
        }
        assert_eq!((told.as_str(), begun.len()), ("a\u{202E}ü👋", 0));
        assert_eq!(whole_characters(&mut vec![b'a', 0xFF, b'b']), "a\u{FFFD}b");
    }

    /// What comes of a text that is written in pieces of `piece` octets.
    fn streamed(octets: &[u8], piece: usize, is_terminal: bool) -> Vec<u8> {
        let mut streamed = Streamed { out: Vec::new(), is_terminal, begun: Vec::new() };
        octets.chunks(piece).for_each(|piece| streamed.write_all(piece).unwrap());
        streamed.out
    }

    #[test]
    fn a_terminal_gets_of_a_stream_nothing_that_controls_it() {
        let export = "id,body\r\nm1,\"a\x1b[31mb\x1b[2Jc\td\ne\u{9B}2Jf\u{202E}ü👋\"\r\n";
        let shown = "id,body\nm1,\"a\\u{1b}[31mb\\u{1b}[2Jc\td\ne\\u{9b}2Jf\\u{202e}ü👋\"\n";
        for piece in 1..=export.len() {
            let told = String::from_utf8(streamed(export.as_bytes(), piece, true)).unwrap();
            assert_eq!(told, shown, "in pieces of {piece}");
        }
        for control in ('\0'..='\u{9F}').filter(|c| c.is_control() && !['\n', '\t'].contains(c)) {
            let told = streamed(format!("a{control}b").as_bytes(), 1, true);
            let told = String::from_utf8(told).unwrap();
            assert!(!told.contains(char::is_control), "{told:?}");
        }
    }

    #[test]
    fn a_file_or_a_pipe_gets_the_octets_of_a_stream_as_they_are() {
        let octets = b"a\x1b[31m\r\n\0\xFF\xC3";
        for piece in 1..=octets.len() {
            assert_eq!(streamed(octets, piece, false), octets);
        }
    }

    #[test]
    fn numbers_have_commas_between_thousands() {
        let table = [(0, "0"), (999, "999"), (1_000, "1,000"), (1_234_567, "1,234,567")];
        for (number, text) in table {
            assert_eq!(grouped(number), text);
        }
        assert_eq!(counted(1, "message"), "1 message");
        assert_eq!(counted(2_000, "message"), "2,000 messages");
    }
}
