//! `/clock`: the clock of a sandbox. Other servers answer 404.

use std::sync::Arc;
use std::time::Duration;

use poem_openapi::{Object, OpenApi};
use sms_core::Sms;
use sms_core::service::sandbox::SandboxClock;

use super::tag::Tag;
use crate::request_body;
use crate::web::body::Body;
use crate::web::envelope::Answer;
use crate::web::error::ApiError;
use crate::web::field_error::checked;
use crate::web::moment::Moment;

/// The most seconds of one advance: 400 days.
const MAX_ADVANCE: u64 = 34_560_000;

request_body! {
    /// How far to advance the clock.
    struct ClockInput as "ClockInput" {
        /// Seconds to advance.
        required advance_seconds: u64 = count(1..=MAX_ADVANCE);
    }
}

/// The clock.
#[derive(Debug, Object)]
#[oai(rename = "Clock")]
struct ClockShape {
    /// The current time of the service.
    now: Moment,
    /// How far the clock was advanced since the server started, in seconds.
    moved_seconds: u64,
}

impl ClockShape {
    fn of(sms: &Sms, clock: &dyn SandboxClock) -> Self {
        Self { now: sms.now().into(), moved_seconds: clock.moved().as_secs() }
    }
}

/// The handlers of `/clock`.
#[derive(Debug)]
pub struct ClockApi {
    sms: Sms,
    clock: Option<Arc<dyn SandboxClock>>,
}

impl ClockApi {
    pub(super) fn new(sms: Sms, clock: Option<Arc<dyn SandboxClock>>) -> Self {
        Self { sms, clock }
    }

    fn clock(&self) -> Result<&dyn SandboxClock, ApiError> {
        self.clock.as_deref().ok_or_else(ApiError::not_found)
    }
}

#[OpenApi(prefix_path = "/clock", tag = "Tag::Sandbox")]
impl ClockApi {
    /// Read the clock
    ///
    /// Only in a sandbox; elsewhere 404.
    #[oai(path = "/", method = "get", operation_id = "clock_get")]
    #[expect(clippy::unused_async, reason = "handlers are async")]
    async fn get(&self) -> Result<Answer<ClockShape>, ApiError> {
        Ok(Answer::new(ClockShape::of(&self.sms, self.clock()?)))
    }

    /// Advance the clock
    ///
    /// Does everything that falls due on the way, in the order of its times, and then answers. Only
    /// in a sandbox; elsewhere 404.
    #[oai(path = "/", method = "post", operation_id = "clock_advance")]
    async fn advance(&self, body: Body<ClockInput>) -> Result<Answer<ClockShape>, ApiError> {
        let clock = self.clock()?;
        let ClockInput { advance_seconds } = checked(body)?;
        clock.advance(Duration::from_secs(advance_seconds)).await?;
        Ok(Answer::new(ClockShape::of(&self.sms, clock)))
    }
}
