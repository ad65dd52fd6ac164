//! The endpoint of a server, through which every request passes.
//!
//! 1. The request gets its id, and the address of its client is found.
//! 2. The door before its path admits or refuses it by its head alone: key and rate limit.
//! 3. Its body is read completely, within a size and a time.
//! 4. The handler runs, on a thread of its own if the body is over 16 KB or brings a file. Then it
//!    waits for its turn first. Its error becomes an envelope.
//! 5. The request is logged in one line and counted.
//!
//! A door or a handler that has to wait continues in a separate task, so a client that hangs up
//! does not cancel it halfway. If it takes too long, counted from its turn, the client gets a 503
//! while the task continues. If it panics, the client gets a 500.
//!
//! [`crate::web::serve`] limits connections and heads before this. The intake does not wait for the
//! bodies of *answers*: a stream continues while the client reads. What answers take in memory
//! until then is counted, and an owner whose answers take too much is refused at the door.

mod answer_room;
mod body;
pub mod door;
mod heavy;
mod limits;
mod long_answer;
mod record;
mod room;
mod running;

use std::panic::AssertUnwindSafe;
use std::sync::{Arc, Once};
use std::time::Duration;

use futures_util::FutureExt;
use poem::http::header::{ALLOW, CACHE_CONTROL, RETRY_AFTER, X_CONTENT_TYPE_OPTIONS};
use poem::http::{HeaderName, HeaderValue, Method, Uri};
use poem::{Endpoint, Request, Response};
use tracing::Instrument;

use self::answer_room::{AnswerRoom, IfFull};
use self::body::{BodyLimit, RETRY_AFTER_SECONDS, UnreadBody, WholeBody};
use self::door::{Admitted, Door, Doors, Owner, Way, is_below};
use self::heavy::{HeavyWork, TooLate, Turn, Weight, on_own_thread};
use self::long_answer::{Reader, handed_to};
use self::record::{RequestMetrics, RequestRecord};
use self::room::{BodyRoom, HeldRoom, NoRoom};
use crate::web::client_address::{ClientAddress, TrustedProxies};
use crate::web::error::ApiError;
use crate::web::operation::Operation;
use crate::web::path_pattern::{PathPattern, PathTable};
use crate::web::request_id::{NewRequestIds, REQUEST_ID_HEADER, RequestId};
use crate::web::standing::{Admission, Admissions};
use crate::web::unknown_fields::UNKNOWN_FIELDS_HEADER;

pub use self::limits::IntakeLimits;
pub use self::running::RunningHandlers;

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
    answer_room: Arc<AnswerRoom>,
    heavy: Arc<HeavyWork>,
    new_ids: Arc<NewRequestIds>,
    /// Done once a proxy that is not trusted was logged.
    unnamed_proxy: Arc<Once>,
    running: RunningHandlers,
    admissions: Admissions,
    metrics: Arc<RequestMetrics>,
}

/// Whoever asks where nothing tells them apart.
const ANYBODY: Owner = Owner::Only("anybody");

/// Makes the page that a person sees for an error at this address; `None` leaves the envelope.
pub type ErrorPage = Arc<dyn Fn(&Uri, &ApiError) -> Option<Response> + Send + Sync>;

