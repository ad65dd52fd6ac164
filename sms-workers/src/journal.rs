//! A journal in a file: `FileJournal`.

use std::fs::{self, DirBuilder, File, OpenOptions, TryLockError};
use std::io::{self, Read, Write};
use std::os::unix::fs::{DirBuilderExt, OpenOptionsExt};
use std::path::{Path, PathBuf};
use std::sync::{Mutex, PoisonError};

use sms_core::dispatch::journal::{
    Completeness, Entry, Journal, LeftOver, NotKept, Unsettled, line,
};

/// The size from which the file is rewritten with what is not settled.
const LARGE: usize = 1 << 20;
/// More than a file ever has: one that is larger is none of ours.
const LARGEST: u64 = 64 << 20;

/// The journal of hand-overs in a file, for one running program.
///
/// An entry is one `write` to the file, without `fsync`. It survives the end of the program,
/// however that ends, because the system has the data then. It may not survive the end of the
/// machine. Linux identifies each run of the machine. After a crash of the machine, and on other
/// systems always, only the answers in the journal count: what was submitted without one is handed
/// over again once its lease runs out.
///
/// The file has mode 600 and holds ids, lease tokens, networks' ids and codes. It is rewritten when
/// it has grown to 1 MiB, so it is about as large as that.
#[derive(Debug)]
pub struct FileJournal {
    folder: PathBuf,
    run: String,
    left_over: Vec<LeftOver>,
    state: Mutex<State>,
    /// Held for as long as the program uses the folder.
    _lock: File,
}

#[derive(Debug)]
struct State {
    file: File,
    /// The length of the file, and that at which it is rewritten.
    length: usize,
    most: usize,
    unsettled: Unsettled,
}

/// Why a journal could not be opened.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum JournalRefused {
    /// Another program uses the folder.
    #[error("another program uses the journal in {}: give each its own folder", .0.display())]
    InUse(PathBuf),
    /// The folder or a file in it cannot be used.
    #[error("the journal in {} cannot be used", folder.display())]
    Io {
        /// The folder that the journal was to use.
        folder: PathBuf,
        /// What the operating system reported.
        #[source]
        source: io::Error,
    },
}

impl FileJournal {
    /// Opens the journal in this folder, which is made if it is missing, and reads what an earlier
    /// run of the program left.
    ///
    /// # Errors
    ///
    /// When another program uses it, or the folder cannot be written.
    pub fn open(folder: impl Into<PathBuf>) -> Result<Self, JournalRefused> {
        let folder = folder.into();
        let run = fs::read_to_string("/proc/sys/kernel/random/boot_id").ok();
        match Self::open_in(&folder, run.as_deref().map(str::trim)) {
            Ok(journal) => Ok(journal),
            Err(OpenFailed::InUse) => Err(JournalRefused::InUse(folder)),
            Err(OpenFailed::Io(source)) => Err(JournalRefused::Io { folder, source }),
        }
    }

    /// `run` names the present run of the machine; `None` if the system does not say.
    fn open_in(folder: &Path, run: Option<&str>) -> Result<Self, OpenFailed> {
        DirBuilder::new().recursive(true).mode(0o700).create(folder)?;
        let lock = folder.join("lock");
        refuse_link(&lock)?;
        let lock = private().create(true).truncate(false).open(lock)?;
        match lock.try_lock() {
            Ok(()) => {}
            Err(TryLockError::WouldBlock) => return Err(OpenFailed::InUse),
            Err(TryLockError::Error(error)) => return Err(error.into()),
        }
        let mut octets = Vec::new();
        let path = folder.join("journal");
        refuse_link(&path)?;
        match File::open(path) {
            Ok(file) => drop(file.take(LARGEST).read_to_end(&mut octets)?),
            Err(error) if error.kind() == io::ErrorKind::NotFound => {}
            Err(error) => return Err(error.into()),
        }
        let (mut unsettled, completeness) = line::read(&octets, run.unwrap_or_default());
        if completeness == Completeness::Doubtful || run.is_none() {
            unsettled.keep_answered();
        }
        let run = run.unwrap_or_default().to_owned();
        let left_over = unsettled.left_over();
        let state = Mutex::new(State::anew(folder, &run, unsettled)?);
        Ok(Self { folder: folder.to_owned(), run, left_over, state, _lock: lock })
    }
}

