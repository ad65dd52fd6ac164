//! The endpoint of a server, through which every request passes.
//!
//! 1. The request gets its id, and the address of its client is found.
//! 2. The door before its path admits or refuses it by its head alone: key and rate limit.
//! 3. Its body is read completely, within a size and a time.
//! 4. The handler runs. Its error becomes an envelope.
//! 5. The request is logged in one line and counted.
//!
//! A door or a handler that has to wait continues in a separate task, so a client that hangs up
//! does not cancel it halfway. If it takes too long, the client gets a 503 while the task
//! continues. If it panics, the client gets a 500.
//!
//! [`crate::web::serve`] limits connections and heads before this. The intake does not wait for the
//! bodies of *answers*: a stream continues while the client reads.

mod body;
pub mod door;
mod record;
mod room;

use std::panic::AssertUnwindSafe;
use std::pin::pin;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;

use futures_util::FutureExt;
use poem::http::header::{ALLOW, CACHE_CONTROL, RETRY_AFTER, X_CONTENT_TYPE_OPTIONS};
use poem::http::{HeaderName, HeaderValue, Method, Uri};
use poem::{Endpoint, Request, Response};
use tokio::sync::Notify;
use tracing::Instrument;

use self::body::{BodyLimit, RETRY_AFTER_SECONDS, UnreadBody, WholeBody};
use self::door::{Admitted, Door, Doors, Owner, Way, is_below};
use self::record::{RequestMetrics, RequestRecord};
use self::room::BodyRoom;
use crate::web::client_address::{ClientAddress, TrustedProxies};
use crate::web::error::ApiError;
use crate::web::path_pattern::{PathPattern, PathTable};
use crate::web::request_id::{NewRequestIds, REQUEST_ID_HEADER, RequestId};
use crate::web::unknown_fields::UNKNOWN_FIELDS_HEADER;

/// Limits on the size and the duration of requests.
#[derive(Debug, Clone)]
pub struct IntakeLimits {
    /// The largest body in bytes.
    pub body_bytes: usize,
    /// Paths with a different limit on the body: method, pattern, bytes.
    pub body_bytes_of: Vec<(Method, String, usize)>,
    /// The bytes that all bodies of up to 64 KB share, including those of running handlers. The
    /// bodies of one owner may take a quarter of what is left free; over that the answer is 429, or
    /// 503 if the other bodies take too much.
    pub small_bodies_in_all: usize,
    /// The same for bodies over 64 KB.
    pub large_bodies_in_all: usize,
    /// How long the whole body may take to arrive.
    pub body_timeout: Duration,
    /// The time in which a body over 64 KB must bring 64 KB, or its end.
    pub body_stall: Duration,
    /// How long a client waits for the handler.
    pub handler_timeout: Duration,
    /// Paths with a different limit on the handler's time: method, pattern, time.
    pub handler_timeout_of: Vec<(Method, String, Duration)>,
}

/// 1 MB in 15 seconds, 64 MB for small bodies and 192 MB for large ones, 30 seconds for the
/// handler.
impl Default for IntakeLimits {
    fn default() -> Self {
        Self {
            body_bytes: 1_048_576,
            body_bytes_of: Vec::new(),
            small_bodies_in_all: 64 * 1_048_576,
            large_bodies_in_all: 192 * 1_048_576,
            body_timeout: Duration::from_secs(15),
            body_stall: Duration::from_secs(5),
            handler_timeout: Duration::from_secs(30),
            handler_timeout_of: Vec::new(),
        }
    }
}

