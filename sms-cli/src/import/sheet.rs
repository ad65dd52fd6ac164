//! A CSV file of people: its columns and its rows.

use std::collections::BTreeMap;
use std::fmt::Write as _;
use std::fs::File;
use std::io::{self, BufReader, Read};
use std::path::{Path, PathBuf};

use csv::{ByteRecord, Reader, ReaderBuilder};
use serde_json::Value;
use sha2::{Digest as _, Sha256};
use sms_client::contact::{ContactInput, CustomFields};

use crate::failure::Failure;

/// The bytes with which some programs begin a file in UTF-8.
const BYTE_ORDER_MARK: &str = "\u{FEFF}";

/// What a column holds.
#[derive(Debug, Clone, PartialEq, Eq)]
enum Column {
    Phone,
    FirstName,
    LastName,
    Email,
    Notes,
    Custom(String),
    /// It has no name.
    Ignored,
}

impl Column {
    fn of(heading: &str) -> Self {
        let name = heading.trim().to_lowercase().replace([' ', '-'], "_");
        match name.as_str() {
            // The first two columns of a report.
            "" | "sms_row" | "sms_error" => Self::Ignored,
            "phone" | "phone_number" | "number" | "mobile" | "mobile_number" | "mobile_phone"
            | "tel" | "telephone" => Self::Phone,
            "first_name" | "firstname" | "forename" | "given_name" => Self::FirstName,
            "last_name" | "lastname" | "surname" | "family_name" => Self::LastName,
            "email" | "e_mail" | "email_address" => Self::Email,
            "notes" | "note" => Self::Notes,
            _ => Self::Custom(name),
        }
    }
}

/// A row as it stands in the file.
pub(crate) struct Row {
    /// Counted from 1, without the headings.
    pub number: u64,
    pub cells: ByteRecord,
    /// Why it cannot be sent to the server.
    pub contact: Result<(), String>,
}

/// An open file, read row by row.
pub(crate) struct Sheet {
    file: PathBuf,
    reader: Reader<BufReader<File>>,
    headings: ByteRecord,
    columns: Vec<Column>,
    rows_read: u64,
    /// A row that was read and comes again.
    put_back: Option<Person>,
}

/// A row, and the contact that it describes if it can be sent to the server.
pub(crate) type Person = (Row, Option<ContactInput>);

fn reader(file: &Path, delimiter: u8) -> Result<Reader<BufReader<File>>, Failure> {
    let opened = File::open(file).map_err(Failure::file(file))?;
    let mut builder = ReaderBuilder::new();
    builder.delimiter(delimiter).flexible(true).has_headers(true);
    Ok(builder.from_reader(BufReader::new(opened)))
}

fn unreadable(file: &Path) -> impl FnOnce(csv::Error) -> Failure {
    let file = file.to_owned();
    move |error| Failure::Content { file, problem: error.to_string() }
}

impl Sheet {
    pub(crate) fn open(
        file: &Path,
        delimiter: u8,
        phone_column: Option<&str>,
    ) -> Result<Self, Failure> {
        let mut reader = reader(file, delimiter)?;
        let headings = reader.byte_headers().map_err(unreadable(file))?.clone();
        let texts: Vec<String> = headings.iter().map(heading).collect();
        let columns = columns(&texts, phone_column)
            .map_err(|problem| Failure::Content { file: file.to_owned(), problem })?;
        Ok(Self { file: file.to_owned(), reader, headings, columns, rows_read: 0, put_back: None })
    }

    pub(crate) fn headings(&self) -> &ByteRecord {
        &self.headings
    }

    pub(crate) fn skip(&mut self, rows: u64) -> Result<(), Failure> {
        let mut cells = ByteRecord::new();
        while self.rows_read < rows {
            if !self.reader.read_byte_record(&mut cells).map_err(unreadable(&self.file))? {
                break;
            }
            self.rows_read += 1;
        }
        Ok(())
    }

    /// The next row.
    pub(crate) fn next(&mut self) -> Result<Option<Person>, Failure> {
        if let Some(person) = self.put_back.take() {
            return Ok(Some(person));
        }
        let mut cells = ByteRecord::new();
        if !self.reader.read_byte_record(&mut cells).map_err(unreadable(&self.file))? {
            return Ok(None);
        }
        self.rows_read += 1;
        let contact = contact(&self.columns, &cells);
        let (contact, input) = match contact {
            Ok(input) => (Ok(()), Some(input)),
            Err(problem) => (Err(problem), None),
        };
        Ok(Some((Row { number: self.rows_read, cells, contact }, input)))
    }

    /// Has a row come again.
    pub(crate) fn put_back(&mut self, person: Person) {
        self.put_back = Some(person);
    }
}

fn heading(cell: &[u8]) -> String {
    String::from_utf8_lossy(cell).trim_start_matches(BYTE_ORDER_MARK).to_owned()
}

