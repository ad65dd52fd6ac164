//! The HTTP application: the paths of the server, and the checks before them.

use std::error::Error as _;
use std::sync::{Arc, LazyLock};

use bytes::Bytes;
use metrics_exporter_prometheus::PrometheusHandle;
use poem::http::header::CONTENT_TYPE;
use poem::http::{Method, StatusCode};
use poem::web::Redirect;
use poem::{Body, Response};
use serde_json::Value;
use sms_core::Sms;
use sms_core::store::StoreError;
use sms_store_sqlite::FileMoved;

use crate::admin::gate::{OperatorDoor, OperatorToken};
use crate::api::EventStreams;
use crate::api::gate::{Gate, callers_only};
use crate::console::{self, Audience, Console, ConsoleParts};
use crate::rate_limit::crowd::CrowdLimiter;
use crate::rate_limit::{Gcra, RateLimiter, SharedArrivals, Stopwatch};
use crate::sandbox::Sandbox;
use crate::secret_door::{Entry, SecretDoor};
use crate::web::client_address::TrustedProxies;
use crate::web::docs_page::{self, DocsPage, docs_page};
use crate::web::error::{ApiError, ERROR_PAGE};
use crate::web::error_page;
use crate::web::intake::door::Doors;
use crate::web::intake::{Intake, IntakeLimits};
use crate::web::openapi::error_code::{ErrorCode, OF_ANY_API};
use crate::web::openapi::{DOCUMENT_PATH, DOCUMENT_PATH_3_0, document_3_0};
use crate::web::operation::{Operation, operation};
use crate::web::page::Page;
use crate::web::path_pattern::PathTable;
use crate::{admin, api, failure, short_link};

/// What the application is made of.
#[derive(Debug, Clone)]
pub struct AppParts {
    /// The service behind them.
    pub sms: Sms,
    /// The streams of events that its clients follow. A server that stops ends them.
    pub streams: EventStreams,
    /// How many requests a key may make.
    pub rate: Gcra,
    /// Where several servers count requests together; `None` if this server is the only one.
    pub shared_arrivals: Option<Arc<dyn SharedArrivals>>,
    /// The clock of the rate limit.
    pub stopwatch: Stopwatch,
    /// The operator's token.
    pub token: OperatorToken,
    /// The public base URL, without a slash at the end.
    pub public_url: String,
    /// Limits on the size and the duration of requests.
    pub limits: IntakeLimits,
    /// The proxies that may say the address of their client.
    pub trusted_proxies: TrustedProxies,
    /// The sandbox that the service runs in, if any.
    pub sandbox: Option<Sandbox>,
    /// What `/metrics` serves; `None` leaves the page out.
    pub metrics: Option<MetricsPage>,
    /// What the console needs; `None` leaves it out.
    pub console: Option<ConsoleParts>,
}

/// The metrics, in the text format of Prometheus.
#[derive(Clone)]
pub struct MetricsPage {
    /// Renders them.
    pub handle: PrometheusHandle,
    /// Who may read them where the API is served, too.
    pub public_readers: MetricsReaders,
}

/// Who may read `/metrics`.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum MetricsReaders {
    /// Whoever has the operator's token.
    Operator,
    /// Everyone.
    Anyone,
}

impl std::fmt::Debug for MetricsPage {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let Self { handle: _, public_readers } = self;
        f.debug_struct("MetricsPage").field("public_readers", public_readers).finish()
    }
}

/// Paths, and the checks before them.
struct Routes {
    table: PathTable,
    doors: Doors,
}

/// Everything, for a single listener.
pub fn whole_app(parts: &AppParts) -> Intake {
    let secrets = Arc::new(SecretDoor::new(parts.stopwatch.clone()));
    let routes = with_admin(with_public(Routes::new(), parts, &secrets), parts, &secrets);
    let routes = with_console(routes, parts, Audience::Everybody, &secrets);
    let routes = match &parts.metrics {
        Some(page) => with_metrics(routes, page, page.public_readers, (&parts.token, &secrets)),
        None => routes,
    };
    finish(routes, parts)
}

/// The API, its documentation, the console for accounts and the health checks.
pub fn public_app(parts: &AppParts) -> Intake {
    let secrets = Arc::new(SecretDoor::new(parts.stopwatch.clone()));
    let routes = with_public(Routes::new(), parts, &secrets);
    finish(with_console(routes, parts, Audience::Accounts, &secrets), parts)
}

/// The operator's API, the console for the operator, the metrics and the health checks. Everyone
/// who reaches the operator's listener may read the metrics.
pub fn admin_app(parts: &AppParts) -> Intake {
    let secrets = Arc::new(SecretDoor::new(parts.stopwatch.clone()));
    let routes = with_admin(Routes::new(), parts, &secrets);
    let routes = with_console(routes, parts, Audience::Operator, &secrets);
    let routes = match parts.console {
        Some(_) => with_first_page(routes, console::PREFIX),
        None => routes,
    };
    let routes = match &parts.metrics {
        Some(page) => with_metrics(routes, page, MetricsReaders::Anyone, (&parts.token, &secrets)),
        None => routes,
    };
    finish(routes, parts)
}

