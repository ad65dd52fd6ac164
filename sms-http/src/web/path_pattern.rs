//! The patterns of the API's paths, such as `/api/v1/messages/{id}`.
//!
//! The framework routes requests. This table answers other questions about a path: the pattern
//! under which a request is logged and counted (a raw path can hold a phone number), the methods of
//! the path (`Allow`), and the largest body.

use std::collections::BTreeMap;
use std::str::Split;
use std::sync::Arc;

use poem::http::Method;
use serde_json::Value;

/// The pattern logged for a request whose path matches no route.
pub const UNMATCHED: &str = "unmatched";

/// One path pattern and its methods.
#[derive(Debug, Clone)]
pub struct PathPattern {
    pattern: Arc<str>,
    methods: Vec<Method>,
}

/// All patterns of a server, as a tree of their segments. Every request is looked up here.
#[derive(Debug, Clone, Default)]
pub struct PathTable {
    root: Node,
}

/// A node of the tree: what may follow the segments before it.
#[derive(Debug, Clone, Default)]
struct Node {
    literals: BTreeMap<String, Node>,
    parameter: Option<Box<Node>>,
    /// The pattern that ends here.
    route: Option<PathPattern>,
}

impl PathTable {
    /// A table without routes.
    pub fn new() -> Self {
        Self::default()
    }

    /// Adds every path of an OpenAPI document, after `prefix`.
    #[must_use]
    pub fn with_document(mut self, document: &Value, prefix: &str) -> Self {
        let paths = document["paths"].as_object().into_iter().flatten();
        for (path, operations) in paths {
            let methods: Vec<Method> = operations
                .as_object()
                .into_iter()
                .flat_map(|operations| operations.keys())
                .filter_map(|name| known_method(name))
                .collect();
            self = self.with(&format!("{prefix}{path}"), &methods);
        }
        self
    }

    /// Adds one pattern; `{name}` matches any segment.
    #[must_use]
    pub fn with(mut self, pattern: &str, methods: &[Method]) -> Self {
        let mut methods = methods.to_vec();
        // The framework answers HEAD wherever it answers GET.
        if methods.contains(&Method::GET) && !methods.contains(&Method::HEAD) {
            methods.push(Method::HEAD);
        }
        methods.sort_by(|one, other| one.as_str().cmp(other.as_str()));
        let end = pattern.split('/').fold(&mut self.root, Node::child);
        end.route.get_or_insert_with(|| PathPattern { pattern: pattern.into(), methods });
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
        if segment.starts_with('{') && segment.ends_with('}') {
            self.parameter.get_or_insert_default()
        } else {
            self.literals.entry(segment.to_owned()).or_default()
        }
    }

    /// The pattern for the rest of a path. If the literal branch fails, the parameter is tried.
    fn find(&self, mut rest: Split<'_, char>) -> Option<&PathPattern> {
        let Some(segment) = rest.next() else { return self.route.as_ref() };
        let literal = self.literals.get(segment);
        literal.and_then(|node| node.find(rest.clone())).or_else(|| {
            let parameter = self.parameter.as_ref().filter(|_| !segment.is_empty())?;
            parameter.find(rest)
        })
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
}

/// The method that a key of an OpenAPI path item names; `None` for other keys.
fn known_method(name: &str) -> Option<Method> {
    [
        Method::GET,
        Method::HEAD,
        Method::POST,
        Method::PUT,
        Method::PATCH,
        Method::DELETE,
        Method::OPTIONS,
        Method::TRACE,
        Method::CONNECT,
    ]
    .into_iter()
    .find(|method| method.as_str().eq_ignore_ascii_case(name))
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn table() -> PathTable {
        let document = json!({ "paths": {
            "/messages": { "get": {}, "post": {} },
            "/messages/{id}": { "get": {}, "parameters": [] },
            "/messages/quote": { "post": {} },
            "/messages/{id}/cancel": { "post": {} },
        }});
        PathTable::new().with_document(&document, "/api/v1").with("/l/{code}", &[Method::GET])
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
    fn get_brings_head() {
        let table = table();
        let route = table.find("/api/v1/messages").unwrap();
        assert_eq!(route.methods(), [Method::GET, Method::HEAD, Method::POST]);
    }
}
