//! The folder of the file store: the data, the operator's token, and the journal of hand-overs.

use std::fs::{self, File, OpenOptions};
use std::io::{self, ErrorKind, Write as _};
use std::os::unix::fs::OpenOptionsExt as _;
use std::path::{Path, PathBuf};

/// Shorter content is no token: it could be guessed, or was not written whole.
pub const SHORTEST_TOKEN: usize = 16;

/// A folder of the file store. It need not exist yet.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct DataDir<'a>(pub &'a Path);

impl DataDir<'_> {
    /// The file with the data.
    pub fn database(&self) -> PathBuf {
        self.0.join("sms.db")
    }

    /// The folder of the journal of hand-overs.
    pub fn journal(&self) -> PathBuf {
        self.0.join("journal")
    }

    /// The file with the operator's token, if the server generated it.
    pub fn token_file(&self) -> PathBuf {
        self.0.join("admin-token")
    }

    /// The operator's token; `None` if there is no such file.
    ///
    /// # Errors
    ///
    /// If the file is there and cannot be read.
    pub fn token(&self) -> io::Result<Option<String>> {
        match fs::read_to_string(self.token_file()) {
            Ok(text) => {
                let token = text.trim();
                Ok((token.len() >= SHORTEST_TOKEN).then(|| token.to_owned()))
            }
            Err(error) if error.kind() == ErrorKind::NotFound => Ok(None),
            Err(error) => Err(error),
        }
    }

    /// Keeps a token in a file that only its owner can read. The file appears whole or not at all.
    ///
    /// # Errors
    ///
    /// If the folder does not exist, or cannot be written.
    pub fn keep_token(&self, token: &str) -> io::Result<()> {
        let unfinished = self.0.join("admin-token.new");
        // A killed program may have left a file, and somebody a link: neither is written to.
        match fs::remove_file(&unfinished) {
            Err(error) if error.kind() != ErrorKind::NotFound => return Err(error),
            _ => {}
        }
        let mut options = OpenOptions::new();
        options.write(true).create_new(true).mode(0o600);
        let mut file = options.open(&unfinished)?;
        writeln!(file, "{token}")?;
        file.sync_all()?;
        fs::rename(&unfinished, self.token_file())?;
        File::open(self.0)?.sync_all()
    }
}

#[cfg(test)]
mod tests {
    use std::os::unix::fs::PermissionsExt as _;

    use super::*;

    /// A folder of a test, removed at its end.
    struct Folder(PathBuf);

    impl Folder {
        fn new(name: &str) -> Self {
            let path = std::env::temp_dir().join(format!("sms-{name}-{}", std::process::id()));
            fs::create_dir_all(&path).unwrap();
            Self(path)
        }
    }

    impl Drop for Folder {
        fn drop(&mut self) {
            let _ = fs::remove_dir_all(&self.0);
        }
    }

    #[test]
    fn a_kept_token_is_read_again_and_only_its_owner_can_read_the_file() {
        let folder = Folder::new("kept-token");
        let data = DataDir(&folder.0);
        assert_eq!(data.token().unwrap(), None);
        data.keep_token("0123456789abcdef").unwrap();
        assert_eq!(data.token().unwrap().as_deref(), Some("0123456789abcdef"));
        let mode = fs::metadata(data.token_file()).unwrap().permissions().mode();
        assert_eq!(mode & 0o777, 0o600);
    }

    #[test]
    fn a_token_is_written_through_no_link() {
        let folder = Folder::new("linked-token");
        let (data, victim) = (DataDir(&folder.0), folder.0.join("victim"));
        fs::write(&victim, "kept").unwrap();
        for name in ["admin-token.new", "admin-token"] {
            std::os::unix::fs::symlink(&victim, folder.0.join(name)).unwrap();
        }
        data.keep_token("0123456789abcdef").unwrap();
        assert_eq!(data.token().unwrap().as_deref(), Some("0123456789abcdef"));
        assert_eq!(fs::read_to_string(victim).unwrap(), "kept");
    }

    #[test]
    fn a_file_with_too_short_a_token_counts_as_none() {
        let folder = Folder::new("short-token");
        let data = DataDir(&folder.0);
        fs::write(data.token_file(), "short\n").unwrap();
        assert_eq!(data.token().unwrap(), None);
    }
}
