//! An open file: its columns and its rows.

use std::io::{Read, Seek};
use std::vec::IntoIter;

use crate::MOST_UNPACKED;
use sms_core::phone::parse_uk_mobile;

use crate::bad_file::BadFile;
use crate::cell::{number, plain};
use crate::delimited::{Cells, Delimited, Width};
use crate::delimiter::Delimiter;
use crate::encoding::Encoding;
use crate::letters::Letters;
use crate::row::Row;
use crate::workbook::{self, Workbook};

/// How much of a file is looked at to find its delimiter.
const SAMPLE_BYTES: u64 = 64 * 1_024;

/// How a file is to be read. What is `None` is found out.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Options {
    /// The encoding of a text.
    pub encoding: Option<Encoding>,
    /// The character between the cells of a text.
    pub delimiter: Option<Delimiter>,
    /// The name of the sheet of a workbook; `None` for the first that is shown.
    pub sheet: Option<String>,
    /// The most bytes of a workbook once it is unpacked. The memory that it takes is a small
    /// multiple of that.
    pub most_unpacked: u64,
}

impl Default for Options {
    fn default() -> Self {
        Self { encoding: None, delimiter: None, sheet: None, most_unpacked: MOST_UNPACKED }
    }
}

/// What kind of file it is, as it was found or said.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub enum Format {
    /// Rows of text with delimiters, such as CSV.
    Text {
        /// The encoding that was found or given.
        encoding: Encoding,
        /// The character between cells.
        delimiter: Delimiter,
    },
    /// A sheet of a workbook.
    Workbook {
        /// The name of the sheet.
        sheet: String,
        /// The names of all sheets that are shown.
        sheets: Vec<String>,
    },
}

impl Format {
    /// The delimiter of a text that goes with this file.
    pub fn delimiter(&self) -> Delimiter {
        match self {
            Self::Text { delimiter, .. } => *delimiter,
            Self::Workbook { .. } => Delimiter::COMMA,
        }
    }
}

/// An open file. As an iterator it gives the rows below the one that names the columns, without
/// those that have no word in them. Those of a text are read when they are asked for; a workbook is
/// read as a whole.
///
/// A first row with a mobile number in it names nothing: it is the first of the rows. Then the
/// column with the number is called `phone`, and the others have no name.
#[derive(Debug)]
pub struct Sheet<R> {
    header: Vec<String>,
    /// The first row, if it is a person in the place of names.
    first: Option<Row>,
    format: Format,
    rows: Rows<R>,
}

enum Rows<R> {
    OfText(Box<Delimited<R>>),
    OfWorkbook(IntoIter<Cells>),
}

impl<R> std::fmt::Debug for Rows<R> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("Rows(…)")
    }
}

impl<R: Read + Seek> Sheet<R> {
    /// Opens a file, and reads the names of its columns from the first row with a word in it. A
    /// file without an encoding in `options` is read to its end first.
    ///
    /// # Errors
    ///
    /// [`BadFile`] if it has no such row, or too many columns, or is a workbook that cannot be
    /// read.
    pub fn open(mut file: R, options: &Options) -> Result<Self, BadFile> {
        file.rewind()?;
        let mut first = Vec::new();
        (&mut file).take(8).read_to_end(&mut first)?;
        file.rewind()?;
        if workbook::is_workbook(&first)? {
            return Self::of_workbook(file, options);
        }
        Self::of_text(file, options)
    }

    fn of_workbook(file: R, options: &Options) -> Result<Self, BadFile> {
        let Options { sheet, most_unpacked, .. } = options;
        let Workbook { sheet, sheets, header, rows } =
            workbook::read(file, sheet.as_deref(), *most_unpacked)?;
        let format = Format::Workbook { sheet, sheets };
        Ok(Self::new(header, format, Rows::OfWorkbook(rows.into_iter())))
    }

    fn of_text(mut file: R, options: &Options) -> Result<Self, BadFile> {
        let encoding = match options.encoding {
            Some(encoding) => encoding,
            None => Encoding::found(&mut file)?,
        };
        file.rewind()?;
        let sample = sample(&mut file, encoding)?;
        file.rewind()?;
        let named = Delimiter::named_by(&sample);
        let delimiter = options.delimiter.or(named).unwrap_or_else(|| Delimiter::found(&sample));
        let mut rows = Delimited::new(Letters::new(file, encoding), delimiter.byte());
        if named.is_some() {
            rows.next_row(Width::AtMost(0))?;
        }
        let header = rows.next_row(Width::Header)?.ok_or(BadFile::Empty)?;
        if header.fault.is_some() {
            return Err(BadFile::UnclosedName(header.line));
        }
        let format = Format::Text { encoding, delimiter };
        Ok(Self::new(header, format, Rows::OfText(Box::new(rows))))
    }
}

fn is_mobile(cell: &str) -> bool {
    number(cell).is_ok_and(|number| parse_uk_mobile(&number).is_ok())
}

impl<R> Sheet<R> {
    fn new(header: Cells, format: Format, rows: Rows<R>) -> Self {
        let names = header.kept.iter().map(|name| plain(name).trim().to_owned());
        let names: Vec<String> = names.collect();
        if !names.iter().any(|name| is_mobile(name)) {
            return Self { header: names, first: None, format, rows };
        }
        let name = |cell: &String| if is_mobile(cell) { "phone" } else { "" }.to_owned();
        let header_of_numbers = names.iter().map(name).collect();
        Self { header: header_of_numbers, first: Some(row(header)), format, rows }
    }

    /// The names of the columns.
    pub fn header(&self) -> &[String] {
        &self.header
    }

    /// How the file is read.
    pub fn format(&self) -> &Format {
        &self.format
    }
}

impl<R: Read> Iterator for Sheet<R> {
    type Item = Result<Row, BadFile>;

    fn next(&mut self) -> Option<Self::Item> {
        if let Some(first) = self.first.take() {
            return Some(Ok(first));
        }
        match &mut self.rows {
            Rows::OfText(rows) => {
                let next = rows.next_row(Width::AtMost(self.header.len()));
                next.map(|cells| cells.map(row)).transpose()
            }
            Rows::OfWorkbook(rows) => rows.next().map(|cells| Ok(row(cells))),
        }
    }
}

fn row(cells: Cells) -> Row {
    let Cells { line, kept, separated: _, fault } = cells;
    let cells = kept.into_iter().map(|cell| match plain(&cell) {
        text if text.len() == cell.len() => cell,
        text => text.to_owned(),
    });
    Row { line, cells: cells.collect(), fault }
}

fn sample<R: Read>(file: &mut R, encoding: Encoding) -> Result<String, BadFile> {
    let mut letters = Letters::new(file.take(SAMPLE_BYTES), encoding);
    let mut text = Vec::new();
    while let Some(byte) = letters.next()? {
        text.push(byte);
    }
    Ok(String::from_utf8(text).unwrap_or_default())
}
