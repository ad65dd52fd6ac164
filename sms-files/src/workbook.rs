//! A sheet of a workbook: `.xlsx` and `.ods`.

use std::io::{Read, Seek};

use calamine::{
    CellErrorType, Data, DataRef, ExcelDateTime, Ods, Reader, Sheet, SheetType, SheetVisible, Xlsx,
};
use sms_core::text::is_blank;

use crate::bad_file::BadFile;
use crate::delimited::Cells;
use crate::maker::Maker;
use crate::package::look_through;
use crate::row::Fault;
use crate::{MOST_CELL_BYTES, MOST_COLUMNS};

/// What a cell takes besides its text, in bytes.
const CELL: u64 = 32;

/// A sheet of a workbook, read as a whole.
#[derive(Debug)]
pub(crate) struct Workbook {
    /// The name of the sheet.
    pub sheet: String,
    /// The names of all sheets that are shown.
    pub sheets: Vec<String>,
    pub header: Cells,
    pub rows: Vec<Cells>,
}

/// Whether a file begins as a workbook does, or why that kind of workbook cannot be read.
pub(crate) fn is_workbook(first: &[u8]) -> Result<bool, BadFile> {
    // What Excel wrote before 2007, and writes with a password.
    const OLD: [u8; 8] = [0xD0, 0xCF, 0x11, 0xE0, 0xA1, 0xB1, 0x1A, 0xE1];
    if first.starts_with(&OLD) {
        return Err(BadFile::OldWorkbook);
    }
    Ok(first.starts_with(b"PK\x03\x04"))
}

/// Reads a sheet: the one of this name, or the first that is shown. `most` is how many bytes the
/// file may have once it is unpacked.
pub(crate) fn read<R: Read + Seek>(
    mut file: R,
    wanted: Option<&str>,
    most: u64,
) -> Result<Workbook, BadFile> {
    let maker = look_through(&mut file, most)?;
    file.rewind()?;
    match maker {
        Maker::Excel => {
            let mut book: Xlsx<R> = Xlsx::new(file).map_err(|_| BadFile::Broken)?;
            let (sheet, sheets) = chosen(book.sheets_metadata(), wanted)?;
            let mut rows = Rows::new(most);
            let mut cells = book.worksheet_cells_reader(&sheet).map_err(|_| BadFile::Broken)?;
            while let Some(cell) = cells.next_cell().map_err(|_| BadFile::Broken)? {
                let (row, column) = cell.get_position();
                rows.add(row, column, &text_ref(cell.get_value()))?;
            }
            rows.finish(sheet, sheets)
        }
        Maker::OpenDocument => {
            let mut book: Ods<R> = Ods::new(file).map_err(|_| BadFile::Broken)?;
            let (sheet, sheets) = chosen(book.sheets_metadata(), wanted)?;
            let range = book.worksheet_range(&sheet).map_err(|_| BadFile::Broken)?;
            let (row, column) = range.start().unwrap_or_default();
            let mut rows = Rows::new(most);
            for (down, across, cell) in range.used_cells() {
                let place = |from: u32, by: usize| {
                    from.saturating_add(u32::try_from(by).unwrap_or(u32::MAX))
                };
                rows.add(place(row, down), place(column, across), &text(cell))?;
            }
            rows.finish(sheet, sheets)
        }
    }
}

/// The sheet to read, and those that there are.
fn chosen(sheets: &[Sheet], wanted: Option<&str>) -> Result<(String, Vec<String>), BadFile> {
    let is_shown = |sheet: &&Sheet| {
        sheet.visible == SheetVisible::Visible && sheet.typ == SheetType::WorkSheet
    };
    let names: Vec<String> =
        sheets.iter().filter(is_shown).map(|sheet| sheet.name.clone()).collect();
    let sheet = match wanted {
        Some(name) => names.iter().find(|one| *one == name).ok_or(BadFile::NoSuchSheet)?,
        None => names.first().ok_or(BadFile::Empty)?,
    };
    Ok((sheet.clone(), names))
}

/// The rows of a sheet, as its cells come in.
#[expect(clippy::struct_field_names, reason = "they are the rows")]
struct Rows {
    /// How many bytes they may still take.
    left: u64,
    header: Option<Cells>,
    rows: Vec<Cells>,
    row: Option<Cells>,
}

impl Rows {
    fn new(most: u64) -> Self {
        Self { left: most, header: None, rows: Vec::new(), row: None }
    }

