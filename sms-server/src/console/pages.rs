//! The pages: each place of `sms_console` as an operation, and what the browser is told where a
//! request never reaches one.

use std::sync::Arc;

use poem::http::header::COOKIE;
use poem::http::{HeaderMap, StatusCode, Uri};
use poem::{Endpoint, Request, Response};
use sms_console::visit::{Desk, OperatorPerson, Person, Session, Theme, Visit};
use sms_console::way_back::address_of_expired;
use sms_console::{Place, refusal};
use sms_core::service::session::{OpenSession, SignedIn};
use sms_http::web::error::ApiError;
use sms_http::web::intake::ErrorPage;
use sms_http::web::operation::operation;
use sms_http::web::path_param::PathParams;
use sms_http::web::path_pattern::PathTable;

use super::path;

/// In the data of a request: the session that the door found.
#[derive(Debug, Clone)]
pub(super) struct Visitor(pub OpenSession);

/// Adds every place.
pub(super) fn add_to(table: PathTable, desk: &Desk) -> PathTable {
    sms_console::places().into_iter().fold(table, |table, place| {
        let (pattern, method) = (place.pattern(), place.method().clone());
        table.with(pattern, method, operation(At { place, desk: desk.clone() }))
    })
}

/// A place of the console, as an endpoint.
#[derive(Debug)]
struct At {
    place: Place,
    desk: Desk,
}

impl Endpoint for At {
    type Output = Response;

    async fn call(&self, mut request: Request) -> poem::Result<Response> {
        let params = request.data::<PathParams>().cloned();
        let params = self.place.parameters().map(|name| {
            let value = params.as_ref().and_then(|params| params.get(name));
            value.map(|value| (name, value)).ok_or_else(ApiError::not_found)
        });
        let params: Vec<_> = params.collect::<Result<_, _>>()?;
        let body = request.take_body().into_bytes().await?;
        let visit = visit(&self.desk, &request).with_params(params);
        Ok(self.place.answer(visit, body).await)
    }
}

/// A request as the pages see it.
pub(super) fn visit(desk: &Desk, request: &Request) -> Visit {
    let session = match request.data::<Visitor>() {
        Some(Visitor(open)) => session_of(desk, open),
        None => Session::Nobody,
    };
    let visit = Visit::new(desk.clone(), request.uri().clone(), session);
    visit.with_theme(theme_in(request.headers()))
}

fn session_of(desk: &Desk, open: &OpenSession) -> Session {
    let csrf = open.token.csrf().as_str().to_owned();
    match &open.who {
        SignedIn::Account { account, caller } => Session::Account(Arc::new(Person {
            handle: desk.sms.account(caller.account, caller.mode),
            account: account.clone(),
            mode: caller.mode,
            csrf,
        })),
        SignedIn::Operator => {
            Session::Operator(Arc::new(OperatorPerson { operator: desk.sms.operator(), csrf }))
        }
    }
}

/// The name of the cookie that keeps the choice of colours. Scripts write it, too.
pub(super) const THEME: &str = "sms_console_theme";

fn theme_in(headers: &HeaderMap) -> Theme {
    let values = headers.get_all(COOKIE).iter().filter_map(|value| value.to_str().ok());
    let mut cookies = values.flat_map(|value| value.split(';')).map(str::trim);
    let word = cookies.find_map(|cookie| cookie.strip_prefix(THEME)?.strip_prefix('='));
    Theme::of(word.unwrap_or_default())
}

/// What people see where a request never reaches a place.
pub(super) fn error_page(desk: Desk) -> ErrorPage {
    Arc::new(move |uri, error| is_page(uri).then(|| page_of(&desk, uri, error)))
}

fn page_of(desk: &Desk, uri: &Uri, error: &ApiError) -> Response {
    let visit = Visit::new(desk.clone(), uri.clone(), Session::Nobody);
    match error.status() {
        // A page admits everybody by its head: only a form is refused so, of a page shown before.
        StatusCode::UNAUTHORIZED => refusal::moved(&address_of_expired(uri)),
        status => refusal::page(&visit, status, error.message()),
    }
}

/// Whether people see what is at this address, and not a program.
fn is_page(uri: &Uri) -> bool {
    let path = uri.path();
    ![path::APIS, path::SESSION, path::FILES].iter().any(|other| path.starts_with(other))
}
