//! The whole application as the server puts it together, over a new store, with clocks that are
//! moved by hand, a seeded source of randomness, and an endpoint for webhooks that takes notes.
//! Nothing runs in the background: [`Rig::work`] does what is due.

use std::sync::{Arc, LazyLock, Mutex};
use std::time::{Duration, Instant};

use futures_util::StreamExt as _;
use poem::http::{HeaderMap, HeaderName, HeaderValue, Method};
use poem::{Endpoint, Request};
use serde_json::{Value, json};
use sms_console::Assets;
use sms_core::Sms;
use sms_core::account::Mode;
use sms_core::clock::{ManualClock, MovableClock};
use sms_core::ids::AccountId;
use sms_core::link::LinkBase;
use sms_core::random::SeededRandom;
use sms_core::service::WakeOthers;
use sms_core::service::operator::{NewAccountInput, NumberInput};
use sms_core::store::Store;
use sms_core::time::Timestamp;
use sms_http::admin::gate::OperatorToken;
use sms_http::api::{EventStreams, StreamLimits};
use sms_http::rate_limit::{Gcra, Stopwatch};
use sms_http::web::intake::{Intake, IntakeLimits};
use sms_server::app::{AppParts, MetricsPage, openapi_document, operator_document, whole_app};
use sms_server::console::ConsoleParts;
use sms_server::sandbox::Sandbox;
use sms_store_memory::MemoryStore;

use crate::described::Documents;
use crate::fresh::{self, Folder};
use crate::hooks::Hooks;
use crate::watched::{keep_private, watch};

/// The operator's token.
pub(crate) const TOKEN: &str = "operator-token-of-the-tests";
/// The number that sends messages unless an account has a dedicated one.
pub(crate) const SHARED_NUMBER: &str = "+447700900000";
/// 2026-11-21T07:07:10.123Z
pub(crate) const START_MILLIS: i64 = 1_795_244_830_123;

const PUBLIC_URL: &str = "https://sms.example.com";

/// The documents of every rig. They are made once for all tests, because that takes long.
static DOCUMENTS: LazyLock<Documents> = LazyLock::new(|| {
    let sms = Sms::builder(MemoryStore::new()).build();
    Documents { api: openapi_document(&sms, PUBLIC_URL), admin: operator_document(&sms) }
});

/// A running application.
pub(crate) struct Rig {
    pub sms: Sms,
    pub clock: Arc<ManualClock>,
    pub hooks: Arc<Hooks>,
    pub app: Intake,
    parts: AppParts,
    real_time: Arc<Mutex<Instant>>,
    /// What the store keeps, until the test ends.
    _folder: Option<Folder>,
}

/// An account and its keys.
pub(crate) struct Account {
    pub id: AccountId,
    pub live: Client,
    pub test: Client,
}

impl Rig {
    /// With one shared number, and no limit to how fast requests may come.
    pub(crate) async fn new() -> Self {
        Self::with_rate(1_000_000, 1_000_000).await
    }

    pub(crate) async fn with_rate(per_second: u32, burst: u32) -> Self {
        let (store, folder) = fresh::store();
        let rig = Self::with(store, Gcra::new(per_second, burst)).await;
        Self { _folder: folder, ..rig }
    }

    pub(crate) async fn with(store: Arc<dyn Store>, rate: Gcra) -> Self {
        let rig = Self::bare(store, rate);
        rig.sms.operator().number_create(NumberInput::shared(SHARED_NUMBER)).await.unwrap();
        rig
    }

    /// With other limits to what a request may take.
    pub(crate) async fn with_limits(limits: IntakeLimits) -> Self {
        let rate = Gcra::new(1_000_000, 1_000_000);
        let (store, folder) = fresh::store();
        let rig = Self::build(store, rate, limits, None);
        rig.sms.operator().number_create(NumberInput::shared(SHARED_NUMBER)).await.unwrap();
        Self { _folder: folder, ..rig }
    }

    /// Without any number.
    pub(crate) fn bare(store: Arc<dyn Store>, rate: Gcra) -> Self {
        Self::build(store, rate, IntakeLimits::default(), None)
    }

    /// Without any number, and with signals to and from other programs on the store.
    pub(crate) fn beside_others(store: Arc<dyn Store>, others: Arc<dyn WakeOthers>) -> Self {
        let rate = Gcra::new(1_000_000, 1_000_000);
        Self::build(store, rate, IntakeLimits::default(), Some(others))
    }