/// The endpoint of a server; see the module.
#[derive(Clone)]
pub struct Intake {
    routes: Arc<PathTable>,
    /// `None` admits every request, with or without a body.
    doors: Option<Arc<Doors>>,
    limits: Arc<IntakeLimits>,
    trusted_proxies: Arc<TrustedProxies>,
    own_headers: Arc<Vec<PrefixHeaders>>,
    error_pages: Option<(&'static str, ErrorPage)>,
    body_room: Arc<BodyRoom>,
    new_ids: Arc<NewRequestIds>,
    running: RunningHandlers,
    metrics: Arc<RequestMetrics>,
}

/// Headers of every answer below a prefix.
/// Makes the page that a person sees for an error at this address; `None` leaves the envelope.
pub type ErrorPage = Arc<dyn Fn(&Uri, &ApiError) -> Option<Response> + Send + Sync>;

type PrefixHeaders = (&'static str, Vec<(HeaderName, HeaderValue)>);

impl Intake {
    /// Serves these paths.
    pub fn new(routes: PathTable, limits: IntakeLimits) -> Self {
        let body_room = BodyRoom::new(limits.small_bodies_in_all, limits.large_bodies_in_all);
        Self {
            routes: Arc::new(routes),
            doors: None,
            trusted_proxies: Arc::default(),
            own_headers: Arc::default(),
            error_pages: None,
            body_room: Arc::new(body_room),
            limits: Arc::new(limits),
            new_ids: Arc::new(NewRequestIds::new()),
            running: RunningHandlers::default(),
            metrics: Arc::default(),
        }
    }

    /// Adds doors. Only a request that a door admits may have a body.
    #[must_use]
    pub fn with_doors(mut self, doors: Doors) -> Self {
        self.doors = Some(Arc::new(doors));
        self
    }

    /// Trusts these proxies to say the address of their client, which handlers find in the data of
    /// a request as a [`ClientAddress`].
    #[must_use]
    pub fn with_trusted_proxies(mut self, trusted: TrustedProxies) -> Self {
        self.trusted_proxies = Arc::new(trusted);
        self
    }

    /// Adds these headers to every answer at `prefix` and below it, errors included, unless the
    /// answer has them already.
    #[must_use]
    pub fn with_headers(
        mut self,
        prefix: &'static str,
        headers: Vec<(HeaderName, HeaderValue)>,
    ) -> Self {
        Arc::make_mut(&mut self.own_headers).push((prefix, headers));
        self
    }

    /// Shows errors at `prefix` and below it as these pages.
    #[must_use]
    pub fn with_error_pages(mut self, prefix: &'static str, pages: ErrorPage) -> Self {
        self.error_pages = Some((prefix, pages));
        self
    }

    /// The running handlers, including those whose clients have gone.
    pub fn running_handlers(&self) -> RunningHandlers {
        self.running.clone()
    }

    async fn answer(&self, mut request: Request, route: Option<&PathPattern>) -> Response {
        let allowed = route.map(PathPattern::methods).unwrap_or_default();
        let limit = BodyLimit {
            bytes: self.limits.body_limit(request.method(), route),
            timeout: self.limits.body_timeout,
            stall: self.limits.body_stall,
            room: Arc::clone(&self.body_room),
        };
        let patience = self.limits.handler_timeout(request.method(), route);
        let body = UnreadBody::of(&mut request);
        let mut own_headers = Vec::new();
        let page = self.error_pages.as_ref();
        let page = page.filter(|(prefix, _)| is_below(prefix, request.uri().path()));
        let page = page.map(|(_, pages)| (request.uri().clone(), Arc::clone(pages)));
        let way = self.doors.as_deref().map(|doors| doors.before(request.uri().path()));
        let result = match way {
            None => {
                let owner = Owner::Only("anybody");
                self.with_body(request, route, body.read(owner, limit), patience).await
            }
            Some(Way::Open) => {
                body.put_aside(limit.timeout);
                self.handle(request, route, WholeBody::default(), patience).await
            }
            Some(Way::Door(door)) => match self.admit(door, request, patience).await {
                Ok((request, Admitted { owner, headers })) => {
                    own_headers = headers;
                    self.with_body(request, route, body.read(owner, limit), patience).await
                }
                Err(refused) => {
                    body.put_aside(limit.timeout);
                    Err(refused)
                }
            },
        };
        let mut response = result.unwrap_or_else(|error| match &page {
            Some((uri, pages)) => on_page(error, allowed, uri, pages),
            None => in_envelope(error, allowed),
        });
        response.headers_mut().extend(own_headers);
        response
    }

    /// Asks the door. Returns the request if the door admits it.
    async fn admit(
        &self,
        door: &Arc<dyn Door>,
        mut request: Request,
        patience: Duration,
    ) -> poem::Result<(Request, Admitted)> {
        let door = Arc::clone(door);
        let asking = async move {
            let admitted = door.admit(&mut request).await?;
            Ok((request, admitted))
        };
        self.apart(asking, patience).await
    }

    async fn with_body(
        &self,
        request: Request,
        route: Option<&PathPattern>,
        body: impl Future<Output = Result<WholeBody, ApiError>>,
        patience: Duration,
    ) -> poem::Result<Response> {
        let body = body.await?;
        self.handle(request, route, body, patience).await
    }

    async fn handle(
        &self,
        mut request: Request,
        route: Option<&PathPattern>,
        body: WholeBody,
        patience: Duration,
    ) -> poem::Result<Response> {
        let route = route.ok_or_else(ApiError::not_found)?;
        let operation = route.operation(request.method()).cloned();
        let operation = operation.ok_or_else(|| ApiError::method_not_allowed(route.methods()))?;
        if let Some(params) = route.params(request.uri().path()) {
            request.set_data(params);
        }
        let WholeBody { bytes, room } = body;
        request.set_body(bytes);
        let handler = async move {
            let result = operation.call(request).await;
            drop(room);
            result
        };
        self.apart(handler, patience).await
    }

    /// Runs `work`, which outlives a client that hangs up, and waits at most `patience` for its
    /// result. Work that has to wait continues in a separate task.
    async fn apart<T: Send + 'static>(
        &self,
        work: impl Future<Output = poem::Result<T>> + Send + 'static,
        patience: Duration,
    ) -> poem::Result<T> {
        let running = self.running.enter();
        let work = async move {
            let result = work.await;
            drop(running);
            result
        };
        let mut work = Box::pin(AssertUnwindSafe(work).catch_unwind());
        // Most work never waits: a door knows the key, and some stores answer at once. It needs
        // neither a task nor a timer. Nothing can cancel it between here and its own task.
        let ended = match work.as_mut().now_or_never() {
            Some(ended) => ended,
            None => self.in_own_task(work, patience).await?,
        };
        ended.unwrap_or_else(|_panic| {
            tracing::error!("a handler panicked");
            Err(ApiError::internal_error().into())
        })
    }

    async fn in_own_task<T: Send + 'static>(
        &self,
        work: impl Future<Output = T> + Send + 'static,
        patience: Duration,
    ) -> Result<T, ApiError> {
        let task = tokio::spawn(work.instrument(tracing::Span::current()));
        match tokio::time::timeout(patience, task).await {
            Ok(Ok(ended)) => Ok(ended),
            Ok(Err(_shutting_down)) => Err(ApiError::unavailable(RETRY_AFTER_SECONDS)),
            Err(_too_slow) => {
                tracing::warn!("a handler exceeded its time limit and still runs");
                Err(ApiError::unavailable(RETRY_AFTER_SECONDS))
            }
        }
    }
}

