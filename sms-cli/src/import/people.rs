//! A file of people, read row by row.

use std::collections::BTreeMap;
use std::fmt::Write as _;
use std::fs::File;
use std::io::{self, BufReader, Read};
use std::path::{Path, PathBuf};

use serde_json::Value;
use sha2::{Digest as _, Sha256};
use sms_client::contact::{ContactInput, CustomFields};
use sms_client::opt_out::OptOutInput;
use sms_core::contact::ContactInput as Input;
use sms_files::{BadFile, Column, Columns, Format, Options, Problem, Row, Sheet};

use crate::failure::Failure;
use crate::file_args::FileArgs;

/// A row, what is wrong with it, and the contact that it describes if it can be sent to the server.
pub(crate) struct Person<T> {
    pub row: Row,
    /// Why there is no contact.
    pub refused: Option<Problem>,
    /// The values that are left out of the contact.
    pub left_out: Vec<Problem>,
    pub input: Option<T>,
}

/// An open file, read row by row. What is sent of a contact is a `T`.
pub(crate) struct People<T, R = BufReader<File>> {
    file: PathBuf,
    sheet: Sheet<R>,
    columns: Columns,
    rows_read: u64,
    input_of: fn(Input) -> T,
    /// A person who was read and comes again.
    put_back: Option<Person<T>>,
}

pub(crate) fn open(file: &Path, options: &Options) -> Result<Sheet<BufReader<File>>, Failure> {
    let opened = File::open(file).map_err(Failure::file(file))?;
    Sheet::open(BufReader::new(opened), options).map_err(unreadable(file))
}

pub(crate) fn unreadable(file: &Path) -> impl FnOnce(BadFile) -> Failure {
    let file = file.to_owned();
    move |error| match error {
        BadFile::Io(source) => Failure::File { file, source },
        other => Failure::Content { file, problem: other.to_string() },
    }
}

impl People<ContactInput> {
    /// A file of contacts.
    pub(crate) fn open(of: &FileArgs) -> Result<Self, Failure> {
        let sheet = open(&of.file, &of.options())?;
        let columns = of.columns(sheet.header())?;
        Ok(Self::new(of, sheet, columns, input_of))
    }
}

impl People<OptOutInput> {
    /// A file of numbers, with notes or without.
    pub(crate) fn of_numbers(of: &FileArgs) -> Result<Self, Failure> {
        let sheet = open(&of.file, &of.options())?;
        let columns = of.columns(sheet.header())?.only(&[Column::Phone, Column::Notes]);
        Ok(Self::new(of, sheet, columns, number_of))
    }
}

impl<T> People<T> {
    fn new(
        of: &FileArgs,
        sheet: Sheet<BufReader<File>>,
        columns: Columns,
        input_of: fn(Input) -> T,
    ) -> Self {
        let file = of.file.clone();
        Self { file, sheet, columns, rows_read: 0, input_of, put_back: None }
    }
}

impl<T, R: Read> People<T, R> {
    /// The names of the columns.
    pub(crate) fn header(&self) -> &[String] {
        self.sheet.header()
    }

    pub(crate) fn format(&self) -> &Format {
        self.sheet.format()
    }

    pub(crate) fn skip(&mut self, rows: u64) -> Result<(), Failure> {
        while self.rows_read < rows && self.next_row()?.is_some() {}
        Ok(())
    }

    pub(crate) fn next_row(&mut self) -> Result<Option<Row>, Failure> {
        let row = self.sheet.next().transpose().map_err(unreadable(&self.file))?;
        self.rows_read += u64::from(row.is_some());
        Ok(row)
    }

    /// The next person of the file; `None` at its end.
    pub(crate) fn next(&mut self) -> Result<Option<Person<T>>, Failure> {
        if let Some(person) = self.put_back.take() {
            return Ok(Some(person));
        }
        let Some(row) = self.next_row()? else { return Ok(None) };
        let sms_files::Person { contact, left_out } = self.columns.person(&row);
        let (refused, input) = match contact {
            Ok(contact) => (None, Some((self.input_of)(contact))),
            Err(problem) => (Some(problem), None),
        };
        Ok(Some(Person { row, refused, left_out, input }))
    }

    /// Has a person come again.
    pub(crate) fn put_back(&mut self, person: Person<T>) {
        self.put_back = Some(person);
    }

    /// Takes the row of a person who was to come again.
    pub(crate) fn take_back(&mut self) -> Option<Row> {
        self.put_back.take().map(|person| person.row)
    }
}

fn input_of(contact: Input) -> ContactInput {
    let mut input = ContactInput::new(contact.phone);
    input.first_name = contact.first_name.map(Into::into);
    input.last_name = contact.last_name.map(Into::into);
    input.email = contact.email.map(Into::into);
    input.notes = contact.notes.map(Into::into);
    let mut custom = BTreeMap::new();
    for (name, value) in contact.custom {
        if let Some(value) = value {
            custom.insert(name, Value::String(value.text().into_owned()));
        }
    }
    input.custom = CustomFields(custom);
    input
}

fn number_of(contact: Input) -> OptOutInput {
    OptOutInput { phone: contact.phone.into(), note: contact.notes.map(Into::into) }
}

/// How long a file is, and which.
pub(crate) struct Survey {
    pub rows: u64,
    /// The same for the same content.
    pub digest: String,
}

impl Survey {
    pub(crate) fn of(file: &Path, options: &Options) -> Result<Self, Failure> {
        let mut rows = 0;
        for row in open(file, options)? {
            row.map_err(unreadable(file))?;
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
impl<R: Read + io::Seek> People<ContactInput, R> {
    /// The contacts of a text in UTF-8 with commas.
    pub(crate) fn over(text: R) -> Self {
        use sms_files::{Delimiter, Encoding};
        let (encoding, delimiter) = (Some(Encoding::Utf8), Some(Delimiter::COMMA));
        let options = Options { encoding, delimiter, ..Options::default() };
        let sheet = Sheet::open(text, &options).unwrap();
        let columns = Columns::guessed(sheet.header());
        let file = PathBuf::from("people.csv");
        Self { file, sheet, columns, rows_read: 0, input_of, put_back: None }
    }
}