fn columns(headings: &[String], phone_column: Option<&str>) -> Result<Vec<Column>, String> {
    let mut columns: Vec<Column> = headings.iter().map(|text| Column::of(text)).collect();
    if let Some(name) = phone_column {
        let place = headings.iter().position(|text| text.trim() == name.trim());
        let place = place.ok_or_else(|| format!("no column {name:?}: {}", headings.join(", ")))?;
        for (column, text) in columns.iter_mut().zip(headings) {
            if *column == Column::Phone {
                *column = Column::Custom(text.trim().to_lowercase().replace([' ', '-'], "_"));
            }
        }
        columns[place] = Column::Phone;
    }
    match columns.iter().filter(|column| **column == Column::Phone).count() {
        1 => Ok(columns),
        0 => Err(format!(
            "no column with numbers among {}: name it with --phone-column",
            headings.join(", ")
        )),
        _ => Err("several columns with numbers: name one with --phone-column".to_owned()),
    }
}

fn contact(columns: &[Column], cells: &ByteRecord) -> Result<ContactInput, String> {
    if cells.len() > columns.len() {
        return Err(format!("it has {} columns instead of {}", cells.len(), columns.len()));
    }
    let mut input = ContactInput::new(String::new());
    let mut custom = BTreeMap::new();
    for (column, cell) in columns.iter().zip(cells) {
        let text = std::str::from_utf8(cell).map_err(|_| "it is not UTF-8".to_owned())?;
        let text = text.trim();
        if text.is_empty() {
            continue;
        }
        match column {
            Column::Phone => input.phone = text.into(),
            Column::FirstName => input.first_name = Some(text.into()),
            Column::LastName => input.last_name = Some(text.into()),
            Column::Email => input.email = Some(text.into()),
            Column::Notes => input.notes = Some(text.into()),
            Column::Custom(name) => {
                custom.insert(name.clone(), Value::String(text.to_owned()));
            }
            Column::Ignored => {}
        }
    }
    if input.phone.as_str().is_empty() {
        return Err("phone: it has no number".to_owned());
    }
    input.custom = CustomFields(custom);
    Ok(input)
}

/// How long a file is, and which.
pub(crate) struct Survey {
    pub rows: u64,
    /// The same for the same content.
    pub digest: String,
}

impl Survey {
    pub(crate) fn of(file: &Path, delimiter: u8) -> Result<Self, Failure> {
        let mut reader = reader(file, delimiter)?;
        let (mut rows, mut cells) = (0, ByteRecord::new());
        while reader.read_byte_record(&mut cells).map_err(unreadable(file))? {
            rows += 1;
        }
        let digest = digest_of(file).map_err(Failure::file(file))?;
        Ok(Self { rows, digest })
    }
}

fn digest_of(file: &Path) -> io::Result<String> {
    let mut opened = File::open(file)?;
    let (mut hash, mut buffer) = (Sha256::new(), vec![0; 65_536]);
    loop {
        let count = opened.read(&mut buffer)?;
        if count == 0 {
            return Ok(hex(&hash.finalize()));
        }
        hash.update(&buffer[..count]);
    }
}

pub(crate) fn hex(bytes: &[u8]) -> String {
    bytes.iter().fold(String::new(), |mut text, byte| {
        let _ = write!(text, "{byte:02x}");
        text
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn named(headings: &[&str], phone_column: Option<&str>) -> Result<Vec<Column>, String> {
        let headings: Vec<String> = headings.iter().map(|text| (*text).to_owned()).collect();
        columns(&headings, phone_column)
    }

    #[test]
    fn columns_are_known_by_their_usual_names_and_others_are_custom_fields() {
        let found = named(&["First Name", "Mobile", "e-mail", "Loyalty tier", ""], None).unwrap();
        let custom = Column::Custom("loyalty_tier".to_owned());
        let expected = [Column::FirstName, Column::Phone, Column::Email, custom, Column::Ignored];
        assert_eq!(found, expected);
    }

    #[test]
    fn the_column_with_numbers_is_one() {
        assert!(named(&["name"], None).unwrap_err().contains("--phone-column"));
        assert!(named(&["phone", "mobile"], None).unwrap_err().contains("--phone-column"));
        let found = named(&["Phone", "Mobile 1"], Some("Mobile 1")).unwrap();
        assert_eq!(found, [Column::Custom("phone".to_owned()), Column::Phone]);
        assert!(named(&["Phone"], Some("Mobile")).unwrap_err().contains("no column"));
    }

    #[test]
    fn a_row_that_cannot_be_a_contact_says_why() {
        let columns = [Column::Phone, Column::FirstName];
        let told = |cells: Vec<&[u8]>| contact(&columns, &ByteRecord::from(cells));
        assert!(told(vec![b"07700900123", b" Ada "]).is_ok());
        assert!(told(vec![b"07700900123"]).is_ok());
        assert_eq!(told(vec![b"", b"Ada"]).unwrap_err(), "phone: it has no number");
        assert_eq!(told(vec![b"1", b"2", b"3"]).unwrap_err(), "it has 3 columns instead of 2");
        assert_eq!(told(vec![b"1", b"\xff"]).unwrap_err(), "it is not UTF-8");
    }
}
