//! The console under `/console`: its files, signing in, and the APIs by the cookie of a session.
//!
//! The browser never holds a key. `session` exchanges an API key, or the operator's token, for a
//! session, and the browser gets a cookie that scripts cannot read.
//!
//! `pages` mounts the places of `sms_console`, which are pages and the forms on them. They call the
//! same service as the APIs. `sign_in` has the forms that change who is signed in. Below
//! `path::API` the operations of the API answer, for downloads and for the modules of pages; `door`
//! admits a request by its cookie instead of `Authorization`.
//!
//! A change needs more than the cookie: it has to come from a page of this server (`origin`), and
//! it has to bring the token that only such a page can read. `policy` tells browsers what the
//! page may load, run and be part of.

mod cookie;
mod door;
mod files;
mod origin;
mod pages;
mod path;
mod people;
mod policy;
mod session;
mod session_standing;
mod sign_in;

use std::sync::Arc;

use poem::http::Method;
use sms_console::Assets;
use sms_console::visit::Desk;
use sms_console::way_back::SIGN_IN;
use sms_core::Sms;
use sms_core::clock::Clock;
use sms_core::service::sandbox::SandboxClock;
use sms_http::admin::gate::OperatorToken;
use sms_http::api;
use sms_http::api::EventStreams;
use sms_http::api::gate::callers_only;
use sms_http::rate_limit::RateLimiter;
use sms_http::rate_limit::crowd::CrowdLimiter;
use sms_http::secret_door::SecretDoor;
use sms_http::web::error::ApiError;
use sms_http::web::intake::door::Doors;
use sms_http::web::intake::{Intake, IntakeLimits};
use sms_http::web::openapi::error_code::ErrorCode;
use sms_http::web::operation::operation;
use sms_http::web::path_pattern::PathTable;

use self::cookie::SessionCookie;
use self::door::{AccountDoor, PageDoor, SignInDoor};
use self::files::Files;
use self::origin::Site;
use self::people::People;

pub use self::path::PREFIX;

/// What the console needs besides the APIs.
#[derive(Debug, Clone)]
pub struct ConsoleParts {
    /// The files that a browser loads.
    pub assets: Assets,
    /// The clock of the world, by which sessions end: never a sandbox's.
    pub clock: Arc<dyn Clock>,
}

/// Who may sign in.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Audience {
    /// The people of accounts, and the operator.
    Everybody,
    /// The people of accounts.
    Accounts,
    /// The operator.
    Operator,
}

/// What the console is built of.
pub(crate) struct Console<'a> {
    pub parts: &'a ConsoleParts,
    pub audience: Audience,
    pub sms: &'a Sms,
    pub sandbox: Option<&'a Arc<dyn SandboxClock>>,
    pub token: &'a OperatorToken,
    pub public_url: &'a str,
    /// The streams of events, apart from those of the API.
    pub streams: &'a EventStreams,
    /// Counts the requests of the keys that people signed in with.
    pub limiter: RateLimiter,
    /// Counts the requests of each session.
    pub rate: CrowdLimiter<[u8; 32]>,
    /// Counts how often people sign in with each key.
    pub sign_ins: RateLimiter,
    pub secrets: Arc<SecretDoor>,
}

/// The codes of errors that only the console answers.
pub(crate) const CODES: &[ErrorCode] = &[origin::FOREIGN, door::WRONG_CSRF, door::WRONG_SESSION];