/// The answer for an error where people see it.
fn on_page(error: poem::Error, allowed: &[Method], uri: &Uri, pages: &ErrorPage) -> Response {
    if error.is_from_response() {
        return error.into_response();
    }
    let ours = api_error(&error, allowed);
    let Some(mut page) = pages(uri, &ours) else {
        return poem::IntoResponse::into_response(ours);
    };
    let told = poem::IntoResponse::into_response(ours);
    for name in [ALLOW, RETRY_AFTER] {
        if let Some(value) = told.headers().get(&name) {
            page.headers_mut().insert(name, value.clone());
        }
    }
    page
}

/// The answer for an error. `allowed` are the methods of the path.
fn in_envelope(error: poem::Error, allowed: &[Method]) -> Response {
    if error.is_from_response() {
        return error.into_response();
    }
    poem::IntoResponse::into_response(api_error(&error, allowed))
}

fn api_error(error: &poem::Error, allowed: &[Method]) -> ApiError {
    let ours = ApiError::from_poem(error, allowed);
    if ours.status().is_server_error() && !error.is::<ApiError>() {
        // The error may quote its input, so the log has only the status.
        tracing::error!(status = ours.status().as_u16(), "unexpected error in a handler");
    }
    ours
}

impl std::fmt::Debug for Intake {
    fn fmt(&self, formatter: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        formatter.debug_struct("Intake").field("limits", &self.limits).finish_non_exhaustive()
    }
}

impl Endpoint for Intake {
    type Output = Response;

