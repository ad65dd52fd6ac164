//! What strangers write cannot change what a person sees, and files that a command writes are new
//! ones.

use std::fs;
use std::path::Path;

use sms_core::text::shown;

use crate::home::Home;
use crate::server;

/// Marks that reorder what follows, and that hide.
const HOSTILE: &str = "a\u{202E}b\u{200F}c\u{2066}d\u{61C}e";

#[test]
fn no_command_prints_what_changes_how_text_is_shown() {
    let home = Home::with_key(&server::account(10).live).with("SMS_ADMIN_TOKEN", server::TOKEN);
    let run = |arguments: &[&str]| home.run(arguments).assert(0).out.trim().to_owned();
    run(&["send", "07700900555", "--body", HOSTILE, "--yes"]);
    let body = format!("{HOSTILE}\u{9B}2J\u{1B}[8m\u{1B}[31m");
    let (from, to) = ("07700900555", server::SHARED_NUMBER);
    run(&["inbound", "simulate", "--from", from, "--to", to, "--body", &body]);
    let list = run(&["lists", "create", HOSTILE, "--description", HOSTILE]);
    let rows = format!("phone,first_name,tier\n07700900555,{HOSTILE},{HOSTILE}\n");
    fs::write(home.file("people.csv"), rows).unwrap();
    run(&["contacts", "import", "people.csv", "--list", &list]);
    run(&["campaigns", "create", "--name", HOSTILE, "--list", &list, "--body", HOSTILE]);
    run(&["opt-outs", "add", "07700900556", "--note", HOSTILE]);
    let messages = home.json(&["messages", "list"]);
    let got = messages.as_array().unwrap().iter().find(|it| it["direction"] == "inbound");
    let id = got.unwrap()["id"].as_str().unwrap();
    assert_eq!(got.unwrap()["body"], body.as_str(), "JSON says what was written");
    for arguments in [
        &["messages", "list"][..],
        &["messages", "get", id],
        &["contacts", "list"],
        &["lists", "list"],
        &["campaigns", "list"],
        &["opt-outs", "list"],
        &["quote", "07700900555", "--body", HOSTILE],
    ] {
        let text = home.run(arguments).assert(0);
        assert!(text.out.contains("\\u{202e}"), "{text:?}");
        let json = home.run(&[arguments, &["--json"]].concat()).assert(0);
        assert!(json.out.contains("\\u202e"), "{json:?}");
        for out in [text.out, text.err, json.out, json.err] {
            assert_eq!(shown(&out), out, "{arguments:?}");
        }
    }
    // A name of a file, and what a refusal repeats.
    for form in [&[][..], &["--json"]] {
        let missing = [&["contacts", "import", HOSTILE], form].concat();
        let wrong = [&["send", HOSTILE, "--body", "x", "--yes"], form].concat();
        for ran in [home.run(&missing), home.run(&wrong)] {
            assert_ne!(ran.code, 0);
            let all = ran.out + &ran.err;
            assert!(all.contains("202e"), "{all}");
            assert_eq!(shown(&all), all);
        }
    }
}

/// Only these files print, and they make lines fit first.
#[test]
fn commands_print_through_the_functions_that_make_text_fit() {
    let allowed = ["style.rs", "output.rs", "progress.rs", "confirm.rs"];
    for (name, text) in sources() {
        let text = text.replace("().is_terminal()", "");
        let prints = ["print!(", "println!(", "stdout()", "stderr()"];
        let prints = prints.iter().any(|print| text.contains(print));
        assert!(!prints || allowed.contains(&name.as_str()), "{name} prints by itself");
    }
}

/// The files of the program, by name.
fn sources() -> Vec<(String, String)> {
    let mut folders = vec![Path::new(env!("CARGO_MANIFEST_DIR")).join("src")];
    let mut files = Vec::new();
    while let Some(folder) = folders.pop() {
        for entry in fs::read_dir(folder).unwrap() {
            let path = entry.unwrap().path();
            if path.is_dir() {
                folders.push(path);
                continue;
            }
            let name = path.file_name().unwrap().to_str().unwrap().to_owned();
            files.push((name, fs::read_to_string(&path).unwrap()));
        }
    }
    assert!(files.len() > 20, "{} files", files.len());
    files
}

/// Only this file makes files, and never through a link.
#[test]
fn commands_write_files_through_the_functions_that_follow_no_link() {
    for (name, text) in sources() {
        let writes = ["fs::write(", "File::create", "OpenOptions"];
        let writes = writes.iter().any(|write| text.contains(write));
        assert!(!writes || name == "private_file.rs", "{name} writes a file by itself");
    }
}

#[cfg(unix)]
#[test]
fn files_of_refused_rows_and_of_exports_are_written_through_no_link() {
    use std::os::unix::fs::symlink;

    use crate::home::mode;

    let home = Home::with_key(&server::account(10).live);
    let victim = home.file("victim");
    fs::write(&victim, "kept").unwrap();
    for link in ["people.rejected.csv", "people.rejected.csv.part", "all.csv"] {
        symlink(&victim, home.file(link)).unwrap();
    }
    fs::write(home.file("people.csv"), "phone,first_name\n12,Ada\n").unwrap();
    symlink(&victim, home.file("stopped.rejected.csv")).unwrap();
    fs::write(home.file("stopped.csv"), "phone,notes\n13,asked\n").unwrap();
    home.run(&["opt-outs", "import", "stopped.csv"]).assert(8);
    home.run(&["contacts", "import", "people.csv"]).assert(8);
    home.run(&["messages", "export", "--output", "all.csv"]).assert(0);
    assert_eq!(fs::read_to_string(&victim).unwrap(), "kept");
    for (file, holds) in [
        ("people.rejected.csv", "12,Ada,2,"),
        ("stopped.rejected.csv", "13,asked,2,"),
        ("all.csv", "id,"),
    ] {
        let path = home.file(file);
        assert!(fs::symlink_metadata(&path).unwrap().is_file(), "{file} is a new file");
        assert_eq!(mode(&path), 0o600, "{file}");
        assert!(fs::read_to_string(&path).unwrap().contains(holds), "{file}");
    }
    assert!(!home.file("people.rejected.csv.part").exists());
    // A refused export leaves what is there.
    let refused = ["messages", "export", "--query", "x", "--output", "all.csv"];
    home.with("SMS_API_KEY", "cc_live_unknown").run(&refused).assert(3);
}

#[test]
fn a_key_may_come_from_a_file_and_not_from_two_places() {
    let keys = server::account(10);
    let home = Home::new().with("SMS_API_URL", &server::url());
    fs::write(home.file("key"), format!("{}\n", keys.test)).unwrap();
    let home = home.with("SMS_API_KEY_FILE", "key");
    assert_eq!(home.json(&["status"])["key"], "test");
    let both = home.with("SMS_API_KEY", &keys.live);
    let ran = both.run(&["status"]).assert(2);
    assert!(ran.err.contains("both set"), "{ran:?}");
    let missing = both.with("SMS_API_KEY", "").with("SMS_API_KEY_FILE", "canary");
    let ran = missing.run(&["status"]).assert(2);
    assert!(ran.err.contains("SMS_API_KEY_FILE cannot be read"), "{ran:?}");
    ran.hides("canary");
}
