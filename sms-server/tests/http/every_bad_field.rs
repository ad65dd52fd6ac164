//! One answer names every bad field of a request: those of the form together with those of the
//! domain's rules.

use poem::http::Method;
use serde_json::{Value, json};

use crate::rig::{Account, Rig};

/// A request, and the fields that its answer names, with their codes.
struct Case {
    method: Method,
    path: String,
    body: Value,
    mistakes: Vec<(&'static str, &'static str)>,
}

fn case(
    method: Method,
    path: &str,
    body: Value,
    mistakes: &[(&'static str, &'static str)],
) -> Case {
    Case { method, path: path.to_owned(), body, mistakes: mistakes.to_vec() }
}

/// A string of this many characters.
fn long(characters: usize) -> String {
    "x".repeat(characters)
}

/// Makes one of each thing that can be changed; their paths.
async fn things(account: &Account) -> [String; 4] {
    let hook = json!({ "url": "https://example.com/hook", "events": ["message.sent"] });
    let contact = json!({ "phone": "07700 900123" });
    let mut paths = Vec::new();
    for (noun, input) in [
        ("/webhooks", hook),
        ("/lists", json!({ "name": "Regulars" })),
        ("/contacts", contact),
        ("/keywords", json!({ "keyword": "pizza" })),
    ] {
        let made = account.live.post(noun, input).await.created();
        paths.push(format!("{noun}/{}", made["id"].as_str().unwrap()));
    }
    paths.try_into().unwrap()
}

fn made() -> Vec<Case> {
    let make = |path: &str, body: Value, mistakes: &[_]| case(Method::POST, path, body, mistakes);
    vec![
        make(
            "/webhooks",
            json!({ "url": "ftp://example.com", "events": ["x"], "description": 5 }),
            &[
                ("events[0]", "unknown_value"),
                ("description", "wrong_type"),
                ("url", "unsupported_scheme"),
            ],
        ),
        make(
            "/webhooks",
            json!({ "url": "ftp://example.com", "events": [] }),
            &[("events", "too_few"), ("url", "unsupported_scheme")],
        ),
        make(
            "/lists",
            json!({ "name": " ", "description": long(501) }),
            &[("description", "too_long"), ("name", "empty")],
        ),
        make(
            "/contacts",
            json!({ "phone": "nobody", "first_name": 5, "email": long(255), "custom": { "A": 1 } }),
            &[
                ("first_name", "wrong_type"),
                ("phone", "invalid_format"),
                ("email", "too_long"),
                ("custom", "invalid_format"),
            ],
        ),
        make(
            "/templates",
            json!({ "name": "", "body": long(1_601) }),
            &[("name", "too_short"), ("body", "too_long")],
        ),
        make(
            "/keywords",
            json!({ "keyword": "a b", "reply": long(1_601), "enabled": "x" }),
            &[("keyword", "invalid_format"), ("reply", "too_long"), ("enabled", "wrong_type")],
        ),
        make(
            "/sender-ids",
            json!({ "value": "12345", "purpose": long(501) }),
            &[("value", "invalid_format"), ("purpose", "too_long")],
        ),
        make(
            "/opt-outs",
            json!({ "phone": "020 7946 0000", "note": long(501) }),
            &[("phone", "invalid_format"), ("note", "too_long")],
        ),
        make(
            "/campaigns",
            json!({ "name": "", "body": long(1_601), "list_id": 5, "track_links": 1 }),
            &[
                ("name", "too_short"),
                ("body", "too_long"),
                ("list_id", "wrong_type"),
                ("track_links", "wrong_type"),
            ],
        ),
        make(
            "/messages",
            json!({ "to": 5, "client_ref": long(65), "schedule_at": "1970-01-01T00:00:00Z" }),
            &[
                ("to", "wrong_type"),
                ("body", "required"),
                ("client_ref", "too_long"),
                ("schedule_at", "out_of_range"),
            ],
        ),
    ]
}

fn changed([hook, list, contact, keyword]: &[String; 4]) -> Vec<Case> {
    let change =
        |path: &str, body: Value, mistakes: &[_]| case(Method::PATCH, path, body, mistakes);
    vec![
        change(
            hook,
            json!({ "url": "https://127.0.0.1", "enabled": "x" }),
            &[("enabled", "wrong_type"), ("url", "forbidden_address")],
        ),
        change(
            list,
            json!({ "name": " ", "description": 5 }),
            &[("description", "wrong_type"), ("name", "empty")],
        ),
        change(
            contact,
            json!({ "phone": "nobody", "notes": 5 }),
            &[("notes", "wrong_type"), ("phone", "invalid_format")],
        ),
        change(
            keyword,
            json!({ "keyword": "a b", "enabled": "x" }),
            &[("keyword", "invalid_format"), ("enabled", "wrong_type")],
        ),
    ]
}

fn of_the_operator(account: &Account) -> Vec<Case> {
    let account = format!("/accounts/{}", account.id);
    let settings = json!({ "quiet_hours_start": "25:00", "opt_out_line": "" });
    let bad_settings = [
        ("settings.quiet_hours_start", "invalid_format"),
        ("settings.opt_out_line", "too_short"),
        ("name", "empty"),
    ];
    let input = json!({ "name": " ", "settings": settings });
    vec![
        case(Method::POST, "/accounts", input.clone(), &bad_settings),
        case(Method::PATCH, &account, input, &bad_settings),
        case(
            Method::POST,
            &format!("{account}/keys"),
            json!({ "kind": "x", "name": " " }),
            &[("kind", "unknown_value"), ("name", "empty")],
        ),
        case(
            Method::POST,
            &format!("{account}/credits"),
            json!({ "amount": 0, "note": long(501) }),
            &[("amount", "out_of_range"), ("note", "too_long")],
        ),
        case(
            Method::POST,
            "/numbers",
            json!({ "phone_number": "x", "route": "x", "rental_credits": -1, "account_id": "x" }),
            &[
                ("rental_credits", "out_of_range"),
                ("phone_number", "invalid_format"),
                ("route", "unknown_value"),
            ],
        ),
        case(
            Method::POST,
            "/numbers",
            json!({ "phone_number": "x", "route": "x" }),
            &[("phone_number", "invalid_format"), ("route", "unknown_value")],
        ),
        case(
            Method::POST,
            "/inbound",
            json!({ "from": "a name that is too long", "to": "x" }),
            &[("from", "invalid_format"), ("to", "invalid_format"), ("body", "required")],
        ),
    ]
}

#[tokio::test]
async fn one_answer_names_every_bad_field_of_the_form_and_of_the_rules() {
    let rig = Rig::new().await;
    let account = rig.account(0).await;
    let things = things(&account).await;
    let cases = made().into_iter().chain(changed(&things)).map(|case| (&account.live, case));
    let operator = rig.operator();
    let operators = of_the_operator(&account).into_iter().map(|case| (&operator, case));
    for (client, case) in cases.chain(operators) {
        let Case { method, path, body, mistakes } = case;
        let reply = client.ask(method.clone(), &path).json(&body).send().await;
        let mut named = reply.mistakes();
        named.sort();
        let mut expected: Vec<(String, String)> =
            mistakes.into_iter().map(|(field, code)| (field.to_owned(), code.to_owned())).collect();
        expected.sort();
        assert_eq!(named, expected, "{method} {path} {body}");
    }
}
