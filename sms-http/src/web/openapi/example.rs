//! Examples of requests and answers. They were recorded from a server by a test, which fails when
//! the server answers otherwise.

use serde_json::{Map, Value};

/// The examples of a document, by operation id.
pub(super) struct Examples(Map<String, Value>);

impl Examples {
    /// Reads recorded examples; there are none in what is not a JSON object.
    pub(super) fn read(recorded: &str) -> Self {
        Self(serde_json::from_str(recorded).unwrap_or_default())
    }

    /// Adds the examples of an operation to its request and to the answer with their status.
    pub(super) fn add_to(&self, operation: &mut Map<String, Value>) {
        let id = operation.get("operationId").and_then(Value::as_str).unwrap_or_default();
        let Some(example) = self.0.get(id) else {
            return;
        };
        if let Some(body) = operation.get_mut("requestBody") {
            add(body, example.get("request"));
        }
        let status = example["status"].to_string();
        if let Some(answer) = operation["responses"].get_mut(&status) {
            add(answer, example.get("response"));
        }
    }
}

/// Adds an example to every media type of a body.
fn add(body: &mut Value, example: Option<&Value>) {
    let Some(example) = example else {
        return;
    };
    let content = body.get_mut("content").and_then(Value::as_object_mut);
    for (_, media) in content.into_iter().flatten() {
        media["example"] = example.clone();
    }
}