/// The OpenAPI document of the API, as served.
pub fn openapi_document(sms: &Sms, public_url: &str) -> Value {
    api::openapi_document(&api::service(sms, public_url))
}

/// The OpenAPI document of the operator API, as served.
pub fn operator_document(sms: &Sms) -> Value {
    admin::openapi_document(&admin::service(sms, None))
}

/// Every code of an error, in the order of their statuses.
pub fn error_codes() -> Vec<&'static ErrorCode> {
    let own = failure::CODES.iter().chain(console::CODES);
    let mut codes: Vec<&ErrorCode> = OF_ANY_API.iter().chain(own).collect();
    codes.sort_by_key(|code| code.status);
    codes
}

impl Routes {
    fn new() -> Self {
        Self { table: PathTable::new(), doors: Doors::new() }
    }

    /// Adds an operation that answers GET.
    fn page(self, path: &str, operation: Operation) -> Self {
        Self { table: self.table.with(path, Method::GET, operation), doors: self.doors }
    }
}

fn with_public(routes: Routes, parts: &AppParts, secrets: &Arc<SecretDoor>) -> Routes {
    let (sms, public_url) = (parts.sms.clone(), parts.public_url.clone());
    let document: Document = Arc::new(move || openapi_document(&sms, &public_url));
    let (stopwatch, shared) = (parts.stopwatch.clone(), parts.shared_arrivals.clone());
    let limiter = RateLimiter::new(parts.rate, stopwatch.clone(), shared);
    let gate = Gate::counting_with(parts.sms.clone(), limiter, Arc::clone(secrets));
    let open = format!("{}{}", api::PREFIX, DOCUMENT_PATH);
    let open_3_0 = format!("{}{}", api::PREFIX, DOCUMENT_PATH_3_0);
    let Routes { table, doors } = routes;
    let doors = doors.with(api::PREFIX, gate).with_open(&open).with_open(&open_3_0);
    let table = table.with_api(api::PREFIX, api::apis(&parts.sms, &parts.streams), callers_only);
    let links = short_link::short_links(&parts.sms, stopwatch);
    // They answer HEAD themselves, because GET counts a click.
    let table = [Method::GET, Method::HEAD]
        .into_iter()
        .fold(table, |table, method| table.with(short_link::PATTERN, method, Arc::clone(&links)));
    let first = if parts.console.is_some() { console::PREFIX } else { "/docs" };
    let routes = Routes { table, doors }
        .page(&open, json_page(&document, Value::clone))
        .page(&open_3_0, json_page(&document, document_3_0))
        .page("/docs", docs(document, api::PREFIX));
    with_first_page(routes, first)
}

/// Leads from `/` to the page that people want first.
fn with_first_page(routes: Routes, first: &'static str) -> Routes {
    routes.page("/", operation(poem::endpoint::make_sync(move |_| Redirect::see_other(first))))
}

/// Adds the console, if there is one. The keys of its people are counted in this server alone.
fn with_console(
    routes: Routes,
    parts: &AppParts,
    audience: Audience,
    secrets: &Arc<SecretDoor>,
) -> Routes {
    let Some(console) = &parts.console else { return routes };
    let limiter = || RateLimiter::new(parts.rate, parts.stopwatch.clone(), None);
    let console = Console {
        parts: console,
        audience,
        sms: &parts.sms,
        sandbox: parts.sandbox.as_ref(),
        token: &parts.token,
        public_url: &parts.public_url,
        streams: &parts.streams.of_console(),
        limiter: limiter(),
        rate: CrowdLimiter::new(parts.rate, parts.stopwatch.clone()),
        sign_ins: limiter(),
        secrets: Arc::clone(secrets),
    };
    let (table, doors) = console.add_to(routes.table, routes.doors);
    Routes { table, doors }
}

/// The pages, for people.
const DOCS_LINKS: [(&str, &str); 3] =
    [("/docs", "API"), (OPERATOR_DOCS_PATH, "Operator API"), (ERROR_PAGE, "Codes of errors")];

/// The page of the operator's document. Like the other page, it needs no key: it shows nothing that
/// the source does not.
const OPERATOR_DOCS_PATH: &str = "/docs/operator";

/// What a browser may do on behalf of the page of errors.
const ERROR_PAGE_POLICY: &str = "default-src 'none'; style-src 'unsafe-inline'; base-uri 'none'; \
                                 form-action 'none'; frame-ancestors 'none'";

