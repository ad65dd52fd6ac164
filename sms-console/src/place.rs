//! A place: a method and a pattern of paths, and the handler that answers there.

use std::fmt;
use std::future::ready;
use std::sync::Arc;
use std::time::Duration;

use bytes::Bytes;
use futures_util::future::BoxFuture;
use poem::http::Method;

use crate::form::Form;
use crate::reply::{Outcome, Trouble};
use crate::visit::{AccountVisit, OperatorVisit, Session, Visit};

/// What answers at a place.
pub type Handler = Arc<dyn Fn(Visit) -> BoxFuture<'static, Outcome> + Send + Sync>;

/// A method and a pattern of paths, and the handler that answers there.
#[derive(Clone)]
pub struct Place {
    method: Method,
    pattern: &'static str,
    handler: Handler,
    most_bytes: Option<usize>,
    most_time: Option<Duration>,
}

impl Place {
    /// A page, which is asked for with GET.
    pub fn get(pattern: &'static str, handler: Handler) -> Self {
        Self { method: Method::GET, pattern, handler, most_bytes: None, most_time: None }
    }

    /// What a form does. The handler is called only for a form that brings the token of its
    /// session.
    pub fn post(pattern: &'static str, handler: Handler) -> Self {
        Self { method: Method::POST, pattern, handler, most_bytes: None, most_time: None }
    }

    /// Accepts forms of up to this many bytes.
    #[must_use]
    pub fn most_bytes(mut self, bytes: usize) -> Self {
        self.most_bytes = Some(bytes);
        self
    }

    /// May take as long as this to answer.
    #[must_use]
    pub fn most_time(mut self, time: Duration) -> Self {
        self.most_time = Some(time);
        self
    }

    /// GET for a page, POST for what a form does.
    pub fn method(&self) -> &Method {
        &self.method
    }

    /// The pattern of its paths; `{name}` stands for any segment.
    pub fn pattern(&self) -> &'static str {
        self.pattern
    }

    /// The largest form in bytes; `None` for as many as the server takes elsewhere.
    pub fn body_limit(&self) -> Option<usize> {
        self.most_bytes
    }

    /// How long it may take to answer; `None` for as long as the server waits elsewhere.
    pub fn time_limit(&self) -> Option<Duration> {
        self.most_time
    }

    /// The names that the pattern leaves open, in their order.
    pub fn parameters(&self) -> impl Iterator<Item = &'static str> {
        let segments = self.pattern.split('/');
        segments.filter_map(|segment| segment.strip_prefix('{')?.strip_suffix('}'))
    }

    pub(crate) async fn outcome(&self, visit: Visit, body: &Bytes) -> Outcome {
        if self.method == Method::GET {
            return (self.handler)(visit).await;
        }
        let form = Form::of(body).await.ok_or(Trouble::BadForm("readable text"))?;
        if is_signed_in(&visit) && !is_own(form.text("csrf"), visit.csrf()) {
            return Err(Trouble::WrongCsrf);
        }
        (self.handler)(visit.with_form(form)).await
    }
}

fn is_signed_in(visit: &Visit) -> bool {
    !matches!(visit.session, Session::Nobody)
}

/// Compares in a time that does not depend on where the texts differ.
fn is_own(sent: &str, own: &str) -> bool {
    let differences = sent.bytes().zip(own.bytes()).fold(0, |all, (a, b)| all | (a ^ b));
    !own.is_empty() && sent.len() == own.len() && differences == 0
}

impl fmt::Debug for Place {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} {}", self.method, self.pattern)
    }
}

/// For people of an account.
pub fn account<F, A>(handler: F) -> Handler
where
    F: Fn(AccountVisit) -> A + Send + Sync + 'static,
    A: Future<Output = Outcome> + Send + 'static,
{
    Arc::new(move |visit| match visit.for_account() {
        Ok(visit) => Box::pin(handler(visit)),
        Err(trouble) => Box::pin(ready(Err(trouble))),
    })
}

/// For the operator: refused to the session of an account, and without a session.
pub fn operator<F, A>(handler: F) -> Handler
where
    F: Fn(OperatorVisit) -> A + Send + Sync + 'static,
    A: Future<Output = Outcome> + Send + 'static,
{
    Arc::new(move |visit| match visit.for_operator() {
        Ok(visit) => Box::pin(handler(visit)),
        Err(trouble) => Box::pin(ready(Err(trouble))),
    })
}

/// One page for people of an account, and another one at the same address for the operator.
pub fn either(of_account: Handler, of_operator: Handler) -> Handler {
    Arc::new(move |visit| match visit.session {
        Session::Operator(_) => of_operator(visit),
        Session::Account(_) | Session::Nobody => of_account(visit),
    })
}

/// For everybody, signed in or not.
pub fn anybody<F, A>(handler: F) -> Handler
where
    F: Fn(Visit) -> A + Send + Sync + 'static,
    A: Future<Output = Outcome> + Send + 'static,
{
    Arc::new(move |visit| Box::pin(handler(visit)))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_the_sessions_own_token_is_accepted() {
        for (sent, own, is) in
            [("abc", "abc", true), ("abd", "abc", false), ("ab", "abc", false), ("", "", false)]
        {
            assert_eq!(is_own(sent, own), is, "{sent} {own}");
        }
    }
}
