//! What an import did: its counts, and the rows that it left out.

use maud::{Markup, html};
use serde::{Deserialize, Serialize};
use sms_core::contact::import::{Imported, RowOutcome};

use super::packed::packed;
use super::sheet::{Row, Sheet};
use crate::format::{counted, whole};
use crate::part::button::{Kind, link, submit};
use crate::part::stat::{stat, stats};
use crate::part::table::{column, table};

/// How many of the rows left out are shown; the download has all that are listed.
const MOST_SHOWN: usize = 200;
/// About how many bytes of rows left out are listed of a file that came as a whole. They travel
/// with the page, packed.
const MOST_LISTED: usize = 4_000_000;

/// What an import did. It travels with the page, because nothing is kept of it.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub(super) struct Report {
    /// The name of the file.
    pub file: String,
    pub created: usize,
    pub updated: usize,
    pub unchanged: usize,
    pub invalid: usize,
    pub added_to_list: usize,
    /// The names of the file's columns.
    pub header: Vec<String>,
    /// The rows that changed nothing because something is wrong with them.
    pub left_out: Vec<LeftOut>,
    /// How many such rows there are besides, of a file with too many to list.
    #[serde(default)]
    pub not_listed: usize,
}

/// A row that was left out.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub(super) struct LeftOut {
    /// The line of the file.
    pub line: u64,
    pub cells: Vec<String>,
    /// What is wrong; empty if a later row has the same number.
    pub problem: String,
}

impl LeftOut {
    /// About how many bytes it has in the download.
    fn bytes(&self) -> usize {
        let cells = self.cells.iter().map(|cell| cell.len() + ",".len());
        cells.sum::<usize>() + self.problem().len() + "20000,\r\n".len()
    }

    fn problem(&self) -> &str {
        if self.problem.is_empty() {
            "The same number appears again further down."
        } else {
            &self.problem
        }
    }
}

impl Report {
    /// The report on all rows of a file.
    pub(super) fn of(file: &str, sheet: Sheet, imported: Imported) -> Self {
        let count = |outcome| imported.count(outcome);
        let Sheet { header, rows } = sheet;
        let mut report = Self {
            file: file.to_owned(),
            created: count(RowOutcome::Created),
            updated: count(RowOutcome::Updated),
            unchanged: count(RowOutcome::Unchanged),
            invalid: count(RowOutcome::Invalid),
            added_to_list: imported.added_to_list,
            header,
            not_listed: 0,
            left_out: Vec::new(),
        };
        let mut bytes = 0;
        for (Row { line, cells }, result) in rows.into_iter().zip(imported.rows) {
            match result.outcome {
                RowOutcome::Created | RowOutcome::Updated | RowOutcome::Unchanged => {}
                RowOutcome::Invalid | RowOutcome::Duplicate => {
                    let problem = result.error.unwrap_or_default();
                    let row = LeftOut { line, cells, problem };
                    bytes += row.bytes();
                    report.list(row, bytes);
                }
            }
        }
        report
    }

    /// Lists one more row, with which the listed ones have so many bytes, or counts it.
    fn list(&mut self, row: LeftOut, bytes: usize) {
        if bytes <= MOST_LISTED {
            self.left_out.push(row);
        } else {
            self.not_listed += 1;
        }
    }

    /// The counts, and the rows left out, which can be had as a file at `download`.
    pub(super) fn view(&self, csrf: &str, download: &str) -> Markup {
        html! {
            section.stack role="status" {
                h2 tabindex="-1" { "“" (self.file) "” was imported" }
                (stats(&[
                    stat("New", &whole(self.created as u64), None),
                    stat("Updated", &whole(self.updated as u64), None),
                    stat("Unchanged", &whole(self.unchanged as u64), None),
                    stat("Failed", &whole(self.invalid as u64), None),
                    stat("Added to the list", &whole(self.added_to_list as u64), None),
                ]))
            }
            @if !self.left_out.is_empty() { (self.left_out_view(csrf, download)) }
            div.actions {
                (link("Show the contacts", "/console/contacts").kind(Kind::Main))
                (link("Import another file", "/console/contacts/import"))
            }
        }
    }

