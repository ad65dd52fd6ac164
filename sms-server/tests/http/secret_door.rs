//! Every entry that takes a secret: how often an address may come with a wrong one.

use metrics_exporter_prometheus::PrometheusBuilder;
use sms_core::account::Mode;
use sms_core::account::api_key::ApiKey;
use sms_core::random::SeededRandom;
use sms_http::web::serve::ServeLimits;
use sms_server::app::{MetricsPage, MetricsReaders, operator_document};

use crate::browser::Browser;
use crate::rig::{Account, Rig, TOKEN};
use crate::socket::{Answer, Server};

/// How a request brings its secret.
#[derive(Debug, Clone, Copy)]
enum Way {
    Bearer,
    Json,
    Form,
    Cookie,
}

/// What is taken there.
#[derive(Debug, Clone, Copy)]
enum Secret {
    Key,
    Token,
    Cookie,
}

/// All of them. Whoever adds an entry that takes a secret adds it here.
const ENTRIES: [(&str, &str, Way, Secret); 12] = [
    ("GET", "/api/v1/balance", Way::Bearer, Secret::Key),
    ("GET", "/api/v1/events", Way::Bearer, Secret::Key),
    ("GET", "/admin/v1/accounts", Way::Bearer, Secret::Token),
    ("GET", "/admin/v1/openapi.json", Way::Bearer, Secret::Token),
    ("GET", "/metrics", Way::Bearer, Secret::Token),
    ("POST", "/console/session", Way::Json, Secret::Key),
    ("POST", "/console/session", Way::Json, Secret::Token),
    ("POST", "/console/sign-in", Way::Form, Secret::Key),
    ("POST", "/console/sign-in", Way::Form, Secret::Token),
    ("GET", "/console/session", Way::Cookie, Secret::Cookie),
    ("GET", "/console/api/v1/balance", Way::Cookie, Secret::Cookie),
    ("GET", "/console/links", Way::Cookie, Secret::Cookie),
];

const COOKIE: &str = "__Host-sms_console";
/// How many wrong secrets an address may try at once.
const AT_ONCE: usize = 20;

/// A server with an account whose person is signed in.
struct World {
    /// Holds what the store keeps.
    _base: Rig,
    rig: Rig,
    server: Server,
    account: Account,
    browser: Browser,
}

impl World {
    async fn new() -> Self {
        let base = Rig::new().await;
        let handle = PrometheusBuilder::new().build_recorder().handle();
        let rig =
            base.with_metrics(MetricsPage { handle, public_readers: MetricsReaders::Operator });
        let account = rig.account(5).await;
        let browser = Browser::sign_in(&rig, account.live.token.as_deref().unwrap()).await;
        let server = Server::start(rig.app.clone(), ServeLimits::default());
        Self { _base: base, rig, server, account, browser }
    }

    /// Sends a request with a secret from an address.
    async fn ask(
        &self,
        (method, path, way): (&str, &str, Way),
        from: &str,
        secret: &str,
    ) -> Answer {
        let (more, body) = match way {
            Way::Bearer => (format!("Authorization: Bearer {secret}\r\n"), String::new()),
            Way::Cookie => (format!("Cookie: {COOKIE}={secret}\r\n"), String::new()),
            Way::Json => (
                "Content-Type: application/json\r\n".to_owned(),
                format!("{{\"key\":\"{secret}\"}}"),
            ),
            Way::Form => (
                "Content-Type: application/x-www-form-urlencoded\r\n".to_owned(),
                format!("key={secret}"),
            ),
        };
        let length = body.len();
        let head = format!(
            "{method} {path} HTTP/1.1\r\nHost: x\r\nOrigin: http://x\r\nX-Forwarded-For: {from}\r\n\
             {more}Content-Length: {length}\r\n\r\n{body}"
        );
        self.server.ask(head).await
    }

    fn right(&self, secret: Secret) -> &str {
        match secret {
            Secret::Key => self.account.live.token.as_deref().unwrap(),
            Secret::Token => TOKEN,
            Secret::Cookie => self.browser.token(),
        }
    }
}

