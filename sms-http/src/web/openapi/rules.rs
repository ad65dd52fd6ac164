//! Facts about a whole API that the document states and no handler does.

use serde_json::{Value, json};

use super::failure::{Failure, Rate};

/// Facts about a whole API that no handler states.
#[derive(Debug, Clone)]
pub struct DocumentRules {
    /// The name of the security scheme, such as `ApiKey`.
    pub key_name: &'static str,
    /// What the key is and where it comes from.
    pub key_description: &'static str,
    /// Operation ids that need no key.
    pub without_key: &'static [&'static str],
    /// Whether the requests of a key are limited.
    pub rate: Rate,
    /// The operation that returns the document, if it is served.
    pub own_path: Option<OwnPath>,
    /// The failures of the domain, which only some operations have.
    pub failures: &'static [&'static Failure],
}

/// The operation that returns the document. No handler serves it, so the framework does not know
/// it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct OwnPath {
    /// The section of the operation.
    pub tag: &'static str,
}

impl OwnPath {
    /// The id of the operation.
    pub const OPERATION_ID: &'static str = "openapi_get";

    pub(super) fn item(self) -> Value {
        json!({ "get": {
            "summary": "Read this document",
            "description": "The OpenAPI 3.1 document of this API.",
            "operationId": Self::OPERATION_ID,
            "tags": [self.tag],
            "responses": { "200": {
                "description": "The document",
                "content": { "application/json": { "schema": { "type": "object" } } },
            } },
        } })
    }
}
