//! The console of a server that runs as a process, over sockets.

use std::net::SocketAddr;

use serde_json::{Value, json};

use crate::fresh::Folder;
use crate::process::{Process, TOKEN};
use crate::socket::{Answer, Client};

/// Asks as a page of the server at this address does.
async fn ask(addr: SocketAddr, method: &str, path: &str, more: &str, body: &str) -> Answer {
    let length = body.len();
    let mut client = Client::of(addr).await;
    let request = format!(
        "{method} {path} HTTP/1.1\r\nHost: {addr}\r\nOrigin: http://{addr}\r\n{more}\
         Content-Type: application/json\r\nContent-Length: {length}\r\n\r\n{body}"
    );
    client.send(request).await;
    client.answer().await
}

async fn sign_in(addr: SocketAddr, key: &str) -> Answer {
    sms_test_log::secret(key);
    ask(addr, "POST", "/console/session", "", &json!({ "key": key }).to_string()).await
}

/// The header with the cookie that an answer set, which no log may show.
fn cookie(answer: &Answer) -> String {
    let pair = answer.header("set-cookie").unwrap().split(';').next().unwrap();
    sms_test_log::secret(pair.split_once('=').unwrap().1);
    format!("Cookie: {pair}\r\n")
}

/// Everything that the server logs is watched, at the most detailed level.
#[tokio::test]
async fn signing_in_over_a_socket_logs_no_key_and_no_cookie() {
    let server = Process::start(&[("SMS_ADMIN_TOKEN", TOKEN)]);
    let addr = server.addr();
    for key in [server.said("Live key"), TOKEN.to_owned()] {
        let signed_in = sign_in(addr, &key).await;
        assert_eq!(signed_in.status, 200, "{}", signed_in.body);
        let set = signed_in.header("set-cookie").unwrap();
        assert!(set.ends_with("; HttpOnly; SameSite=Strict"), "over HTTP, not Secure: {set}");
        let cookie = cookie(&signed_in);
        let session: Value = serde_json::from_str(&signed_in.body).unwrap();
        let csrf = session["csrf"].as_str().unwrap();
        sms_test_log::secret(csrf);
        let shown = ask(addr, "GET", "/console/session", &cookie, "").await;
        assert_eq!(shown.body, signed_in.body);
        let with_csrf = format!("{cookie}X-CSRF-Token: {csrf}\r\n");
        let out = ask(addr, "DELETE", "/console/session", &with_csrf, "").await;
        assert_eq!(out.status, 204);
        assert_eq!(ask(addr, "GET", "/console/session", &cookie, "").await.status, 401);
    }
    assert_eq!(sign_in(addr, "a-token-that-is-wrong").await.status, 401);
    server.signal("-TERM");
    // All lines have been read, and looked at, once the last one was.
    let lines = server.log_until("stopped");
    assert!(lines.iter().any(|line| line.contains("POST /console/session 200")));
}

#[tokio::test]
async fn a_session_outlives_a_restart_on_the_file_store_but_not_a_change_of_the_operators_token() {
    let folder = Folder::new("console-restart");
    let data = ("SMS_DATA_DIR", folder.path());
    let server = Process::start(&[data, ("SMS_ADMIN_TOKEN", TOKEN)]);
    let people = cookie(&sign_in(server.addr(), &server.said("Live key")).await);
    let operator = cookie(&sign_in(server.addr(), TOKEN).await);
    server.signal("-TERM");
    assert_eq!(server.ended().code(), Some(0));

    let statuses = async |server: &Process| {
        let of_people = ask(server.addr(), "GET", "/console/api/v1/balance", &people, "").await;
        let of_operator =
            ask(server.addr(), "GET", "/console/operator/accounts", &operator, "").await;
        [of_people.status, of_operator.status]
    };
    let again = Process::start_again(&[data, ("SMS_ADMIN_TOKEN", TOKEN)]);
    assert_eq!(statuses(&again).await, [200, 200]);
    drop(again);
    let changed = Process::start_again(&[data, ("SMS_ADMIN_TOKEN", "another-operators-token")]);
    assert_eq!(statuses(&changed).await, [200, 303]);
}

#[tokio::test]
async fn each_listener_signs_in_its_own_people() {
    let settings = [("SMS_ADMIN_TOKEN", TOKEN), ("SMS_ADMIN_ADDR", "127.0.0.1:0")];
    let server = Process::start(&settings);
    let (public, admin) = (server.addr(), server.admin_addr());
    let key = server.said("Live key");
    let people = sign_in(public, &key).await;
    assert_eq!(people.status, 200);
    assert_eq!(sign_in(public, TOKEN).await.status, 401);
    assert_eq!(sign_in(admin, &key).await.status, 401);
    let operator = sign_in(admin, TOKEN).await;
    assert_eq!(operator.status, 200);
    let (people, operator) = (cookie(&people), cookie(&operator));
    for (addr, cookie, path, status) in [
        (public, &people, "/console/api/v1/balance", 200),
        (public, &operator, "/console/api/v1/balance", 401),
        (public, &operator, "/console/operator/accounts", 303),
        (public, &people, "/console/operator/accounts", 404),
        (admin, &operator, "/console/operator/accounts", 200),
        (admin, &people, "/console/operator/accounts", 303),
        (admin, &people, "/console/api/v1/balance", 404),
        (public, &people, "/console/session", 200),
        (admin, &operator, "/console/session", 200),
    ] {
        let answer = ask(addr, "GET", path, cookie, "").await;
        assert_eq!(answer.status, status, "{path} at {addr}");
    }
    assert_eq!(ask(admin, "GET", "/console/sign-in", "", "").await.status, 200);
    let root = ask(admin, "GET", "/", "", "").await;
    assert_eq!((root.status, root.header("location")), (303, Some("/console")));
    // A browser sends the cookies of a host to all of its ports.
    let both = format!("{people}{operator}");
    for addr in [public, admin] {
        assert_eq!(ask(addr, "GET", "/console/session", &both, "").await.status, 200, "{addr}");
    }
}

/// Browsers drop a cookie for HTTPS that comes over HTTP.
#[tokio::test]
async fn the_public_url_does_not_apply_to_the_operators_listener() {
    let server = Process::start(&[
        ("SMS_ADMIN_TOKEN", TOKEN),
        ("SMS_ADMIN_ADDR", "127.0.0.1:0"),
        ("SMS_PUBLIC_URL", "https://sms.example.com"),
    ]);
    let people = sign_in(server.addr(), &server.said("Live key")).await;
    let operator = sign_in(server.admin_addr(), TOKEN).await;
    for (signed_in, is_secure) in [(people, true), (operator, false)] {
        drop(cookie(&signed_in));
        let set = signed_in.header("set-cookie").unwrap();
        assert_eq!(set.ends_with("; SameSite=Strict; Secure"), is_secure);
    }
}

#[tokio::test]
async fn a_server_without_a_console_or_with_the_files_of_a_folder_is_a_setting() {
    let without = Process::start(&[("SMS_CONSOLE", "false")]);
    assert_eq!(ask(without.addr(), "GET", "/console", "", "").await.status, 404);
    assert!(!without.banner.contains("Console"));
    let folder = concat!(env!("CARGO_MANIFEST_DIR"), "/../sms-console/assets");
    let with = Process::start(&[("SMS_CONSOLE_DIR", folder)]);
    let page = ask(with.addr(), "GET", "/console/sign-in", "", "").await;
    assert!(page.body.contains("/console/v-folder/"), "{}", page.body);
    assert!(with.said("Console").ends_with("/console"));
}
