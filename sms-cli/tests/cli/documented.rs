//! The commands that the README and `docs/` show, as they are shown, against a real server.

use std::fs;

use serde_json::json;

use crate::home::{Home, Ran};
use crate::pages::{Page, Shown, pages};
use crate::server::{self, TOKEN};

/// What the pages name, and what it is here.
struct Stage {
    home: Home,
    list: String,
    key: String,
}

impl Stage {
    fn new() -> Self {
        let account = server::operator(
            "/accounts",
            &json!({ "name": "Bistro", "status": "active", "credits": 100 }),
        );
        let id = account["id"].as_str().unwrap();
        // What is sent with a test key costs nothing, so it needs no confirmation.
        let key = server::operator(&format!("/accounts/{id}/keys"), &json!({ "kind": "test" }));
        let key = key["key"].as_str().unwrap().to_owned();
        let number = json!({ "phone_number": "07700900001", "account_id": id });
        server::operator("/numbers", &number);
        let home = Home::with_key(&key).with("SMS_ADMIN_TOKEN", TOKEN);
        fs::write(home.file("people.csv"), "phone,first_name\n07700900124,Guest\n").unwrap();
        let list = home.run(&["lists", "create", "Guests"]).assert(0).out.trim().to_owned();
        Self { home, list, key }
    }

    fn run(&self, shown: &Shown) -> Ran {
        let url = server::url();
        let here = |word: &String| match word.as_str() {
            "https://sms.example.com" => url.clone(),
            "lst_…" => self.list.clone(),
            word => word.to_owned(),
        };
        let words: Vec<String> = shown.words.iter().skip(1).map(here).collect();
        let mut words: Vec<&str> = words.iter().map(String::as_str).collect();
        if ["tail", "listen"].contains(&words[0]) && !words.contains(&"--print-secret") {
            // It runs until it is stopped. Its flags are read before its help is shown.
            words.push("--help");
        }
        self.home.run_with(&words, &format!("{}\n", self.key))
    }
}

#[test]
fn every_command_of_the_pages_runs() {
    let shown: Vec<Shown> = pages().iter().flat_map(Page::commands).collect();
    let shown = shown.iter().filter(|one| one.words.first().is_some_and(|word| word == "sms"));
    let stage = Stage::new();
    let mut count = 0;
    for command in shown {
        let ran = stage.run(command);
        assert_eq!(ran.code, 0, "{command:?}: {ran:?}");
        count += 1;
    }
    assert!(count > 10, "the commands are found");
}
