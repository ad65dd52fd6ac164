//! Facts about a whole API that the document states and no handler does.

use serde_json::{Map, Value, json};

use super::error_code::ErrorCode;
use super::failure::{Failure, Rate};

/// The path of the document, below the prefix of its API.
pub const DOCUMENT_PATH: &str = "/openapi.json";

/// The path of its rendering as OpenAPI 3.0.
pub const DOCUMENT_PATH_3_0: &str = "/openapi-3.0.json";

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
    /// The codes of the domain, which only some operations answer.
    pub codes: &'static [ErrorCode],
    /// The ids of operations, and the codes of [`codes`](Self::codes) that they answer.
    pub codes_of: &'static [(&'static str, &'static [&'static str])],
    /// The guide that the document begins with, in Markdown.
    pub guide: &'static str,
    /// The sections in the order in which a newcomer needs them. Others follow.
    pub tags: &'static [&'static str],
    /// JSON: for each operation id the `request`, the `status` and the `response` of an example.
    pub examples: &'static str,
    /// What the server sends by itself, if anything.
    pub events: Option<fn() -> Events>,
}

/// The requests that a server sends by itself, as the document describes them.
#[derive(Debug, Clone)]
pub struct Events {
    /// The path items, by name.
    pub webhooks: Map<String, Value>,
    /// The schemas that they refer to and no operation does.
    pub schemas: Map<String, Value>,
}

impl DocumentRules {
    /// The codes of the domain that an operation answers.
    pub(super) fn codes_of(&self, operation_id: &str) -> Vec<&'static ErrorCode> {
        let own = self.codes_of.iter().find(|(id, _)| *id == operation_id);
        let own = own.map(|(_, codes)| *codes).unwrap_or_default();
        self.codes.iter().filter(|code| own.contains(&code.code)).collect()
    }
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

    /// The id of the operation that returns the rendering for tools that stopped at 3.0.
    pub const OPERATION_ID_3_0: &'static str = "openapi_3_0_get";

    /// Both paths and their items.
    pub(super) fn items(self) -> [(&'static str, Value); 2] {
        let item = |id: &str, summary: &str, description: &str| {
            json!({ "get": {
                "summary": summary,
                "description": description,
                "operationId": id,
                "tags": [self.tag],
                "responses": { "200": {
                    "description": "The document",
                    "content": { "application/json": {
                        "schema": { "$ref": "#/components/schemas/OpenApiDocument" },
                    } },
                } },
            } })
        };
        let about = "The OpenAPI 3.1 document of this API.";
        let about_3_0 = "The same document as OpenAPI 3.0, for tools that do not read 3.1. It \
                         leaves out the webhooks.";
        [
            (DOCUMENT_PATH, item(Self::OPERATION_ID, "Read this document", about)),
            (
                DOCUMENT_PATH_3_0,
                item(Self::OPERATION_ID_3_0, "Read this document as OpenAPI 3.0", about_3_0),
            ),
        ]
    }

    /// The schema of the answer.
    pub(super) fn schema() -> Value {
        json!({
            "type": "object",
            "description": "An OpenAPI document.",
            "additionalProperties": true,
        })
    }
}