/// Headers of every answer below a prefix.
type PrefixHeaders = (&'static str, Vec<(HeaderName, HeaderValue)>);

/// What a handler leaves.
struct Handled {
    answer: Response,
    /// The room of the body: a stream may be made of it.
    room: Option<HeldRoom>,
    turn: Option<Turn>,
}

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
            answer_room: AnswerRoom::new(limits.answers_in_all),
            heavy: Arc::new(HeavyWork::new()),
            admissions: Admissions::new(limits.standing_every),
            limits: Arc::new(limits),
            new_ids: Arc::new(NewRequestIds::new()),
            unnamed_proxy: Arc::new(Once::new()),
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
                let of = (body.read(ANYBODY, limit), None);
                self.with_body(request, route, of, patience).await.map(|it| it.answer)
            }
            Some(Way::Open) => {
                body.put_aside(limit.timeout);
                let of = (async { Ok(WholeBody::default()) }, None);
                self.with_body(request, route, of, patience).await.map(|it| it.answer)
            }
            Some(Way::Door(door)) => match self.admit(door, request, patience).await {
                Ok((request, Admitted { owner, headers, standing })) => {
                    own_headers = headers;
                    let admission = self.admissions.of(standing);
                    self.counted(request, route, (body, limit), (owner, admission), patience).await
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

    /// Logs the first peer that says whose request it brings, and is not trusted with that.
    fn warn_of_unnamed_proxy(&self, request: &Request, peer: ClientAddress) {
        if ClientAddress::is_of_unnamed_proxy(request, &self.trusted_proxies) {
            self.unnamed_proxy.call_once(|| {
                tracing::warn!(
                    %peer,
                    "a request has X-Forwarded-For, but its sender is no trusted proxy: if it is a \
                     proxy of yours, name it in SMS_TRUSTED_PROXIES, or all its clients share the \
                     limits of one address, and those who guess secrets lock the operator out"
                );
            });
        }
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

    /// Answers a request that was admitted, and counts the answer until it is handed over.
    async fn counted(
        &self,
        mut request: Request,
        route: Option<&PathPattern>,
        (body, limit): (UnreadBody, BodyLimit),
        (owner, admission): (Owner, Admission),
        patience: Duration,
    ) -> poem::Result<Response> {
        if let Err(full) = self.room_for_answer(owner) {
            body.put_aside(limit.timeout);
            return Err(full.into());
        }
        request.set_data(admission.clone());
        let changes = !request.method().is_safe();
        let if_full = if changes { IfFull::CountAnyway } else { IfFull::Refuse };
        let of = (body.read(owner, limit), Some(owner));
        let handled = self.with_body(request, route, of, patience).await?;
        // The next one of this owner begins once the answer is counted.
        let Handled { answer, room, turn: _turn } = handled;
        let reader = Reader { admission, held: self.answer_room.hold(owner), if_full };
        handed_to(reader, answer, room).map_err(|full| no_room_for_answer(full, owner).into())
    }

    /// Whether an owner may ask for another answer.
    fn room_for_answer(&self, owner: Owner) -> Result<(), ApiError> {
        self.answer_room.check(owner).map_err(|full| no_room_for_answer(full, owner))
    }

    /// Reads the body, waits for its turn, and has it handled. A client that goes before that gives
    /// its turn up: nothing was done. The answers of an owner are counted, if there is one.
    async fn with_body(
        &self,
        mut request: Request,
        route: Option<&PathPattern>,
        (body, owner): (impl Future<Output = Result<WholeBody, ApiError>>, Option<Owner>),
        patience: Duration,
    ) -> poem::Result<Handled> {
        let body = body.await?;
        let route = route.ok_or_else(ApiError::not_found)?;
        let operation = route.operation(request.method()).cloned();
        let operation = operation.ok_or_else(|| ApiError::method_not_allowed(route.methods()))?;
        if let Some(params) = route.params(request.uri().path()) {
            request.set_data(params);
        }
        let turn = self.heavy.turn(owner.unwrap_or(ANYBODY), Weight::of(&body.bytes)).await;
        let turn = turn.map_err(|TooLate| ApiError::unavailable(RETRY_AFTER_SECONDS))?;
        // Other answers may have taken the room since the request came.
        owner.map_or(Ok(()), |owner| self.room_for_answer(owner))?;
        self.handle((request, operation), body, turn, patience).await
    }

    async fn handle(
        &self,
        (mut request, operation): (Request, Operation),
        WholeBody { bytes, room }: WholeBody,
        turn: Option<Turn>,
        patience: Duration,
    ) -> poem::Result<Handled> {
        request.set_body(bytes);
        let handler = async move {
            let work = async move { operation.call(request).await };
            let answered = match turn {
                None => work.await,
                Some(_) => on_own_thread(work)
                    .await
                    .unwrap_or_else(|| Err(ApiError::unavailable(RETRY_AFTER_SECONDS).into())),
            };
            answered.map(|answer| Handled { answer, room, turn })
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

fn no_room_for_answer(full: NoRoom, owner: Owner) -> ApiError {
    match (full, owner) {
        (NoRoom::OwnShare, Owner::Numbered(_)) => ApiError::rate_limited(RETRY_AFTER_SECONDS)
            .with_message(
                "the answers that you have not read yet are too large together: read them, or \
                 retry after the number of seconds in Retry-After",
            ),
        // An operation that knows no numbered owners has no rate limit either, and no 429.
        (NoRoom::OwnShare, Owner::Only(_)) | (NoRoom::Full, _) => {
            tracing::warn!("answers that wait to be read use all memory reserved for them");
            ApiError::unavailable(RETRY_AFTER_SECONDS)
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
            self.warn_of_unnamed_proxy(&request, client);
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
