//! Keys: where they are kept, and which one is used.

use std::fs;
use std::net::TcpListener;

use crate::home::{Home, mode};
use crate::server;

const FILE: &str = ".config/sms/profiles.json";

#[test]
fn a_key_is_read_from_standard_input_checked_and_kept_for_its_owner_alone() {
    let keys = server::account(500);
    let home = Home::new();
    let ran = home.run_with(&["login", "--url", &server::url()], &format!("{}\n", keys.live));
    let ran = ran.assert(0);
    assert!(ran.out.contains("with a live key: 500 credits"), "{ran:?}");
    ran.hides(&keys.live);
    let file = home.file(FILE);
    assert_eq!(mode(&file), 0o600);
    assert!(fs::read_to_string(&file).unwrap().contains(&keys.live));

    let status = home.json(&["status"]);
    assert_eq!((&status["key"], &status["balance"]["credits"]), (&"live".into(), &500.into()));

    home.run(&["logout"]).assert(0);
    assert!(!fs::read_to_string(&file).unwrap().contains(&keys.live));
    assert_eq!(mode(&file), 0o600);
    let ran = home.run(&["status"]).assert(3);
    assert!(ran.err.contains("sms login"), "{ran:?}");
}

#[test]
fn a_key_that_the_server_does_not_know_is_not_kept() {
    let home = Home::new();
    let key = "cc_live_00000000000000000000000000000000";
    let ran = home.run_with(&["login", "--url", &server::url()], key).assert(3);
    ran.hides(key);
    assert!(!home.file(FILE).exists());
}

#[test]
fn profiles_hold_several_keys_and_the_environment_goes_before_them() {
    let (first, second) = (server::account(11), server::account(22));
    let home = Home::new();
    let url = server::url();
    home.run_with(&["login", "--url", &url], &first.live).assert(0);
    home.run_with(&["login", "--url", &url, "--profile", "shop"], &second.test).assert(0);
    let balance = |home: &Home, arguments: &[&str]| {
        home.json(&[&["status"], arguments].concat())["balance"]["credits"].as_u64().unwrap()
    };
    assert_eq!(balance(&home, &[]), 11);
    assert_eq!(balance(&home, &["--profile", "shop"]), 22);
    let home = home.with("SMS_API_KEY", &second.live);
    assert_eq!(balance(&home, &[]), 22);
    let home = home.with("SMS_API_URL", "http://127.0.0.1:9");
    home.run(&["status"]).assert(7);
    assert_eq!(balance(&home, &["--url", &url]), 22);
}

#[test]
fn a_saved_key_goes_to_its_own_server_and_to_no_other() {
    let keys = server::account(5);
    let other = TcpListener::bind("127.0.0.1:0").unwrap();
    let named = format!("http://{}", other.local_addr().unwrap());
    let home = Home::new();
    home.run_with(&["login", "--url", &server::url()], &keys.live).assert(0);
    let ran = home.run(&["status", "--url", &named]).assert(3);
    assert!(ran.err.contains(&format!("sms login --url {named}")), "{ran:?}");
    other.set_nonblocking(true).unwrap();
    assert!(other.accept().is_err(), "nobody came");
    for same in [format!("{}/", server::url()), format!("{}/api/v1", server::url())] {
        home.run(&["status", "--url", &same]).assert(0);
    }
    let home = home.with("SMS_API_URL", &named);
    home.run(&["send", "07700 900123", "--body", "Hello", "--yes"]).assert(3);
    assert!(other.accept().is_err(), "nobody came");
}

#[test]
fn keys_that_others_can_read_are_warned_of() {
    use std::os::unix::fs::PermissionsExt as _;
    let keys = server::account(1);
    let home = Home::new();
    home.run_with(&["login", "--url", &server::url()], &keys.live).assert(0);
    fs::set_permissions(home.file(FILE), fs::Permissions::from_mode(0o644)).unwrap();
    let ran = home.run(&["status"]).assert(0);
    assert!(ran.err.contains("chmod 600"), "{ran:?}");
}

#[test]
fn a_damaged_file_of_keys_is_named_without_showing_it() {
    let home = Home::new();
    fs::create_dir_all(home.file(".config/sms")).unwrap();
    fs::write(home.file(FILE), "{\"profiles\": \"cc_live_secret\"}").unwrap();
    let ran = home.run(&["status"]).assert(1);
    assert!(ran.err.contains("profiles.json"), "{ran:?}");
    ran.hides("cc_live_secret");
}