    fn add(&mut self, row: u32, column: u32, text: &str) -> Result<(), BadFile> {
        if is_blank(text) {
            return Ok(());
        }
        let line = u64::from(row) + 1;
        if self.row.as_ref().is_none_or(|row| row.line != line) {
            self.end_row();
            self.row = Some(Cells { line, kept: Vec::new(), separated: 0, fault: None });
        }
        let Some(row) = &mut self.row else { return Ok(()) };
        let column = usize::try_from(column).unwrap_or(usize::MAX);
        let columns = self.header.as_ref().map_or(MOST_COLUMNS, |header| header.kept.len());
        row.separated = row.separated.max(column.saturating_add(1));
        if column >= columns && self.header.is_none() {
            return Err(BadFile::TooWide);
        }
        if column >= columns {
            let cells = row.separated;
            let first = match row.fault.take() {
                Some(Fault::TooManyCells { first, .. }) => first,
                _ => text.chars().take(100).collect(),
            };
            row.fault = Some(Fault::TooManyCells { cells, columns, first });
            if row.kept.len() < MOST_COLUMNS {
                let new = columns.saturating_sub(row.kept.len()) + 1;
                let taken = new as u64 * CELL + text.len() as u64;
                self.left = self.left.checked_sub(taken).ok_or(BadFile::TooLarge)?;
                row.kept.resize(columns.max(row.kept.len()), String::new());
                row.kept.push(cut(text).to_owned());
            }
            return Ok(());
        }
        let new = column.saturating_add(1).saturating_sub(row.kept.len());
        let taken = new as u64 * CELL + text.len() as u64;
        self.left = self.left.checked_sub(taken).ok_or(BadFile::TooLarge)?;
        if new > 0 {
            row.kept.resize(column + 1, String::new());
        }
        cut(text).clone_into(&mut row.kept[column]);
        Ok(())
    }

    fn end_row(&mut self) {
        let Some(row) = self.row.take() else { return };
        if self.header.is_none() {
            self.header = Some(row);
        } else {
            self.rows.push(row);
        }
    }

    fn finish(mut self, sheet: String, sheets: Vec<String>) -> Result<Workbook, BadFile> {
        self.end_row();
        let header = self.header.ok_or(BadFile::Empty)?;
        Ok(Workbook { sheet, sheets, header, rows: self.rows })
    }
}

fn cut(text: &str) -> &str {
    let mut end = text.len().min(MOST_CELL_BYTES);
    while !text.is_char_boundary(end) {
        end -= 1;
    }
    &text[..end]
}

fn text_ref(value: &DataRef<'_>) -> String {
    match value {
        DataRef::SharedString(text) => (*text).to_owned(),
        DataRef::String(text) => text.clone(),
        DataRef::Int(number) => number.to_string(),
        DataRef::Float(number) => decimal(*number),
        DataRef::Bool(value) => value.to_string(),
        DataRef::DateTime(at) => moment(at),
        DataRef::DateTimeIso(at) => iso(at),
        DataRef::DurationIso(time) => duration(time),
        DataRef::Error(error) => failed(error),
        DataRef::Empty => String::new(),
    }
}

fn text(value: &Data) -> String {
    match value {
        Data::String(text) => text.clone(),
        Data::Int(number) => number.to_string(),
        Data::Float(number) => decimal(*number),
        Data::Bool(value) => value.to_string(),
        Data::DateTime(at) => moment(at),
        Data::DateTimeIso(at) => iso(at),
        Data::DurationIso(time) => duration(time),
        Data::Error(error) => failed(error),
        Data::Empty => String::new(),
    }
}

/// A number without an exponent: 447700900123 and not 4.47700900123E+11. Like Excel, it shows 15
/// digits: 0.3 and not 0.30000000000000004.
fn decimal(number: f64) -> String {
    let shown = format!("{number:.14e}").parse().unwrap_or(number);
    shown.to_string()
}

fn failed(error: &CellErrorType) -> String {
    error.to_string()
}

/// A date, a time or both, in the order of ISO 8601.
fn moment(at: &ExcelDateTime) -> String {
    if at.is_duration() {
        // As a whole number of seconds; it is no duration if it is negative.
        let seconds: u64 = format!("{:.0}", at.as_f64() * 86_400.0).parse().unwrap_or_default();
        return clock(seconds / 3_600, seconds / 60 % 60, seconds % 60);
    }
    let (year, month, day, hour, minute, second, _) = at.to_ymd_hms_milli();
    let date = format!("{year:04}-{month:02}-{day:02}");
    let time = clock(hour.into(), minute.into(), second.into());
    let is_midnight = (hour, minute, second) == (0, 0, 0);
    match (at.as_f64() < 1.0, is_midnight) {
        (true, _) => time,
        (false, true) => date,
        (false, false) => format!("{date} {time}"),
    }
}

fn clock(hour: u64, minute: u64, second: u64) -> String {
    let time = format!("{hour:02}:{minute:02}");
    if second == 0 { time } else { format!("{time}:{second:02}") }
}

/// `2026-11-27T09:30:00` as people write it.
fn iso(at: &str) -> String {
    let text = at.replace('T', " ");
    text.strip_suffix(":00").filter(|text| text.contains(' ')).unwrap_or(&text).to_owned()
}

/// `PT09H30M00S` as people write it.
fn duration(time: &str) -> String {
    let read = || {
        let (hour, rest) = time.strip_prefix("PT")?.split_once('H')?;
        let (minute, rest) = rest.split_once('M')?;
        let second = rest.strip_suffix('S')?.split(['.', ',']).next()?;
        Some(clock(hour.parse().ok()?, minute.parse().ok()?, second.parse().ok()?))
    };
    read().unwrap_or_else(|| time.to_owned())
}
