//! Files that only their owner may read, and that are whole once they have their names.

use std::fs::{self, File, OpenOptions};
use std::io::{self, Write as _};
use std::path::{Path, PathBuf};

/// A file that is written under another name, which it loses when it is whole. It is removed when
/// this is dropped before. It is never a file that was there before, nor one to which a link leads.
#[derive(Debug)]
pub(crate) struct NewFile {
    file: File,
    new: PathBuf,
    path: PathBuf,
}

impl NewFile {
    pub(crate) fn begin(path: &Path) -> io::Result<Self> {
        let new = path.with_extension(format!("{}.new", std::process::id()));
        Ok(Self { file: create(&new)?, new, path: path.to_owned() })
    }

    pub(crate) fn file(&mut self) -> &mut File {
        &mut self.file
    }

    /// Gives it its name, and replaces what has that name.
    pub(crate) fn publish(self) -> io::Result<()> {
        self.file.sync_all()?;
        fs::rename(&self.new, &self.path)
    }
}

impl Drop for NewFile {
    fn drop(&mut self) {
        // If it is whole, it has another name by now.
        let _ = fs::remove_file(&self.new);
    }
}

/// Writes a file whole or not at all, readable by its owner alone.
pub(crate) fn write(path: &Path, bytes: &[u8]) -> io::Result<()> {
    let folder = path.parent().unwrap_or(Path::new("."));
    fs::create_dir_all(folder)?;
    let mut new = NewFile::begin(path)?;
    new.file().write_all(bytes)?;
    new.publish()
}

/// Whether others than the owner may read the file.
#[cfg(unix)]
pub(crate) fn is_open_to_others(path: &Path) -> bool {
    use std::os::unix::fs::PermissionsExt as _;
    fs::metadata(path).is_ok_and(|about| about.permissions().mode() & 0o077 != 0)
}

/// Whether others than the owner may read the file. Folders of a user are private here.
#[cfg(not(unix))]
pub(crate) fn is_open_to_others(_path: &Path) -> bool {
    false
}

/// Makes a file. What has its name is replaced: a process that was killed may have left it.
pub(crate) fn create(path: &Path) -> io::Result<File> {
    let mut options = OpenOptions::new();
    options.write(true).create_new(true);
    #[cfg(unix)]
    {
        use std::os::unix::fs::OpenOptionsExt as _;
        options.mode(0o600);
    }
    match options.open(path) {
        Err(error) if error.kind() == io::ErrorKind::AlreadyExists => {
            fs::remove_file(path)?;
            options.open(path)
        }
        other => other,
    }
}
