//! What an import did: its counts, and what it left out, by cause.

use maud::{Markup, html};
use serde::{Deserialize, Serialize};
use sms_core::contact::import::{Imported, ImportedRow, MAX_ROWS, RowOutcome};
use sms_files::failures::Failures;
use sms_files::{Columns, Delimiter, MOST_COLUMNS, Problem, Row};

use super::packed::packed;
use crate::form::sentence;
use crate::format::{counted, whole};
use crate::part::button::{Kind, link, submit};
use crate::part::stat::{stat, stats};
use crate::part::table::{column, table};

/// How many of the cells left out are shown; the download has all that are listed.
const MOST_SHOWN: usize = 200;
/// About how many bytes of rows left out are listed of a file that came as a whole. They travel
/// with the page, packed.
const MOST_LISTED: usize = 4_000_000;
/// What is said of a row whose number comes again.
const DUPLICATE: &str = "The same number appears again further down.";

/// What an import did. It travels with the page, because nothing is kept of it.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub(super) struct Report {
    /// The name of the file.
    pub file: String,
    /// The character between the cells of the file.
    pub delimiter: String,
    pub created: usize,
    pub updated: usize,
    pub unchanged: usize,
    pub invalid: usize,
    pub added_to_list: usize,
    /// Whether the person chose a list.
    #[serde(default)]
    pub has_list: bool,
    /// How many values were left out of rows that were imported.
    pub values: usize,
    /// The names of the file's columns.
    pub header: Vec<String>,
    /// The rows that changed nothing because something is wrong with them, and those that lack a
    /// value.
    pub left_out: Vec<LeftOut>,
    /// How many such rows there are besides, of a file with too many to list.
    #[serde(default)]
    pub not_listed: usize,
}

/// A row that was left out, or of which values were.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub(super) struct LeftOut {
    /// The line of the file.
    pub line: u64,
    pub cells: Vec<String>,
    /// Whether the rest of the row was imported.
    pub imported: bool,
    pub problems: Vec<Wrong>,
}

/// What is wrong with a cell.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub(super) struct Wrong {
    /// The place of the column; `None` if the row as a whole is meant.
    pub column: Option<usize>,
    pub value: String,
    pub cause: String,
}

impl From<Problem> for Wrong {
    fn from(problem: Problem) -> Self {
        let Problem { column, value, cause } = problem;
        Self { column, value, cause }
    }
}

/// A row of a file, and what is wrong with it before it is imported.
#[derive(Debug)]
pub(super) struct Read {
    pub row: Row,
    /// Why it is no contact.
    pub refused: Option<Problem>,
    /// The values that were left out of its contact.
    pub left_out: Vec<Problem>,
}

impl LeftOut {
    /// About how many bytes it has in the download.
    fn bytes(&self) -> usize {
        let cells = self.cells.iter().map(|cell| cell.len() + ",".len());
        cells.sum::<usize>() + self.problem().len() + "20000,\r\n".len()
    }

    fn problem(&self) -> String {
        let causes: Vec<&str> = self.problems.iter().map(|wrong| wrong.cause.as_str()).collect();
        causes.join("; ")
    }
}

impl Report {
    /// The report on a file of which no row is imported yet.
    pub(super) fn new(file: String, header: Vec<String>, delimiter: String) -> Self {
        Self {
            file,
            delimiter,
            created: 0,
            updated: 0,
            unchanged: 0,
            invalid: 0,
            added_to_list: 0,
            has_list: false,
            values: 0,
            header,
            left_out: Vec::new(),
            not_listed: 0,
        }
    }

