//! The page that explains every code of an error: as Markdown for the repository, and as HTML for
//! the server. The `doc_url` of an error leads to it.

use std::fmt::Write;

use crate::web::openapi::ErrorCode;

/// The beginning of the page.
const INTRODUCTION: &str = "Every error of the API has the form \
`{ error: { code, message, details, doc_url } }`. Branch on `code`: it is stable, while `message` \
may change. Treat a code that you do not know like its status.";

/// The page as Markdown.
pub fn markdown(codes: &[&ErrorCode]) -> String {
    let mut page = format!("# Codes of errors\n\n{INTRODUCTION}\n");
    for code in codes {
        let ErrorCode { code, status, meaning, remedy, .. } = code;
        let status = status.as_u16();
        let _ = write!(page, "\n## {code}\n\nStatus {status}. {meaning}\n\n{remedy}\n");
    }
    page
}

/// The page as HTML, with an anchor for each code.
pub fn html(codes: &[&ErrorCode]) -> String {
    let mut page = format!(
        "<!doctype html>\n<html lang=\"en\">\n<head>\n<meta charset=\"utf-8\">\n\
         <meta name=\"viewport\" content=\"width=device-width, initial-scale=1\">\n\
         <title>Codes of errors</title>\n<style>{STYLE}</style>\n</head>\n<body>\n\
         <h1>Codes of errors</h1>\n<p>{}</p>\n\
         <p><a href=\"/docs\">The API's documentation</a></p>\n",
        with_code(INTRODUCTION)
    );
    for code in codes {
        let ErrorCode { code, status, meaning, remedy, .. } = code;
        let (status, meaning, remedy) = (status.as_u16(), with_code(meaning), with_code(remedy));
        let _ = write!(
            page,
            "<section id=\"{code}\">\n<h2><a href=\"#{code}\">{code}</a> <small>{status}</small>\
             </h2>\n<p>{meaning}</p>\n<p>{remedy}</p>\n</section>\n"
        );
    }
    page.push_str("</body>\n</html>\n");
    page
}

const STYLE: &str = "body{font:16px/1.5 system-ui,sans-serif;max-width:45rem;margin:2rem auto;\
padding:0 1rem;color:#1b1b1b;background:#fff}h1{font-size:1.6rem}h2{font-size:1.1rem;\
margin:2rem 0 .25rem}h2 a{color:inherit}small{color:#666;font-weight:400}\
code,h2 a{font-family:ui-monospace,monospace}p{margin:.25rem 0}\
section:target{background:#fff6d6;box-shadow:0 0 0 .5rem #fff6d6}";

/// The text with what stands between backticks as code.
fn with_code(text: &str) -> String {
    let escaped = text.replace('&', "&amp;").replace('<', "&lt;");
    let mut html = String::with_capacity(escaped.len());
    for (place, part) in escaped.split('`').enumerate() {
        if place % 2 == 1 {
            let _ = write!(html, "<code>{part}</code>");
        } else {
            html.push_str(part);
        }
    }
    html
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_stands_between_backticks_is_code() {
        assert_eq!(with_code("Send `a<b>` & go"), "Send <code>a&lt;b></code> &amp; go");
    }
}
