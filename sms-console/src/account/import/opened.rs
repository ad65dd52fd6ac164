//! A file of contacts that a person chose: opened, and read into memory.

use std::io::Cursor;

use serde::{Deserialize, Serialize};
use sms_core::contact::import::MAX_ROWS;
use sms_files::{BadFile, Columns, Format, MOST_COLUMNS, Options, Person, Problem, Row, Sheet};

use crate::form::SentFile;
use crate::format::whole;

/// How many rows a page shows as a sample.
pub(super) const SAMPLE: usize = 4;

/// The most cells of a file below its first row: each takes memory, even where it is empty.
const MOST_CELLS: usize = 500_000;

/// A file that was read.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub(super) struct Opened {
    #[serde(flatten)]
    pub kind: Kind,
    pub rows: Vec<SheetRow>,
}

/// What is known of a file besides its rows.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub(super) struct Kind {
    /// The name of the file on the person's machine.
    pub file: String,
    /// The encoding of a text.
    #[serde(default)]
    pub encoding: Option<String>,
    /// The character between the cells of a text.
    pub delimiter: String,
    /// The name of the sheet of a workbook, and those of all its sheets.
    #[serde(default)]
    pub worksheet: Option<String>,
    #[serde(default)]
    pub worksheets: Vec<String>,
    /// The names of its columns.
    pub header: Vec<String>,
}

/// A row, as a page keeps it.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub(super) struct SheetRow {
    /// The line of the file that it begins on, counted from 1.
    pub line: u64,
    pub cells: Vec<String>,
    /// Why it is no contact, whatever its columns mean.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub fault: Option<String>,
}

impl SheetRow {
    /// The row, and what the columns say of it.
    pub(super) fn person(self, columns: &Columns) -> (Row, Person) {
        let Self { line, cells, fault } = self;
        let row = Row { line, cells, fault: None };
        let person = match fault {
            None => columns.person(&row),
            Some(cause) => {
                Person { contact: Err(Problem::of_cell(&row, None, cause)), left_out: Vec::new() }
            }
        };
        (row, person)
    }
}

impl From<Row> for SheetRow {
    fn from(row: Row) -> Self {
        let Row { line, mut cells, fault } = row;
        cells.shrink_to_fit();
        Self { line, cells, fault: fault.map(|fault| fault.to_string()) }
    }
}

/// Why a file cannot be imported.
#[derive(Debug, thiserror::Error)]
pub(super) enum NotAFile {
    #[error("This file has no rows below its first one.")]
    Empty,
    #[error(
        "This file has {} rows. Split it: {} is the most.",
        whole(*.0 as u64),
        whole(MAX_ROWS as u64)
    )]
    TooLong(usize),
    #[error(
        "This file has more than {} cells. Split it, or remove the columns that you do not need.",
        whole(MOST_CELLS as u64)
    )]
    TooManyCells,
    #[error(transparent)]
    Bad(BadFile),
}

impl From<BadFile> for NotAFile {
    fn from(error: BadFile) -> Self {
        match error {
            BadFile::Empty => Self::Empty,
            other => Self::Bad(other),
        }
    }
}

impl Opened {
    /// Reads a file. This may take long, so a request that brings a file has a turn of its account
    /// and a thread of its own. Rows beyond the limit of an import are counted, but not kept.
    pub(super) fn read(file: &SentFile, options: &Options) -> Result<Self, NotAFile> {
        let SentFile { name: file, bytes } = file.clone();
        let sheet = Sheet::open(Cursor::new(bytes), options)?;
        let header = sheet.header().to_vec();
        let delimiter = sheet.format().delimiter().to_string();
        let (encoding, worksheet, worksheets) = match sheet.format() {
            Format::Text { encoding, .. } => (Some(encoding.to_string()), None, Vec::new()),
            Format::Workbook { sheet, sheets } => (None, Some(sheet.clone()), sheets.clone()),
            _ => (None, None, Vec::new()),
        };
        let (mut rows, mut count, mut cells) = (Vec::new(), 0, 0);
        for row in sheet {
            let row = row?;
            if count < MAX_ROWS {
                cells += row.cells.len();
                if cells > MOST_CELLS {
                    return Err(NotAFile::TooManyCells);
                }
                rows.push(SheetRow::from(row));
            }
            count += 1;
        }
        fits(count)?;
        Ok(Self { kind: Kind { file, encoding, delimiter, worksheet, worksheets, header }, rows })
    }
}

/// Which files are read, in words.
pub(super) fn accepted() -> String {
    format!("At most {} rows; .xlsx, .ods, .csv or .txt.", whole(MAX_ROWS as u64))
}

/// Whether the first row of a file may name this many columns.
pub(super) fn has_room_for(columns: usize) -> Result<(), NotAFile> {
    if columns > MOST_COLUMNS { Err(BadFile::TooWide.into()) } else { Ok(()) }
}

/// Whether a file may have this many rows below its header.
pub(super) fn fits(rows: usize) -> Result<(), NotAFile> {
    match rows {
        0 => Err(NotAFile::Empty),
        1..=MAX_ROWS => Ok(()),
        _ => Err(NotAFile::TooLong(rows)),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read(bytes: impl Into<bytes::Bytes>) -> Result<Opened, NotAFile> {
        let file = SentFile { name: "people.csv".to_owned(), bytes: bytes.into() };
        Opened::read(&file, &Options::default())
    }

    #[test]
    fn a_file_is_read_with_what_a_page_shows_of_it() {
        let opened = read(&b"Mobile;Name\n07700900123;Zo\xEB\n\n1;2;3\n"[..]).unwrap();
        let Kind { encoding, delimiter, header, .. } = &opened.kind;
        assert_eq!((encoding.as_deref(), delimiter.as_str()), (Some("windows-1252"), ";"));
        assert_eq!(header, &["Mobile", "Name"]);
        let rows: Vec<_> = opened.rows.iter().map(|row| (row.line, row.cells.join("|"))).collect();
        assert_eq!(rows, [(2, "07700900123|Zoë".to_owned()), (4, "1|2|3".to_owned())]);
        assert_eq!(opened.rows[1].fault.as_deref(), Some("it has 3 columns instead of 2"));
    }

    #[test]
    fn a_file_with_too_many_cells_is_refused_while_it_is_read() {
        let columns = MOST_CELLS / 10_000;
        let row = format!("{}x\n", ",".repeat(columns - 1));
        assert_eq!(read(row.repeat(10_001)).unwrap().rows.len(), 10_000);
        let refused = read(row.repeat(10_002)).unwrap_err();
        assert_eq!(
            refused.to_string(),
            "This file has more than 500,000 cells. Split it, or remove the columns that you do \
             not need."
        );
    }

    #[test]
    fn a_file_without_rows_and_one_with_too_many_are_refused() {
        for file in ["", "\n\n", "phone,name", "phone\n\n ,\n"] {
            assert!(matches!(read(file), Err(NotAFile::Empty)), "{file:?}");
        }
        let long = format!("phone\n{}", "1\n".repeat(MAX_ROWS + 1));
        let refused = read(long).unwrap_err();
        assert_eq!(refused.to_string(), "This file has 20,001 rows. Split it: 20,000 is the most.");
        let full = format!("phone\n{}", "1\n".repeat(MAX_ROWS));
        assert_eq!(read(full).unwrap().rows.len(), MAX_ROWS);
    }
}
