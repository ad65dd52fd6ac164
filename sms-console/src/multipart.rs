//! Forms that bring files: `multipart/form-data`.

use std::convert::Infallible;
use std::future::ready;

use bytes::Bytes;
use futures_util::stream::once;
use multer::Multipart;

use crate::form::SentFile;

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

#[cfg(test)]
mod tests {
    use super::*;
    use crate::form::Form;

    const BODY: &str = "--x1\r\nContent-Disposition: form-data; name=\"csrf\"\r\n\r\nabc\r\n\
                        --x1\r\nContent-Disposition: form-data; name=\"file\"; \
                        filename=\"people.csv\"\r\nContent-Type: text/csv\r\n\r\n\
                        a,b\r\n1,2\r\n\r\n--x1\r\nContent-Disposition: form-data; \
                        name=\"none\"; filename=\"\"\r\n\r\n\r\n--x1--\r\n";

    fn read(body: &str) -> Option<Form> {
        futures_util::FutureExt::now_or_never(Form::of(&Bytes::from(body.to_owned())))?
    }

    #[test]
    fn a_form_brings_fields_and_files() {
        let form = read(BODY).unwrap();
        assert_eq!(form.text("csrf"), "abc");
        let file = SentFile { name: "people.csv".to_owned(), bytes: "a,b\r\n1,2\r\n".into() };
        assert_eq!(form.file("file"), Some(&file));
        assert_eq!((form.file("none"), form.file("other")), (None, None));
        assert_eq!(read("csrf=abc").unwrap().text("csrf"), "abc");
    }

    #[test]
    fn a_form_that_breaks_off_is_not_read() {
        for body in ["--x1\r\n", "--x1", "--", &BODY[..BODY.len() - 30]] {
            assert!(read(body).is_none(), "{body:?}");
        }
    }
}
