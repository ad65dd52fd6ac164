//! The seal of a backup: the line after the pages of SQLite with their digest. It is written last,
//! so a backup that has none is not whole. SQLite does not read what stands after the pages.

use std::fs::File;
use std::io::{self, Read, Seek, SeekFrom, Write};

use sha2::{Digest as _, Sha256};

const LABEL: &[u8] = b"\nsms backup 1 sha256 ";
/// As many hexadecimal digits as the digest has.
const DIGITS: usize = 64;
const LENGTH: usize = LABEL.len() + DIGITS + 1;
/// How much is read at once.
const AT_ONCE: usize = 1 << 16;

/// Why a backup cannot be used.
#[derive(Debug)]
pub(crate) enum Unsealed {
    /// It has no seal.
    NotWhole,
    /// It holds something else than what was sealed.
    Changed,
    /// It cannot be read.
    Unreadable(io::Error),
    /// The copy cannot be written.
    Unwritable(io::Error),
}

/// Seals what is in the file.
pub(crate) fn put(file: &mut File) -> io::Result<()> {
    file.seek(SeekFrom::Start(0))?;
    let mut hash = Sha256::new();
    let mut buffer = vec![0; AT_ONCE];
    loop {
        let count = file.read(&mut buffer)?;
        if count == 0 {
            break;
        }
        hash.update(&buffer[..count]);
    }
    file.write_all(&seal(&hash.finalize()))
}

fn seal(digest: &[u8]) -> Vec<u8> {
    let digits = digest.iter().flat_map(|byte| format!("{byte:02x}").into_bytes());
    LABEL.iter().copied().chain(digits).chain([b'\n']).collect()
}

/// A backup with a seal, which was not compared yet with what it holds.
pub(crate) struct Sealed {
    file: File,
    /// The length of what is sealed.
    length: u64,
    seal: Vec<u8>,
}

impl Sealed {
    /// The backup in this file, if it has a seal.
    pub(crate) fn of(mut file: File) -> Result<Self, Unsealed> {
        let whole = file.metadata().map_err(Unsealed::Unreadable)?.len();
        let length = whole.checked_sub(LENGTH as u64).filter(|length| *length > 0);
        let length = length.ok_or(Unsealed::NotWhole)?;
        let mut seal = vec![0; LENGTH];
        file.seek(SeekFrom::Start(length)).map_err(Unsealed::Unreadable)?;
        file.read_exact(&mut seal).map_err(Unsealed::Unreadable)?;
        if !seal.starts_with(LABEL) || !seal.ends_with(b"\n") {
            return Err(Unsealed::NotWhole);
        }
        Ok(Self { file, length, seal })
    }

    /// Copies what is sealed, and compares it with the seal.
    pub(crate) fn copy_to(mut self, to: &mut impl Write) -> Result<(), Unsealed> {
        self.file.seek(SeekFrom::Start(0)).map_err(Unsealed::Unreadable)?;
        let mut sealed = self.file.take(self.length);
        let mut hash = Sha256::new();
        let mut buffer = vec![0; AT_ONCE];
        loop {
            let count = sealed.read(&mut buffer).map_err(Unsealed::Unreadable)?;
            if count == 0 {
                break;
            }
            hash.update(&buffer[..count]);
            to.write_all(&buffer[..count]).map_err(Unsealed::Unwritable)?;
        }
        if seal(&hash.finalize()) == self.seal { Ok(()) } else { Err(Unsealed::Changed) }
    }
}