    /// Adds what became of rows. `imported` has those that are contacts.
    pub(super) fn add(&mut self, rows: Vec<Read>, imported: Imported, columns: &Columns) {
        self.added_to_list += imported.added_to_list;
        let mut results = imported.rows.into_iter();
        let mut bytes = self.left_out.iter().map(LeftOut::bytes).sum();
        for Read { row, refused, left_out } in rows {
            let result = if refused.is_none() { results.next() } else { None };
            let outcome = result.as_ref().map_or(RowOutcome::Invalid, |result| result.outcome);
            self.count(outcome);
            let problems = match (refused, outcome) {
                (Some(problem), _) => vec![problem.into()],
                (None, RowOutcome::Invalid) => vec![of_server(&row, result, columns)],
                (None, RowOutcome::Duplicate) => vec![of_row(DUPLICATE)],
                (None, _) => left_out.into_iter().map(Wrong::from).collect(),
            };
            let imported = !matches!(outcome, RowOutcome::Invalid | RowOutcome::Duplicate);
            if !problems.is_empty() {
                let Row { line, cells, fault: _ } = row;
                self.list(LeftOut { line, cells, imported, problems }, &mut bytes);
            }
        }
    }

    /// Adds a row that changed nothing. `bytes` is the size of the rows that are listed.
    pub(super) fn leave_out(&mut self, row: Row, problem: Problem, bytes: &mut usize) {
        self.invalid += 1;
        let Row { line, cells, fault: _ } = row;
        self.list(LeftOut { line, cells, imported: false, problems: vec![problem.into()] }, bytes);
    }

    /// Adds a row of which values were left out. `bytes` is the size of the rows that are listed.
    pub(super) fn lack(&mut self, row: Row, problems: Vec<Problem>, bytes: &mut usize) {
        if problems.is_empty() {
            return;
        }
        let Row { line, cells, fault: _ } = row;
        let problems = problems.into_iter().map(Wrong::from).collect();
        self.list(LeftOut { line, cells, imported: true, problems }, bytes);
    }

    fn count(&mut self, outcome: RowOutcome) {
        match outcome {
            RowOutcome::Created => self.created += 1,
            RowOutcome::Updated => self.updated += 1,
            RowOutcome::Unchanged => self.unchanged += 1,
            RowOutcome::Invalid => self.invalid += 1,
            RowOutcome::Duplicate => {}
        }
    }

    /// Adds the size of one more row to `bytes`, and lists the row, or only counts it if the sum is
    /// too much.
    fn list(&mut self, row: LeftOut, bytes: &mut usize) {
        if row.imported {
            self.values += row.problems.len();
        }
        *bytes += row.bytes();
        if *bytes <= MOST_LISTED {
            self.left_out.push(row);
        } else {
            self.not_listed += 1;
        }
    }

    /// Whether a file that may be imported can have this report. The rows of others could be filled
    /// up to any length.
    pub(super) fn is_of_an_import(&self) -> bool {
        let fits = |cells: &[String]| cells.len() <= MOST_COLUMNS;
        let row_fits = |row: &LeftOut| fits(&row.cells) && row.problems.len() <= MOST_COLUMNS;
        self.left_out.len() <= MAX_ROWS && fits(&self.header) && self.left_out.iter().all(row_fits)
    }

    /// The counts, and what was left out, which can be had as a file at `download`.
    pub(super) fn view(&self, csrf: &str, download: &str) -> Markup {
        let mut figures = vec![
            stat("New", &whole(self.created as u64), None),
            stat("Updated", &whole(self.updated as u64), None),
            stat("Unchanged", &whole(self.unchanged as u64), None),
            stat("Failed", &whole(self.invalid as u64), None),
        ];
        if self.has_list {
            figures.push(stat("Added to the list", &whole(self.added_to_list as u64), None));
        }
        if self.values > 0 {
            figures.push(stat("Values left out", &whole(self.values as u64), None));
        }
        html! {
            section.stack role="status" {
                h2 tabindex="-1" { "“" (self.file) "” was imported" }
                (stats(&figures))
            }
            @if !self.left_out.is_empty() { (self.left_out_view(csrf, download)) }
            div.actions {
                (link("Show the contacts", "/console/contacts").kind(Kind::Main))
                (link("Import another file", "/console/contacts/import"))
            }
        }
    }

