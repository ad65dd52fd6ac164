//! What commands print: text for people, or JSON for programs.

use std::fmt::Write as _;
use std::io::Write as _;

use anstyle::Style;
use chrono::Local;
use serde::Serialize;
use sms_client::Timestamp;
use sms_client::message::MessageStatus;

use crate::failure::Failure;
pub(crate) use crate::style::{BOLD, DIM, Form, GREEN, PLAIN, RED, YELLOW, paint, shown};

/// Prints a line.
pub(crate) fn say(text: &str) -> Result<(), Failure> {
    let mut out = anstream::stdout().lock();
    out.write_all(text.as_bytes())?;
    out.write_all(b"\n")?;
    Ok(out.flush()?)
}

/// Prints a value as JSON on one line.
pub(crate) fn say_json<T: Serialize>(value: &T) -> Result<(), Failure> {
    say(&serde_json::to_string(value).map_err(sms_client::Error::from)?)
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
    fn numbers_have_commas_between_thousands() {
        let table = [(0, "0"), (999, "999"), (1_000, "1,000"), (1_234_567, "1,234,567")];
        for (number, text) in table {
            assert_eq!(grouped(number), text);
        }
        assert_eq!(counted(1, "message"), "1 message");
        assert_eq!(counted(2_000, "message"), "2,000 messages");
    }
}