/// Why the folder could not be opened.
enum OpenFailed {
    InUse,
    Io(io::Error),
}

impl From<io::Error> for OpenFailed {
    fn from(error: io::Error) -> Self {
        Self::Io(error)
    }
}

/// Options to open a file that only its owner may read and write.
fn private() -> OpenOptions {
    let mut options = OpenOptions::new();
    options.write(true).mode(0o600);
    options
}

/// Refuses what is there and is no file of this folder, such as a link to a file elsewhere.
fn refuse_link(path: &Path) -> io::Result<()> {
    match fs::symlink_metadata(path) {
        Ok(about) if !about.is_file() => {
            let reason = format!("{} is no regular file: remove it", path.display());
            Err(io::Error::new(io::ErrorKind::InvalidInput, reason))
        }
        _ => Ok(()),
    }
}

impl State {
    /// A file that says no more than what is not settled. It takes the place of the earlier one
    /// once it is complete.
    fn anew(folder: &Path, run: &str, unsettled: Unsettled) -> io::Result<Self> {
        let text: String = std::iter::once(line::head(run))
            .chain(unsettled.entries().iter().map(line::line))
            .collect();
        let path = folder.join("journal.new");
        // A killed program may have left a file, and an attacker a link: neither is written to.
        match fs::remove_file(&path) {
            Err(error) if error.kind() != io::ErrorKind::NotFound => return Err(error),
            _ => {}
        }
        let mut file = private().create_new(true).open(&path)?;
        file.write_all(text.as_bytes())?;
        fs::rename(&path, folder.join("journal"))?;
        let length = text.len();
        Ok(Self { file, length, most: LARGE.max(2 * length), unsettled })
    }

    /// Takes entries in, and writes those that change something in one `write`.
    fn append(&mut self, entries: Vec<Entry>) -> Result<(), AppendFailed> {
        let mut text = String::new();
        let mut is_unknown = false;
        for entry in entries {
            match self.unsettled.apply(entry) {
                Ok(changes) => text.extend(changes.as_ref().map(line::line)),
                Err(_) => is_unknown = true,
            }
        }
        if !text.is_empty() {
            self.file.write_all(text.as_bytes()).map_err(AppendFailed::Io)?;
            self.length += text.len();
        }
        if is_unknown { Err(AppendFailed::Unknown) } else { Ok(()) }
    }
}

/// Why entries could not be appended.
enum AppendFailed {
    Unknown,
    Io(io::Error),
}

impl Journal for FileJournal {
    fn append(&self, entries: Vec<Entry>) -> Result<(), NotKept> {
        let mut state = self.state.lock().unwrap_or_else(PoisonError::into_inner);
        let appended = state.append(entries);
        match appended {
            Ok(()) if state.length >= state.most => {
                let unsettled = state.unsettled.clone();
                match State::anew(&self.folder, &self.run, unsettled) {
                    Ok(anew) => *state = anew,
                    Err(error) => return Err(self.forget(&mut state, error)),
                }
                Ok(())
            }
            Ok(()) => Ok(()),
            Err(AppendFailed::Unknown) => Err(NotKept::Unknown),
            Err(AppendFailed::Io(error)) => Err(self.forget(&mut state, error)),
        }
    }

    fn left_over(&self) -> Vec<LeftOver> {
        self.left_over.clone()
    }
}

impl FileJournal {
    /// Forgets everything after a failure, so that the file does not say that a message was not
    /// submitted when it was. To make a file shorter needs no space.
    fn forget(&self, state: &mut State, error: io::Error) -> NotKept {
        metrics::counter!("sms_journal_failures_total").increment(1);
        if !state.unsettled.is_empty() {
            tracing::warn!(%error, "the journal cannot be written; continuing without it");
        }
        state.unsettled = Unsettled::default();
        let emptied = state.file.set_len(0);
        match State::anew(&self.folder, &self.run, Unsettled::default()) {
            Ok(anew) => *state = anew,
            Err(again) if emptied.is_err() => {
                tracing::error!(error = %again, "the journal cannot be emptied");
                // Without its first line, or with another run's, a journal is in doubt.
                let _ = fs::remove_file(self.folder.join("journal"));
            }
            Err(_) => {}
        }
        NotKept::Unwritable(Box::new(error))
    }
}

#[cfg(test)]
mod tests;
