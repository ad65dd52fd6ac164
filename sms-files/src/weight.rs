//! What a workbook takes in memory once it is opened, counted while it is looked through.
//!
//! Both kinds of workbooks say things once that are kept many times: a cell and a row are repeated,
//! a format stands in each style that has it, a table says how long it will be. So a small file may
//! become a large one. Whatever the library that opens workbooks keeps is counted here, by the
//! elements from which it makes it; what it reads and throws away is not.

use quick_xml::events::BytesStart;

use crate::bad_file::BadFile;
use crate::maker::Maker;

/// What a cell takes in memory besides its text, in bytes.
const CELL: u64 = 64;
/// What a row takes besides its cells.
const ROW: u64 = 32;
/// What a text in a table of texts takes besides its characters.
const STRING: u64 = 64;
/// The place of a text that is announced.
const ANNOUNCED: u64 = 24;
/// What a sheet, a name, a relation or a part of a style takes besides its texts.
const PART: u64 = 512;

/// What a workbook takes, as its elements come in.
#[derive(Debug)]
pub(crate) struct Weight {
    maker: Maker,
    /// How many bytes it may still take.
    left: u64,
    paths: Copies,
    formats: Copies,
    table: Table,
}

/// What is said once, and kept by each element that names it.
#[derive(Debug, Default)]
struct Copies {
    /// The longest that is said, in bytes.
    longest: u64,
    /// How many elements may name it.
    count: u64,
}

/// The table that is being read.
#[derive(Debug, Default)]
struct Table {
    /// How often the row and the cell are repeated that are being read.
    row: u64,
    cell: u64,
    /// The text of the cell, and whether the cell is more than a gap.
    text: u64,
    has_value: bool,
    /// Empty cells, and empty rows, that only count if others come after them.
    empty_cells: u64,
    empty_rows: u64,
    /// The cells and the texts of the row.
    width: u64,
    texts: u64,
    /// The rows once they are written out. All of them become as wide as the widest.
    rows: u64,
    widest: u64,
    /// The bytes of all texts, and of cells before they are written out.
    bytes: u64,
}

impl Weight {
    /// For a workbook that may take `left` bytes.
    pub(crate) fn new(maker: Maker, left: u64) -> Self {
        Self {
            maker,
            left,
            paths: Copies::default(),
            formats: Copies::default(),
            table: Table::default(),
        }
    }

    /// Counts an element that begins; an error once the workbook takes too much.
    pub(crate) fn begin(&mut self, element: &BytesStart<'_>) -> Result<(), BadFile> {
        match self.maker {
            Maker::Excel => self.begin_excel(element),
            Maker::OpenDocument => self.begin_open_document(element),
        }
    }

    /// Text inside an element.
    pub(crate) fn text(&mut self, bytes: u64) {
        self.table.text = self.table.text.saturating_add(bytes);
    }

    /// Counts an element that ends; an error once the workbook takes too much.
    pub(crate) fn end(&mut self, name: &str) -> Result<(), BadFile> {
        match self.maker {
            // A text of a table of texts; other texts are read and thrown away.
            Maker::Excel if local(name) == "si" => {
                self.take(STRING.saturating_add(self.table.text))
            }
            Maker::Excel => Ok(()),
            Maker::OpenDocument => {
                self.table.end(name);
                if name == "table:table" {
                    let taken = std::mem::take(&mut self.table).taken();
                    self.take(taken)?;
                }
                Ok(())
            }
        }
    }

    /// All parts were read.
    pub(crate) fn finish(mut self) -> Result<(), BadFile> {
        let taken = self.paths.taken().saturating_add(self.formats.taken());
        self.take(taken)
    }

    fn begin_excel(&mut self, element: &BytesStart<'_>) -> Result<(), BadFile> {
        let bytes = element.len() as u64;
        match local(element.name().0) {
            "si" => self.table.text = 0,
            "sst" => {
                // What is no number is passed over when the workbook is opened, too.
                let announced = number(element, "uniqueCount").ok().flatten().unwrap_or_default();
                self.take(announced.saturating_mul(ANNOUNCED))?;
            }
            "Relationship" => {
                self.paths.said(bytes);
                self.part(bytes)?;
            }
            "sheet" => {
                self.paths.count += 1;
                self.part(bytes)?;
            }
            // The name is that of a font.
            "numFmt" | "name" => {
                self.formats.said(bytes);
                self.part(bytes)?;
            }
            "xf" => {
                self.formats.count += 1;
                self.part(bytes)?;
            }
            "definedName" | "font" | "fill" | "border" | "stop" => self.part(bytes)?,
            _ => {}
        }
        Ok(())
    }

