//! Limits on the size and the duration of requests.

use std::time::Duration;

use poem::http::Method;

use crate::web::path_pattern::PathPattern;

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
    /// The bytes that all answers share while they wait to be read, divided in the same way.
    pub answers_in_all: usize,
    /// How long the whole body may take to arrive.
    pub body_timeout: Duration,
    /// The time in which a body over 64 KB must bring 64 KB, or its end.
    pub body_stall: Duration,
    /// How long a client waits for the handler.
    pub handler_timeout: Duration,
    /// Paths with a different limit on the handler's time: method, pattern, time.
    pub handler_timeout_of: Vec<(Method, String, Duration)>,
    /// How often it is looked whether those who get a long answer are still admitted.
    pub standing_every: Duration,
}

/// 1 MB in 15 seconds, 64 MB for small bodies, 192 MB for large ones and 128 MB for answers, 30
/// seconds for the handler, and a look at those who get long answers every 2 seconds.
impl Default for IntakeLimits {
    fn default() -> Self {
        Self {
            body_bytes: 1_048_576,
            body_bytes_of: Vec::new(),
            small_bodies_in_all: 64 * 1_048_576,
            large_bodies_in_all: 192 * 1_048_576,
            answers_in_all: 128 * 1_048_576,
            body_timeout: Duration::from_secs(15),
            body_stall: Duration::from_secs(5),
            handler_timeout: Duration::from_secs(30),
            handler_timeout_of: Vec::new(),
            standing_every: Duration::from_secs(2),
        }
    }
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

    pub(super) fn body_limit(&self, method: &Method, route: Option<&PathPattern>) -> usize {
        limit_of(&self.body_bytes_of, method, route).unwrap_or(self.body_bytes)
    }

    pub(super) fn handler_timeout(&self, method: &Method, route: Option<&PathPattern>) -> Duration {
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
