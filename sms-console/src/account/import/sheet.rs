//! A CSV file of contacts as it was read: its header and its rows.

use sms_core::contact::import::MAX_ROWS;

use crate::format::whole;

/// How many rows a page shows as a sample.
pub(super) const SAMPLE: usize = 4;

/// A file's header, and the rows below it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Sheet {
    pub header: Vec<String>,
    pub rows: Vec<Row>,
}

/// One row of a file.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Row {
    /// The line of the file that it begins on, counted from 1.
    pub line: u64,
    pub cells: Vec<String>,
}

/// Why a file cannot be imported.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub(super) enum NotASheet {
    #[error("This file has no rows below its first one.")]
    Empty,
    #[error(
        "This file has {} rows. Split it: {} is the most.",
        whole(*.0 as u64),
        whole(MAX_ROWS as u64)
    )]
    TooLong(usize),
}

impl Sheet {
    /// Reads a file whose cells are separated by commas, semicolons or tabs, with any line ending.
    /// Rows without a word are left out.
    pub(super) fn read(file: &[u8]) -> Result<Self, NotASheet> {
        let text = String::from_utf8_lossy(file);
        let mut rows = rows_of(text.trim_start_matches('\u{feff}')).into_iter();
        let header = rows.next().ok_or(NotASheet::Empty)?.cells;
        let rows: Vec<Row> = rows.collect();
        fits(rows.len())?;
        Ok(Self { header, rows })
    }
}

/// Whether a file may have so many rows below its header.
pub(super) fn fits(rows: usize) -> Result<(), NotASheet> {
    match rows {
        0 => Err(NotASheet::Empty),
        1..=MAX_ROWS => Ok(()),
        _ => Err(NotASheet::TooLong(rows)),
    }
}

/// The rows of a text that have a word in them. The csv crate does not know the lines of rows that
/// empty lines or CR and LF stand before.
fn rows_of(text: &str) -> Vec<Row> {
    let separator = separator_of(text);
    let mut reader = Reader { rows: Vec::new(), row: Vec::new(), cell: String::new(), start: 1 };
    let (mut line, mut quoted) = (1, false);
    let mut letters = text.chars().peekable();
    while let Some(letter) = letters.next() {
        let next = letters.peek().copied();
        let ends_line = letter == '\n' || (letter == '\r' && next != Some('\n'));
        if quoted && letter != '"' {
            reader.cell.push(letter);
        } else if quoted && next == Some('"') {
            reader.cell.push('"');
            letters.next();
        } else if quoted {
            quoted = false;
        } else if letter == '"' && reader.cell.is_empty() {
            quoted = true;
        } else if letter == separator {
            reader.end_cell();
        } else if ends_line {
            reader.end_row(line + 1);
        } else if letter != '\r' {
            reader.cell.push(letter);
        }
        line += u64::from(ends_line);
    }
    reader.end_row(line);
    reader.rows
}

/// What has been read of a text.
struct Reader {
    rows: Vec<Row>,
    row: Vec<String>,
    cell: String,
    /// The line on which the row begins.
    start: u64,
}

impl Reader {
    fn end_cell(&mut self) {
        self.row.push(std::mem::take(&mut self.cell));
    }

    /// Ends a row; the next one begins on this line.
    fn end_row(&mut self, next: u64) {
        self.end_cell();
        let cells = std::mem::take(&mut self.row);
        if cells.iter().any(|cell| !cell.trim().is_empty()) {
            self.rows.push(Row { line: self.start, cells });
        }
        self.start = next;
    }
}

/// Which of the separators the first line has most of.
fn separator_of(text: &str) -> char {
    let line = text.split(['\r', '\n']).next().unwrap_or_default();
    let count = |separator: &char| line.matches(*separator).count();
    // Of equals the last one wins, and a comma is the usual one.
    ['\t', ';', ','].into_iter().max_by_key(count).unwrap_or(',')
}

#[cfg(test)]
mod tests {
    use super::*;

    fn rows(file: &str) -> Vec<(u64, Vec<String>)> {
        let sheet = Sheet::read(file.as_bytes()).unwrap();
        sheet.rows.into_iter().map(|row| (row.line, row.cells)).collect()
    }

    fn cells(cells: &[&str]) -> Vec<String> {
        cells.iter().map(|cell| (*cell).to_owned()).collect()
    }

    #[test]
    fn a_file_may_have_any_separator_line_ending_and_quotes() {
        for (file, expected) in [
            ("a,b\n1,2\n", vec![(2, cells(&["1", "2"]))]),
            ("\u{feff}a;b\r\n\"x \"\"y\"\"\";2\r\n", vec![(2, cells(&["x \"y\"", "2"]))]),
            ("a\tb\r1\t2,3", vec![(2, cells(&["1", "2,3"]))]),
            ("a,b\n,\n\n\"1\n2\",3\n4\n", vec![(4, cells(&["1\n2", "3"])), (6, cells(&["4"]))]),
            ("one\n07700 900123\n", vec![(2, cells(&["07700 900123"]))]),
        ] {
            assert_eq!(rows(file), expected, "{file:?}");
        }
    }

    #[test]
    fn a_file_without_rows_and_one_with_too_many_are_refused() {
        for file in ["", "\n\n", "phone,name", "phone\n\n ,\n"] {
            assert_eq!(Sheet::read(file.as_bytes()), Err(NotASheet::Empty), "{file:?}");
        }
        let long = format!("phone\n{}", "1\n".repeat(MAX_ROWS + 1));
        let refused = Sheet::read(long.as_bytes()).unwrap_err();
        assert_eq!(refused.to_string(), "This file has 20,001 rows. Split it: 20,000 is the most.");
    }
}