    pub(super) fn left_out_view(&self, csrf: &str, download: &str) -> Markup {
        let (listed, missing) = (self.left_out.len(), self.not_listed);
        let file = packed(&self.csv()).unwrap_or_default();
        html! {
            section.stack {
                div.card-head {
                    h2 { (self.left_out_words()) " left out" }
                    form method="post" action=(download) enctype="multipart/form-data"
                        data-download {
                        input type="hidden" name="csrf" value=(csrf);
                        input type="hidden" name="packed" value=(file);
                        (submit("Download them as CSV"))
                    }
                }
                @if self.left_out.iter().map(|row| row.problems.len()).sum::<usize>() > MOST_SHOWN {
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
                @for cause in self.causes() { (cause.view(&self.header)) }
            }
        }
    }

    /// How many rows and values.
    fn left_out_words(&self) -> String {
        let kept = self.left_out.iter().filter(|row| row.imported).count();
        let rows = (self.left_out.len() - kept + self.not_listed) as u64;
        let values = self.values as u64;
        match (rows, values) {
            (_, 0) => counted(rows, "row"),
            (0, _) => counted(values, "value"),
            _ => format!("{} and {}", counted(rows, "row"), counted(values, "value")),
        }
    }

    /// What is shown, by cause, in the order in which causes come up.
    fn causes(&self) -> Vec<Cause<'_>> {
        let mut causes: Vec<Cause<'_>> = Vec::new();
        let every =
            self.left_out.iter().flat_map(|row| row.problems.iter().map(move |it| (row, it)));
        for (row, wrong) in every.take(MOST_SHOWN) {
            let is_same =
                |cause: &&mut Cause<'_>| cause.column == wrong.column && cause.text == wrong.cause;
            match causes.iter_mut().find(is_same) {
                Some(cause) => cause.cells.push((row, &wrong.value)),
                None => causes.push(Cause {
                    column: wrong.column,
                    text: &wrong.cause,
                    cells: vec![(row, &wrong.value)],
                }),
            }
        }
        causes
    }

    /// The rows left out as a CSV file that can be corrected and imported.
    fn csv(&self) -> Vec<u8> {
        let delimiter = self.delimiter.parse().unwrap_or(Delimiter::COMMA);
        let failures = Failures::of(&self.header, delimiter);
        let mut csv = failures.header(&self.header);
        for row in &self.left_out {
            csv.extend(failures.row(&row.cells, row.line, &row.problem()));
        }
        csv
    }
}

/// Cells that were left out for the same reason.
struct Cause<'a> {
    column: Option<usize>,
    text: &'a str,
    /// The rows, and what their cells have.
    cells: Vec<(&'a LeftOut, &'a str)>,
}

impl Cause<'_> {
    fn view(&self, header: &[String]) -> Markup {
        let columns = [column("Line"), column("Value"), column("Row")];
        let name = self.column.and_then(|place| header.get(place)).filter(|name| !name.is_empty());
        // The name of the column stands for that of the field.
        let text = match (name, self.text.split_once(": ")) {
            (Some(_), Some((_, text))) => sentence(text),
            _ => sentence(self.text),
        };
        html! {
            section.stack-tight {
                h3 { @if let Some(name) = name { (name) ": " } (text) }
                (table("Left out for this reason", columns, &self.cells, |(row, value)| [
                    html! { (row.line) },
                    html! { (value) },
                    html! { (row.cells.join(", ")) },
                ]))
            }
        }
    }
}

fn of_row(cause: &str) -> Wrong {
    Wrong { column: None, value: String::new(), cause: cause.to_owned() }
}

