//! The answer of a command of any kind.

use futures_util::future::BoxFuture;
use sms_core::idempotency::{Earlier, Once};

/// What a command said.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Said {
    /// It took effect now.
    Done,
    /// An earlier request has the key.
    Earlier(Earlier),
}

impl Said {
    pub(crate) fn of<T, E: std::fmt::Debug>(answer: Result<Once<T>, E>) -> Self {
        match answer.expect("the command is valid") {
            Once::Done(_) => Self::Done,
            Once::Earlier(earlier) => Self::Earlier(earlier),
        }
    }

    /// What is remembered of the earlier request.
    pub(crate) fn earlier(self) -> Earlier {
        match self {
            Self::Earlier(earlier) => earlier,
            Self::Done => panic!("the command took effect again"),
        }
    }
}

/// A command under way.
pub(crate) type Run = BoxFuture<'static, Said>;
