//! The HTTP application: the paths of the server, and the checks before them.

use std::error::Error as _;
use std::sync::Arc;

use metrics_exporter_prometheus::PrometheusHandle;
use poem::Response;
use poem::web::Redirect;
use serde_json::Value;
use sms_core::Sms;
use sms_core::service::sandbox::SandboxClock;
use sms_core::store::StoreError;
use sms_http::admin::gate::OperatorToken;
use sms_http::api::EventStreams;
use sms_http::mount::{self, ApiParts, Document, OperatorParts, Paths, text};
use sms_http::rate_limit::crowd::CrowdLimiter;
use sms_http::rate_limit::{Gcra, RateLimiter, SharedArrivals, Stopwatch};
use sms_http::secret_door::{Entry, SecretDoor};
use sms_http::web::client_address::TrustedProxies;
use sms_http::web::docs_page::{self, DocsPage, docs_page};
use sms_http::web::error::{ApiError, ERROR_PAGE};
use sms_http::web::intake::{Intake, IntakeLimits};
use sms_http::web::openapi::error_code::ErrorCode;
use sms_http::web::operation::{Operation, operation};
use sms_http::{admin, api};
use sms_store_sqlite::FileMoved;

use crate::console::{self, Audience, Console, ConsoleParts};

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
    /// The clock of the sandbox that the service runs in, if any.
    pub sandbox: Option<Arc<dyn SandboxClock>>,
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

impl AppParts {
    /// What both APIs are made of. Wrong keys and tokens count at all doors of a listener together.
    fn of_apis(&self) -> (ApiParts, OperatorParts) {
        let secrets = Arc::new(SecretDoor::new(self.stopwatch.clone()));
        let api = ApiParts {
            sms: self.sms.clone(),
            streams: self.streams.clone(),
            rate: self.rate,
            shared_arrivals: self.shared_arrivals.clone(),
            stopwatch: self.stopwatch.clone(),
            public_url: self.public_url.clone(),
            secrets: Arc::clone(&secrets),
        };
        let operator = OperatorParts {
            sms: self.sms.clone(),
            sandbox: self.sandbox.clone(),
            token: self.token.clone(),
            secrets,
        };
        (api, operator)
    }
}

/// Everything, for a single listener.
pub fn whole_app(parts: &AppParts) -> Intake {
    let (api, operator) = parts.of_apis();
    let paths = with_admin(with_public(Paths::new(), parts, &api), &operator);
    let paths = with_console(paths, parts, Audience::Everybody, &api.secrets);
    let paths = match &parts.metrics {
        Some(page) => with_metrics(paths, page, page.public_readers, &operator),
        None => paths,
    };
    finish(paths, parts)
}

/// The API, its documentation, the console for accounts and the health checks.
pub fn public_app(parts: &AppParts) -> Intake {
    let (api, _) = parts.of_apis();
    let paths = with_public(Paths::new(), parts, &api);
    finish(with_console(paths, parts, Audience::Accounts, &api.secrets), parts)
}

/// The operator's API, the console for the operator, the metrics and the health checks. Everyone
/// who reaches the operator's listener may read the metrics.
pub fn admin_app(parts: &AppParts) -> Intake {
    let (_, operator) = parts.of_apis();
    let paths = with_admin(Paths::new(), &operator);
    let paths = with_console(paths, parts, Audience::Operator, &operator.secrets);
    let paths = match parts.console {
        Some(_) => with_first_page(paths, console::PREFIX),
        None => paths,
    };
    let paths = match &parts.metrics {
        Some(page) => with_metrics(paths, page, MetricsReaders::Anyone, &operator),
        None => paths,
    };
    finish(paths, parts)
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
    mount::error_codes(console::CODES)
}

fn with_public(paths: Paths, parts: &AppParts, api: &ApiParts) -> Paths {
    let first = if parts.console.is_some() { console::PREFIX } else { "/docs" };
    let paths = paths
        .with_api(api)
        .with_short_links(&parts.sms, parts.stopwatch.clone())
        .with_page("/docs", docs(api.document(), api::PREFIX));
    with_first_page(paths, first)
}

/// Leads from `/` to the page that people want first.
fn with_first_page(paths: Paths, first: &'static str) -> Paths {
    paths.with_page("/", operation(poem::endpoint::make_sync(move |_| Redirect::see_other(first))))
}

/// Adds the console, if there is one. The keys of its people are counted in this server alone.
fn with_console(
    paths: Paths,
    parts: &AppParts,
    audience: Audience,
    secrets: &Arc<SecretDoor>,
) -> Paths {
    let Some(console) = &parts.console else { return paths };
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
    let (table, doors) = console.add_to(paths.table, paths.doors);
    Paths { table, doors }
}

/// The pages, for people.
const DOCS_LINKS: [(&str, &str); 3] =
    [("/docs", "API"), (OPERATOR_DOCS_PATH, "Operator API"), (ERROR_PAGE, "Codes of errors")];

/// The page of the operator's document. Like the other page, it needs no key: it shows nothing that
/// the source does not.
const OPERATOR_DOCS_PATH: &str = "/docs/operator";

fn with_admin(paths: Paths, operator: &OperatorParts) -> Paths {
    paths
        .with_operator_api(operator)
        .with_page(OPERATOR_DOCS_PATH, docs(operator.document(), admin::PREFIX))
}

/// Where the metrics are.
const METRICS: &str = "/metrics";

fn with_metrics(
    paths: Paths,
    page: &MetricsPage,
    readers: MetricsReaders,
    operator: &OperatorParts,
) -> Paths {
    let handle = page.handle.clone();
    let page =
        poem::endpoint::make_sync(move |_| text("text/plain; version=0.0.4", handle.render()));
    let page = operation(page);
    match readers {
        MetricsReaders::Operator => {
            let Paths { table, doors } = paths.with_page(METRICS, operator.token.guard(page));
            Paths { table, doors: doors.with(METRICS, operator.door(Entry::Metrics)) }
        }
        MetricsReaders::Anyone => paths.with_page(METRICS, page),
    }
}

fn finish(paths: Paths, parts: &AppParts) -> Intake {
    let sms = parts.sms.clone();
    let alive = poem::endpoint::make_sync(|_| text("text/plain", "ok\n"));
    let ready = poem::endpoint::make(move |_| {
        let sms = sms.clone();
        async move { readiness(&sms.store().health_check().await) }
    });
    let paths = paths
        .with_page("/healthz", operation(alive))
        .with_page("/readyz", operation(ready))
        .with_page(ERROR_PAGE, operation(mount::error_page(console::CODES)));
    let limits = admin::with_path_limits(api::with_path_limits(parts.limits.clone()));
    let Paths { table, doors } = paths;
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

fn docs(document: Document, prefix: &'static str) -> Operation {
    operation(docs_page(move || {
        docs_page::html(DocsPage { document: &document.make(), prefix, links: &DOCS_LINKS })
    }))
}

#[cfg(test)]
mod tests {
    use poem::http::StatusCode;

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