impl Console<'_> {
    /// Adds the paths of the console, and the doors before them.
    pub(crate) fn add_to(self, table: PathTable, doors: Doors) -> (PathTable, Doors) {
        let Self { parts, audience, sms, sandbox, token, public_url, streams, .. } = self;
        let Self { limiter, sign_ins, rate, secrets, .. } = self;
        let clock = Arc::clone(&parts.clock);
        // The operator's own listener is somewhere else, often without HTTPS in a private network.
        let site = match audience {
            Audience::Operator => Site::without_url(),
            Audience::Everybody | Audience::Accounts => Site::of(public_url),
        };
        let people = Arc::new(People {
            sms: sms.clone(),
            clock,
            operator: (audience != Audience::Accounts).then(|| token.clone()),
            has_accounts: audience != Audience::Operator,
            cookie: match audience {
                Audience::Operator => SessionCookie::of_operator(site.reached()),
                Audience::Everybody | Audience::Accounts => {
                    SessionCookie::of_accounts(site.reached())
                }
            },
            site,
            rate,
            secrets,
            sign_ins,
        });
        let desk = desk(parts, sms, sandbox, public_url);
        let table = session::add_to(table, &people);
        let table = sign_in::add_to(table, &people, &desk);
        let table = pages::add_to(table, &desk);
        let table = Files::new(parts.assets.clone(), desk).add_to(table);
        let limiter = Arc::new(limiter);
        let page_door = PageDoor::new(Arc::clone(&people), Arc::clone(&limiter));
        let (table, doors) = match audience {
            Audience::Operator => (table, doors),
            Audience::Everybody | Audience::Accounts => (
                table.with_api(path::API, api::apis(sms, streams), callers_only),
                doors.with(path::API, AccountDoor::new(Arc::clone(&people), limiter)),
            ),
        };
        let doors = doors.with(path::SESSION, SignInDoor::new(people));
        (without_others(table), doors.with(path::PREFIX, page_door))
    }
}

/// What every page may use.
pub(crate) fn desk(
    parts: &ConsoleParts,
    sms: &Sms,
    sandbox: Option<&Arc<dyn SandboxClock>>,
    public_url: &str,
) -> Desk {
    Desk {
        sms: sms.clone(),
        folder: parts.assets.base().into(),
        public_url: public_url.into(),
        sandbox: sandbox.cloned(),
    }
}

/// Paths beside the API's: no page of the console is there.
fn without_others(table: PathTable) -> PathTable {
    let nothing = operation(poem::endpoint::make_sync(|_| {
        Err::<(), poem::Error>(ApiError::not_found().into())
    }));
    let methods = [Method::GET, Method::POST, Method::PUT, Method::PATCH, Method::DELETE];
    methods
        .into_iter()
        .fold(table, |table, method| table.with(path::OTHERS_OF_APIS, method, Arc::clone(&nothing)))
}

/// Gives the paths of the console the limits of the API's paths.
pub(crate) fn with_path_limits(limits: IntakeLimits) -> IntakeLimits {
    let twin = |pattern: &str| {
        pattern.strip_prefix(api::PREFIX).map(|rest| format!("{}{rest}", path::API))
    };
    let mut all = limits.clone();
    for small in [path::SESSION, SIGN_IN, path::SIGN_OUT, path::THEME] {
        all = all.with_body_bytes(Method::POST, small.to_owned(), session::MOST_BYTES);
    }
    for place in sms_console::places() {
        let path = || (place.method().clone(), place.pattern().to_owned());
        if let Some(bytes) = place.body_limit() {
            let (method, pattern) = path();
            all = all.with_body_bytes(method, pattern, bytes);
        }
        if let Some(time) = place.time_limit() {
            let (method, pattern) = path();
            all = all.with_handler_timeout(method, pattern, time);
        }
    }
    for (method, pattern, bytes) in limits.body_bytes_of {
        if let Some(pattern) = twin(&pattern) {
            all = all.with_body_bytes(method, pattern, bytes);
        }
    }
    for (method, pattern, time) in limits.handler_timeout_of {
        if let Some(pattern) = twin(&pattern) {
            all = all.with_handler_timeout(method, pattern, time);
        }
    }
    all
}

/// Adds what every answer of the console tells browsers, errors included, and shows errors as pages
/// where people see them.
pub(crate) fn with_policy(intake: Intake, desk: Option<Desk>) -> Intake {
    let intake = intake.with_headers(PREFIX, policy::headers());
    match desk {
        Some(desk) => intake.with_error_pages(PREFIX, pages::error_page(desk)),
        None => intake,
    }
}
