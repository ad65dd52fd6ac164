//! Requests: any bytes as the body of what costs credits or changes the address book. Never a fault
//! of ours, always the envelope, a quote is what is taken, and who is refused pays nothing.
//!
//! An input is a letter (`c` for a campaign, `i` for an import, any other for a send) and a body.
//! In the body `$list`, `$contact` and `$template` stand for ids of the account's own.

use std::cell::RefCell;
use std::sync::Arc;
use std::thread_local;
use std::time::Instant;

use poem::http::Method;
use poem::{Endpoint, Request};
use serde_json::Value;
use sms_core::account::Mode;
use sms_core::contact::ContactInput;
use sms_core::contact::custom::CustomValue;
use sms_core::list::ListInput;
use sms_core::message::MessageFilter;
use sms_core::page::{Limit, PageRequest};
use sms_core::prelude::Sms;
use sms_core::service::AccountHandle;
use sms_core::template::TemplateInput;
use sms_core::text::split;
use sms_http::admin::gate::OperatorToken;
use sms_http::api::EventStreams;
use sms_http::rate_limit::{Gcra, Stopwatch};
use sms_http::web::client_address::TrustedProxies;
use sms_http::web::intake::{Intake, IntakeLimits};
use sms_server::app::{AppParts, whole_app};
use tokio::runtime::{Builder, Runtime};

use crate::service;

/// Tries the laws on a body.
pub fn check(input: &[u8]) {
    let Some((letter, body)) = input.split_first() else { return };
    STAGE.with_borrow_mut(|kept| {
        let mut stage =
            kept.take().filter(|stage| stage.uses < MOST_USES).unwrap_or_else(Stage::new);
        stage.uses += 1;
        let runtime = Arc::clone(&stage.runtime);
        runtime.block_on(async {
            let visitor = stage.visitor().await;
            let body = visitor.with_ids(body);
            match letter {
                b'c' => visitor.campaign(body).await,
                b'i' => visitor.import(body).await,
                _ => visitor.send(body).await,
            }
            visitor.books_are_right().await;
        });
        *kept = Some(stage);
    });
}

/// How often a service is used: its messages are kept.
const MOST_USES: u32 = 2_000;
/// Enough for some messages, and soon too little.
const CREDITS: u32 = 40;

thread_local! {
    static STAGE: RefCell<Option<Stage>> = const { RefCell::new(None) };
}

/// A service that serves many inputs.
struct Stage {
    runtime: Arc<Runtime>,
    sms: Sms,
    app: Intake,
    uses: u32,
}

impl Stage {
    fn new() -> Self {
        let runtime = Builder::new_current_thread().enable_time().build().expect("a runtime");
        let sms = runtime.block_on(service::empty());
        let start = Instant::now();
        let app = whole_app(&AppParts {
            sms: sms.clone(),
            streams: EventStreams::new(sms.clone()),
            rate: Gcra::new(1_000_000, 1_000_000),
            shared_arrivals: None,
            stopwatch: Stopwatch::new(move || start),
            token: OperatorToken::new("operator-token-of-the-fuzzer"),
            public_url: service::PUBLIC_URL.to_owned(),
            limits: IntakeLimits::default(),
            trusted_proxies: TrustedProxies::default(),
            sandbox: None,
            metrics: None,
            console: None,
        });
        Self { runtime: Arc::new(runtime), sms, app, uses: 0 }
    }

    /// An account of the input's own: three contacts on a list, one of them opted out, a template.
    async fn visitor(&self) -> Visitor {
        let account = service::account(&self.sms, CREDITS).await;
        let operator = self.sms.operator();
        let made = operator.api_key_create(account.id(), Mode::Live, None).await.expect("a key");
        let list = ListInput::new("Guests");
        let list = account.list_create(list).await.expect("a list").id;
        let rows = ["07700 900101", "07700 900102", "07700 900103"].map(|number| {
            let mut row = ContactInput::new(number);
            row.first_name = Some("Ann".to_owned());
            row.custom.insert("points".to_owned(), Some(CustomValue::Boolean(true)));
            row
        });
        let imported =
            account.contacts_import(rows.into(), Some(list)).await.expect("good contacts");
        let contact = imported.rows[0].contact.expect("it is new");
        account.opt_out_create("07700 900102", None).await.expect("a number");
        let template = TemplateInput::new("Hello", "Hi {points}");
        let template = account.template_create(template).await.expect("a template").id;
        Visitor {
            app: self.app.clone(),
            account,
            sms: self.sms.clone(),
            authorization: format!("Bearer {}", made.key.reveal()),
            ids: [
                ("$list", list.to_string()),
                ("$contact", contact.to_string()),
                ("$template", template.to_string()),
            ],
        }
    }
}

