//! Mounts the APIs: their paths, their documents, and the doors before them, as one endpoint that a
//! program serves, alone or under a path of its own.
//!
//! ```
//! use poem::Route;
//! use sms_core::Sms;
//! use sms_http::mount::{ApiParts, Paths, error_page};
//! use sms_http::web::error::ERROR_PAGE;
//! use sms_http::web::intake::IntakeLimits;
//!
//! fn app(sms: &Sms) -> Route {
//!     // The API is then at https://example.com/sms/api/v1.
//!     let parts = ApiParts::new(sms, "https://example.com/sms");
//!     let api = Paths::new().with_api(&parts).into_endpoint(IntakeLimits::default());
//!     Route::new().nest("/sms", api).at(ERROR_PAGE, error_page(&[]))
//! }
//! ```

use std::fmt;
use std::sync::{Arc, LazyLock};

use bytes::Bytes;
use poem::http::header::CONTENT_TYPE;
use poem::http::{Method, StatusCode};
use poem::{Body, Response};
use serde_json::Value;
use sms_core::Sms;
use sms_core::service::sandbox::SandboxClock;

use crate::admin::gate::{OperatorDoor, OperatorToken};
use crate::api::EventStreams;
use crate::api::gate::{Gate, callers_only};
use crate::rate_limit::{Gcra, RateLimiter, SharedArrivals, Stopwatch};
use crate::secret_door::{Entry, SecretDoor};
use crate::web::error_page;
use crate::web::intake::door::Doors;
use crate::web::intake::{Intake, IntakeLimits};
use crate::web::openapi::error_code::{ErrorCode, OF_ANY_API};
use crate::web::openapi::{DOCUMENT_PATH, DOCUMENT_PATH_3_0, document_3_0};
use crate::web::operation::{Operation, operation};
use crate::web::page::Page;
use crate::web::path_pattern::PathTable;
use crate::{admin, api, failure, short_link};

/// How many requests a key may usually make: a second, and at once.
const RATE: (u32, u32) = (20, 40);

/// What the API of a service is made of.
#[derive(Debug, Clone)]
pub struct ApiParts {
    /// The service.
    pub sms: Sms,
    /// The streams of events that clients follow. A server that stops ends them.
    pub streams: EventStreams,
    /// How many requests a key may make.
    pub rate: Gcra,
    /// Where several servers count requests together; `None` if this server is the only one.
    pub shared_arrivals: Option<Arc<dyn SharedArrivals>>,
    /// The clock of the rate limits.
    pub stopwatch: Stopwatch,
    /// The public base URL, without a slash at the end. The API is at `/api/v1` below it.
    pub public_url: String,
    /// Counts wrong keys by the addresses of clients.
    pub secrets: Arc<SecretDoor>,
}

/// What the operator's API of a service is made of.
#[derive(Debug, Clone)]
pub struct OperatorParts {
    /// The service.
    pub sms: Sms,
    /// The clock of the sandbox, if the service runs in one.
    pub sandbox: Option<Arc<dyn SandboxClock>>,
    /// The operator's token.
    pub token: OperatorToken,
    /// Counts wrong tokens by the addresses of clients.
    pub secrets: Arc<SecretDoor>,
}

/// Paths, and the doors before them.
#[derive(Debug, Clone, Default)]
pub struct Paths {
    /// What answers at each path.
    pub table: PathTable,
    /// What admits requests before their bodies are read.
    pub doors: Doors,
}

/// An OpenAPI document. Making it takes some milliseconds, so each page that shows it has it made
/// when it is first asked for, and not while the server starts.
#[derive(Clone)]
pub struct Document(Arc<dyn Fn() -> Value + Send + Sync>);

impl ApiParts {
    /// The API of the only server of a service, with the usual rate limit. It is at `/api/v1` below
    /// `public_url`, which has no slash at the end.
    pub fn new(sms: &Sms, public_url: impl Into<String>) -> Self {
        let stopwatch = Stopwatch::default();
        let (per_second, burst) = RATE;
        Self {
            sms: sms.clone(),
            streams: EventStreams::new(sms.clone()),
            rate: Gcra::new(per_second, burst),
            shared_arrivals: None,
            secrets: Arc::new(SecretDoor::new(stopwatch.clone())),
            stopwatch,
            public_url: public_url.into(),
        }
    }

    /// The document of the API.
    pub fn document(&self) -> Document {
        let (sms, public_url) = (self.sms.clone(), self.public_url.clone());
        Document::new(move || api::openapi_document(&api::service(&sms, &public_url)))
    }
}

impl OperatorParts {
    /// The document of the operator's API.
    pub fn document(&self) -> Document {
        let (sms, sandbox) = (self.sms.clone(), self.sandbox.clone());
        Document::new(move || admin::openapi_document(&admin::service(&sms, sandbox.as_ref())))
    }

    /// The door before what only the operator may do. What is tried there is counted as tried at
    /// `entry`.
    pub fn door(&self, entry: Entry) -> OperatorDoor {
        OperatorDoor { token: self.token.clone(), secrets: Arc::clone(&self.secrets), entry }
    }
}

