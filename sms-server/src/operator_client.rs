//! A client of the operator API, for the commands of the server binary.

use std::path::PathBuf;
use std::time::Duration;

use reqwest::{Client, Method};
use serde_json::Value;

use crate::data_command::DataCommandFailed;

/// Why a command failed.
#[derive(Debug, thiserror::Error)]
pub enum CommandFailed {
    /// The operator's token is missing.
    #[error(
        "SMS_ADMIN_TOKEN is missing: set it or SMS_ADMIN_TOKEN_FILE, or name the folder of a \
         server that generated one in SMS_DATA_DIR"
    )]
    NoToken,
    /// The file with the operator's token cannot be read.
    #[error("{} cannot be read: {source}", .file.display())]
    TokenFile {
        /// The file.
        file: PathBuf,
        /// The cause.
        source: std::io::Error,
    },
    /// A command on the stored data failed.
    #[error(transparent)]
    Data(#[from] DataCommandFailed),
    /// The HTTP client could not be set up.
    #[error("the HTTP client could not be set up: {0}")]
    Client(String),
    /// The server did not answer.
    #[error("{url} did not answer: {reason}. Is the server running, and is --server correct?")]
    NoAnswer {
        /// The base URL that was called.
        url: String,
        /// The cause at the bottom.
        reason: String,
    },
    /// The server answered with an error.
    #[error("{code}: {message}{details}")]
    Refused {
        /// The error's `code`.
        code: String,
        /// The error's `message`.
        message: String,
        /// The error's `details`, one line each, each after a line break.
        details: String,
    },
}

/// Calls a running server.
#[derive(Debug, Clone)]
pub struct OperatorClient {
    client: Client,
    base: String,
    token: String,
}

impl OperatorClient {
    /// A client of the server at `base`, such as `http://127.0.0.1:8080`.
    pub fn new(base: &str, token: &str) -> Result<Self, CommandFailed> {
        let refused = |error: &dyn std::error::Error| CommandFailed::Client(error.to_string());
        let tls = sms_webhooks::client::tls_config(&[]).map_err(|error| refused(&error))?;
        let client = Client::builder()
            .tls_backend_preconfigured(tls)
            .no_proxy()
            .build()
            .map_err(|error| refused(&error))?;
        let base = format!("{}/admin/v1", base.trim_end_matches('/'));
        Ok(Self { client, base, token: token.to_owned() })
    }

    /// Calls the operator API and returns `data`; null for an answer without a body. Gives up after
    /// `patience`.
    pub async fn call(
        &self,
        method: Method,
        path: &str,
        body: Option<Value>,
        patience: Duration,
    ) -> Result<Value, CommandFailed> {
        let url = format!("{}{path}", self.base);
        let request = self.client.request(method, &url).bearer_auth(&self.token);
        let mut request = request.timeout(patience);
        if let Some(body) = body {
            request = request.header("Content-Type", "application/json").body(body.to_string());
        }
        let no_answer = |error: reqwest::Error| CommandFailed::NoAnswer {
            url: self.base.clone(),
            reason: innermost(&error),
        };
        let response = request.send().await.map_err(no_answer)?;
        let succeeded = response.status().is_success();
        let text = response.text().await.map_err(no_answer)?;
        let mut answer: Value = serde_json::from_str(&text).unwrap_or_default();
        if succeeded { Ok(answer["data"].take()) } else { Err(refused(&answer["error"])) }
    }
}

fn refused(error: &Value) -> CommandFailed {
    let text = |key: &str| error[key].as_str().unwrap_or("unknown").to_owned();
    let line = |detail: &Value| format!("\n  {}: {}", detail["field"], detail["message"]);
    let details = error["details"].as_array().into_iter().flatten().map(line).collect();
    CommandFailed::Refused { code: text("code"), message: text("message"), details }
}

/// The cause at the bottom, which is the most specific.
fn innermost(error: &reqwest::Error) -> String {
    let mut cause: &dyn std::error::Error = error;
    while let Some(source) = cause.source() {
        cause = source;
    }
    cause.to_string()
}
