//! The patterns of a server's paths, such as `/api/v1/messages/{id}`, and what answers them.
//!
//! Every request is looked up here once. The pattern it matches has its operations, is what the
//! request is logged and counted under (a raw path can hold a phone number), and has its methods
//! (`Allow`) and its limits.

use std::collections::BTreeMap;
use std::fmt;
use std::str::Split;
use std::sync::Arc;

use poem::http::Method;
use poem_openapi::OpenApi;

use crate::web::operation::{HeadOf, Operation, operations_of};
use crate::web::path_param::{PathParams, is_parameter};

/// The pattern logged for a request whose path matches no route.
pub const UNMATCHED: &str = "unmatched";

/// One path pattern and its operations.
#[derive(Clone)]
pub struct PathPattern {
    pattern: Arc<str>,
    has_parameters: bool,
    /// In alphabetical order.
    methods: Vec<Method>,
    /// In the order of the methods.
    operations: Vec<Operation>,
}

/// All patterns of a server, as a tree of their segments.
#[derive(Debug, Clone, Default)]
pub struct PathTable {
    root: Node,
}

/// A node of the tree: what may follow the segments before it.
#[derive(Debug, Clone, Default)]
struct Node {
    literals: BTreeMap<String, Node>,
    parameter: Option<Box<Node>>,
    /// The pattern of all that follows and matches nothing else.
    rest: Option<PathPattern>,
    /// The pattern that ends here.
    route: Option<PathPattern>,
}

impl PathTable {
    /// A table without routes.
    pub fn new() -> Self {
        Self::default()
    }

    /// Adds every operation of an API, with its path after `prefix`. `guard` may put a check before
    /// it.
    #[must_use]
    pub fn with_api<A: OpenApi>(
        self,
        prefix: &str,
        api: A,
        guard: impl Fn(Operation) -> Operation,
    ) -> Self {
        operations_of(api).into_iter().fold(self, |table, (path, method, operation)| {
            table.with(&format!("{prefix}{path}"), method, guard(operation))
        })
    }

    /// Adds one operation; `{name}` in its pattern matches any segment, and `{*name}` at the end of
    /// it all segments that match nothing else. HEAD is answered wherever GET is.
    #[must_use]
    pub fn with(mut self, pattern: &str, method: Method, operation: Operation) -> Self {
        let place = match pattern.rsplit_once('/') {
            Some((before, last)) if last.starts_with("{*") => {
                &mut before.split('/').fold(&mut self.root, Node::child).rest
            }
            _ => &mut pattern.split('/').fold(&mut self.root, Node::child).route,
        };
        let route = place.get_or_insert_with(|| PathPattern::new(pattern));
        if method == Method::GET && route.operation(&Method::HEAD).is_none() {
            route.add(Method::HEAD, Arc::new(HeadOf(Arc::clone(&operation))));
        }
        route.add(method, operation);
        self
    }

    /// The pattern that a path matches. `/messages/quote` takes precedence over `/messages/{id}`.
    pub fn find(&self, path: &str) -> Option<&PathPattern> {
        self.root.find(path.split('/'))
    }
}

impl Node {
    /// The node after one more segment of a pattern.
    fn child(&mut self, segment: &str) -> &mut Self {
        if is_parameter(segment) {
            self.parameter.get_or_insert_default()
        } else {
            self.literals.entry(segment.to_owned()).or_default()
        }
    }

    /// The pattern for the rest of a path. If the literal branch fails, the parameter is tried.
    fn find(&self, mut rest: Split<'_, char>) -> Option<&PathPattern> {
        let Some(segment) = rest.next() else { return self.route.as_ref() };
        let literal = self.literals.get(segment);
        let found = literal.and_then(|node| node.find(rest.clone())).or_else(|| {
            let parameter = self.parameter.as_ref().filter(|_| !segment.is_empty())?;
            parameter.find(rest)
        });
        found.or(self.rest.as_ref())
    }
}

impl PathPattern {
    /// The pattern as it was given, for logs and metrics.
    pub fn pattern(&self) -> &Arc<str> {
        &self.pattern
    }