/// What the service says of a row that it refuses, such as `phone: not a valid phone number`.
fn of_server(row: &Row, result: Option<ImportedRow>, columns: &Columns) -> Wrong {
    let cause = result.and_then(|result| result.error).unwrap_or_default();
    let place = cause.split_once(": ").and_then(|(field, _)| columns.place_of(field));
    Problem::of_cell(row, place, cause).into()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn owned(cells: &[&str]) -> Vec<String> {
        cells.iter().map(|cell| (*cell).to_owned()).collect()
    }

    fn wrong(column: usize, value: &str, cause: &str) -> Wrong {
        Wrong { column: Some(column), value: value.to_owned(), cause: cause.to_owned() }
    }

    fn left_out(line: u64, cells: &[&str], wrong: Wrong) -> LeftOut {
        LeftOut { line, cells: owned(cells), imported: false, problems: vec![wrong] }
    }

    fn report(left_out: Vec<LeftOut>) -> Report {
        let header = owned(&["Mobile", "Name"]);
        let empty = Report::new("people.csv".to_owned(), header, ";".to_owned());
        Report { created: 1, invalid: left_out.len(), left_out, ..empty }
    }

    fn one(cells: &[&str]) -> Report {
        report(vec![left_out(4, cells, wrong(0, cells[0], "phone: too short"))])
    }

    #[test]
    fn the_failures_have_the_delimiter_of_the_file_and_a_mark() {
        let csv = String::from_utf8(one(&["07700", "x; y"]).csv()).unwrap();
        let lines = "Mobile;Name;line;problem\r\n07700;\"x; y\";4;phone: too short\r\n";
        assert_eq!(csv, format!("\u{feff}{lines}"));
    }

    #[test]
    fn a_report_that_no_import_can_have_is_told_apart() {
        let many = vec![String::new(); MOST_COLUMNS + 1];
        let good = one(&["x"]);
        let row = &good.left_out[0];
        assert!(good.is_of_an_import());
        for bad in [
            Report { header: many.clone(), ..good.clone() },
            report(vec![LeftOut { cells: many, ..row.clone() }]),
            report(vec![LeftOut {
                problems: vec![row.problems[0].clone(); MOST_COLUMNS + 1],
                ..row.clone()
            }]),
            report(vec![row.clone(); MAX_ROWS + 1]),
        ] {
            assert!(!bad.is_of_an_import());
        }
    }

    #[test]
    fn a_report_shows_what_a_file_holds_as_text() {
        let shown = one(&["<b>", "x"]).view("token", "/x").into_string();
        assert!(shown.contains("&lt;b&gt;, x") && !shown.contains("<b>"), "{shown}");
        assert!(shown.contains("1 row left out"));
    }

    #[test]
    fn a_report_counts_who_was_added_to_a_list_if_somebody_chose_one() {
        let shown = |has_list| {
            let report = Report { has_list, ..report(Vec::new()) };
            report.view("token", "/x").into_string().contains("Added to the list")
        };
        assert!(shown(true) && !shown(false));
    }

    #[test]
    fn failures_are_grouped_by_cause_with_their_cells() {
        let email = "email: not an email address, such as someone@example.com";
        let kept = |line, value: &str| LeftOut {
            imported: true,
            ..left_out(line, &["07700900123", value], wrong(1, value, email))
        };
        let rows = vec![
            left_out(2, &["12", ""], wrong(0, "12", "phone: not a valid phone number")),
            kept(3, "nobody"),
            left_out(4, &["13", ""], wrong(0, "13", "phone: not a valid phone number")),
            kept(5, "no one"),
            LeftOut { imported: false, problems: vec![of_row(DUPLICATE)], ..kept(6, "x") },
        ];
        let report = Report { values: 2, ..report(rows) };
        let shown = report.view("token", "/x").into_string();
        let groups: Vec<&str> = shown.split("<h3>").skip(1).collect();
        let titles: Vec<&str> = groups.iter().map(|it| it.split_once('<').unwrap().0).collect();
        let expected = [
            "Mobile: Not a valid phone number.",
            "Name: Not an email address, such as someone@example.com.",
            DUPLICATE,
        ];
        assert_eq!(titles, expected);
        assert!(groups[0].contains(">13<") && groups[1].contains(">no one<"), "{shown}");
        assert!(shown.contains("3 rows and 2 values left out"), "{shown}");
    }
}
