//! One stream: reads its account's log page by page, as fast as its reader takes them.

use std::time::Duration;

use bytes::Bytes;
use sms_core::Error;
use sms_core::error::causes;
use sms_core::event::kinds::Kinds;
use sms_core::event::log::{EventRequest, ReadFrom};
use sms_core::event::position::Position;
use sms_core::page::Limit;
use sms_core::service::AccountHandle;
use tokio::time::{Instant, sleep_until};

use super::ending::Ending;
use super::frame;
use super::hub::Seat;
use crate::api::whole_read::to_its_end;
use crate::web::standing::Followed;

/// Counts the streams that the server ended, by reason.
const ENDED: &str = "sms_event_streams_ended_total";

/// How many events are read and written at once.
const AT_ONCE: u32 = 50;

/// A stream under way.
pub(super) struct Follower {
    account: AccountHandle,
    kinds: Kinds,
    seat: Seat,
    admitted: Followed,
    /// Up to here the reader has the events.
    at: Position,
    /// Whoever has read the log to its end has read it at least up to here.
    end: Position,
    stage: Stage,
    /// When the reader was last given something.
    handed_at: Instant,
}

enum Stage {
    Opening,
    Reading,
    /// For news.
    Waiting,
    Ended,
}

impl Follower {
    /// A stream after a position, or after `end`, which is the end of the log at this moment.
    pub(super) fn new(
        account: AccountHandle,
        kinds: Kinds,
        (seat, admitted): (Seat, Followed),
        after: Option<Position>,
        end: Position,
    ) -> Self {
        let (at, handed_at) = (after.unwrap_or(end), Instant::now());
        Self { account, kinds, seat, admitted, at, end, stage: Stage::Opening, handed_at }
    }

    /// What the stream says next; `None` once it has ended. To be asked for when the reader has
    /// room, and not before.
    pub(super) async fn next(mut self) -> Option<(Bytes, Self)> {
        if matches!(self.stage, Stage::Ended) {
            return None;
        }
        let is_slow = self.handed_at.elapsed() > self.seat.limits().patience;
        let (must_end, lost) = (self.seat.must_end(), self.admitted.lost());
        let said = if is_slow && !matches!(self.stage, Stage::Opening) {
            Err(Ending::ReaderTooSlow)
        } else {
            tokio::select! {
                biased;
                ending = must_end => Err(ending),
                lost = lost => Err(Ending::AdmissionLost(lost)),
                said = self.say() => said,
            }
        };
        let said = said.unwrap_or_else(|ending| self.last_words(ending));
        self.handed_at = Instant::now();
        Some((said, self))
    }

    async fn say(&mut self) -> Result<Bytes, Ending> {
        let beat_every: Duration = self.seat.limits().beat_every;
        let beat_at = Instant::now() + beat_every;
        loop {
            match self.stage {
                Stage::Opening => {
                    self.stage = Stage::Reading;
                    return Ok(frame::opening(self.at));
                }
                Stage::Waiting => tokio::select! {
                    end = self.seat.news(self.at) => {
                        self.end = end;
                        self.stage = Stage::Reading;
                    }
                    () = sleep_until(beat_at) => return Ok(frame::beat(self.at)),
                },
                Stage::Reading | Stage::Ended => {
                    let read = self.read().await.map_err(|error| {
                        tracing::warn!(error = %causes(&error), "an event stream failed");
                        Ending::Unavailable
                    })?;
                    if let Some(events) = read {
                        return Ok(events);
                    }
                }
            }
        }
    }

    /// Reads a page; `None` if it has no events.
    async fn read(&mut self) -> Result<Option<Bytes>, Error> {
        let limit = Limit::new(AT_ONCE).unwrap_or_default();
        let request = EventRequest { kinds: self.kinds, from: ReadFrom::After(self.at), limit };
        let account = self.account.clone();
        let page = to_its_end(async move { account.event_list(request).await }).await?;
        let last = page.items.last().map(|event| event.position);
        self.at = if let Some(next) = page.next {
            next
        } else {
            self.stage = Stage::Waiting;
            last.unwrap_or(self.at).max(self.end)
        };
        Ok((!page.items.is_empty()).then(|| frame::events(page.items)))
    }

    fn last_words(&mut self, ending: Ending) -> Bytes {
        self.stage = Stage::Ended;
        metrics::counter!(ENDED, "reason" => ending.as_str()).increment(1);
        frame::ended(ending, self.at)
    }
}