    fn begin_open_document(&mut self, element: &BytesStart<'_>) -> Result<(), BadFile> {
        match element.name().0 {
            "table:table" | "style:style" | "table:named-range" | "table:named-expression" => {
                self.part(element.len() as u64)
            }
            _ => self.table.begin(element),
        }
    }

    /// Something that stays in memory, whose attributes have `bytes` bytes.
    fn part(&mut self, bytes: u64) -> Result<(), BadFile> {
        self.take(PART.saturating_add(bytes))
    }

    fn take(&mut self, bytes: u64) -> Result<(), BadFile> {
        self.left = self.left.checked_sub(bytes).ok_or(BadFile::TooLarge)?;
        Ok(())
    }
}

impl Copies {
    fn said(&mut self, bytes: u64) {
        self.longest = self.longest.max(bytes);
    }

    /// An element keeps at most two of each: the name of its font, and its format.
    fn taken(&self) -> u64 {
        self.count.saturating_mul(self.longest).saturating_mul(2)
    }
}

impl Table {
    fn begin(&mut self, element: &BytesStart<'_>) -> Result<(), BadFile> {
        match element.name().0 {
            "table:table-row" => {
                self.row = number(element, "table:number-rows-repeated")?.unwrap_or(1);
                (self.width, self.texts, self.empty_cells) = (0, 0, 0);
            }
            "table:table-cell" | "table:covered-table-cell" => {
                self.cell = number(element, "table:number-columns-repeated")?.unwrap_or(1);
                (self.text, self.has_value) = (0, false);
                for attribute in element.attributes().with_checks(false) {
                    let attribute = attribute.map_err(|_| BadFile::Broken)?;
                    let name = attribute.key.0;
                    if name.starts_with("office:") || name == "table:formula" {
                        self.has_value = true;
                        self.text = self.text.saturating_add(attribute.value.len() as u64);
                    }
                }
            }
            "text:s" => {
                let spaces = number(element, "text:c")?.unwrap_or(1);
                self.text = self.text.saturating_add(spaces);
            }
            // Each becomes a character.
            "text:p" | "text:tab" | "text:line-break" => {
                self.text = self.text.saturating_add(1);
            }
            _ => {}
        }
        Ok(())
    }

    fn end(&mut self, name: &str) {
        match name {
            "table:table-cell" | "table:covered-table-cell" if self.has_value => {
                let before = std::mem::take(&mut self.empty_cells);
                self.width = self.width.saturating_add(self.cell).saturating_add(before);
                let own = self.cell.saturating_mul(self.text);
                self.texts = self.texts.saturating_add(own);
            }
            "table:table-cell" | "table:covered-table-cell" => {
                self.empty_cells = self.empty_cells.saturating_add(self.cell);
            }
            "table:table-row" => self.end_row(),
            _ => {}
        }
    }

    fn end_row(&mut self) {
        self.bytes = self.bytes.saturating_add(ROW);
        if self.width == 0 {
            self.empty_rows = self.empty_rows.saturating_add(self.row);
            return;
        }
        let before = std::mem::take(&mut self.empty_rows);
        self.rows = self.rows.saturating_add(self.row).saturating_add(before);
        self.widest = self.widest.max(self.width);
        // The row is there once as it was read, and as often as it is repeated.
        let once = self.width.saturating_mul(CELL).saturating_add(self.texts);
        let repeated = self.row.saturating_mul(self.texts);
        self.bytes = self.bytes.saturating_add(once).saturating_add(repeated);
    }

    fn taken(self) -> u64 {
        self.rows.saturating_mul(self.widest).saturating_mul(CELL).saturating_add(self.bytes)
    }
}

/// The name of an element without its prefix.
fn local(name: &str) -> &str {
    name.rsplit(':').next().unwrap_or(name)
}

/// The number in an attribute, if it is there.
fn number(element: &BytesStart<'_>, name: &str) -> Result<Option<u64>, BadFile> {
    for attribute in element.attributes().with_checks(false) {
        let attribute = attribute.map_err(|_| BadFile::Broken)?;
        if attribute.key.0 == name {
            return attribute.value.trim().parse().map(Some).map_err(|_| BadFile::Broken);
        }
    }
    Ok(None)
}
