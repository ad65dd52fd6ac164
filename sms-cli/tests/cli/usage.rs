//! Help, completions and wrong usage.

use crate::home::Home;
use crate::server;

#[test]
fn every_command_has_help_and_those_that_do_something_have_examples() {
    let home = Home::new();
    let help = home.run(&["--help"]).assert(0).out;
    let (_, rest) = help.split_once("Commands:\n").unwrap();
    let names = rest.lines().take_while(|line| !line.is_empty());
    let names: Vec<&str> = names.filter_map(|line| line.split_whitespace().next()).collect();
    for needed in ["login", "send", "tail", "listen", "contacts", "campaigns", "opt-outs"] {
        assert!(names.contains(&needed), "{names:?}");
    }
    let pages = ["send", "quote", "tail", "listen", "login", "completions"].map(|name| vec![name]);
    let nested = [["contacts", "import"], ["campaigns", "launch"], ["webhooks", "create"]];
    for page in pages.into_iter().chain(nested.map(|page| page.to_vec())) {
        let ran = home.run(&[&page[..], &["--help"]].concat()).assert(0);
        assert!(ran.out.contains("Example"), "{page:?}: {}", ran.out);
        let wide = ran.out.lines().find(|line| line.chars().count() > 100);
        assert_eq!(wide, None, "{page:?}");
    }
}

#[test]
fn shells_complete_commands() {
    let home = Home::new();
    for shell in ["bash", "zsh", "fish", "powershell", "elvish"] {
        let script = home.run(&["completions", shell]).assert(0).out;
        assert!(script.contains("opt-outs") && script.contains("forward-to"), "{shell}");
    }
}

#[test]
fn wrong_usage_is_code_2_and_says_what_is_missing() {
    let home = Home::with_key(&server::account(1).test);
    let table: [(&[&str], &str); 6] = [
        (&["send", "07700900123"], "give --body"),
        (&["send", "-b", "Hello"], "give a number"),
        (&["send", "07700900123", "-b", "Hello", "--at", "tomorrow"], "2026-12-24T18:00:00Z"),
        (&["listen"], "--forward-to"),
        (&["listen", "--forward-to", "localhost:3000"], "not an http or https URL"),
        (&["frobnicate"], "unrecognized subcommand"),
    ];
    for (arguments, told) in table {
        let ran = home.run(arguments).assert(2);
        assert!(ran.err.contains(told), "{arguments:?}: {ran:?}");
    }
}

#[test]
fn a_server_that_does_not_answer_is_named() {
    let home = Home::with_key("cc_test_1").with("SMS_API_URL", "http://127.0.0.1:9");
    let ran = home.run(&["status"]).assert(7);
    assert!(ran.err.contains("http://127.0.0.1:9"), "{ran:?}");
    let home = home.with("SMS_API_URL", "sms.example.com");
    let ran = home.run(&["status"]).assert(1);
    assert!(ran.err.contains("https://sms.example.com"), "{ran:?}");
}
