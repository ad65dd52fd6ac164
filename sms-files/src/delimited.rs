//! Rows of cells with a character between them: any line ending, quoted cells, doubled quotes.
//!
//! A quote opens a cell only if another one closes it. Where none does, it is text, and the row has
//! a fault: otherwise one stray quote would take all rows after it into its cell.

use std::io::Read;

use sms_core::text::is_blank;

use crate::bad_file::BadFile;
use crate::letters::Letters;
use crate::row::Fault;
use crate::tape::{Mark, Tape};
use crate::{MOST_CELL_BYTES, MOST_COLUMNS};

/// How much a fault shows of a cell for which there is no column.
const MOST_OF_EXTRA: usize = 100;
/// The most bytes of a cell in quotes. Spreadsheets keep 32,767 characters in one.
const MOST_QUOTED: usize = 256 * 1_024;
/// The most spaces between the quote that closes a cell and its end.
const MOST_SPACES: usize = 64;

/// How many cells of a row are kept.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Width {
    /// All. A row with too many is refused while it is read.
    Header,
    /// This many. The others are counted, and that there are words in them is a fault. Those with
    /// words come after the last column.
    AtMost(usize),
}

/// A row as it was read.
#[derive(Debug)]
pub(crate) struct Cells {
    /// The line that it begins on, counted from 1.
    pub line: u64,
    pub kept: Vec<String>,
    /// How many cells it has, kept or not.
    pub separated: usize,
    pub fault: Option<Fault>,
}

/// The rows of a text.
pub(crate) struct Delimited<R> {
    tape: Tape<R>,
    delimiter: u8,
    line: u64,
}

/// A quote that has opened a cell.
struct Opened {
    mark: Mark,
    line: u64,
    /// The row before the cell.
    separated: usize,
    kept: usize,
    has_word: bool,
    /// How many line ends are in the cell, and how many delimiters before the first of them and
    /// after the last one.
    lines: usize,
    in_first: usize,
    in_last: usize,
}

impl Opened {
    /// Whether it has taken rows into its cell: what it has closed is no row of the file, and each
    /// of its lines, as far as they are seen, is one without it.
    fn has_taken_rows(&self, separated: usize, columns: usize) -> bool {
        let after = separated - self.separated - 1;
        let (first, last) = (self.separated + 1 + self.in_first, self.in_last + 1 + after);
        columns > 1 && separated != columns && first == columns && last == columns
    }
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Ended {
    Row,
    File,
}

impl<R: Read> Delimited<R> {
    pub(crate) fn new(letters: Letters<R>, delimiter: u8) -> Self {
        Self { tape: Tape::new(letters), delimiter, line: 1 }
    }

    /// The next row with a word in it.
    pub(crate) fn next_row(&mut self, width: Width) -> Result<Option<Cells>, BadFile> {
        loop {
            let mut row = Collected::new(self.line, width);
            let ended = self.read_row(&mut row)?;
            if row.has_word {
                return Ok(Some(row.finish()));
            }
            if ended == Ended::File {
                return Ok(None);
            }
        }
    }

    fn read_row(&mut self, row: &mut Collected) -> Result<Ended, BadFile> {
        loop {
            let ended = match self.tape.next()? {
                None => Ended::File,
                Some(b'"') if row.cell.is_empty() => {
                    self.read_quoted(row)?;
                    continue;
                }
                Some(byte) if byte == self.delimiter => {
                    row.end_cell()?;
                    continue;
                }
                Some(byte) if self.ends_line(byte)? => Ended::Row,
                Some(byte) => {
                    // It is a part of the line end that comes.
                    if byte != b'\r' {
                        row.push(byte);
                    }
                    continue;
                }
            };
            row.end_cell()?;
            if !self.takes_back(row) {
                return Ok(ended);
            }
        }
    }

    /// Whether this is the last byte of a line, which is counted then.
    fn ends_line(&mut self, byte: u8) -> Result<bool, BadFile> {
        let ends = byte == b'\n' || (byte == b'\r' && self.tape.peek(0)? != Some(b'\n'));
        self.line += u64::from(ends);
        Ok(ends)
    }

    /// Reads a cell from the quote on that opens it.
    fn read_quoted(&mut self, row: &mut Collected) -> Result<(), BadFile> {
        let mut opened = row.opened(self.tape.mark(), self.line);
        for _ in 0..MOST_QUOTED {
            match self.tape.next()? {
                Some(b'"') if self.tape.peek(0)? == Some(b'"') => {
                    self.tape.next()?;
                    row.push(b'"');
                }
                Some(b'"') if self.is_at_end_of_cell()? => {
                    row.close(opened, &mut self.tape);
                    return Ok(());
                }
                // `"Big" Al`: nothing that is lost, so the quotes are text.
                Some(b'"') if opened.lines == 0 => {
                    row.cell.insert(0, b'"');
                    row.push(b'"');
                    self.tape.forget(opened.mark);
                    return Ok(());
                }
                None | Some(b'"') => break,
                Some(byte) => {
                    row.push(byte);
                    if self.ends_line(byte)? {
                        (opened.lines, opened.in_last) = (opened.lines + 1, 0);
                    } else if byte == self.delimiter {
                        opened.in_first += usize::from(opened.lines == 0);
                        opened.in_last += 1;
                    }
                }
            }
        }
        self.give_up(row, &opened);
        Ok(())
    }

