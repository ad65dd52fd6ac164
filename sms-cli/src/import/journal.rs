//! What an import has done so far, so that it can go on after an interruption: a file in the folder
//! for state, and the report of refused rows.

use std::fs::{self, File, OpenOptions};
use std::io::{self, Seek as _, SeekFrom};
use std::path::{Path, PathBuf};

use csv::{ByteRecord, Writer};
use serde::{Deserialize, Serialize};
use sha2::{Digest as _, Sha256};
use sms_client::IdempotencyKey;
use sms_client::contact::{ImportOutcome, ImportResult};

use super::sheet::{Row, hex};
use crate::failure::Failure;
use crate::private_file;
use crate::profile::state_folder;

/// What became of the rows so far.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
pub(crate) struct Totals {
    pub rows: u64,
    pub created: u64,
    pub updated: u64,
    pub unchanged: u64,
    /// A later row of the same portion has the same number.
    pub duplicate: u64,
    pub invalid: u64,
    pub added_to_list: u64,
}

impl Totals {
    /// With so many rows more, and what the server says of them.
    pub(crate) fn plus(self, rows: u64, result: Option<&ImportResult>) -> Self {
        let Some(result) = result else {
            return Self { rows: self.rows + rows, ..self };
        };
        let is_duplicate =
            |row: &&sms_client::contact::ImportRow| row.outcome == ImportOutcome::Duplicate;
        Self {
            rows: self.rows + rows,
            created: self.created + result.created,
            updated: self.updated + result.updated,
            unchanged: self.unchanged + result.unchanged,
            duplicate: self.duplicate + result.rows.iter().filter(is_duplicate).count() as u64,
            invalid: self.invalid + result.invalid,
            added_to_list: self.added_to_list + result.added_to_list,
        }
    }
}

#[derive(Debug, Serialize, Deserialize)]
struct State {
    /// Unlike that of any other import.
    run: String,
    totals: Totals,
    /// How much of the report belongs to these rows.
    report_bytes: u64,
}

/// Where an import begins.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Start {
    /// After what an interrupted import of the same file to the same target has done.
    WhereItStopped,
    /// At the first row.
    Afresh,
}

/// The state of an import, kept in a file until the import is complete.
#[derive(Debug)]
pub(crate) struct Journal {
    file: PathBuf,
    state: State,
}

impl Journal {
    /// The journal of an import of the file with this digest. `target` is whatever else tells one
    /// import from another: the server, the key, the list, and which columns are read.
    pub(crate) fn open(target: &[&str], digest: &str, start: Start) -> Result<Self, Failure> {
        let mut hash = Sha256::new();
        for part in target.iter().chain([&digest]) {
            hash.update(part.as_bytes());
            hash.update([0]);
        }
        let name = &hex(&hash.finalize())[..32];
        let file = state_folder()?.join("imports").join(format!("{name}.json"));
        let earlier = match start {
            Start::Afresh => None,
            Start::WhereItStopped => read(&file)?,
        };
        let state = earlier.unwrap_or_else(|| State {
            run: IdempotencyKey::random().to_string(),
            totals: Totals::default(),
            report_bytes: 0,
        });
        let journal = Self { file, state };
        // The keys of the first portion are on disk before it is sent.
        journal.write()?;
        Ok(journal)
    }

    pub(crate) fn totals(&self) -> Totals {
        self.state.totals
    }

    pub(crate) fn report_bytes(&self) -> u64 {
        self.state.report_bytes
    }

    /// The key of the portion that comes next. It is the same after an interruption.
    pub(crate) fn key(&self) -> IdempotencyKey {
        let State { run, totals, report_bytes: _ } = &self.state;
        let key = format!("import-{run}-{}", totals.rows).parse();
        key.unwrap_or_else(|_| IdempotencyKey::random())
    }

    /// Notes that a portion is done.
    pub(crate) fn note(&mut self, totals: Totals, report_bytes: u64) -> Result<(), Failure> {
        (self.state.totals, self.state.report_bytes) = (totals, report_bytes);
        self.write()
    }

    /// Forgets the import: it is complete.
    pub(crate) fn finish(self) -> Result<Totals, Failure> {
        fs::remove_file(&self.file).map_err(Failure::file(&self.file))?;
        Ok(self.state.totals)
    }

    fn write(&self) -> Result<(), Failure> {
        let text = serde_json::to_vec(&self.state).map_err(sms_client::Error::from)?;
        private_file::write(&self.file, &text).map_err(Failure::file(&self.file))
    }
}

/// The state of an earlier import; `None` if there is none that can be read.
fn read(file: &Path) -> Result<Option<State>, Failure> {
    match fs::read(file) {
        Ok(bytes) => Ok(serde_json::from_slice(&bytes).ok()),
        Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(None),
        Err(error) => Err(Failure::file(file)(error)),
    }
}

/// The rows that were refused, as CSV: where they stood, why, and what they were.
#[derive(Debug)]
pub(crate) struct Report {
    file: PathBuf,
    writer: Writer<File>,
}

impl Report {
    /// Goes on after so many bytes; 0 begins a new report.
    pub(crate) fn open(file: &Path, headings: &ByteRecord, bytes: u64) -> Result<Self, Failure> {
        let failed = || Failure::file(file);
        if fs::metadata(file).map_or(0, |about| about.len()) < bytes {
            let problem = "the rows that were refused before are not in it: name the same --report \
                           as before, or begin again with --restart";
            return Err(Failure::Content { file: file.to_owned(), problem: problem.to_owned() });
        }
        let mut options = OpenOptions::new();
        options.create(true).write(true).truncate(bytes == 0);
        let mut opened = options.open(file).map_err(failed())?;
        opened.set_len(bytes).map_err(failed())?;
        opened.seek(SeekFrom::Start(bytes)).map_err(failed())?;
        let writer = csv::WriterBuilder::new().flexible(true).from_writer(opened);
        let mut report = Self { file: file.to_owned(), writer };
        if bytes == 0 {
            report.write(b"sms_row", b"sms_error", headings)?;
        }
        Ok(report)
    }

    pub(crate) fn add(&mut self, row: &Row, reason: &str) -> Result<(), Failure> {
        self.write(row.number.to_string().as_bytes(), reason.as_bytes(), &row.cells)
    }

    /// Brings all of it to the disk, and says how long it is.
    pub(crate) fn sync(&mut self) -> Result<u64, Failure> {
        let failed = || Failure::file(&self.file);
        self.writer.flush().map_err(failed())?;
        let opened = self.writer.get_ref();
        opened.sync_all().map_err(failed())?;
        Ok(opened.metadata().map_err(failed())?.len())
    }

    /// The report's name, if there is anything in it. Otherwise it is removed.
    pub(crate) fn finish(self, refused: u64) -> Result<Option<PathBuf>, Failure> {
        let Self { file, writer } = self;
        drop(writer);
        if refused > 0 {
            return Ok(Some(file));
        }
        fs::remove_file(&file).map_err(Failure::file(file))?;
        Ok(None)
    }

    fn write(&mut self, row: &[u8], error: &[u8], cells: &ByteRecord) -> Result<(), Failure> {
        let record = [row, error].into_iter().chain(cells);
        let file = &self.file;
        self.writer
            .write_record(record)
            .map_err(|error| Failure::Content { file: file.clone(), problem: error.to_string() })
    }
}