fn with_admin(routes: Routes, parts: &AppParts, secrets: &Arc<SecretDoor>) -> Routes {
    let (sms, sandbox) = (parts.sms.clone(), parts.sandbox.clone());
    let document: Document =
        Arc::new(move || admin::openapi_document(&admin::service(&sms, sandbox.as_ref())));
    let apis = admin::apis(&parts.sms, parts.sandbox.as_ref());
    let token = &parts.token;
    let Routes { table, doors } = routes;
    let door = operator_door(token, secrets, Entry::OperatorApi);
    let doors = doors.with(admin::PREFIX, door);
    let table = table.with_api(admin::PREFIX, apis, |operation| token.guard(operation));
    let (own, own_3_0) =
        [DOCUMENT_PATH, DOCUMENT_PATH_3_0].map(|path| format!("{}{path}", admin::PREFIX)).into();
    Routes { table, doors }
        .page(&own, token.guard(json_page(&document, Value::clone)))
        .page(&own_3_0, token.guard(json_page(&document, document_3_0)))
        .page(OPERATOR_DOCS_PATH, docs(document, admin::PREFIX))
}

/// Where the metrics are.
const METRICS: &str = "/metrics";

fn operator_door(token: &OperatorToken, secrets: &Arc<SecretDoor>, entry: Entry) -> OperatorDoor {
    OperatorDoor { token: token.clone(), secrets: Arc::clone(secrets), entry }
}

fn with_metrics(
    routes: Routes,
    page: &MetricsPage,
    readers: MetricsReaders,
    (token, secrets): (&OperatorToken, &Arc<SecretDoor>),
) -> Routes {
    let handle = page.handle.clone();
    let page =
        poem::endpoint::make_sync(move |_| text("text/plain; version=0.0.4", handle.render()));
    let page = operation(page);
    match readers {
        MetricsReaders::Operator => {
            let Routes { table, doors } = routes.page(METRICS, token.guard(page));
            let door = operator_door(token, secrets, Entry::Metrics);
            Routes { table, doors: doors.with(METRICS, door) }
        }
        MetricsReaders::Anyone => routes.page(METRICS, page),
    }
}

fn finish(routes: Routes, parts: &AppParts) -> Intake {
    let sms = parts.sms.clone();
    let alive = poem::endpoint::make_sync(|_| text("text/plain", "ok\n"));
    let ready = poem::endpoint::make(move |_| {
        let sms = sms.clone();
        async move { readiness(&sms.store().health_check().await) }
    });
    let errors = Page::new(|| error_page::html(&error_codes()), ERROR_PAGE_POLICY);
    let routes = routes
        .page("/healthz", operation(alive))
        .page("/readyz", operation(ready))
        .page(ERROR_PAGE, operation(errors));
    let Routes { table, doors } = routes;
    let limits = admin::with_path_limits(api::with_path_limits(parts.limits.clone()));
    let intake = Intake::new(table, console::with_path_limits(limits)).with_doors(doors);
    let desk = parts.console.as_ref().map(|console| {
        console::desk(console, &parts.sms, parts.sandbox.as_ref(), &parts.public_url)
    });
    console::with_policy(intake.with_trusted_proxies(parts.trusted_proxies.clone()), desk)
}

/// The answer of `/readyz`, given the result of the store's health check. Of the reasons it shows
/// only the one that names nothing of the operator's.
fn readiness(health: &Result<(), StoreError>) -> poem::Result<Response> {
    let Err(error) = health else { return Ok(text("text/plain", "ready\n")) };
    let moved = error.source().filter(|cause| cause.is::<FileMoved>());
    let unavailable = ApiError::unavailable(1);
    Err(match moved {
        Some(moved) => unavailable.with_message(moved.to_string()),
        None => unavailable,
    }
    .into())
}

/// Makes an OpenAPI document. That takes some milliseconds, so each page that shows it has it made
/// when it is first asked for, and not while the server starts.
type Document = Arc<dyn Fn() -> Value + Send + Sync>;

fn json_page(document: &Document, rendered: fn(&Value) -> Value) -> Operation {
    let document = Arc::clone(document);
    let body = LazyLock::new(move || Bytes::from(rendered(&document()).to_string()));
    operation(poem::endpoint::make_sync(move |_| text("application/json", Bytes::clone(&body))))
}

fn docs(document: Document, prefix: &'static str) -> Operation {
    operation(docs_page(move || {
        docs_page::html(DocsPage { document: &document(), prefix, links: &DOCS_LINKS })
    }))
}

fn text(content_type: &str, body: impl Into<Body>) -> Response {
    Response::builder().status(StatusCode::OK).header(CONTENT_TYPE, content_type).body(body)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_server_is_ready_while_its_store_answers() {
        let ready = readiness(&Ok(())).unwrap();
        assert_eq!(ready.status(), StatusCode::OK);
        let gone = StoreError::Unavailable { doing: "asking", source: None };
        let refused = readiness(&Err(gone)).unwrap_err().into_response();
        assert_eq!(refused.status(), StatusCode::SERVICE_UNAVAILABLE);
        assert_eq!(refused.headers()["retry-after"], "1");
    }
}
