//! A folder for the files of a measurement.

use std::fs;
use std::io;
use std::path::{Path, PathBuf};

/// A new folder, which is removed when this is dropped.
pub(crate) struct Folder(PathBuf);

impl Folder {
    pub(crate) fn new(name: &str) -> io::Result<Self> {
        let path = std::env::temp_dir().join(format!("sms-bench-{}-{name}", std::process::id()));
        fs::create_dir_all(&path)?;
        Ok(Self(path))
    }

    pub(crate) fn path(&self) -> &Path {
        &self.0
    }
}

impl Drop for Folder {
    fn drop(&mut self) {
        // What stays behind is in the folder for temporary files.
        let _ = fs::remove_dir_all(&self.0);
    }
}
