//! When a request is made again, and after which wait. Pure: no clock, no I/O.

use std::time::Duration;

use crate::error::{Arrival, Error};

/// How often a request is made again, and how long the client waits in between.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Retries {
    /// How many attempts a request gets, the first one included.
    pub attempts: u32,
    /// The wait before the second attempt; it doubles with every further one.
    pub first_wait: Duration,
    /// The longest wait. If the server asks for more, the call fails at once.
    pub longest_wait: Duration,
}

impl Default for Retries {
    /// Five attempts within about 8 seconds, and up to a minute if the server asks for it.
    fn default() -> Self {
        Self {
            attempts: 5,
            first_wait: Duration::from_millis(500),
            longest_wait: Duration::from_mins(1),
        }
    }
}

impl Retries {
    /// Every request is made once.
    pub fn none() -> Self {
        Self { attempts: 1, ..Self::default() }
    }
}

/// Whether a request may be made again when it is not known what became of it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Repeat {
    /// It has the same effect however often it arrives: it reads, or it has an idempotency key.
    Freely,
    /// Only if it certainly had no effect.
    OnlyIfUntaken,
}

impl Retries {
    /// How long to wait before the next attempt, or `None` if there is none. `attempt` counts from
    /// 1; `fraction`, from 0 to 1, spreads clients that failed together.
    pub(crate) fn wait(
        &self,
        attempt: u32,
        error: &Error,
        repeat: Repeat,
        fraction: f64,
    ) -> Option<Duration> {
        if attempt >= self.attempts || !may_repeat(error, repeat) {
            return None;
        }
        if let Some(asked) = error.refusal().and_then(|refusal| refusal.retry_after) {
            return (asked <= self.longest_wait).then_some(asked);
        }
        Some(self.pause(attempt, fraction))
    }

    /// The wait after so many attempts in vain, if the server does not ask for another.
    pub(crate) fn pause(&self, attempt: u32, fraction: f64) -> Duration {
        let doubled = self.first_wait.saturating_mul(2_u32.saturating_pow(attempt - 1));
        doubled.min(self.longest_wait).mul_f64(0.5 + fraction / 2.0)
    }

    /// For a stream that has lost its connection: nobody waits for an answer, so it is patient.
    pub(crate) fn of_streams(&self) -> Self {
        Self { attempts: self.attempts.saturating_mul(4), ..self.clone() }
    }
}

fn may_repeat(error: &Error, repeat: Repeat) -> bool {
    match error {
        Error::NoAnswer { arrival: Arrival::Never, .. } => true,
        Error::NoAnswer { arrival: Arrival::Perhaps, .. } => repeat == Repeat::Freely,
        Error::Unreadable(_) => false,
        Error::Refused(_) | Error::NotTheApi { .. } => match error.status() {
            Some(429) => true,
            // A 503 does not say whether a commit that was under way took effect.
            Some(500 | 502..=504) => repeat == Repeat::Freely,
            _ => false,
        },
    }
}

#[cfg(test)]
mod tests {
    use serde_json::Value;

    use super::*;
    use crate::error::{ErrorCode, Refusal};

    fn refused(status: u16, retry_after: Option<u64>) -> Error {
        Error::Refused(Box::new(Refusal {
            status,
            code: ErrorCode::Unavailable,
            message: String::new(),
            details: Value::Null,
            doc_url: None,
            request_id: None,
            retry_after: retry_after.map(Duration::from_secs),
        }))
    }

    fn no_answer(arrival: Arrival) -> Error {
        Error::NoAnswer { server: String::new(), reason: String::new(), arrival }
    }

    #[test]
    fn a_request_is_made_again_when_that_is_safe_and_may_help() {
        let not_the_api = |status| Error::NotTheApi { server: String::new(), status };
        let table = [
            (no_answer(Arrival::Never), true, true),
            (no_answer(Arrival::Perhaps), true, false),
            (refused(429, None), true, true),
            (refused(503, None), true, false),
            (refused(500, None), true, false),
            (not_the_api(502), true, false),
            (not_the_api(504), true, false),
            (refused(401, None), false, false),
            (refused(409, None), false, false),
            (refused(422, None), false, false),
        ];
        for (error, freely, only_if_untaken) in table {
            let again = |repeat| Retries::default().wait(1, &error, repeat, 0.0).is_some();
            assert_eq!(again(Repeat::Freely), freely, "{error:?}");
            assert_eq!(again(Repeat::OnlyIfUntaken), only_if_untaken, "{error:?}");
        }
    }

    #[test]
    fn waits_double_unless_the_server_sends_retry_after() {
        let wait = |attempt, retry_after, fraction| {
            let error = refused(503, retry_after);
            let wait = Retries::default().wait(attempt, &error, Repeat::Freely, fraction);
            wait.map(|wait| wait.as_millis())
        };
        assert_eq!(wait(1, None, 0.0), Some(250));
        assert_eq!(wait(1, None, 1.0), Some(500));
        assert_eq!(wait(3, None, 1.0), Some(2_000));
        assert_eq!(wait(5, None, 1.0), None);
        assert_eq!(wait(1, Some(7), 1.0), Some(7_000));
        assert_eq!(wait(1, Some(60), 0.0), Some(60_000));
        assert_eq!(wait(1, Some(61), 0.0), None);
    }
}
