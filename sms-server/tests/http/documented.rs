//! The requests, commands and settings of the server that the README and `docs/` show.

use clap::{CommandFactory as _, Parser as _};
use serde_json::{Value, json};
use sms_server::cli::Cli;
use sms_server::secrets::HELP;

use crate::pages::{Page, Shown, pages};
use crate::process::{Process, TOKEN};

fn commands() -> Vec<Shown> {
    pages().iter().flat_map(Page::commands).collect()
}

/// The argument that stands behind a flag.
fn behind<'a>(command: &'a Shown, flag: &str) -> Option<&'a str> {
    let mut words = command.words.iter().skip_while(|word| *word != flag);
    words.nth(1).map(String::as_str)
}

#[tokio::test]
async fn every_request_of_the_pages_is_answered() {
    let server = Process::start(&[
        ("SMS_ADMIN_TOKEN", TOKEN),
        ("SMS_SANDBOX", "true"),
        ("SMS_WEBHOOK_ALLOW_PRIVATE", "true"),
    ]);
    let key = server.said("Live key");
    let mut message = None;
    let mut count = 0;
    for command in commands() {
        let address = command.words.iter().find_map(|w| w.strip_prefix("http://127.0.0.1:8080"));
        let Some(path) = address.filter(|_| command.words[0] == "curl") else { continue };
        let path = path.replace("msg_…", message.as_deref().unwrap_or("msg_…"));
        let body: Value = match behind(&command, "-d") {
            Some(body) => serde_json::from_str(body).unwrap(),
            None => json!(null),
        };
        let method = if body.is_null() { "GET" } else { "POST" };
        let token = if path.starts_with("/admin/") { TOKEN } else { &key };
        let answer = server.call(method, &path, token, &body).await;
        assert!((200..300).contains(&answer.status), "{command:?}: {answer:?}");
        let answer: Value = serde_json::from_str(&answer.body).unwrap();
        if let Some(id) = answer["data"]["messages"][0]["id"].as_str() {
            message = Some(id.to_owned());
        }
        count += 1;
    }
    assert!(count > 3, "the requests are found");
}

#[test]
fn every_command_of_the_server_in_the_pages_is_understood() {
    let settings: Vec<String> = Cli::command()
        .get_arguments()
        .filter_map(|argument| argument.get_env()?.to_str().map(str::to_owned))
        .collect();
    let is_setting = |name: &String| {
        settings.contains(name) || HELP.contains(name) || name.starts_with("SMS_ROUTE_")
    };
    let mut count = 0;
    for command in commands() {
        let words: Vec<&str> = command.words.iter().map(String::as_str).collect();
        // `cargo run` starts the server unless it names another package.
        let arguments = match &words[..] {
            ["sms-server", arguments @ ..] => arguments,
            ["cargo", "run", rest @ ..] if !rest.contains(&"-p") => {
                rest.split(|word| *word == "--").nth(1).unwrap_or_default()
            }
            [] => &[],
            _ => continue,
        };
        let read = Cli::try_parse_from([&["sms-server"], arguments].concat());
        assert!(read.is_ok(), "{command:?}: {}", read.unwrap_err());
        for (name, _) in &command.settings {
            assert!(is_setting(name), "{command:?}: {name} is no setting");
        }
        count += 1;
    }
    assert!(count > 10, "the commands are found");
}