    /// Without the console.
    pub(crate) async fn without_console() -> Self {
        let rig = Self::new().await;
        let parts = AppParts { console: None, ..rig.parts.clone() };
        Self { app: whole_app(&parts), parts, ..rig }
    }

    /// The same service, served by a server that is no sandbox.
    pub(crate) fn without_sandbox(&self) -> Self {
        self.served_by(AppParts { sandbox: None, ..self.parts.clone() })
    }

    /// The same service, served by a server with this token of the operator.
    pub(crate) fn with_token(&self, token: &str) -> Self {
        self.served_by(AppParts { token: OperatorToken::new(token), ..self.parts.clone() })
    }

    /// The same service, served by a server with metrics.
    pub(crate) fn with_metrics(&self, metrics: MetricsPage) -> Self {
        self.served_by(AppParts { metrics: Some(metrics), ..self.parts.clone() })
    }

    /// The same service, served by a server with these streams of events.
    pub(crate) fn with_streams(&self, limits: StreamLimits) -> Self {
        let streams = EventStreams::with_limits(self.sms.clone(), limits);
        self.served_by(AppParts { streams, ..self.parts.clone() })
    }

    pub(crate) fn streams(&self) -> &EventStreams {
        &self.parts.streams
    }

    fn served_by(&self, parts: AppParts) -> Self {
        Self {
            sms: self.sms.clone(),
            clock: Arc::clone(&self.clock),
            hooks: Arc::clone(&self.hooks),
            app: whole_app(&parts),
            parts,
            real_time: Arc::clone(&self.real_time),
            _folder: None,
        }
    }

    fn build(
        store: Arc<dyn Store>,
        rate: Gcra,
        limits: IntakeLimits,
        others: Option<Arc<dyn WakeOthers>>,
    ) -> Self {
        watch();
        let clock = Arc::new(ManualClock::at(Timestamp::from_millis(START_MILLIS)));
        let movable = Arc::new(MovableClock::new(clock.clone()));
        let hooks = Arc::new(Hooks::default());
        let builder = match others {
            Some(others) => Sms::builder(store).wake_others(others),
            None => Sms::builder(store),
        };
        let sms = builder
            .clock(movable.clone())
            .link_base(LinkBase::new(PUBLIC_URL).unwrap())
            .random(Arc::new(SeededRandom::new(7)))
            .webhooks(hooks.clone())
            .build();
        let real_time = Arc::new(Mutex::new(Instant::now()));
        let shown = Arc::clone(&real_time);
        let parts = AppParts {
            sms: sms.clone(),
            streams: EventStreams::new(sms.clone()),
            rate,
            shared_arrivals: None,
            stopwatch: Stopwatch::new(move || *shown.lock().unwrap()),
            token: OperatorToken::new(TOKEN),
            public_url: PUBLIC_URL.to_owned(),
            limits,
            trusted_proxies: "127.0.0.1".parse().unwrap(),
            sandbox: Some(Arc::new(Sandbox::new(sms.clone(), movable))),
            metrics: None,
            console: Some(ConsoleParts { assets: Assets::embedded(), clock: clock.clone() }),
        };
        let app = whole_app(&parts);
        Self { sms, clock, hooks, app, parts, real_time, _folder: None }
    }

