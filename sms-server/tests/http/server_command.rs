//! The commands of the server binary, against a running server.

use std::process::Output;

use serde_json::{Value, json};

use crate::process::{Process, TOKEN, run};

struct Operator {
    server: Process,
}

impl Operator {
    fn new() -> Self {
        Self { server: Process::start(&[("SMS_ADMIN_TOKEN", TOKEN), ("SMS_DEMO", "false")]) }
    }

    fn run(&self, arguments: &[&str]) -> Output {
        let addr = self.server.addr().to_string();
        run(arguments, &[("SMS_ADMIN_TOKEN", TOKEN), ("SMS_ADDR", &addr)])
    }

    /// What a command that succeeds prints; null for nothing.
    fn told(&self, arguments: &[&str]) -> Value {
        let output = self.run(arguments);
        let error = String::from_utf8_lossy(&output.stderr);
        assert!(output.status.success(), "{arguments:?}: {error}");
        if output.stdout.is_empty() {
            return Value::Null;
        }
        serde_json::from_slice(&output.stdout).unwrap()
    }

    /// Why a command failed.
    fn refused(&self, arguments: &[&str]) -> String {
        let output = self.run(arguments);
        assert_eq!(output.status.code(), Some(1), "{arguments:?}");
        assert!(output.stdout.is_empty());
        String::from_utf8(output.stderr).unwrap()
    }
}

fn text(value: &Value) -> &str {
    value.as_str().unwrap()
}

#[tokio::test]
async fn commands_alone_lead_from_nothing_to_a_first_message() {
    let operator = Operator::new();
    let account = operator.told(&["account", "create", "--name", "Bookings", "--credits", "5"]);
    assert_eq!((&account["status"], &account["credits"]), (&json!("pending"), &json!(5)));
    let id = text(&account["id"]);
    assert_eq!(operator.told(&["account", "approve", id])["status"], "active");
    let key = operator.told(&["key", "create", id, "--kind", "live", "--name", "till 3"]);
    assert_eq!((&key["kind"], &key["name"]), (&json!("live"), &json!("till 3")));
    let number = operator.told(&["number", "add", "07700 900002"]);
    assert_eq!(number["phone_number"], "+447700900002");
    let request = json!({ "to": "07700 900123", "body": "x" });
    let live = text(&key["key"]);
    let sent = operator.server.call("POST", "/api/v1/messages", live, &request).await;
    assert_eq!(sent.status, 201, "{}", sent.body);
}

#[tokio::test]
async fn accounts_keys_credits_and_numbers_are_managed() {
    let operator = Operator::new();
    let account = operator.told(&["account", "create", "--name", "Bookings", "--status", "active"]);
    let id = text(&account["id"]);
    assert_eq!(operator.told(&["account", "suspend", id])["status"], "suspended");
    assert_eq!(operator.told(&["account", "list"])[0]["id"], id);
    assert_eq!(operator.told(&["credits", "add", id, "10", "--note", "x"])["balance"], 10);
    assert_eq!(operator.told(&["credits", "add", id, "-3"])["balance"], 7);
    let ledger = operator.told(&["credits", "ledger", id]);
    assert_eq!((&ledger[0]["amount"], &ledger[1]["note"]), (&json!(-3), &json!("x")));
    let key = operator.told(&["key", "create", id]);
    assert_eq!(key["kind"], "test");
    assert_eq!(operator.told(&["key", "revoke", id, text(&key["id"])]), Value::Null);
    let listed = operator.told(&["key", "list", id]);
    assert!(listed[0]["revoked_at"].is_string() && listed[0].get("key").is_none());
    let with_rent = ["number", "add", "07700900003", "--account", id, "--rental-credits", "2"];
    let number = operator.told(&with_rent);
    assert_eq!((&number["account_id"], &number["rental_credits"]), (&json!(id), &json!(2)));
    assert_eq!(operator.told(&["number", "check-in", text(&number["id"])]), Value::Null);
    assert_eq!(operator.told(&["number", "list"])[0]["online"], true);
    assert_eq!(operator.told(&["number", "remove", text(&number["id"])]), Value::Null);
    assert_eq!(operator.told(&["number", "list"]), json!([]));
}

#[tokio::test]
async fn the_routes_are_shown() {
    let routes = Operator::new().told(&["routes"]);
    assert_eq!((&routes[0]["name"], &routes[0]["state"]), (&json!("simulator"), &json!("ready")));
    assert_eq!((&routes[0]["default"], &routes[1]), (&json!(true), &Value::Null));
}

