//! `GET /events/stream`: the account's events as they happen, as server-sent events.
//!
//! A stream reads the log at its reader's pace and keeps no more than one page of it. Between pages
//! it waits for news, for which one task looks on behalf of all streams of the server (`hub`). So a
//! quiet stream costs a timer, and a slow reader costs no memory until it is cut off.

mod ending;
mod follower;
mod frame;
mod hub;
mod limits;

use futures_util::stream::{StreamExt as _, unfold};
use poem::Body;
use poem_openapi::ApiResponse;
use poem_openapi::payload::Binary;
use sms_core::Sms;
use sms_core::account::status::MayNotSend;
use sms_core::event::kinds::Kinds;
use sms_core::event::position::Position;
use sms_core::service::Caller;
use sms_core::service::authenticate::Standing;

use self::follower::Follower;
use self::hub::{Entrance, Full, Hub};
use crate::web::error::ApiError;
use crate::web::standing::Admission;

pub use self::limits::StreamLimits;

/// The `Retry-After` of a stream that finds no place.
const RETRY_AFTER_SECONDS: u64 = 10;

/// The streams of one server. Clones share them.
#[derive(Debug, Clone)]
pub struct EventStreams {
    hub: Hub,
    entrance: Entrance,
}

/// What a stream shows.
#[derive(Debug, Clone, Copy)]
pub(super) struct Follow {
    /// Only these kinds.
    pub kinds: Kinds,
    /// What comes after this; from now on for `None`.
    pub after: Option<Position>,
}

/// The answer.
#[derive(Debug, ApiResponse)]
pub(super) enum Streamed {
    /// Events, until either side ends it.
    #[oai(status = 200, content_type = "text/event-stream")]
    Events(
        Binary<Body>,
        /// `no`: a proxy passes events on at once.
        #[oai(header = "X-Accel-Buffering")]
        String,
    ),
}

impl EventStreams {
    /// No streams yet.
    pub fn new(sms: Sms) -> Self {
        Self::with_limits(sms, StreamLimits::default())
    }

    /// No streams yet, with other limits.
    pub fn with_limits(sms: Sms, limits: StreamLimits) -> Self {
        Self { hub: Hub::new(sms, limits), entrance: Entrance::Api }
    }

    /// The same streams for the people of the console: neither they nor their programs take the
    /// places of the other.
    #[must_use]
    pub fn of_console(&self) -> Self {
        Self { entrance: Entrance::Console, ..self.clone() }
    }

    /// Ends all streams, each with a last event, and refuses others from now on.
    pub fn end(&self) {
        self.hub.end();
    }

    /// How many streams are open.
    pub fn count(&self) -> usize {
        self.hub.count()
    }

    /// A stream for a caller, until the admission is lost.
    pub(super) async fn open(
        &self,
        caller: Caller,
        admission: &Admission,
        follow: Follow,
    ) -> Result<Streamed, ApiError> {
        let seat = self.hub.take(caller, self.entrance).map_err(refused)?;
        let admitted = admission.follow();
        let sms = self.hub.sms();
        match sms.standing(&caller).await? {
            Standing::Admitted => {}
            Standing::KeyRevoked | Standing::SessionOver => return Err(ApiError::unauthorized()),
            Standing::AccountSuspended => {
                return Err(sms_core::Error::MayNotSend(MayNotSend::Suspended).into());
            }
        }
        let account = sms.account(caller.account, caller.mode);
        let end = account.event_end().await?;
        let follower = Follower::new(account, follow.kinds, (seat, admitted), follow.after, end);
        let frames = unfold(follower, Follower::next).map(Ok::<_, std::io::Error>);
        Ok(Streamed::Events(Binary(Body::from_bytes_stream(frames)), "no".to_owned()))
    }
}

fn refused(full: Full) -> ApiError {
    match full {
        Full::OfKey(most) => ApiError::rate_limited(RETRY_AFTER_SECONDS).with_message(format!(
            "this key already follows events on {most} streams: end one, or share one"
        )),
        Full::OfServer => ApiError::unavailable(RETRY_AFTER_SECONDS)
            .with_message("too many streams are open: retry later, or list the events"),
        Full::Stopping => ApiError::unavailable(1),
    }
}
