//! Doors: checks that admit or refuse a request by its head, before its body is read.
//!
//! Bodies take time, and memory that all requests share. So only an admitted request may send one.
//! A caller without a valid key is answered at once, and so is a request to a path without a door.

use std::fmt;
use std::sync::Arc;

use async_trait::async_trait;
use poem::Request;
use poem::http::{HeaderName, HeaderValue};

use crate::web::error::ApiError;
use crate::web::standing::Standing;

/// Decides whether a request is admitted.
#[async_trait]
pub trait Door: Send + Sync + fmt::Debug {
    /// Admits a request, which has no body yet, or says why not. It may store what it learns about
    /// the caller in the request's data.
    async fn admit(&self, request: &mut Request) -> Result<Admitted, ApiError>;
}

/// What a door knows of a request that it admits.
#[derive(Debug, Clone)]
pub struct Admitted {
    /// Whose request it is.
    pub owner: Owner,
    /// Headers for the answer.
    pub headers: Vec<(HeaderName, HeaderValue)>,
    /// What they were admitted with: an answer that takes long ends with it. `None` if it cannot be
    /// lost.
    pub standing: Option<Arc<dyn Standing>>,
}

/// Who shares the room for request bodies with the others: all bodies of one owner together have
/// one share.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Owner {
    /// One of many, by a number of the application's choice.
    Numbered(u128),
    /// The only one of its kind.
    Only(&'static str),
}

/// The doors of a server, with the paths that each one guards.
#[derive(Debug, Clone, Default)]
pub struct Doors {
    doors: Vec<(String, Arc<dyn Door>)>,
    open: Vec<String>,
}

/// What guards a path.
pub(super) enum Way<'d> {
    /// This door.
    Door(&'d Arc<dyn Door>),
    /// No door. Handlers there get no body.
    Open,
}

impl Doors {
    /// No doors: every path is open.
    pub fn new() -> Self {
        Self::default()
    }

    /// Adds a door that guards `prefix` and every path below it.
    #[must_use]
    pub fn with(mut self, prefix: &str, door: impl Door + 'static) -> Self {
        self.doors.push((prefix.to_owned(), Arc::new(door)));
        self
    }

    /// Leaves one path open, even below a guarded prefix.
    #[must_use]
    pub fn with_open(mut self, path: &str) -> Self {
        self.open.push(path.to_owned());
        self
    }

    pub(super) fn before(&self, path: &str) -> Way<'_> {
        if self.open.iter().any(|open| open == path) {
            return Way::Open;
        }
        let found = self.doors.iter().find(|(prefix, _)| is_below(prefix, path));
        found.map_or(Way::Open, |(_, door)| Way::Door(door))
    }
}

/// Whether a path is a prefix, or below it.
pub(super) fn is_below(prefix: &str, path: &str) -> bool {
    path.strip_prefix(prefix).is_some_and(|rest| rest.is_empty() || rest.starts_with('/'))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[derive(Debug)]
    struct Shut;

    #[async_trait]
    impl Door for Shut {
        async fn admit(&self, _request: &mut Request) -> Result<Admitted, ApiError> {
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
