//! What a document says of a whole API, beside what its handlers say.

use serde_json::{Value, json};

use super::failure::{Failure, Rate};

/// What is to be said about a whole API beside its handlers.
#[derive(Debug, Clone)]
pub struct DocumentRules {
    /// The name of the security scheme, as `ApiKey`.
    pub key_name: &'static str,
    /// What the key is and where it comes from.
    pub key_description: &'static str,
    /// Operation ids that need no key.
    pub without_key: &'static [&'static str],
    /// Whether the requests of a key are counted.
    pub rate: Rate,
    /// The path of the document itself, if it is served.
    pub own_path: Option<OwnPath>,
    /// The failures of the domain, which single operations have.
    pub failures: &'static [&'static Failure],
}

/// The operation that reads the document itself. It is served beside the handlers, so that the
/// framework does not know of it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct OwnPath {
    /// The section it stands in.
    pub tag: &'static str,
}

impl OwnPath {
    /// What the operation is called.
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