#[tokio::test]
async fn sender_names_are_reviewed() {
    let operator = Operator::new();
    let account = operator.told(&["account", "create", "--name", "Bookings", "--status", "active"]);
    let key = operator.told(&["key", "create", text(&account["id"])]);
    let request = json!({ "value": "Bistro" });
    let test = text(&key["key"]);
    let asked = operator.server.call("POST", "/api/v1/sender-ids", test, &request).await;
    assert_eq!(asked.status, 201, "{}", asked.body);
    let waiting = operator.told(&["sender", "list", "--status", "pending"]);
    assert_eq!(
        (&waiting[0]["value"], &waiting[0]["account_id"]),
        (&json!("Bistro"), &account["id"])
    );
    let id = text(&waiting[0]["id"]);
    assert_eq!(operator.told(&["sender", "approve", id])["status"], "approved");
    assert_eq!(operator.told(&["sender", "list", "--status", "pending"]), json!([]));
    let rejected = operator.told(&["sender", "reject", id, "--reason", "looks like a bank"]);
    assert_eq!(
        (&rejected["status"], &rejected["reason"]),
        (&json!("rejected"), &json!("looks like a bank"))
    );
    assert_eq!(operator.told(&["sender", "list"]), json!([rejected]));
    for arguments in [["sender", "approve", "x"], ["sender", "reject", "../accounts"]] {
        assert!(operator.refused(&arguments).contains("not_found"), "{arguments:?}");
    }
}

#[tokio::test]
async fn a_refused_command_says_why_and_fails() {
    let operator = Operator::new();
    let account = operator.told(&["account", "create", "--name", "Bookings"]);
    let id = text(&account["id"]);
    let nobody = format!("acc_{}", "0".repeat(26));
    for (arguments, reason) in [
        (vec!["account", "create", "--name", ""], "name"),
        (vec!["account", "approve", &nobody], "not_found"),
        (vec!["account", "approve", "../numbers"], "not_found"),
        (vec!["account", "approve", ""], "not_found"),
        (vec!["credits", "add", id, "-1"], "balance_out_of_range"),
        (vec!["credits", "add", id, "0"], "amount"),
        (vec!["key", "revoke", id, "x"], "not_found"),
        (vec!["number", "add", "nonsense"], "phone_number"),
        (vec!["number", "add", "07700900003", "--account", "x"], "not_found"),
    ] {
        let told = operator.refused(&arguments);
        assert!(told.contains(reason), "{arguments:?}: {told}");
    }
}

#[tokio::test]
async fn a_command_needs_a_running_server_and_its_token() {
    let operator = Operator::new();
    let addr = operator.server.addr().to_string();
    let run_with = |settings: &[(&str, &str)]| {
        let output = run(&["account", "list"], settings);
        assert_eq!(output.status.code(), Some(1));
        String::from_utf8(output.stderr).unwrap()
    };
    let without = run_with(&[("SMS_ADDR", &addr)]);
    assert!(without.contains("SMS_ADMIN_TOKEN"), "{without}");
    let wrong = "another-token-than-that-one";
    let refused = run_with(&[("SMS_ADDR", &addr), ("SMS_ADMIN_TOKEN", wrong)]);
    assert!(refused.contains("unauthorized") && !refused.contains(wrong), "{refused}");
    let free = tokio::net::TcpListener::bind("127.0.0.1:0").await.unwrap();
    let nobody = format!("http://{}", free.local_addr().unwrap());
    drop(free);
    let gone = run_with(&[("SMS_SERVER", &nobody), ("SMS_ADMIN_TOKEN", TOKEN)]);
    assert!(gone.contains("did not answer") && gone.contains(&nobody), "{gone}");
}

#[tokio::test]
async fn commands_find_the_operators_listener() {
    let settings = [("SMS_ADMIN_TOKEN", TOKEN), ("SMS_ADMIN_ADDR", "127.0.0.1:0")];
    let server = Process::start(&settings);
    let admin = server.admin_addr().to_string();
    let found =
        run(&["account", "list"], &[("SMS_ADMIN_TOKEN", TOKEN), ("SMS_ADMIN_ADDR", &admin)]);
    let accounts: Value = serde_json::from_slice(&found.stdout).unwrap();
    assert_eq!(accounts[0]["name"], "Demo");
    let flag = format!("http://{admin}");
    let arguments = ["account", "list", "--server", &flag];
    let by_flag = run(&arguments, &[("SMS_ADMIN_TOKEN", TOKEN)]);
    assert_eq!(by_flag.stdout, found.stdout);
    let file = std::env::temp_dir().join(format!("sms-token-{}", std::process::id()));
    std::fs::write(&file, format!("{TOKEN}\n")).unwrap();
    let by_file = run(&arguments, &[("SMS_ADMIN_TOKEN_FILE", file.to_str().unwrap())]);
    std::fs::remove_file(file).unwrap();
    assert_eq!(by_file.stdout, found.stdout);
    let refused = run(&[&arguments[..], &["--admin-token", TOKEN]].concat(), &[]);
    let told = String::from_utf8(refused.stderr).unwrap();
    assert_eq!(refused.status.code(), Some(2), "{told}");
    assert!(told.contains("SMS_ADMIN_TOKEN_FILE") && !told.contains(TOKEN), "{told}");
}