    #[expect(clippy::unused_self, reason = "the documents are those of the rig's application")]
    pub(crate) fn documents(&self) -> &'static Documents {
        &DOCUMENTS
    }

    /// Calls the API with this token, or none.
    pub(crate) fn client(&self, token: Option<&str>) -> Client {
        Client { app: self.app.clone(), token: token.map(str::to_owned), base: "/api/v1" }
    }

    /// Calls the operator's API.
    pub(crate) fn operator(&self) -> Client {
        Client { base: "/admin/v1", ..self.client(Some(TOKEN)) }
    }

    /// An active account with a live and a test key.
    pub(crate) async fn account(&self, credits: u32) -> Account {
        let operator = self.sms.operator();
        let input = NewAccountInput::active("Bookings", credits);
        let id = operator.account_create(input).await.unwrap().id;
        Account { id, live: self.key(id, Mode::Live).await, test: self.key(id, Mode::Test).await }
    }

    /// A new key of an account.
    pub(crate) async fn key(&self, account: AccountId, mode: Mode) -> Client {
        let made = self.sms.operator().api_key_create(account, mode, None).await.unwrap();
        self.client(Some(made.key.reveal()))
    }

    /// Does what is due at this moment, until nothing is.
    pub(crate) async fn work(&self) {
        loop {
            let sent = self.sms.dispatch_due(500).await.unwrap().claimed;
            let back = self.sms.simulate_due(500).await.unwrap();
            let told = self.sms.deliver_webhooks(500).await.unwrap();
            let replayed = self.sms.replays_go_on().await.unwrap();
            let rents = self.sms.charge_rents(100).await.unwrap().taken;
            if sent + back + told + replayed + rents == 0 {
                return;
            }
        }
    }

    /// Lets time pass, second by second, and does what falls due on the way.
    pub(crate) async fn pass(&self, seconds: u64) {
        for _ in 0..seconds {
            self.clock.advance(Duration::from_secs(1));
            self.work().await;
        }
    }

    /// Moves the time by which requests are counted.
    pub(crate) fn pass_real(&self, by: Duration) {
        *self.real_time.lock().unwrap() += by;
    }
}

impl Account {
    pub(crate) async fn balance(&self) -> u64 {
        self.live.get("/balance").await.ok()["credits"].as_u64().unwrap()
    }

    /// Sends a text with the live key, and gives what the answer's data hold.
    pub(crate) async fn send(&self, to: impl Into<Value>, body: &str) -> Value {
        let request = json!({ "to": to.into(), "body": body });
        self.live.post("/messages", request).await.created()
    }
}

/// Calls one of the APIs with one key.
#[derive(Clone)]
pub(crate) struct Client {
    app: Intake,
    pub token: Option<String>,
    base: &'static str,
}

impl Client {
    pub(crate) async fn get(&self, path: &str) -> Reply {
        self.ask(Method::GET, path).send().await
    }

    pub(crate) async fn post(&self, path: &str, body: Value) -> Reply {
        self.ask(Method::POST, path).json(&body).send().await
    }

    /// POST without a body.
    pub(crate) async fn call(&self, path: &str) -> Reply {
        self.ask(Method::POST, path).send().await
    }

    pub(crate) async fn patch(&self, path: &str, body: Value) -> Reply {
        self.ask(Method::PATCH, path).json(&body).send().await
    }

    pub(crate) async fn delete(&self, path: &str) -> Reply {
        self.ask(Method::DELETE, path).send().await
    }

    /// A request below the API's prefix.
    pub(crate) fn ask(&self, method: Method, path: &str) -> Ask {
        let ask = self.ask_at(method, &format!("{}{path}", self.base));
        match &self.token {
            Some(token) => ask.header("Authorization", &format!("Bearer {token}")),
            None => ask,
        }
    }

    /// A request without the key, to any path.
    pub(crate) fn ask_at(&self, method: Method, path: &str) -> Ask {
        Ask {
            app: self.app.clone(),
            method,
            path: path.to_owned(),
            headers: HeaderMap::new(),
            body: Vec::new(),
        }
    }

    /// All pages of a list, with so many on each.
    pub(crate) async fn pages(&self, path: &str, limit: usize) -> Vec<Value> {
        let mut items = Vec::new();
        let join = if path.contains('?') { '&' } else { '?' };
        let mut next = format!("{path}{join}limit={limit}");
        loop {
            let reply = self.get(&next).await.assert(200);
            let page = reply.json["data"].as_array().unwrap();
            assert!(page.len() <= limit);
            items.extend(page.iter().cloned());
            match reply.json["meta"]["next_cursor"].as_str() {
                Some(cursor) => next = format!("{path}{join}limit={limit}&cursor={cursor}"),
                None => return items,
            }
        }
    }
}

/// A request being put together.
pub(crate) struct Ask {
    app: Intake,
    method: Method,
    path: String,
    headers: HeaderMap,
    body: Vec<u8>,
}

impl Ask {
    pub(crate) fn header(mut self, name: &str, value: &str) -> Self {
        let value = HeaderValue::from_bytes(value.as_bytes()).unwrap();
        self.headers.append(HeaderName::try_from(name).unwrap(), value);
        self
    }