impl Paths {
    /// No paths.
    pub fn new() -> Self {
        Self::default()
    }

    /// Adds an operation that answers GET, without a door.
    #[must_use]
    pub fn with_page(self, path: &str, operation: Operation) -> Self {
        Self { table: self.table.with(path, Method::GET, operation), doors: self.doors }
    }

    /// Adds the API under [`api::PREFIX`], and its documents, which need no key.
    #[must_use]
    pub fn with_api(self, parts: &ApiParts) -> Self {
        let shared = parts.shared_arrivals.clone();
        let limiter = RateLimiter::new(parts.rate, parts.stopwatch.clone(), shared);
        let gate = Gate::counting_with(parts.sms.clone(), limiter, Arc::clone(&parts.secrets));
        let document = parts.document();
        let open = format!("{}{}", api::PREFIX, DOCUMENT_PATH);
        let open_3_0 = format!("{}{}", api::PREFIX, DOCUMENT_PATH_3_0);
        let apis = api::apis(&parts.sms, &parts.streams);
        Self {
            table: self.table.with_api(api::PREFIX, apis, callers_only),
            doors: self.doors.with(api::PREFIX, gate).with_open(&open).with_open(&open_3_0),
        }
        .with_page(&open, document.page(Value::clone))
        .with_page(&open_3_0, document.page(document_3_0))
    }

    /// Adds the short URLs, under [`short_link::PATTERN`]. The links of a service begin with its
    /// link base, so mount them where that leads.
    #[must_use]
    pub fn with_short_links(self, sms: &Sms, stopwatch: Stopwatch) -> Self {
        let links = short_link::short_links(sms, stopwatch);
        // They answer HEAD themselves, because GET counts a click.
        let table = [Method::GET, Method::HEAD].into_iter().fold(self.table, |table, method| {
            table.with(short_link::PATTERN, method, Arc::clone(&links))
        });
        Self { table, doors: self.doors }
    }

    /// Adds the operator's API under [`admin::PREFIX`], and its documents, which are for the
    /// operator, too.
    #[must_use]
    pub fn with_operator_api(self, parts: &OperatorParts) -> Self {
        let document = parts.document();
        let apis = admin::apis(&parts.sms, parts.sandbox.as_ref());
        let token = &parts.token;
        let path_of = |path: &str| format!("{}{path}", admin::PREFIX);
        Self {
            table: self.table.with_api(admin::PREFIX, apis, |operation| token.guard(operation)),
            doors: self.doors.with(admin::PREFIX, parts.door(Entry::OperatorApi)),
        }
        .with_page(&path_of(DOCUMENT_PATH), token.guard(document.page(Value::clone)))
        .with_page(&path_of(DOCUMENT_PATH_3_0), token.guard(document.page(document_3_0)))
    }

    /// The endpoint that serves these paths. Single paths of the APIs get limits of their own.
    pub fn into_endpoint(self, limits: IntakeLimits) -> Intake {
        let limits = admin::with_path_limits(api::with_path_limits(limits));
        Intake::new(self.table, limits).with_doors(self.doors)
    }
}

impl Document {
    fn new(make: impl Fn() -> Value + Send + Sync + 'static) -> Self {
        Self(Arc::new(make))
    }

    /// Makes the document, in OpenAPI 3.1.
    pub fn make(&self) -> Value {
        (self.0)()
    }

    fn page(&self, rendered: fn(&Value) -> Value) -> Operation {
        let document = self.clone();
        let body = LazyLock::new(move || Bytes::from(rendered(&document.make()).to_string()));
        operation(poem::endpoint::make_sync(move |_| text("application/json", Bytes::clone(&body))))
    }
}

impl fmt::Debug for Document {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Document(…)")
    }
}

/// Every code of an error of the APIs, and `more`, in the order of their statuses.
pub fn error_codes(more: &'static [ErrorCode]) -> Vec<&'static ErrorCode> {
    let own = failure::CODES.iter().chain(more);
    let mut codes: Vec<&ErrorCode> = OF_ANY_API.iter().chain(own).collect();
    codes.sort_by_key(|code| code.status);
    codes
}

/// What a browser may do on behalf of the page of errors.
const ERROR_PAGE_POLICY: &str = "default-src 'none'; style-src 'unsafe-inline'; base-uri 'none'; \
                                 form-action 'none'; frame-ancestors 'none'";

/// The page that explains the [`error_codes`]. The `doc_url` of an error leads to it at
/// [`ERROR_PAGE`](crate::web::error::ERROR_PAGE), at the root of the server.
pub fn error_page(more: &'static [ErrorCode]) -> Page {
    Page::new(move || error_page::html(&error_codes(more)), ERROR_PAGE_POLICY)
}

/// A text as an answer.
pub fn text(content_type: &str, body: impl Into<Body>) -> Response {
    Response::builder().status(StatusCode::OK).header(CONTENT_TYPE, content_type).body(body)
}
