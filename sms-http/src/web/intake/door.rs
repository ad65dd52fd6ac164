//! Who may come in, decided by the head of a request, before its body is read.
//!
//! Bodies take memory that all requests share, and time. So only a request that has been let in
//! gets to send one: a stranger is answered at once, as is who asks for what needs no body.

use std::fmt;
use std::sync::Arc;

use async_trait::async_trait;
use poem::Request;
use poem::http::HeaderMap;

use crate::web::error::ApiError;

/// Decides whether a request may come in.
#[async_trait]
pub trait Door: Send + Sync + fmt::Debug {
    /// Lets a request in, which has no body yet, or says why not. What the door finds out about who
    /// asks it leaves in the request's data. Whatever answer the request gets has these headers.
    async fn admit(&self, request: &mut Request) -> Result<HeaderMap, ApiError>;
}

/// The doors of a server, and which paths each is before.
#[derive(Debug, Clone, Default)]
pub struct Doors {
    doors: Vec<(String, Arc<dyn Door>)>,
    open: Vec<String>,
}

/// What is before a path.
pub(super) enum Way<'d> {
    /// This door.
    Door(&'d Arc<dyn Door>),
    /// None; and what is there takes no body.
    Open,
}

impl Doors {
    /// No doors: every path is open.
    pub fn new() -> Self {
        Self::default()
    }

    /// Puts a door before `prefix` and every path below it.
    #[must_use]
    pub fn with(mut self, prefix: &str, door: impl Door + 'static) -> Self {
        self.doors.push((prefix.to_owned(), Arc::new(door)));
        self
    }

    /// Leaves one path open, whatever is before those round it.
    #[must_use]
    pub fn with_open(mut self, path: &str) -> Self {
        self.open.push(path.to_owned());
        self
    }

    pub(super) fn before(&self, path: &str) -> Way<'_> {
        if self.open.iter().any(|open| open == path) {
            return Way::Open;
        }
        let is_below = |prefix: &str| {
            path.strip_prefix(prefix).is_some_and(|rest| rest.is_empty() || rest.starts_with('/'))
        };
        let found = self.doors.iter().find(|(prefix, _)| is_below(prefix));
        found.map_or(Way::Open, |(_, door)| Way::Door(door))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[derive(Debug)]
    struct Shut;

    #[async_trait]
    impl Door for Shut {
        async fn admit(&self, _request: &mut Request) -> Result<HeaderMap, ApiError> {
            Err(ApiError::unauthorized())
        }
    }

    #[test]
    fn a_door_is_before_its_prefix_and_all_below_but_what_is_open() {
        let doors = Doors::new().with("/api/v1", Shut).with_open("/api/v1/openapi.json");
        for (path, is_open) in [
            ("/api/v1", false),
            ("/api/v1/", false),
            ("/api/v1/messages", false),
            ("/api/v1/openapi.json/", false),
            ("/api/v1/openapi.json", true),
            ("/api/v10", true),
            ("/healthz", true),
            ("*", true),
        ] {
            assert_eq!(matches!(doors.before(path), Way::Open), is_open, "{path}");
        }
    }
}
