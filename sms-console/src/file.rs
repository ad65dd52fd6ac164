//! A file of the console.

use bytes::Bytes;

/// A file as it is served.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct File {
    /// The value of `Content-Type`.
    pub content_type: &'static str,
    /// The hash of its content, in hexadecimal digits.
    pub hash: String,
    /// Its content, without compression; the hash is that of these bytes.
    pub plain: Bytes,
    /// Its content, compressed with gzip; `None` if it is only served plain.
    pub gzip: Option<Bytes>,
    /// For how long a browser may use it.
    pub kept: Kept,
}

/// For how long a browser may use a file without asking again.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Kept {
    /// For ever: another content has another path.
    ForEver,
    /// It asks each time whether the file has changed.
    Never,
}
