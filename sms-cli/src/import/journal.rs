//! What an import has done so far, so that it can go on after an interruption: a file in the folder
//! for state, and the report of refused rows.

use std::fs::{self, File};
use std::io::{self, BufWriter, Read as _, Write as _};
use std::path::{Path, PathBuf};

use serde::{Deserialize, Serialize};
use sha2::{Digest as _, Sha256};
use sms_client::IdempotencyKey;
use sms_client::contact::{ImportOutcome, ImportResult};
use sms_files::failures::Failures;
use sms_files::{Delimiter, Row};

use super::people::hex;
use crate::failure::Failure;
use crate::file_args::unfinished_name;
use crate::private_file::{self, NewFile};
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
    /// Values that were left out of rows that were imported.
    #[serde(default)]
    pub left_out: u64,
    pub added_to_list: u64,
}

impl Totals {
    /// The totals with `rows` rows more, and with what the server says of them.
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
            left_out: self.left_out,
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
    /// The journal of an import of the file with this digest. `target` is whatever else
    /// distinguishes one import from another: the server, the key, the list, and which columns are
    /// read.
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
    pub(crate) fn finish(self) -> Result<(), Failure> {
        fs::remove_file(&self.file).map_err(Failure::file(&self.file))
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

/// A report with what an interrupted import wrote to it: these bytes, in a new file. They are read
/// and never written where they are, and never from a link.
fn go_on(file: &Path, unfinished: &Path, bytes: u64) -> Result<File, Failure> {
    let is_long_enough =
        |path: &&Path| fs::symlink_metadata(path).is_ok_and(|it| it.is_file() && it.len() >= bytes);
    // It may have been killed after the report got its name.
    let Some(earlier) = [unfinished, file].into_iter().find(is_long_enough) else {
        let problem = "the rows that were refused before are not in it: name the same --report as \
                       before, or begin again with --restart";
        return Err(Failure::Content { file: file.to_owned(), problem: problem.to_owned() });
    };
    let earlier = File::open(earlier).map_err(Failure::file(earlier))?;
    let mut new = NewFile::begin(unfinished).map_err(Failure::file(unfinished))?;
    io::copy(&mut earlier.take(bytes), new.file()).map_err(Failure::file(unfinished))?;
    let opened = new.file().try_clone().map_err(Failure::file(unfinished))?;
    new.publish().map_err(Failure::file(unfinished))?;
    Ok(opened)
}

/// The rows that were refused or not taken as a whole, as CSV: what they were, where they stood and
/// why. The file has its name once the import is complete.
#[derive(Debug)]
pub(crate) struct Report {
    file: PathBuf,
    /// Its name until then.
    unfinished: PathBuf,
    failures: Failures,
    writer: BufWriter<File>,
}

impl Report {
    /// Continues after `bytes` bytes; 0 begins a new report.
    pub(crate) fn open(
        file: &Path,
        header: &[String],
        delimiter: Delimiter,
        bytes: u64,
    ) -> Result<Self, Failure> {
        let unfinished = unfinished_name(file);
        let opened = if bytes == 0 {
            // What an earlier import refused says nothing of this one.
            remove(file)?;
            private_file::create(&unfinished).map_err(Failure::file(&unfinished))?
        } else {
            go_on(file, &unfinished, bytes)?
        };
        let failures = Failures::of(header, delimiter);
        let writer = BufWriter::new(opened);
        let mut report = Self { file: file.to_owned(), unfinished, failures, writer };
        if bytes == 0 {
            report.write(&report.failures.header(header))?;
        }
        Ok(report)
    }

    pub(crate) fn add(&mut self, row: &Row, reason: &str) -> Result<(), Failure> {
        self.write(&self.failures.row(&row.cells, row.line, reason))
    }

    /// Brings all of it to the disk, and says how long it is.
    pub(crate) fn sync(&mut self) -> Result<u64, Failure> {
        let failed = || Failure::file(&self.file);
        self.writer.flush().map_err(failed())?;
        let opened = self.writer.get_ref();
        opened.sync_all().map_err(failed())?;
        Ok(opened.metadata().map_err(failed())?.len())
    }

    /// The report's name, if there is anything in it. Otherwise there is none, not even an earlier
    /// one.
    pub(crate) fn finish(mut self, reported: u64) -> Result<Option<PathBuf>, Failure> {
        if reported > 0 {
            // It has its name only once all of it is there.
            self.sync()?;
        }
        let Self { file, unfinished, failures: _, writer } = self;
        drop(writer);
        if reported > 0 {
            fs::rename(&unfinished, &file).map_err(Failure::file(&file))?;
            return Ok(Some(file));
        }
        fs::remove_file(&unfinished).map_err(Failure::file(unfinished))?;
        remove(&file)?;
        Ok(None)
    }

    fn write(&mut self, bytes: &[u8]) -> Result<(), Failure> {
        self.writer.write_all(bytes).map_err(Failure::file(&self.file))
    }
}

/// Removes a report, if it is there. What is no file, such as `/dev/null`, stays.
fn remove(report: &Path) -> Result<(), Failure> {
    match fs::symlink_metadata(report) {
        Ok(about) if about.is_dir() || about.is_file() || about.is_symlink() => {
            fs::remove_file(report).map_err(Failure::file(report))
        }
        _ => Ok(()),
    }
}