    /// The methods of the path, in alphabetical order.
    pub fn methods(&self) -> &[Method] {
        &self.methods
    }

    /// What answers this method.
    pub fn operation(&self, method: &Method) -> Option<&Operation> {
        let index = self.methods.iter().position(|own| own == method)?;
        self.operations.get(index)
    }

    /// The parameters in a path that matches; `None` if the pattern has none.
    pub fn params(&self, path: &str) -> Option<PathParams> {
        self.has_parameters.then(|| PathParams::new(&self.pattern, path))
    }

    fn new(pattern: &str) -> Self {
        Self {
            pattern: pattern.into(),
            has_parameters: pattern.split('/').any(is_parameter),
            methods: Vec::new(),
            operations: Vec::new(),
        }
    }

    /// Adds the operation, or replaces the one of this method.
    fn add(&mut self, method: Method, operation: Operation) {
        let place = self.methods.binary_search_by(|own| own.as_str().cmp(method.as_str()));
        match place {
            Ok(index) => self.operations[index] = operation,
            Err(index) => {
                self.methods.insert(index, method);
                self.operations.insert(index, operation);
            }
        }
    }
}

impl fmt::Debug for PathPattern {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(formatter, "{:?} {}", self.methods, self.pattern)
    }
}

#[cfg(test)]
mod tests {
    use poem::endpoint::make_sync;

    use super::*;
    use crate::web::operation::operation;

    fn table() -> PathTable {
        let nothing = || operation(make_sync(|_| ()));
        [
            ("/api/v1/messages", Method::POST),
            ("/api/v1/messages", Method::GET),
            ("/api/v1/messages/{id}", Method::GET),
            ("/api/v1/messages/quote", Method::POST),
            ("/api/v1/messages/{id}/cancel", Method::POST),
            ("/l/{code}", Method::GET),
            ("/console", Method::GET),
            ("/console/session", Method::GET),
            ("/console/api/lists/{id}", Method::GET),
            ("/console/api/{*path}", Method::GET),
            ("/console/{*path}", Method::GET),
        ]
        .into_iter()
        .fold(PathTable::new(), |table, (pattern, method)| table.with(pattern, method, nothing()))
    }

    fn pattern(path: &str) -> Option<String> {
        table().find(path).map(|route| route.pattern().to_string())
    }

    #[test]
    fn literals_go_before_parameters() {
        let quote = pattern("/api/v1/messages/quote");
        assert_eq!(quote.as_deref(), Some("/api/v1/messages/quote"));
        let one = pattern("/api/v1/messages/msg_1");
        assert_eq!(one.as_deref(), Some("/api/v1/messages/{id}"));
        assert_eq!(pattern("/l/aZ09").as_deref(), Some("/l/{code}"));
        // The literal has nothing below it, so that it is an id like any other.
        let named = pattern("/api/v1/messages/quote/cancel");
        assert_eq!(named.as_deref(), Some("/api/v1/messages/{id}/cancel"));
    }

    #[test]
    fn whole_paths_match_or_none() {
        for other in ["", "/", "*", "/api/v1/messages/", "/api/v1/messages/a/b", "/api/v1//x"] {
            assert_eq!(pattern(other), None, "{other}");
        }
    }

    #[test]
    fn what_matches_nothing_else_is_the_rest() {
        for (path, expected) in [
            ("/console", "/console"),
            ("/console/session", "/console/session"),
            ("/console/", "/console/{*path}"),
            ("/console/session/", "/console/{*path}"),
            ("/console/messages/msg_1", "/console/{*path}"),
            ("/console/api", "/console/{*path}"),
            ("/console/api/", "/console/api/{*path}"),
            ("/console/api/lists/lst_1", "/console/api/lists/{id}"),
            ("/console/api/lists/lst_1/x", "/console/api/{*path}"),
        ] {
            assert_eq!(pattern(path).as_deref(), Some(expected), "{path}");
        }
    }

    #[test]
    fn get_brings_head() {
        let table = table();
        let route = table.find("/api/v1/messages").unwrap();
        assert_eq!(route.methods(), [Method::GET, Method::HEAD, Method::POST]);
    }
}
