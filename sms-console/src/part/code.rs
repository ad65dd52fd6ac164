//! Text to be copied: a request, a secret that is shown once.

use maud::{Markup, html};
use serde_json::Value;

/// A text that can be copied.
pub fn code(label: &str, text: &str) -> Markup {
    html! {
        div.code {
            pre tabindex="0" role="group" aria-label=(label) { code { (text) } }
            div.actions {
                button.button.button-plain.button-small.scripted type="button" data-copy
                    aria-label={ "Copy: " (label) } { "Copy" }
                span.small role="status" {}
            }
        }
    }
}

/// A request to the API as a command for a shell. `path` begins with `/v1`.
pub fn curl(public_url: &str, method: &str, path: &str, body: Option<&Value>) -> String {
    let verb = if method == "GET" { String::new() } else { format!("-X {method} ") };
    let mut lines = vec![
        format!("curl -s {verb}'{public_url}/api{path}'"),
        "-H 'Authorization: Bearer YOUR_API_KEY'".to_owned(),
    ];
    if let Some(body) = body {
        lines.push("-H 'Content-Type: application/json'".to_owned());
        lines.push(format!("-d '{}'", body.to_string().replace('\'', "'\\''")));
    }
    lines.join(" \\\n  ")
}

/// The request behind what is on screen, folded.
pub fn as_request(public_url: &str, method: &str, path: &str, body: Option<&Value>) -> Markup {
    html! {
        details {
            summary { "The same with the API" }
            (code("Request with curl", &curl(public_url, method, path, body)))
        }
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn a_request_is_a_command_that_a_shell_reads_as_it_is() {
        let body = json!({ "body": "It's on" });
        assert_eq!(
            curl("https://sms.example.com", "POST", "/v1/messages", Some(&body)),
            "curl -s -X POST 'https://sms.example.com/api/v1/messages' \\\n  \
             -H 'Authorization: Bearer YOUR_API_KEY' \\\n  \
             -H 'Content-Type: application/json' \\\n  \
             -d '{\"body\":\"It'\\''s on\"}'"
        );
        let read = curl("https://sms.example.com", "GET", "/v1/balance", None);
        assert!(read.starts_with("curl -s 'https://sms.example.com/api/v1/balance' "));
    }
}