#[tokio::test]
async fn keys_at_the_operators_api_by_mistake_are_no_guesses() {
    let world = World::new().await;
    let way = ("GET", "/admin/v1/accounts", Way::Bearer);
    let own = world.right(Secret::Key).to_owned();
    for n in 0..200 {
        let key = if n % 2 == 0 { own.clone() } else { wrong(Secret::Key, n) };
        assert_eq!(world.ask(way, "203.0.113.7", &key).await.status, 401, "{n}");
    }
    assert_eq!(world.ask(way, "203.0.113.7", TOKEN).await.status, 200);
}

/// A secret of this kind that nobody has.
fn wrong(secret: Secret, n: u64) -> String {
    let made_up = match secret {
        Secret::Key => {
            ApiKey::generate(Mode::Live, &SeededRandom::new(7_000 + n)).reveal().to_owned()
        }
        Secret::Token => format!("a-made-up-token-{n}"),
        Secret::Cookie => format!("{n:064x}"),
    };
    sms_test_log::secret(&made_up);
    made_up
}

#[tokio::test]
async fn an_address_tries_twenty_wrong_secrets_at_every_entry_and_others_are_not_concerned() {
    let world = World::new().await;
    for (number, (method, path, way, secret)) in (1_u64..).zip(ENTRIES) {
        let what = format!("{method} {path} with a {secret:?} as {way:?}");
        let from = format!("203.0.113.{number}");
        let mut seen = 0;
        for n in 0..40 {
            let given = wrong(secret, 100 * number + n);
            let answer = world.ask((method, path, way), &from, &given).await;
            if answer.status == 429 {
                assert!(answer.header("retry-after").is_some(), "{what}");
            } else {
                assert!(matches!(answer.status, 303 | 401 | 422), "{what}: {}", answer.status);
                seen += 1;
            }
        }
        assert_eq!(seen, AT_ONCE, "{what}");
        let right = world.right(secret);
        let answer = world.ask((method, path, way), "198.51.100.7", right).await;
        assert!(matches!(answer.status, 200 | 303), "{what}: {}", answer.status);
    }
}

#[tokio::test]
async fn an_address_that_guessed_the_operators_token_is_refused_by_all_that_the_operator_may_do() {
    let world = World::new().await;
    let from = "203.0.113.9";
    for n in 0..AT_ONCE as u64 {
        let given = wrong(Secret::Token, n);
        let answer = world.ask(("GET", "/metrics", Way::Bearer), from, &given).await;
        assert_eq!(answer.status, 401, "{n}");
    }
    let document = operator_document(&world.rig.sms);
    let paths = document["paths"].as_object().unwrap();
    assert!(paths.len() > 10, "the document has the operator's paths");
    for (pattern, operations) in paths {
        let path = format!("/admin/v1{}", pattern.replace(['{', '}'], ""));
        for method in ["get", "post", "patch", "put", "delete"] {
            if operations.get(method).is_none() {
                continue;
            }
            let method = method.to_uppercase();
            // Even the right token: the address does not learn which one that is.
            for token in [TOKEN, "another-made-up-token"] {
                let answer = world.ask((&method, &path, Way::Bearer), from, token).await;
                assert_eq!(answer.status, 429, "{method} {path}");
                assert_eq!(answer.code(), "rate_limited");
                assert_eq!(answer.header("retry-after"), Some("1"));
            }
        }
    }
    let sign_in = world.ask(("POST", "/console/session", Way::Json), from, TOKEN).await;
    assert_eq!(sign_in.status, 429);
    let balance = ("GET", "/api/v1/balance", Way::Bearer);
    let known = world.ask(balance, from, world.right(Secret::Key)).await;
    assert_eq!(known.status, 200, "a key that this server knows");
    world.rig.pass_real(std::time::Duration::from_secs(1));
    let right = world.ask(("GET", "/admin/v1/accounts", Way::Bearer), from, TOKEN).await;
    assert_eq!(right.status, 200);
}