    /// Whether a cell ends here, but for spaces.
    fn is_at_end_of_cell(&mut self) -> Result<bool, BadFile> {
        for after in 0..MOST_SPACES {
            match self.tape.peek(after)? {
                None | Some(b'\r' | b'\n') => return Ok(true),
                Some(byte) if byte == self.delimiter => return Ok(true),
                Some(b' ' | b'\t') => {}
                Some(_) => return Ok(false),
            }
        }
        Ok(false)
    }

    /// Reads what comes after a quote again, which is text then.
    fn give_up(&mut self, row: &mut Collected, opened: &Opened) -> bool {
        let is_kept = self.tape.go_back(opened.mark);
        if is_kept {
            self.line = opened.line;
            row.go_back(opened);
        }
        row.fault = Some(Fault::Unclosed);
        is_kept
    }

    /// Goes back in a row that is read if a cell of it has taken other rows.
    fn takes_back(&mut self, row: &mut Collected) -> bool {
        let Some(opened) = row.of_lines.take() else { return false };
        if let Width::AtMost(columns) = row.width
            && opened.has_taken_rows(row.separated, columns)
        {
            return self.give_up(row, &opened);
        }
        self.tape.forget(opened.mark);
        false
    }
}

/// The part of a row that has been read.
struct Collected {
    line: u64,
    width: Width,
    kept: Vec<String>,
    /// The cell that is being read.
    cell: Vec<u8>,
    separated: usize,
    has_word: bool,
    fault: Option<Fault>,
    /// The cell with line ends in it, if it is the only one.
    of_lines: Option<Opened>,
    has_lines: bool,
}

impl Collected {
    fn new(line: u64, width: Width) -> Self {
        Self {
            line,
            width,
            kept: Vec::new(),
            cell: Vec::new(),
            separated: 0,
            has_word: false,
            fault: None,
            of_lines: None,
            has_lines: false,
        }
    }

    fn opened(&self, mark: Mark, line: u64) -> Opened {
        let Self { separated, has_word, .. } = *self;
        let kept = self.kept.len();
        Opened { mark, line, separated, kept, has_word, lines: 0, in_first: 0, in_last: 0 }
    }

    /// A quote closes a cell. Of a single one with line ends it may have to be taken back.
    fn close<R: Read>(&mut self, opened: Opened, tape: &mut Tape<R>) {
        if opened.lines == 0 {
            tape.forget(opened.mark);
            return;
        }
        let is_first = !std::mem::replace(&mut self.has_lines, true);
        let forgotten = if is_first { self.of_lines.replace(opened) } else { Some(opened) };
        for one in forgotten.into_iter().chain(self.of_lines.take_if(|_| !is_first)) {
            tape.forget(one.mark);
        }
    }

    /// The row up to a quote, which is text.
    fn go_back(&mut self, opened: &Opened) {
        self.kept.truncate(opened.kept);
        (self.separated, self.has_word) = (opened.separated, opened.has_word);
        self.cell = vec![b'"'];
    }

    fn has_column(&self) -> bool {
        match self.width {
            Width::Header => true,
            Width::AtMost(columns) => self.separated < columns,
        }
    }

    fn push(&mut self, byte: u8) {
        let is_kept = self.has_column() || self.kept.len() < MOST_COLUMNS;
        let most = if is_kept { MOST_CELL_BYTES } else { MOST_OF_EXTRA };
        if self.cell.len() < most {
            self.cell.push(byte);
        }
    }

    fn end_cell(&mut self) -> Result<(), BadFile> {
        let cell = text(std::mem::take(&mut self.cell));
        let has_word = !is_blank(&cell);
        self.has_word |= has_word;
        let has_column = self.has_column();
        self.separated += 1;
        if self.width == Width::Header && self.separated > MOST_COLUMNS {
            return Err(BadFile::TooWide);
        }
        if has_column {
            self.kept.push(cell);
        } else if has_word {
            self.add_extra(cell);
        }
        Ok(())
    }

