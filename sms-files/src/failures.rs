//! The rows of a file that failed, as a file that can be corrected and imported again.

use csv::{Terminator, WriterBuilder};
use sms_core::text::cell::{MARK, harmless};

use crate::column::Column;
use crate::delimiter::Delimiter;

/// The columns that are added: where a row stood, and why it failed.
const ADDED: [&str; 2] = ["line", "problem"];

/// How the failures of one file are written: with its columns and its delimiter, in UTF-8 with a
/// mark. What earlier failures have in their columns `line` and `problem` is replaced. Cells beyond
/// the last column come after these two, so that nothing of a row is lost.
#[derive(Debug, Clone)]
pub struct Failures {
    delimiter: Delimiter,
    /// The places of the columns of the file that are kept.
    kept: Vec<usize>,
    /// How many columns the file has.
    columns: usize,
}

impl Failures {
    /// The failures of a file with these columns.
    pub fn of(header: &[String], delimiter: Delimiter) -> Self {
        let own = header.iter().enumerate().filter(|(_, name)| !Column::is_of_failures(name));
        let kept = own.map(|(place, _)| place).collect();
        Self { delimiter, kept, columns: header.len() }
    }

    /// The first line, which names the columns.
    pub fn header(&self, header: &[String]) -> Vec<u8> {
        let mut bytes = MARK.as_bytes().to_vec();
        bytes.extend(self.written(header, ADDED));
        bytes
    }

    /// A row. A short one keeps its last two cells below their names.
    pub fn row(&self, cells: &[String], line: u64, problem: &str) -> Vec<u8> {
        self.written(cells, [&line.to_string(), problem])
    }

    fn written(&self, cells: &[String], added: [&str; 2]) -> Vec<u8> {
        let extra = cells.iter().skip(self.columns).map(String::as_str);
        let own = self.kept.iter().map(|place| cells.get(*place).map_or("", String::as_str));
        let mut writer = WriterBuilder::new()
            .delimiter(self.delimiter.byte())
            .terminator(Terminator::CRLF)
            .from_writer(Vec::new());
        // Writing into memory cannot fail.
        let cells = own.chain(added).chain(extra);
        let _ = writer.write_record(cells.map(harmless_or_number));
        writer.into_inner().unwrap_or_default()
    }
}

/// A cell that no spreadsheet takes for a formula. A number in E.164 stays as it is, because the
/// file is read again.
fn harmless_or_number(cell: &str) -> String {
    let is_number = |rest: &str| !rest.is_empty() && rest.bytes().all(|b| b.is_ascii_digit());
    if cell.strip_prefix('+').is_some_and(is_number) { cell.to_owned() } else { harmless(cell) }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn owned(cells: &[&str]) -> Vec<String> {
        cells.iter().map(|cell| (*cell).to_owned()).collect()
    }

    #[test]
    fn failed_rows_can_be_edited_in_a_spreadsheet_and_run_no_formula() {
        let header = owned(&["Mobile", "Name"]);
        let failures = Failures::of(&header, Delimiter::COMMA);
        let first = String::from_utf8(failures.header(&header)).unwrap();
        assert_eq!(first, "\u{feff}Mobile,Name,line,problem\r\n");
        for (cells, problem, written) in [
            (&["07700", "x, y"][..], "phone: too short", "07700,\"x, y\",4,phone: too short"),
            (&["=1+1"], "no", "'=1+1,,4,no"),
            (&["+44770090"], "twice", "+44770090,,4,twice"),
            (&["-x", "@y", "more"], "no", "'-x,'@y,4,no,more"),
            (&["07700", "", "x, y", "=z"], "no", "07700,,4,no,\"x, y\",'=z"),
            (&[], "no", ",,4,no"),
        ] {
            let row = String::from_utf8(failures.row(&owned(cells), 4, problem)).unwrap();
            assert_eq!(row, format!("{written}\r\n"));
        }
    }

    #[test]
    fn failures_have_the_delimiter_of_their_file_and_their_columns_once() {
        let header = owned(&["Line ", "Mobile", "problem"]);
        let failures = Failures::of(&header, ";".parse().unwrap());
        let first = String::from_utf8(failures.header(&header)).unwrap();
        assert_eq!(first, "\u{feff}Mobile;line;problem\r\n");
        let row = failures.row(&owned(&["4", "07700, 1", "too short"]), 2, "not; valid");
        assert_eq!(String::from_utf8(row).unwrap(), "07700, 1;2;\"not; valid\"\r\n");
    }
}
