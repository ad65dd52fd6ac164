//! The arguments of commands that read a file of numbers: which file, how it is read, and where its
//! refused rows go.

use std::path::{Path, PathBuf};

use clap::Args;
use sms_files::{Columns, Delimiter, Encoding, Format, NoNumberColumn, Options};

use crate::failure::Failure;
use crate::style::{shown, tell};

/// The most bytes of a workbook once it is unpacked.
const MOST_UNPACKED: u64 = 512 << 20;

#[derive(Debug, Args)]
pub(crate) struct FileArgs {
    /// The file: CSV, .xlsx or .ods
    pub(crate) file: PathBuf,
    /// The column with the phone numbers: its name, or its place
    #[arg(long, value_name = "NAME")]
    pub(crate) phone_column: Option<String>,
    /// The character between columns, if another one is found; \t is a tab
    #[arg(long, value_name = "CHARACTER")]
    pub(crate) delimiter: Option<Delimiter>,
    /// The encoding, if another one is found, such as utf-8 or windows-1252
    #[arg(long, value_name = "NAME")]
    pub(crate) encoding: Option<Encoding>,
    /// The sheet of a workbook, if not the first
    #[arg(long, value_name = "NAME")]
    pub(crate) sheet: Option<String>,
    /// Where to write what was refused; FILE.rejected.csv by default
    #[arg(long, value_name = "FILE")]
    report: Option<PathBuf>,
}

impl FileArgs {
    pub(crate) fn options(&self) -> Options {
        Options {
            encoding: self.encoding,
            delimiter: self.delimiter,
            sheet: self.sheet.clone(),
            most_unpacked: MOST_UNPACKED,
        }
    }

    /// What the columns of the file are.
    pub(crate) fn columns(&self, header: &[String]) -> Result<Columns, Failure> {
        columns(header, self.phone_column.as_deref())
            .map_err(|problem| Failure::Content { file: self.file.clone(), problem })
    }

    /// Says on standard error as what the file is read, unless that was asked for.
    pub(crate) fn say_format(&self, format: &Format) {
        if let Format::Text { encoding, delimiter } = format
            && self.encoding.is_none()
        {
            let (file, encoding) = (self.file.display(), encoding.words());
            let between = delimiter.words();
            tell(&shown(&format!("reading {file} as {encoding}, with {between} between columns")));
        }
    }

    /// Where refused rows go: `people.csv` has `people.rejected.csv` beside it. Never over the file
    /// itself.
    pub(crate) fn report(&self) -> Result<PathBuf, Failure> {
        let report =
            self.report.clone().unwrap_or_else(|| self.file.with_extension("rejected.csv"));
        if [&report, &unfinished_name(&report)].iter().any(|name| is_same_file(name, &self.file)) {
            let usage = "--report names the file to import, which it would overwrite";
            return Err(Failure::Usage(usage.to_owned()));
        }
        Ok(report)
    }
}

/// The name of a report until it is whole.
pub(crate) fn unfinished_name(report: &Path) -> PathBuf {
    let mut name = report.as_os_str().to_owned();
    name.push(".part");
    PathBuf::from(name)
}

fn is_same_file(one: &Path, other: &Path) -> bool {
    match (one.canonicalize(), other.canonicalize()) {
        (Ok(one), Ok(other)) => one == other,
        // One of them is not there.
        _ => false,
    }
}

fn columns(header: &[String], phone_column: Option<&str>) -> Result<Columns, String> {
    let place = Columns::number_place(header, phone_column);
    let place = place.map_err(|why| told(&why, header, phone_column.unwrap_or_default()))?;
    Ok(Columns::with_number_at(header, Some(place)))
}

/// Why the column with the numbers is not known, and which flag says it.
fn told(why: &NoNumberColumn, header: &[String], said: &str) -> String {
    match why {
        NoNumberColumn::NotAsSaid => {
            format!("no column {said:?}, or several: {}", listed(header))
        }
        NoNumberColumn::Nowhere => {
            let names = listed(header);
            format!("no column with numbers among {names}: name it with --phone-column")
        }
        NoNumberColumn::Several(places) => {
            let names: Vec<String> = places
                .iter()
                .map(|place| format!("{:?} (column {})", header[*place], place + 1))
                .collect();
            let names = names.join(", ");
            format!(
                "several columns may hold the numbers: {names}: choose one with --phone-column, \
                 by its name or its place"
            )
        }
    }
}

fn listed(header: &[String]) -> String {
    header.join(", ")
}

#[cfg(test)]
mod tests {
    use super::*;

    fn named(header: &[&str], phone_column: Option<&str>) -> Result<Vec<String>, String> {
        let header: Vec<String> = header.iter().map(|text| (*text).to_owned()).collect();
        let columns = columns(&header, phone_column)?;
        Ok(columns.as_slice().iter().map(ToString::to_string).collect())
    }

    #[test]
    fn columns_are_known_by_their_usual_names_and_others_are_custom_fields() {
        let found = named(&["First Name", "Mobile", "e-mail", "Loyalty tier", ""], None).unwrap();
        assert_eq!(found, ["first_name", "phone", "email", "custom.loyalty_tier", "left_out"]);
    }

    #[test]
    fn the_column_with_numbers_is_one_or_the_flag_is_named_with_the_candidates() {
        for (names, said, expected) in [
            (&["Phone", "Mobile 1"][..], Some("Mobile 1"), Ok(1)),
            (
                &["name"],
                None,
                Err("no column with numbers among name: name it with --phone-column"),
            ),
            (
                &["phone", "mobile"],
                None,
                Err("several columns may hold the numbers: \"phone\" (column 1), \"mobile\" \
                     (column 2): choose one with --phone-column, by its name or its place"),
            ),
            (&["Phone"], Some("Mobile"), Err("no column \"Mobile\", or several: Phone")),
        ] {
            let header: Vec<String> = names.iter().map(|text| (*text).to_owned()).collect();
            let found = columns(&header, said).map(|it| it.place_of("phone").unwrap());
            let found = found.as_ref().map_err(String::as_str);
            assert_eq!(found, expected.as_ref().map_err(|it| *it), "{names:?}");
        }
    }
}
