//! What a file holds, by the ending of its name.

/// The value of `Content-Type`; `None` for a file that is not served.
pub(crate) fn content_type(name: &str) -> Option<&'static str> {
    let (_, ending) = name.rsplit_once('.')?;
    Some(match ending {
        "css" => "text/css; charset=utf-8",
        "ico" => "image/vnd.microsoft.icon",
        "js" => "text/javascript; charset=utf-8",
        "png" => "image/png",
        "svg" => "image/svg+xml",
        "woff2" => "font/woff2",
        _ => return None,
    })
}