    pub(crate) fn json(self, body: &Value) -> Self {
        self.bytes(body.to_string())
    }

    /// These bytes, said to be JSON.
    pub(crate) fn bytes(self, body: impl Into<Vec<u8>>) -> Self {
        self.raw(body).header("Content-Type", "application/json")
    }

    /// These bytes, without saying what they are.
    pub(crate) fn raw(self, body: impl Into<Vec<u8>>) -> Self {
        Self { body: body.into(), ..self }
    }

    /// The answer, whose body is read when the caller wants to.
    pub(crate) async fn unread(self) -> poem::Response {
        let Self { app, method, path, headers, body } = self;
        let mut request = Request::builder().method(method).uri(path.parse().unwrap()).body(body);
        *request.headers_mut() = headers;
        app.call(request).await.unwrap()
    }

    pub(crate) async fn send(self) -> Reply {
        let Self { app, method, path, headers, body } = self;
        keep_private(&body);
        let uri = path.parse().unwrap_or_else(|error| panic!("{path}: {error}"));
        let mut request = Request::builder().method(method.clone()).uri(uri).body(body);
        *request.headers_mut() = headers;
        let response = app.call(request).await.unwrap();
        let (parts, body) = response.into_parts();
        let is_stream =
            parts.headers.get("content-type").is_some_and(|of| of == "text/event-stream");
        let bytes = if is_stream {
            // It has no end: what comes first stands for it.
            let first = body.into_bytes_stream().next().await;
            first.map(|first| first.unwrap().to_vec()).unwrap_or_default()
        } else {
            body.into_vec().await.unwrap()
        };
        let json = serde_json::from_slice(&bytes).unwrap_or_default();
        let status = parts.status.as_u16();
        let reply = Reply { method: method.clone(), status, headers: parts.headers, bytes, json };
        assert!(status < 500 || status == 503, "{method} {path}: {reply:?}");
        for name in ["x-request-id", "x-content-type-options", "cache-control"] {
            assert!(reply.headers.contains_key(name), "{method} {path} has no {name}");
        }
        let violations = DOCUMENTS.violations(&method, &path, &reply);
        assert!(violations.is_empty(), "{method} {path}: {violations:#?}\n{reply:?}");
        reply
    }
}

/// An answer.
pub(crate) struct Reply {
    pub method: Method,
    pub status: u16,
    pub headers: HeaderMap,
    pub bytes: Vec<u8>,
    /// The body, if it is JSON.
    pub json: Value,
}

impl std::fmt::Debug for Reply {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let text: String = self.text().chars().take(1_000).collect();
        write!(f, "{} {text}", self.status)
    }
}

impl Reply {
    #[track_caller]
    pub(crate) fn assert(self, status: u16) -> Self {
        assert_eq!(self.status, status, "{}", self.text());
        self
    }

    /// The data of a 200.
    #[track_caller]
    pub(crate) fn ok(self) -> Value {
        self.assert(200).json["data"].take()
    }

    /// The data of a 201.
    #[track_caller]
    pub(crate) fn created(self) -> Value {
        self.assert(201).json["data"].take()
    }

    /// The details of an error.
    #[track_caller]
    pub(crate) fn refused(self, status: u16, code: &str) -> Value {
        let mut reply = self.assert(status);
        assert_eq!(reply.json["error"]["code"], code);
        reply.json["error"]["details"].take()
    }

    /// Field and code of every error that a 422 names.
    #[track_caller]
    pub(crate) fn mistakes(self) -> Vec<(String, String)> {
        let details = self.refused(422, "validation_failed");
        let text = |error: &Value, key: &str| error[key].as_str().unwrap().to_owned();
        let errors = details.as_array().unwrap().iter();
        errors.map(|error| (text(error, "field"), text(error, "code"))).collect()
    }

    /// Whether it is a 422 that names only this error.
    #[track_caller]
    pub(crate) fn mistake(self, field: &str, code: &str) {
        assert_eq!(self.mistakes(), [(field.to_owned(), code.to_owned())]);
    }

    pub(crate) fn header(&self, name: &str) -> &str {
        self.headers.get(name).map(|value| value.to_str().unwrap()).unwrap_or_default()
    }

    pub(crate) fn text(&self) -> String {
        String::from_utf8_lossy(&self.bytes).into_owned()
    }
}
