//! Why a command failed, and its exit code. `docs/cli.md` lists the codes.

use std::io;
use std::path::PathBuf;
use std::process::ExitCode;

use serde_json::json;
use sms_client::{Error, NotAClient};

use crate::style::{Form, RED, paint, shown, tell, tell_json};

/// Why a command failed.
#[derive(Debug, thiserror::Error)]
pub(crate) enum Failure {
    /// The call of an operation failed.
    #[error(transparent)]
    Api(#[from] Error),
    /// There is no key.
    #[error("no key for the profile {0:?}: run `sms login`, or set SMS_API_KEY")]
    NoKey(String),
    /// The key was saved for another server.
    #[error(
        "the key of the profile {profile:?} is for {own} and is not sent to {named}: log in there \
         with `sms login --url {named} --profile NAME`, or set SMS_API_KEY"
    )]
    KeyOfAnotherServer {
        /// The name of the profile.
        profile: String,
        /// The server of the key.
        own: String,
        /// The server that the command names.
        named: String,
    },
    /// There is no operator's token.
    #[error("this needs the operator's token: set SMS_ADMIN_TOKEN")]
    NoToken,
    /// The address or the key cannot be one.
    #[error(transparent)]
    NotAClient(#[from] NotAClient),
    /// The command line does not say enough, or contradicts itself.
    #[error("{0}")]
    Usage(String),
    /// The person answered no.
    #[error("nothing was done")]
    Declined,
    /// There is no terminal to ask on.
    #[error("{0}: there is no terminal to ask on; confirm with --yes")]
    NeedsYes(String),
    /// A file cannot be read or written.
    #[error("{}: {source}", .file.display())]
    File { file: PathBuf, source: io::Error },
    /// A file is not what it should be.
    #[error("{}: {problem}", .file.display())]
    Content {
        file: PathBuf,
        /// What is wrong with it.
        problem: String,
    },
    /// An import stopped before its end.
    #[error("stopped after {done} of {total} rows: {cause}\n{next}")]
    Stopped {
        /// How many rows are done.
        done: u64,
        /// How many there are.
        total: u64,
        /// Why it stopped, such as a request that failed.
        cause: Box<Failure>,
        /// What can be done.
        next: String,
    },
    /// It was done, but not for all; what was printed says for whom not.
    #[error("{0}")]
    InPart(String),
    /// The terminal or the pipe is gone.
    #[error("cannot read or write: {0}")]
    Terminal(#[from] io::Error),
    /// Webhooks cannot be sent.
    #[error("webhooks cannot be sent: {0}")]
    Webhooks(String),
    /// There is no folder for configuration.
    #[error("no folder for configuration: set HOME")]
    NoHome,
}

impl Failure {
    pub(crate) fn file(file: impl Into<PathBuf>) -> impl FnOnce(io::Error) -> Self {
        let file = file.into();
        move |source| Self::File { file, source }
    }

    /// Says on standard error what happened.
    pub(crate) fn report(&self, form: Form) {
        if self.is_closed_pipe() {
            return;
        }
        match form {
            Form::Text => {
                // What a server or a proxy answered is text from elsewhere.
                let text = self.to_string().lines().map(shown).collect::<Vec<_>>().join("\n");
                tell(&format!("{} {text}", paint(RED, "error:")));
                if let Some(hint) = self.hint() {
                    tell(&shown(&hint));
                }
            }
            Form::Json => tell_json(&self.json()),
        }
    }

    fn hint(&self) -> Option<String> {
        let refusal = self.api()?.refusal()?;
        let explained = refusal.doc_url.as_deref().unwrap_or_default();
        let request = refusal.request_id.as_deref().unwrap_or_default();
        Some(format!("{}: {explained} (request {request})", refusal.code))
    }

    /// The error's JSON, in the API's form.
    fn json(&self) -> serde_json::Value {
        match self.api().and_then(Error::refusal) {
            Some(refusal) => json!({ "error": refusal }),
            None => json!({ "error": { "code": self.name(), "message": self.to_string() } }),
        }
    }

    /// The error of the call at the bottom.
    fn api(&self) -> Option<&Error> {
        match self {
            Self::Api(error) => Some(error),
            Self::Stopped { cause, .. } => cause.api(),
            _ => None,
        }
    }

    fn name(&self) -> &'static str {
        match self.code() {
            2 => "usage",
            3 => "not_logged_in",
            6 => "not_confirmed",
            7 => "no_answer",
            8 => "in_part",
            _ => "failed",
        }
    }

    fn is_closed_pipe(&self) -> bool {
        matches!(self, Self::Terminal(error) if error.kind() == io::ErrorKind::BrokenPipe)
    }

    pub(crate) fn exit_code(&self) -> ExitCode {
        ExitCode::from(self.code())
    }

    fn code(&self) -> u8 {
        match self {
            Self::Usage(_) => 2,
            Self::NoKey(_)
            | Self::KeyOfAnotherServer { .. }
            | Self::NoToken
            | Self::NotAClient(NotAClient::Key) => 3,
            Self::Declined | Self::NeedsYes(_) => 6,
            Self::InPart(_) => 8,
            Self::Stopped { cause, .. } => cause.code(),
            Self::Api(error) => match (error, error.status()) {
                (Error::NoAnswer { .. }, _) | (_, Some(429 | 500..)) => 7,
                (Error::Refused(_), Some(401)) => 3,
                (Error::Refused(_), Some(402)) => 5,
                (Error::Refused(_), _) => 4,
                _ => 1,
            },
            Self::NotAClient(_)
            | Self::File { .. }
            | Self::Content { .. }
            | Self::Terminal(_)
            | Self::Webhooks(_)
            | Self::NoHome => 1,
        }
    }
}
