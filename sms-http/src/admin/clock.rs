//! `/clock`: the movable clock of a sandbox. Elsewhere there is none.

use std::time::Duration;

use poem_openapi::{Object, OpenApi};

use super::Tag;
use crate::request_body;
use crate::sandbox::Sandbox;
use crate::web::body::Body;
use crate::web::envelope::Answer;
use crate::web::error::ApiError;
use crate::web::field_error::checked;
use crate::web::moment::Moment;

/// The furthest move: 400 days.
const MAX_ADVANCE: u64 = 34_560_000;

request_body! {
/// How far to move the clock.
struct ClockInput as "ClockInput" {
    /// Seconds.
    required advance_seconds: u64 = count(1..=MAX_ADVANCE);
}
}

/// What the clock shows.
#[derive(Debug, Object)]
#[oai(rename = "Clock")]
struct ClockShape {
    /// The service's present moment.
    now: Moment,
    /// How far it was moved since the server started.
    moved_seconds: u64,
}

impl ClockShape {
    fn of(sandbox: &Sandbox) -> Self {
        Self { now: sandbox.sms().now().into(), moved_seconds: sandbox.moved().as_secs() }
    }
}

/// The handlers of `/clock`.
#[derive(Debug)]
pub struct ClockApi {
    sandbox: Option<Sandbox>,
}

impl ClockApi {
    pub(super) fn new(sandbox: Option<Sandbox>) -> Self {
        Self { sandbox }
    }

    fn sandbox(&self) -> Result<&Sandbox, ApiError> {
        self.sandbox.as_ref().ok_or_else(ApiError::not_found)
    }
}

#[OpenApi(prefix_path = "/clock", tag = "Tag::Sandbox")]
impl ClockApi {
    /// Read the clock
    ///
    /// In a sandbox only; elsewhere 404.
    #[oai(path = "/", method = "get", operation_id = "clock_get")]
    #[expect(clippy::unused_async, reason = "handlers are async")]
    async fn get(&self) -> Result<Answer<ClockShape>, ApiError> {
        Ok(Answer::new(ClockShape::of(self.sandbox()?)))
    }

    /// Move the clock
    ///
    /// The answer comes when all that fell due on the way was done, in the order of its times. In a
    /// sandbox only; elsewhere 404.
    #[oai(path = "/", method = "post", operation_id = "clock_advance")]
    async fn advance(&self, body: Body<ClockInput>) -> Result<Answer<ClockShape>, ApiError> {
        let sandbox = self.sandbox()?;
        let ClockInput { advance_seconds } = checked(body)?;
        sandbox.advance(Duration::from_secs(advance_seconds)).await?;
        Ok(Answer::new(ClockShape::of(sandbox)))
    }
}
