//! The record of a request: one log line and two metrics.
//!
//! They never contain a raw path, a query, a header or a body: any of them can hold a phone number,
//! a message or a key.

use std::collections::HashMap;
use std::sync::{Arc, PoisonError, RwLock};
use std::time::Instant;

use metrics::{Counter, Histogram, SharedString};
use poem::http::{Method, StatusCode};

use crate::web::path_pattern::{PathPattern, UNMATCHED};
use crate::web::request_id::RequestId;

/// Counts requests by method, route pattern and status.
const REQUESTS: &str = "http_requests_total";
/// Times requests by method, route pattern and status.
const DURATION: &str = "http_request_duration_seconds";

/// The status logged when the client hung up before its answer.
const CLIENT_GONE: u16 = 499;

/// The metrics of requests. Finding a metric takes the recorder longer than counting with it, so
/// each one is found once.
#[derive(Default)]
pub(super) struct RequestMetrics {
    found: RwLock<HashMap<Labels, (Counter, Histogram)>>,
}

#[derive(Clone, PartialEq, Eq, Hash)]
struct Labels {
    method: &'static str,
    route: Arc<str>,
    status: u16,
}

impl RequestMetrics {
    fn count(&self, labels: &Labels, seconds: f64) {
        // The map is complete whenever the lock is free, so a poisoned lock holds a valid one.
        let found = self.found.read().unwrap_or_else(PoisonError::into_inner);
        if let Some((requests, duration)) = found.get(labels) {
            requests.increment(1);
            duration.record(seconds);
            return;
        }
        drop(found);
        let (requests, duration) = labels.find();
        requests.increment(1);
        duration.record(seconds);
        let mut found = self.found.write().unwrap_or_else(PoisonError::into_inner);
        found.insert(labels.clone(), (requests, duration));
    }
}

impl Labels {
    fn find(&self) -> (Counter, Histogram) {
        let labels = [
            ("method", SharedString::const_str(self.method)),
            ("route", SharedString::from(Arc::clone(&self.route))),
            ("status", SharedString::from(self.status.to_string())),
        ];
        (metrics::counter!(REQUESTS, &labels), metrics::histogram!(DURATION, &labels))
    }
}

/// A request in progress. On drop it is logged and counted, with or without an answer.
pub(super) struct RequestRecord {
    id: RequestId,
    labels: Labels,
    start: Instant,
    metrics: Arc<RequestMetrics>,
}

impl RequestRecord {
    pub(super) fn start(
        id: RequestId,
        method: &Method,
        route: Option<&PathPattern>,
        metrics: Arc<RequestMetrics>,
    ) -> Self {
        let labels = Labels {
            method: method_name(method),
            route: route.map_or_else(|| UNMATCHED.into(), |route| Arc::clone(route.pattern())),
            status: CLIENT_GONE,
        };
        Self { id, labels, start: Instant::now(), metrics }
    }

    pub(super) fn route(&self) -> &str {
        &self.labels.route
    }

    pub(super) fn answered(mut self, status: StatusCode) {
        self.labels.status = status.as_u16();
    }
}

impl Drop for RequestRecord {
    fn drop(&mut self) {
        let taken = self.start.elapsed();
        let duration_ms = u64::try_from(taken.as_millis()).unwrap_or(u64::MAX);
        let Labels { method, route, status } = &self.labels;
        tracing::info!(
            id = self.id.as_str(),
            method,
            route = &**route,
            status,
            duration_ms,
            "{method} {route} {status} in {duration_ms} ms"
        );
        self.metrics.count(&self.labels, taken.as_secs_f64());
    }
}

/// The method, or `OTHER`: a client could flood logs and metrics with invented methods.
fn method_name(method: &Method) -> &'static str {
    const NAMES: [&str; 9] =
        ["GET", "HEAD", "POST", "PUT", "PATCH", "DELETE", "OPTIONS", "TRACE", "CONNECT"];
    NAMES.into_iter().find(|name| *name == method.as_str()).unwrap_or("OTHER")
}