struct Visitor {
    app: Intake,
    account: AccountHandle,
    sms: Sms,
    authorization: String,
    ids: [(&'static str, String); 3],
}

/// An answer in the envelope.
struct Answer {
    status: u16,
    json: Value,
}

impl Answer {
    fn number(&self, pointer: &str) -> u64 {
        self.json.pointer(pointer).and_then(Value::as_u64).expect("a number")
    }

    fn array(&self, pointer: &str) -> &[Value] {
        self.json.pointer(pointer).and_then(Value::as_array).expect("an array")
    }
}

impl Visitor {
    fn with_ids(&self, body: &[u8]) -> Vec<u8> {
        let mut whole = Vec::with_capacity(body.len());
        let mut rest = body;
        while let Some((first, after)) = rest.split_first() {
            let named = self.ids.iter().find(|(name, _)| rest.starts_with(name.as_bytes()));
            if let Some((name, id)) = named {
                whole.extend(id.as_bytes());
                rest = &rest[name.len()..];
            } else {
                whole.push(*first);
                rest = after;
            }
        }
        whole
    }

    async fn ask(&self, path: &str, body: &[u8]) -> Answer {
        self.ask_under("again", path, body).await
    }

    /// Asks under this idempotency key.
    async fn ask_under(&self, key: &str, path: &str, body: &[u8]) -> Answer {
        let request = Request::builder()
            .method(Method::POST)
            .uri(format!("/api/v1{path}").parse().expect("a path"))
            .header("Authorization", &self.authorization)
            .header("Content-Type", "application/json")
            .header("Idempotency-Key", key)
            .body(body.to_vec());
        let answer = self.app.call(request).await.expect("the intake answers");
        let (parts, body) = answer.into_parts();
        let bytes = body.into_vec().await.expect("a whole body");
        let status = parts.status.as_u16();
        let json: Value = serde_json::from_slice(&bytes).expect("every answer is JSON");
        assert!(status < 500, "{path}: {status} {json}");
        assert!(parts.headers.contains_key("x-request-id"));
        let keys = |value: &Value| -> Vec<String> {
            value.as_object().into_iter().flatten().map(|(key, _)| key.clone()).collect()
        };
        let code = json.pointer("/error/code").and_then(Value::as_str);
        if status < 300 {
            assert_eq!(keys(&json), ["data", "meta"], "{json}");
        } else {
            assert_eq!(keys(&json), ["error"], "{json}");
            assert_eq!(keys(&json["error"]), ["code", "message", "details", "doc_url"], "{json}");
            assert!(code.is_some_and(|code| !code.is_empty()), "{json}");
        }
        if status == 422 && code == Some("validation_failed") {
            let details = json.pointer("/error/details").and_then(Value::as_array);
            assert!(details.is_some_and(|details| !details.is_empty()), "{json}");
        }
        Answer { status, json }
    }

    async fn balance(&self) -> u64 {
        self.account.get().await.expect("the account").balance.get()
    }

    async fn messages(&self) -> usize {
        let page = PageRequest { limit: Limit::EXPORT, after: None };
        let messages = self.account.message_list(&MessageFilter::default(), page).await;
        messages.expect("the messages").items.len()
    }

    /// A quote takes nothing; the send then takes what was quoted, or nothing if it is refused;
    /// sent again, it is answered again and takes nothing.
    async fn send(&self, body: Vec<u8>) {
        let quote = self.ask("/messages/quote", &body).await;
        assert_eq!((self.balance().await, self.messages().await), (CREDITS.into(), 0));
        let sent = self.ask("/messages", &body).await;
        if quote.status != 200 {
            assert_eq!(sent.status, quote.status, "{} {}", sent.json, quote.json);
            assert_eq!(sent.json["error"], quote.json["error"]);
        }
        if sent.status != 201 {
            assert_eq!((self.balance().await, self.messages().await), (CREDITS.into(), 0));
            let too_much = quote.status == 200 && quote.number("/data/credits") > CREDITS.into();
            assert_eq!(sent.status == 402, too_much, "{}", sent.json);
            assert!(quote.status != 200 || too_much, "{}", sent.json);
            return;
        }
        assert_eq!(quote.status, 200, "what is sent can be quoted");
        let taken = u64::from(CREDITS) - self.balance().await;
        assert_eq!(sent.number("/meta/credits"), taken);
        assert_eq!(quote.number("/data/credits"), taken, "{} {}", quote.json, sent.json);
        assert_eq!(sent.json["data"]["rejected"], quote.json["data"]["rejected"]);
        let messages = sent.array("/data/messages");
        assert_eq!(messages.len() as u64, quote.number("/data/recipients"));
        assert_eq!(messages.len(), self.messages().await);
        for text in messages {
            let words = text["body"].as_str().expect("its words");
            assert_eq!(text["segments"].as_u64(), Some(split(words).len() as u64));
            assert_eq!(text["credits"], text["segments"]);
            assert_ne!(text["to"], "+447700900102", "who has opted out gets nothing");
        }
        let in_all: u64 = messages.iter().filter_map(|text| text["credits"].as_u64()).sum();
        assert_eq!(in_all, taken);
        let again = self.ask("/messages", &body).await;
        assert_eq!(again.status, 200, "{}", again.json);
        assert_eq!(again.json["data"], sent.json["data"]);
        assert_eq!(again.json["meta"]["replayed"], true);
        assert_eq!(u64::from(CREDITS) - self.balance().await, taken);
        assert_eq!(self.messages().await, messages.len());
    }

    /// A draft costs nothing; its launch takes what it says, or nothing if it is refused. The same
    /// bytes are the launch's options too.
    async fn campaign(&self, body: Vec<u8>) {
        let draft = self.ask("/campaigns", &body).await;
        assert_eq!((self.balance().await, self.messages().await), (CREDITS.into(), 0));
        if draft.status != 201 {
            return;
        }
        let id = draft.json["data"]["id"].as_str().expect("its id");
        let launch = format!("/campaigns/{id}/send");
        let launched = self.ask_under("launch", &launch, &body).await;
        let taken = u64::from(CREDITS) - self.balance().await;
        if launched.status != 200 {
            assert_eq!((taken, self.messages().await), (0, 0));
            return;
        }
        assert_eq!(launched.number("/data/credits"), taken);
        assert_eq!(launched.number("/data/recipients"), self.messages().await as u64);
        let again = self.ask_under("launch", &launch, &body).await;
        assert_eq!((again.status, &again.json["meta"]["replayed"]), (200, &Value::Bool(true)));
        let another = self.ask_under("another", &launch, b"").await;
        assert_eq!(another.status, 409, "{}", another.json);
        assert_eq!(u64::from(CREDITS) - self.balance().await, taken);
    }

    /// An import tells of every row, and adds up.
    async fn import(&self, body: Vec<u8>) {
        let before = self.contacts().await;
        let imported = self.ask("/contacts/import", &body).await;
        assert_eq!((self.balance().await, self.messages().await), (CREDITS.into(), 0));
        if imported.status != 200 {
            assert_eq!(self.contacts().await, before, "{}", imported.json);
            return;
        }
        let given: Value = serde_json::from_slice(&body).expect("it was read");
        let rows = imported.array("/data/rows");
        assert_eq!(Some(rows.len()), given["rows"].as_array().map(Vec::len));
        for outcome in ["created", "updated", "unchanged", "invalid"] {
            let told = rows.iter().filter(|row| row["outcome"] == outcome).count() as u64;
            assert_eq!(imported.number(&format!("/data/{outcome}")), told);
        }
        for (index, row) in rows.iter().enumerate() {
            assert_eq!(row["row"].as_u64(), Some(index as u64));
            let is_invalid = row["outcome"] == "invalid";
            assert_eq!(row["error"].is_string(), is_invalid, "{row}");
            assert!(!is_invalid || row["contact_id"].is_null(), "{row}");
        }
        let created = usize::try_from(imported.number("/data/created")).unwrap_or_default();
        assert_eq!(self.contacts().await, before + created);
        // A repetition has the first answer, and the same rows again change nothing.
        let again = self.ask("/contacts/import", &body).await;
        assert_eq!((again.status, &again.json["data"]), (200, &imported.json["data"]));
        let anew = self.ask_under("anew", "/contacts/import", &body).await;
        assert_eq!(anew.status, 200);
        let figures = ["created", "updated", "added_to_list"];
        let changes = figures.map(|figure| anew.number(&format!("/data/{figure}")));
        assert_eq!(changes, [0; 3], "{}", anew.json);
    }

    async fn contacts(&self) -> usize {
        let filter = sms_core::contact::filter::ContactFilter::default();
        let page = PageRequest { limit: Limit::EXPORT, after: None };
        self.account.contact_list(&filter, page).await.expect("the contacts").items.len()
    }

    /// The balance is the sum of the ledger.
    async fn books_are_right(&self) {
        let page = PageRequest { limit: Limit::EXPORT, after: None };
        let ledger = self.sms.operator().ledger_list(self.account.id(), page).await;
        let entries = ledger.expect("the ledger").items;
        let sum: i64 = entries.iter().map(|entry| entry.amount.get()).sum();
        assert_eq!(u64::try_from(sum).ok(), Some(self.balance().await));
    }
}