    async fn call(&self, mut request: Request) -> poem::Result<Response> {
        let id = RequestId::of_request(request.headers(), &self.new_ids);
        request.set_data(id.clone());
        if let Some(client) = ClientAddress::of(&request, &self.trusted_proxies) {
            request.set_data(client);
        }
        let route = self.routes.find(request.uri().path());
        let metrics = Arc::clone(&self.metrics);
        let record = RequestRecord::start(id.clone(), request.method(), route, metrics);
        let span = tracing::info_span!("request", id = id.as_str(), route = record.route());
        let path = request.uri().path();
        let own_headers = self.own_headers.iter().find(|(prefix, _)| is_below(prefix, path));
        let mut response = self.answer(request, route).instrument(span).await;
        for (name, value) in own_headers.iter().flat_map(|(_, headers)| headers) {
            response.headers_mut().entry(name).or_insert_with(|| value.clone());
        }
        finish(&mut response, &id);
        record.answered(response.status());
        Ok(response)
    }
}

/// The answer to a request that no intake gets, because its head is too large. It is logged and
/// counted as others are.
pub(crate) fn answer_refused(id: &RequestId, method: &Method, error: ApiError) -> Response {
    let record = RequestRecord::start(id.clone(), method, None, Arc::default());
    let mut response = poem::IntoResponse::into_response(error);
    finish(&mut response, id);
    record.answered(response.status());
    response
}

/// Adds the headers of every answer.
fn finish(response: &mut Response, id: &RequestId) {
    let headers = response.headers_mut();
    headers.insert(REQUEST_ID_HEADER, id.to_header());
    if let Some(fields) = id.unknown_fields() {
        headers.insert(UNKNOWN_FIELDS_HEADER, fields.clone());
    }
    headers.insert(X_CONTENT_TYPE_OPTIONS, HeaderValue::from_static("nosniff"));
    // Answers are private to an account: no cache may store them unless a handler allows it.
    headers.entry(CACHE_CONTROL).or_insert(HeaderValue::from_static("no-store"));
}

impl IntakeLimits {
    /// Sets a different limit on the body for one path.
    #[must_use]
    pub fn with_body_bytes(mut self, method: Method, pattern: String, bytes: usize) -> Self {
        self.body_bytes_of.push((method, pattern, bytes));
        self
    }

    /// Sets a different limit on the handler's time for one path.
    #[must_use]
    pub fn with_handler_timeout(mut self, method: Method, pattern: String, time: Duration) -> Self {
        self.handler_timeout_of.push((method, pattern, time));
        self
    }

    fn body_limit(&self, method: &Method, route: Option<&PathPattern>) -> usize {
        limit_of(&self.body_bytes_of, method, route).unwrap_or(self.body_bytes)
    }

    fn handler_timeout(&self, method: &Method, route: Option<&PathPattern>) -> Duration {
        limit_of(&self.handler_timeout_of, method, route).unwrap_or(self.handler_timeout)
    }
}

/// The limit of a single route, if it has one.
fn limit_of<T: Copy>(
    limits: &[(Method, String, T)],
    method: &Method,
    route: Option<&PathPattern>,
) -> Option<T> {
    let pattern = route?.pattern();
    let mut own = limits.iter().filter(|(of, name, _)| of == method && **name == **pattern);
    own.next().map(|(_, _, limit)| *limit)
}

/// The running handlers. A server that stops waits for [`RunningHandlers::ended`].
#[derive(Debug, Clone, Default)]
pub struct RunningHandlers {
    running: Arc<Count>,
}

#[derive(Debug, Default)]
struct Count {
    handlers: AtomicUsize,
    /// Notified when the last handler has ended.
    none: Notify,
}

impl RunningHandlers {
    /// The number of running handlers.
    pub fn count(&self) -> usize {
        self.running.handlers.load(Ordering::Acquire)
    }

    /// Waits until no handler runs.
    pub async fn ended(&self) {
        loop {
            let mut none = pin!(self.running.none.notified());
            // From here on no notification is missed.
            none.as_mut().enable();
            if self.count() == 0 {
                return;
            }
            none.await;
        }
    }

    fn enter(&self) -> Running {
        self.running.handlers.fetch_add(1, Ordering::AcqRel);
        Running { running: Arc::clone(&self.running) }
    }
}

/// One running handler.
struct Running {
    running: Arc<Count>,
}

impl Drop for Running {
    fn drop(&mut self) {
        if self.running.handlers.fetch_sub(1, Ordering::AcqRel) == 1 {
            self.running.none.notify_waiters();
        }
    }
}