    /// A cell with words for which there is no column.
    fn add_extra(&mut self, cell: String) {
        let columns = match self.width {
            Width::Header => MOST_COLUMNS,
            Width::AtMost(columns) => columns,
        };
        let cells = self.separated;
        self.fault = Some(match self.fault.take() {
            Some(Fault::TooManyCells { first, .. }) => {
                Fault::TooManyCells { cells, columns, first }
            }
            Some(other) => other,
            None => {
                let first = cell.chars().take(MOST_OF_EXTRA).collect();
                Fault::TooManyCells { cells, columns, first }
            }
        });
        if self.kept.len() < MOST_COLUMNS {
            self.kept.push(cell);
        }
    }

    fn finish(self) -> Cells {
        let Self { line, kept, separated, fault, .. } = self;
        Cells { line, kept, separated, fault }
    }
}

/// The text of a cell, which may be cut inside its last character.
fn text(cell: Vec<u8>) -> String {
    String::from_utf8(cell).unwrap_or_else(|error| {
        let valid = error.utf8_error().valid_up_to();
        let mut bytes = error.into_bytes();
        bytes.truncate(valid);
        String::from_utf8(bytes).unwrap_or_default()
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::encoding::Encoding;

    type Read = (u64, Vec<String>, Option<Fault>);

    fn rows_of(text: &str, delimiter: u8, width: Width) -> Result<Vec<Read>, BadFile> {
        let mut rows = Delimited::new(Letters::new(text.as_bytes(), Encoding::Utf8), delimiter);
        let mut found = Vec::new();
        while let Some(Cells { line, kept, fault, .. }) = rows.next_row(width)? {
            found.push((line, kept, fault));
        }
        Ok(found)
    }

    fn plain(line: u64, cells: &[&str]) -> Read {
        (line, cells.iter().map(|cell| (*cell).to_owned()).collect(), None)
    }

    #[test]
    fn rows_are_read_as_spreadsheets_write_them_with_the_line_of_each() {
        for (text, delimiter, expected) in [
            ("a,b\n1,2\n", b',', vec![plain(1, &["a", "b"]), plain(2, &["1", "2"])]),
            ("\"x \"\"y\"\"\";2\r\n", b';', vec![plain(1, &["x \"y\"", "2"])]),
            ("a\tb\r1\t2,3", b'\t', vec![plain(1, &["a", "b"]), plain(2, &["1", "2,3"])]),
            (
                "a,b\n,\n\n\"1\n2\",3\n4\n",
                b',',
                vec![plain(1, &["a", "b"]), plain(4, &["1\n2", "3"]), plain(6, &["4"])],
            ),
            (
                "a|\"b\r\nc\"|\r\n\r\nd",
                b'|',
                vec![plain(1, &["a", "b\r\nc", ""]), plain(4, &["d"])],
            ),
            ("a \"b\", c\"d\n", b',', vec![plain(1, &["a \"b\"", " c\"d"])]),
            (" ,\u{a0}\n\u{200b}\n", b',', vec![]),
            ("", b',', vec![]),
        ] {
            let read = rows_of(text, delimiter, Width::AtMost(3)).unwrap();
            assert_eq!(read, expected, "{text:?}");
        }
    }

    #[test]
    fn a_header_with_too_many_columns_is_refused_while_it_is_read() {
        let named = |columns| vec!["a"; columns].join(",");
        let read = |text: &str| rows_of(text, b',', Width::Header);
        assert_eq!(read(&named(MOST_COLUMNS)).unwrap()[0].1.len(), MOST_COLUMNS);
        assert!(matches!(read(&named(MOST_COLUMNS + 1)), Err(BadFile::TooWide)));
        // Also where no cell of it has a word.
        assert!(matches!(read(&",".repeat(5_000)), Err(BadFile::TooWide)));
    }

    #[test]
    fn words_without_a_column_are_a_fault_and_empty_cells_are_none() {
        let read = |text: &str| rows_of(text, b',', Width::AtMost(2)).unwrap().remove(0);
        assert_eq!(read("1,2,, ,\n"), plain(1, &["1", "2"]));
        let first = "x".repeat(MOST_OF_EXTRA);
        let (_, cells, fault) = read(&format!("1,2,,{first}y,4,,\n"));
        assert_eq!(cells, ["1", "2", &format!("{first}y"), "4"]);
        assert_eq!(fault, Some(Fault::TooManyCells { cells: 5, columns: 2, first }));
    }

    /// The rows of a text with three columns: their lines, their cells, and whether a quote of
    /// them is never closed.
    fn told(text: &str) -> Vec<String> {
        let told = |(line, cells, fault): Read| {
            let unclosed = if fault == Some(Fault::Unclosed) { " unclosed" } else { "" };
            format!("{line} {}{unclosed}", cells.join("|").replace('\n', "/"))
        };
        rows_of(text, b',', Width::AtMost(3)).unwrap().into_iter().map(told).collect()
    }

    #[test]
    fn a_stray_quote_costs_its_own_row_at_most() {
        for (text, expected) in [
            // It opens a cell and is never closed.
            ("\"a,1,x\nb,2,y\nc,3,z\n", &["1 \"a|1|x unclosed", "2 b|2|y", "3 c|3|z"][..]),
            ("a,1,\"\nb,2,y", &["1 a|1|\" unclosed", "2 b|2|y"]),
            ("a,\"1,x\r\nb,2,y\r\n", &["1 a|\"1|x unclosed", "2 b|2|y"]),
            ("a,\"1,x\rb,2,y\r", &["1 a|\"1|x unclosed", "2 b|2|y"]),
            ("a,1,x\n\"b", &["1 a|1|x", "2 \"b unclosed"]),
            // Quotes of later rows do not close it.
            ("\"a,1,x\n\"b\",2,y\nc,3,z", &["1 \"a|1|x unclosed", "2 b|2|y", "3 c|3|z"]),
            ("\"a,1,x\nb,2,\"y, z\"\n", &["1 \"a|1|x unclosed", "2 b|2|y, z"]),
            ("\"a,1,x\nb \"B\" b,2,y\n", &["1 \"a|1|x unclosed", "2 b \"B\" b|2|y"]),
            ("\"a,1,x\nb,2,6\"\nc,3,z", &["1 \"a|1|x unclosed", "2 b|2|6\"", "3 c|3|z"]),
            ("\"a,1,x\nb,2,\"\"\nc,3,z", &["1 \"a|1|x unclosed", "2 b|2|", "3 c|3|z"]),
            ("\"a,1,x\n\"b,2,y\nc,3,z", &["1 \"a|1|x unclosed", "2 \"b|2|y unclosed", "3 c|3|z"]),
            // It is no opening quote.
            ("6\",1,x\nb,2,y\"\n", &["1 6\"|1|x", "2 b|2|y\""]),
            ("a \"A\" a,1,\"x\"\n", &["1 a \"A\" a|1|x"]),
            // What it opens is closed before the cell ends.
            ("\"Big\" Al,1,x\nb,2,y\n", &["1 \"Big\" Al|1|x", "2 b|2|y"]),
            ("\"Al \"Big\" B\",1,x\n", &["1 \"Al \"Big\" B\"|1|x"]),
            // Cells in quotes as programs write them.
            ("\"a\" ,\"1\"\t, \"x\"\n", &["1 a |1\t| \"x\""]),
            ("\"a, b\",\"\"\"1\"\"\",\"x\ny\"\n\"\",,z", &["1 a, b|\"1\"|x/y", "3 ||z"]),
            ("1,a,\"x\ny, z\"\n2,b,\n", &["1 1|a|x/y, z", "3 2|b|"]),
            ("1,\"a, b\nc, d\"\n2,b,\n", &["1 1|a, b/c, d", "3 2|b|"]),
            ("1,\"a\nb\",\"c\nd\"\n2,b,\n", &["1 1|a/b|c/d", "4 2|b|"]),
        ] {
            assert_eq!(told(text), expected, "{text:?}");
        }
    }

    #[test]
    fn a_cell_in_quotes_is_read_up_to_its_limit() {
        let (long, longer) = ("x".repeat(MOST_QUOTED - 1), "x".repeat(MOST_QUOTED));
        let ends = |text: &str| -> Vec<(u64, bool)> {
            let rows = rows_of(text, b',', Width::AtMost(3)).unwrap();
            rows.into_iter().map(|(line, _, fault)| (line, fault.is_some())).collect()
        };
        assert_eq!(ends(&format!("\"{long}\"\nb")), [(1, false), (2, false)]);
        assert_eq!(ends(&format!("\"\n{longer}\"\nb")), [(1, true), (2, false), (3, false)]);
    }

    #[test]
    fn a_file_of_stray_quotes_is_read_in_about_one_go() {
        for row in ["\"a\n", "\"\"a\n", "a,\"\n", "\"a\n\"\"\n", "\"a,b,c\nd,e,6\"\n", "\"a"] {
            let rows = rows_of(&row.repeat(100_000), b',', Width::AtMost(3)).unwrap();
            assert!(!rows.is_empty(), "{row:?}");
        }
    }

    #[test]
    fn a_cell_is_kept_up_to_its_limit_whole_character_by_whole_character() {
        let long = "é".repeat(MOST_CELL_BYTES);
        for before in ["", "x"] {
            let read = rows_of(&format!("{before}{long},2"), b',', Width::AtMost(2)).unwrap();
            let [cell, next] = &read[0].1[..] else { panic!("two cells") };
            assert_eq!(next, "2");
            assert!((MOST_CELL_BYTES - 1..=MOST_CELL_BYTES).contains(&cell.len()));
            assert!(long.starts_with(cell.trim_start_matches('x')));
        }
    }
}
