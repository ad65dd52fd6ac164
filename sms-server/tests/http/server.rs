//! The server as its users meet it: the first message, signals, settings, listeners.

use poem::http::HeaderMap;
use serde_json::{Value, json};
use sms_core::clock::{Clock, SystemClock};
use sms_http::web::serve::ServeLimits;
use tokio::sync::mpsc::{UnboundedReceiver, unbounded_channel};

use crate::process::{Process, TOKEN, ask, run};
use crate::socket::{Answer, Client, Server, bounded};

/// Answers 200 to whatever comes, and passes it on.
pub(crate) async fn receiver() -> (Server, UnboundedReceiver<(HeaderMap, Vec<u8>)>) {
    let (sender, received) = unbounded_channel();
    let endpoint = poem::endpoint::make(move |mut request: poem::Request| {
        let sender = sender.clone();
        async move {
            let body = request.take_body().into_vec().await.unwrap();
            sender.send((request.headers().clone(), body)).unwrap();
            Ok::<_, poem::Error>("thank you")
        }
    });
    (Server::start(endpoint, ServeLimits::default()), received)
}

pub(crate) fn data(answer: &Answer) -> Value {
    let mut json: Value = serde_json::from_str(&answer.body).unwrap();
    json["data"].take()
}

/// The address path, the key and the body of the `curl` line that sends a message.
fn curl_of(banner: &str) -> (String, String, String) {
    let start = banner.find("curl -s ").expect("a curl line");
    let line = &banner[start..];
    let between = |from: &str, to: &str| {
        let rest = &line[line.find(from).unwrap() + from.len()..];
        rest[..rest.find(to).unwrap()].to_owned()
    };
    let url = between("curl -s ", " ");
    let path = url[url.find("/api").unwrap()..].to_owned();
    assert!(line.contains("-H 'Content-Type: application/json'"));
    (path, between("Bearer ", "'"), between("-d '", "'"))
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn the_first_message_is_sent_as_the_banner_says_and_signed_webhooks_report_it() {
    let server = Process::start(&[("SMS_WEBHOOK_ALLOW_PRIVATE", "true")]);
    let (receiver, mut received) = receiver().await;
    let (path, key, body) = curl_of(&server.banner);
    assert_eq!(key, server.said("Live key"));
    let url = format!("http://{}/hook", receiver.addr);
    let hook = json!({ "url": url, "events": ["message.sent", "message.delivered"] });
    let made = server.call("POST", "/api/v1/webhooks", &key, &hook).await;
    assert_eq!(made.status, 201, "{}", made.body);
    let secret = data(&made)["secret"].as_str().unwrap().to_owned();
    let sent = ask(server.addr(), "POST", &path, Some(&key), &body).await;
    assert_eq!(sent.status, 201, "{}", sent.body);
    let message = data(&sent)["messages"][0].take();
    assert_eq!(message["to"], "+447700900123");
    assert_eq!(message["from"], "+447700900001", "the demo's own number is online");
    let mut kinds = Vec::new();
    for _ in 0..2 {
        let (headers, body) = bounded(received.recv()).await.unwrap();
        let header = |name: &str| headers[name].to_str().unwrap().to_owned();
        let now = SystemClock.now().to_chrono().timestamp();
        let signature = header("x-connect-signature");
        assert_eq!(sms_webhooks::verify(&secret, &signature, &body, now), Ok(()));
        let event: Value = serde_json::from_slice(&body).unwrap();
        assert_eq!(event["type"], header("x-connect-event"));
        assert_eq!(header("content-type"), "application/json");
        assert!(header("x-connect-delivery").starts_with("whd_"));
        assert_eq!(event["data"]["id"], message["id"]);
        kinds.push(event["type"].as_str().unwrap().to_owned());
    }
    kinds.sort_unstable();
    assert_eq!(kinds, ["message.delivered", "message.sent"]);
    let path = format!("/api/v1/messages/{}", message["id"].as_str().unwrap());
    let text = data(&server.call("GET", &path, &key, &json!({})).await);
    let events = text["events"].as_array().unwrap().iter();
    let history: Vec<&str> = events.map(|event| event["status"].as_str().unwrap()).collect();
    assert_eq!(history, ["queued", "sending", "sent", "delivered"]);
    let balance = data(&server.call("GET", "/api/v1/balance", &key, &json!({})).await);
    assert_eq!(balance, json!({ "credits": 999, "account_status": "active" }));
    let test_key = server.said("Test key");
    let balance = data(&server.call("GET", "/api/v1/balance", &test_key, &json!({})).await);
    assert_eq!(balance["credits"], 999);
}

#[tokio::test]
async fn endpoints_on_private_addresses_are_refused_unless_allowed() {
    let server = Process::start(&[]);
    let key = server.said("Live key");
    for host in ["127.0.0.1:9", "localhost", "10.0.0.1", "[::1]", "169.254.169.254"] {
        let hook = json!({ "url": format!("http://{host}/hook"), "events": ["message.sent"] });
        let answer = server.call("POST", "/api/v1/webhooks", &key, &hook).await;
        assert_eq!((answer.status, answer.code().as_str()), (422, "validation_failed"), "{host}");
        assert!(answer.body.contains("\"field\":\"url\""), "{}", answer.body);
    }
}

#[tokio::test]
async fn an_endpoint_url_that_only_parses_by_repair_is_refused() {
    let server = Process::start(&[("SMS_WEBHOOK_ALLOW_PRIVATE", "true")]);
    let key = server.said("Live key");
    for url in [
        "http:///x",
        "http:/x",
        "http:example.com",
        "https:\\\\example.com",
        "https://example.com\\x",
        "https://exa\tmple.com",
        "https://example.com/a\nb",
        "http://0x7f.1",
        "http://134744072/",
        "https://@example.com/",
    ] {
        let hook = json!({ "url": url, "events": ["message.sent"] });
        let answer = server.call("POST", "/api/v1/webhooks", &key, &hook).await;
        assert_eq!((answer.status, answer.code().as_str()), (422, "validation_failed"), "{url}");
        assert!(answer.body.contains("\"field\":\"url\""), "{}", answer.body);
    }
}

#[tokio::test]
async fn a_request_in_progress_is_answered_after_sigterm_and_no_other_is_accepted() {
    let server = Process::start(&[]);
    let (addr, key) = (server.addr(), server.said("Live key"));
    let body = json!({ "to": "07700 900123", "body": "x" }).to_string();
    let (first, rest) = body.split_at(5);
    let mut client = Client::of(addr).await;
    let head = format!(
        "POST /api/v1/messages HTTP/1.1\r\nHost: x\r\nAuthorization: Bearer {key}\r\n\
         Content-Type: application/json\r\nContent-Length: {}\r\nExpect: 100-continue\r\n\r\n",
        body.len(),
    );
    client.send(head).await;
    assert_eq!(client.answer().await.status, 100, "the request is under way");
    client.send(first).await;
    server.signal("-TERM");
    server.wait_for_log("stopping");
    client.send(rest).await;
    let answer = client.answer().await;
    assert_eq!(answer.status, 201, "{}", answer.body);
    client.closed().await;
    let log = server.wait_for_log("stopped");
    assert!(!log.contains("before all requests had finished"), "{log}");
    assert_eq!(server.ended().code(), Some(0));
    assert!(tokio::net::TcpStream::connect(addr).await.is_err());
}

#[test]
fn sigint_stops_it_too() {
    let server = Process::start(&[("SMS_DEMO", "false")]);
    server.signal("-INT");
    assert_eq!(server.ended().code(), Some(0));
}

#[tokio::test]
async fn an_open_connection_does_not_keep_the_server_from_stopping() {
    let server = Process::start(&[]);
    let mut idle = Client::of(server.addr()).await;
    idle.send("GET /healthz HTTP/1.1\r\nHost: x\r\n\r\n").await;
    assert_eq!(idle.answer().await.status, 200);
    let mut slow = Client::of(server.addr()).await;
    slow.send("POST /api/v1/messages HTTP/1.1\r\nHost: x\r\nContent-Length: 9\r\n\r\n").await;
    server.signal("-TERM");
    assert_eq!(server.ended().code(), Some(0));
}

#[test]
fn help_lists_every_variable_with_its_default() {
    let output = run(&["--help"], &[("SMS_ADMIN_TOKEN", TOKEN), ("DATABASE_URL", "secret-url")]);
    let help = String::from_utf8(output.stdout).unwrap();
    for (variable, default) in [
        ("SMS_ADDR", "127.0.0.1:8080"),
        ("SMS_STORE", "file; memory with SMS_SANDBOX"),
        ("SMS_DATA_DIR", "sms-data"),
        ("SMS_ADMIN_ADDR", ""),
        ("SMS_METRICS_PUBLIC", "false"),
        ("SMS_DEMO", ""),
        ("SMS_SANDBOX", "false"),
        ("SMS_PUBLIC_URL", "http://SMS_ADDR"),
        ("SMS_RATE_PER_SECOND", "20"),
        ("SMS_RATE_BURST", "40"),
        ("SMS_WEBHOOK_ALLOW_PRIVATE", "false"),
        ("SMS_WEBHOOK_RETRIES", "1m,5m,30m,2h,6h,12h"),
        ("SMS_WEBHOOK_TIMEOUT", "8s"),
        ("SMS_EVENTS_KEPT_DAYS", "30"),
        ("SMS_REPLIES_PER_MINUTE", "100"),
        ("SMS_REPLIES_PER_HOUR", "1000"),
        ("SMS_KEYWORD_REPLIES_PER_MINUTE", "100"),
        ("SMS_KEYWORD_REPLIES_PER_HOUR", "1000"),
        ("SMS_REPLIES_BALANCE_SHARE", "20"),
        ("SMS_ROUTES", "simulator"),
    ] {
        let flag = variable.strip_prefix("SMS_").unwrap_or(variable).to_lowercase();
        let flag = format!("--{}", flag.replace('_', "-"));
        let start = help.find(&flag).unwrap_or_else(|| panic!("no {flag} in\n{help}"));
        let about = &help[start + flag.len()..];
        let about = &about[..about.find("\n      --").unwrap_or(about.len())];
        assert!(about.contains(&format!("[env: {variable}")), "{about}");
        assert!(about.contains(default), "{about}");
    }
    for command in [
        "account", "key", "credits", "number", "routes", "clock", "migrate", "backup", "restore",
        "check",
    ] {
        assert!(help.contains(&format!("\n  {command} ")), "{help}");
    }
    for secret in ["DATABASE_URL", "SMS_ADMIN_TOKEN", "SMS_SECRET_KEY"] {
        let flag = secret.trim_start_matches("SMS_").to_lowercase().replace('_', "-");
        assert!(help.contains(&format!("[env: {secret} or {secret}_FILE]")), "{help}");
        assert!(!help.contains(&format!("--{flag}")), "a secret is no flag: {help}");
    }
    assert!(!help.contains(TOKEN) && !help.contains("secret-url"));
}

#[test]
fn invalid_settings_are_refused_with_the_reason() {
    for (name, value, reason) in [
        ("SMS_ADMIN_TOKEN_FILE", "/password/password", "the file of SMS_ADMIN_TOKEN_FILE"),
        ("DATABASE_URL", "mysql://user:password@example.com/sms", "must begin with postgres://"),
        ("DATABASE_URL", "postgres://user:password@example.com/sms", "SMS_ADMIN_TOKEN"),
        ("SMS_ROUTES", "simulator,main", "SMS_ROUTE_MAIN_URL"),
        ("SMS_ROUTES", "main, password", "each 1 to 20"),
        ("SMS_ROUTES", "test", "test keys"),
        ("SMS_ADMIN_TOKEN", "short", "at least 16"),
        ("SMS_PUBLIC_URL", "example.com", "SMS_PUBLIC_URL must begin with http"),
        ("SMS_SECRET_KEY", "password", "SMS_SECRET_KEY: write each key as id:BASE64"),
        ("SMS_SECRET_KEY", "main:password", "key `main` must be 32 bytes"),
        ("SMS_ADDR", "nonsense", "SMS_ADDR: \"nonsense\" is refused"),
        ("SMS_ADMIN_ADDR", "nonsense", "SMS_ADMIN_ADDR: "),
        ("SMS_RATE_PER_SECOND", "0", "SMS_RATE_PER_SECOND: "),
        ("SMS_RATE_BURST", "-1", "SMS_RATE_BURST: "),
        ("SMS_WEBHOOK_RETRIES", "1m,soon", "not a duration"),
        ("SMS_WEBHOOK_TIMEOUT", "8", "must be ms, s, m or h"),
        ("SMS_WEBHOOK_ALLOW_PRIVATE", "maybe", "is none of true, false"),
        ("SMS_EVENTS_KEPT_DAYS", "0", "SMS_EVENTS_KEPT_DAYS: "),
        ("SMS_REPLIES_PER_HOUR", "0", "SMS_REPLIES_PER_HOUR: "),
        ("SMS_REPLIES_BALANCE_SHARE", "101", "from 1 to 100"),
        ("SMS_DEMO", "maybe", "SMS_DEMO: "),
        ("SMS_STORE", "disk", "SMS_STORE: \"disk\" is none of file, memory"),
        ("SMS_LOG", "inof", "SMS_LOG: \"inof\" names no level"),
        ("SMS_ADRR", "127.0.0.1:1", "SMS_ADRR is not a setting; did you mean SMS_ADDR?"),
    ] {
        let output = run(&[], &[("SMS_ADDR", "127.0.0.1:0"), (name, value)]);
        let told = String::from_utf8(output.stderr).unwrap();
        assert!(matches!(output.status.code(), Some(1 | 2)), "{name}: {told}");
        assert!(told.contains(reason), "{name}: {told}");
        assert!(!told.contains("password") && !told.contains("error:"), "{told}");
        assert!(output.stdout.is_empty());
    }
}

#[test]
fn everything_that_is_wrong_with_the_settings_is_told_at_once_by_the_name_that_was_used() {
    let settings = [
        ("SMS_ADDR", "nonsense"),
        ("SMS_ADRR", "127.0.0.1:0"),
        ("SMS_LOG", "inof"),
        ("SMS_PUBLIC_URL", "example.com"),
        ("SMS_ROUTES", "main"),
        ("SMS_ROUTE_MAIN_URL", "smpp://example@smsc.example.com"),
        ("SMS_ROUTE_MAIN_WINDOWS", "100"),
        ("SMS_ROUTE_MAIN_RATE", "0"),
    ];
    let output = run(&["--rate-burst=many", "--store", "disk"], &settings);
    let told = String::from_utf8(output.stderr).unwrap();
    assert_eq!(output.status.code(), Some(1), "{told}");
    let mut lines = told.lines();
    assert_eq!(lines.next(), Some("sms-server: 9 settings are wrong:"), "{told}");
    let begins = lines.map(|line| line.split([':', ' ']).nth(2).unwrap()).collect::<Vec<_>>();
    let expected = [
        "--store",
        "SMS_ADDR",
        "--rate-burst",
        "SMS_ADRR",
        "SMS_ROUTE_MAIN_WINDOWS",
        "SMS_PUBLIC_URL",
        "SMS_LOG",
        "SMS_ROUTE_MAIN_PASSWORD",
        "SMS_ROUTE_MAIN_RATE",
    ];
    let sorted = |names: &[&str]| {
        let mut names: Vec<String> = names.iter().map(|&name| name.to_owned()).collect();
        names.sort();
        names
    };
    assert_eq!(sorted(&begins), sorted(&expected), "{told}");
}

#[test]
fn settings_that_contradict_each_other_are_told_by_the_names_that_were_used() {
    // Alone, and beside one that cannot be read.
    for more in [&[][..], &[("SMS_RATE_BURST", "many")]] {
        let settings = [&[("SMS_ADDR", "127.0.0.1:0"), ("SMS_STORE", "file")], more].concat();
        let output = run(&["--sandbox", "--public-url=example.com"], &settings);
        let told = String::from_utf8(output.stderr).unwrap();
        assert_eq!(output.status.code(), Some(1), "{told}");
        for part in ["--sandbox is set with SMS_STORE=file", "--public-url must begin with"] {
            assert!(told.contains(part), "{told}");
        }
        assert!(!told.contains("SMS_SANDBOX") && !told.contains("SMS_PUBLIC_URL"), "{told}");
    }
}

#[test]
fn a_command_names_the_variables_that_are_wrong_and_leaves_unknown_ones_alone() {
    let settings = [("SMS_ADDR", "nonsense"), ("SMS_LOG_FORMAT", "xml"), ("SMS_ADRR", "x")];
    let output = run(&["routes", "--store=disk"], &settings);
    let told = String::from_utf8(output.stderr).unwrap();
    assert_eq!(output.status.code(), Some(1), "{told}");
    assert!(told.starts_with("sms-server: 3 settings are wrong:"), "{told}");
    for part in ["SMS_ADDR: \"nonsense\"", "SMS_LOG_FORMAT: \"xml\"", "--store: \"disk\""] {
        assert!(told.contains(part), "{told}");
    }
}

#[tokio::test]
async fn an_address_in_use_is_reported() {
    let taken = tokio::net::TcpListener::bind("127.0.0.1:0").await.unwrap();
    let addr = taken.local_addr().unwrap().to_string();
    for settings in [
        [("SMS_ADDR", addr.as_str()), ("SMS_DEMO", "false")],
        [("SMS_ADDR", "127.0.0.1:0"), ("SMS_ADMIN_ADDR", &addr)],
    ] {
        let output = run(&[], &settings);
        let told = String::from_utf8(output.stderr).unwrap();
        assert_eq!(output.status.code(), Some(1));
        assert!(told.contains(&format!("cannot listen on {addr}")), "{told}");
        assert!(output.stdout.is_empty(), "no banner before it serves");
    }
}

#[tokio::test]
async fn the_operators_listener_is_apart_from_the_public_one() {
    let settings = [("SMS_ADMIN_ADDR", "127.0.0.1:0"), ("SMS_ADMIN_TOKEN", TOKEN)];
    let server = Process::start(&settings);
    let (public, admin, key) = (server.addr(), server.admin_addr(), server.said("Live key"));
    assert_ne!(public, admin);
    assert!(!server.banner.contains(TOKEN));
    for (addr, path, token, status) in [
        (public, "/api/v1/balance", key.as_str(), 200),
        (public, "/api/v1/openapi.json", "", 200),
        (public, "/docs", "", 200),
        (public, "/healthz", "", 200),
        (public, "/readyz", "", 200),
        (public, "/admin/v1/accounts", TOKEN, 404),
        (public, "/admin/v1/openapi.json", TOKEN, 404),
        (public, "/metrics", "", 404),
        (admin, "/admin/v1/accounts", TOKEN, 200),
        (admin, "/admin/v1/accounts", &key, 401),
        (admin, "/admin/v1/openapi.json", TOKEN, 200),
        (admin, "/metrics", "", 200),
        (admin, "/healthz", "", 200),
        (admin, "/readyz", "", 200),
        (admin, "/api/v1/balance", &key, 404),
        (admin, "/docs", "", 404),
    ] {
        let answer = ask(addr, "GET", path, Some(token), "").await;
        assert_eq!(answer.status, status, "{path} {}", answer.body);
    }
    server.signal("-TERM");
    assert_eq!(server.ended().code(), Some(0), "both listeners stop");
}

#[tokio::test]
async fn metrics_beside_the_api_need_the_operators_token() {
    let server = Process::start(&[("SMS_ADMIN_TOKEN", TOKEN)]);
    let key = server.said("Live key");
    for token in [None, Some(key.as_str()), Some("operator-token-of-a-proces"), Some("")] {
        let answer = ask(server.addr(), "GET", "/metrics", token, "").await;
        assert_eq!((answer.status, answer.code().as_str()), (401, "unauthorized"));
        assert_eq!(answer.header("www-authenticate"), Some("Bearer"));
        assert!(!answer.body.contains("http_requests_total"), "{}", answer.body);
    }
    let answer = ask(server.addr(), "GET", "/metrics", Some(TOKEN), "").await;
    assert_eq!(answer.status, 200, "{}", answer.body);
    assert!(answer.body.contains("http_requests_total"), "{}", answer.body);
}

#[tokio::test]
async fn metrics_count_requests_and_messages_and_hold_no_personal_data() {
    let server = Process::start(&[("SMS_METRICS_PUBLIC", "true")]);
    let key = server.said("Live key");
    let request = json!({ "to": "07700 900904", "body": "canary" });
    assert_eq!(server.call("POST", "/api/v1/messages", &key, &request).await.status, 201);
    server.call("GET", "/api/v1/messages/canary?q=canary", &key, &json!({})).await;
    server.call("GET", "/canary", &key, &json!({})).await;
    let answer = ask(server.addr(), "GET", "/metrics", None, "").await;
    assert_eq!(answer.header("content-type"), Some("text/plain; version=0.0.4"));
    let metrics = answer.body;
    let sent = "http_requests_total{method=\"POST\",route=\"/api/v1/messages\",status=\"201\"} 1";
    assert!(metrics.contains(sent), "{metrics}");
    assert!(metrics.contains("route=\"/api/v1/messages/{id}\",status=\"404\""), "{metrics}");
    assert!(metrics.contains("route=\"unmatched\",status=\"404\""), "{metrics}");
    assert!(!metrics.contains("canary") && !metrics.contains("900904"), "{metrics}");
}

#[tokio::test]
async fn without_a_demo_there_are_no_keys_and_without_a_token_one_is_made() {
    let server = Process::start(&[("SMS_DEMO", "false")]);
    assert!(!server.banner.contains("cc_live_") && !server.banner.contains("curl"));
    let token = server.said("Operator token");
    assert_eq!(token.len(), 48);
    let accounts = ask(server.addr(), "GET", "/admin/v1/accounts", Some(&token), "").await;
    assert_eq!((accounts.status, data(&accounts)), (200, json!([])));
    let other = Process::start(&[("SMS_DEMO", "false")]);
    assert_ne!(other.said("Operator token"), token);
}

#[tokio::test]
async fn the_rate_limit_is_as_set() {
    let settings = [("SMS_RATE_PER_SECOND", "1"), ("SMS_RATE_BURST", "2")];
    let server = Process::start(&settings);
    let key = server.said("Live key");
    let mut statuses = Vec::new();
    for _ in 0..3 {
        statuses.push(server.call("GET", "/api/v1/balance", &key, &json!({})).await.status);
    }
    assert_eq!(statuses, [200, 200, 429]);
}

#[test]
fn the_log_says_that_data_will_be_lost_and_has_no_colours() {
    let server = Process::start(&[("SMS_WEBHOOK_ALLOW_PRIVATE", "true")]);
    let line = server.wait_for_log("all data is lost");
    assert!(!line.contains('\u{1b}'), "colours are for terminals");
    server.wait_for_log("loopback and private addresses");
    let server = Process::start(&[("SMS_LOG_FORMAT", "json")]);
    let line = server.wait_for_log("all data is lost");
    let line: Value = serde_json::from_str(&line).unwrap();
    assert_eq!(line["level"], "WARN");
}
