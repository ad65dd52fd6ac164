//! The record of a request: one log line and two metrics.
//!
//! They never contain a raw path, a query, a header or a body: any of them can hold a phone number,
//! a message or a key.

use std::sync::Arc;
use std::time::Instant;

use poem::http::{Method, StatusCode};

use crate::web::path_pattern::{PathPattern, UNMATCHED};
use crate::web::request_id::RequestId;

/// Counts requests by method, route pattern and status.
const REQUESTS: &str = "http_requests_total";
/// Times requests by method, route pattern and status.
const DURATION: &str = "http_request_duration_seconds";

/// The status logged when the client hung up before its answer.
const CLIENT_GONE: u16 = 499;

/// A request in progress. On drop it is logged and counted, with or without an answer.
pub(super) struct RequestRecord {
    id: RequestId,
    method: &'static str,
    route: Arc<str>,
    start: Instant,
    status: u16,
}

impl RequestRecord {
    pub(super) fn start(id: RequestId, method: &Method, route: Option<&PathPattern>) -> Self {
        Self {
            id,
            method: method_name(method),
            route: route.map_or_else(|| UNMATCHED.into(), |route| Arc::clone(route.pattern())),
            start: Instant::now(),
            status: CLIENT_GONE,
        }
    }

    pub(super) fn route(&self) -> &str {
        &self.route
    }

    pub(super) fn answered(mut self, status: StatusCode) {
        self.status = status.as_u16();
    }
}

impl Drop for RequestRecord {
    fn drop(&mut self) {
        let taken = self.start.elapsed();
        let duration_ms = u64::try_from(taken.as_millis()).unwrap_or(u64::MAX);
        let Self { id, method, route, status, .. } = self;
        tracing::info!(
            id = id.as_str(),
            method,
            route = &**route,
            status,
            duration_ms,
            "{method} {route} {status} in {duration_ms} ms"
        );
        let labels = [
            ("method", metrics::SharedString::const_str(method)),
            ("route", metrics::SharedString::from(Arc::clone(route))),
            ("status", metrics::SharedString::from(status.to_string())),
        ];
        metrics::counter!(REQUESTS, &labels).increment(1);
        metrics::histogram!(DURATION, &labels).record(taken.as_secs_f64());
    }
}

/// The method, or `OTHER`: a client could flood logs and metrics with invented methods.
fn method_name(method: &Method) -> &'static str {
    const NAMES: [&str; 9] =
        ["GET", "HEAD", "POST", "PUT", "PATCH", "DELETE", "OPTIONS", "TRACE", "CONNECT"];
    NAMES.into_iter().find(|name| *name == method.as_str()).unwrap_or("OTHER")
}