    fn left_out_view(&self, csrf: &str, download: &str) -> Markup {
        let (listed, missing) = (self.left_out.len(), self.not_listed);
        let file = self.csv().and_then(|csv| Ok(packed(&csv)?)).unwrap_or_default();
        let columns = [column("Line"), column("Row"), column("Problem")];
        let shown = self.left_out.iter().take(MOST_SHOWN);
        html! {
            section.stack-tight {
                div.card-head {
                    h2 { (counted((listed + missing) as u64, "row")) " left out" }
                    form method="post" action=(download) enctype="multipart/form-data"
                        data-download {
                        input type="hidden" name="csrf" value=(csrf);
                        input type="hidden" name="packed" value=(file);
                        (submit("Download them as CSV"))
                    }
                }
                @if listed > MOST_SHOWN {
                    p {
                        "The first " (MOST_SHOWN) " are shown. The download has "
                        @if missing > 0 { "the first " (whole(listed as u64)) } @else { "all" }
                        "."
                    }
                }
                @if missing > 0 {
                    p {
                        (counted(missing as u64, "more row")) " did not fit in this report. "
                        "Correct the listed rows in your file and import it again to see the rest."
                    }
                }
                (table("Rows left out", columns, shown, |row| [
                    html! { (row.line) },
                    html! { (row.cells.join(", ")) },
                    html! { (row.problem()) },
                ]))
            }
        }
    }

    /// The rows left out as a CSV file that can be corrected and imported.
    fn csv(&self) -> Result<Vec<u8>, csv::Error> {
        let terminator = csv::Terminator::CRLF;
        let mut writer =
            csv::WriterBuilder::new().terminator(terminator).flexible(true).from_writer(Vec::new());
        let ends = ["line".to_owned(), "problem".to_owned()];
        writer.write_record(self.header.iter().chain(&ends).map(|cell| harmless(cell)))?;
        for row in &self.left_out {
            let ends = [row.line.to_string(), row.problem().to_owned()];
            // A short row keeps its last two cells below their names.
            let missing = self.header.len().saturating_sub(row.cells.len());
            let filled = std::iter::repeat_n(String::new(), missing);
            let cells = row.cells.iter().cloned().chain(filled).chain(ends);
            writer.write_record(cells.map(|cell| harmless(&cell)))?;
        }
        writer.into_inner().map_err(|error| csv::Error::from(error.into_error()))
    }
}

/// A cell that a spreadsheet would run as a formula is prefixed; a number in E.164 is none.
fn harmless(cell: &str) -> String {
    let is_number = |rest: &str| !rest.is_empty() && rest.bytes().all(|b| b.is_ascii_digit());
    let runs = cell.starts_with(['=', '+', '-', '@', '\t', '\r'])
        && !cell.strip_prefix('+').is_some_and(is_number);
    if runs { format!("'{cell}") } else { cell.to_owned() }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn report(cells: &[&str], problem: &str) -> Report {
        let owned = |cells: &[&str]| cells.iter().map(|cell| (*cell).to_owned()).collect();
        let left = LeftOut { line: 4, cells: owned(cells), problem: problem.to_owned() };
        Report {
            file: "people.csv".to_owned(),
            created: 1,
            updated: 0,
            unchanged: 0,
            invalid: 1,
            added_to_list: 0,
            header: owned(&["Mobile", "Name"]),
            left_out: vec![left],
            not_listed: 0,
        }
    }

    #[test]
    fn the_report_of_failed_rows_can_be_edited_in_a_spreadsheet_and_runs_no_formula() {
        for (cells, problem, written) in [
            (&["07700", "x, y"][..], "phone: too short", "07700,\"x, y\",4,phone: too short"),
            (&["=1+1"], "no", "'=1+1,,4,no"),
            (&["+44770090"], "", "+44770090,,4,The same number appears again further down."),
            (&["-x", "@y"], "no", "'-x,'@y,4,no"),
        ] {
            let csv = String::from_utf8(report(cells, problem).csv().unwrap()).unwrap();
            assert_eq!(csv, format!("Mobile,Name,line,problem\r\n{written}\r\n"));
        }
    }

    #[test]
    fn a_report_shows_what_a_file_holds_as_text() {
        let shown = report(&["<b>", "x"], "<i>").view("token", "/x").into_string();
        assert!(shown.contains("&lt;b&gt;, x") && !shown.contains("<b>"), "{shown}");
        assert!(shown.contains("1 row left out"));
    }
}
