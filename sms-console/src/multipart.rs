//! Forms that bring files: `multipart/form-data`.

use std::convert::Infallible;
use std::future::ready;

use bytes::Bytes;
use futures_util::stream::once;
use multer::Multipart;

/// The most fields and files of a form: a few bytes of one take many in memory.
pub(crate) const MOST_FIELDS: usize = 10_000;

/// A file that a form brought.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SentFile {
    /// Its name where it came from.
    pub name: String,
    /// Its content, read in full.
    pub bytes: Bytes,
}

/// What such a form brought, in its order.
#[derive(Debug, Default)]
pub(crate) struct Parts {
    pub fields: Vec<(String, String)>,
    pub files: Vec<(String, SentFile)>,
}

/// Whether a body is a form with files. Such a body begins with its boundary; other forms begin
/// with the name of a field, and none of ours begins so.
pub(crate) fn is_multipart(body: &Bytes) -> bool {
    body.starts_with(b"--")
}

/// Reads the parts of a form; `None` if it breaks off or is none.
pub(crate) async fn parts_of(body: &Bytes) -> Option<Parts> {
    let boundary = body.strip_prefix(b"--")?.split(|byte| *byte == b'\r').next()?;
    let boundary = std::str::from_utf8(boundary).ok()?;
    let bytes = once(ready(Ok::<_, Infallible>(body.clone())));
    let mut multipart = Multipart::new(bytes, boundary);
    let mut parts = Parts::default();
    while let Some(field) = multipart.next_field().await.ok()? {
        if parts.fields.len() + parts.files.len() == MOST_FIELDS {
            return None;
        }
        let name = field.name()?.to_owned();
        match field.file_name().map(str::to_owned) {
            Some(file) => {
                let bytes = field.bytes().await.ok()?;
                parts.files.push((name, SentFile { name: file, bytes }));
            }
            None => parts.fields.push((name, field.text().await.ok()?)),
        }
    }
    Some(parts)
}
