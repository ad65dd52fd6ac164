//! Submits one message, segment by segment. The segments succeed or fail as one message.
//!
//! They go one after the other, so that a network refuses a message with its first segment, before
//! any has been sent. Once a segment has been sent it cannot be taken back: a later one is tried
//! for longer, and the outcome says how many were sent.

use std::collections::BTreeSet;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use sms_core::dispatch::Lane;
use sms_core::dispatch::journal::{Entry, IfUnanswered};
use sms_core::ids::MessageId;
use sms_core::message::ErrorCode;
use sms_core::receipt::report::NetworkId;
use sms_core::route::{HandOver, OutboundMessage, Room};
use tokio::time::sleep;

use super::inner::{InHand, Inner};
use super::patience::Patience;
use crate::carrier::WindowPlace;
use crate::leave::{Leave, Wait};
use crate::pdu::status::Remedy;
use crate::pdu::{ShortMessage, Status};
use crate::session::{Heard, Submitted};
use crate::settings::Unanswered;
use crate::submit::submits;

/// The minimum number of tries, for routes so slow that one try outlasts the retry time.
const AT_LEAST: usize = 3;
/// The pause before the same segment is retried. A throttled route also lowers its rate.
const AGAIN_AFTER: Duration = Duration::from_millis(200);

/// Why a segment was not sent.
enum Stopped {
    /// The SMSC refuses it for good.
    Refused(Status),
    /// The SMSC does not accept it for now.
    TurnedAway(Status),
    /// No connection is bound.
    NoConnection,
    /// It may have been sent.
    Unanswered,
    /// Its message has to be looked at again.
    Withheld,
}

/// Whether an outcome survives the end of the program.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Safety {
    /// It is in the journal.
    Journalled,
    /// It will be once it is recorded.
    Unrecorded,
}

/// The place of a message in the windows.
enum Place {
    /// It has none yet, or has given it back.
    None,
    /// It holds this one until its outcome is recorded.
    Held(WindowPlace),
    /// It held one until its outcome was in the journal.
    Noted,
}

impl Place {
    fn hears(&mut self, submitted: &Submitted) {
        if let Self::Held(place) = self {
            place.hears(submitted);
        }
    }
}

/// A message that is being submitted.
struct UnderWay {
    message: MessageId,
    lane: Lane,
    /// Until when the first segment may be submitted. The others follow it.
    leave: Leave,
    segments: usize,
    /// The network's ids of the segments that were sent.
    ids: Vec<String>,
    in_hand: InHand,
    /// Shared with the session, which reads the response.
    place: Arc<Mutex<Place>>,
}

impl UnderWay {
    fn place(&self) -> MutexGuard<'_, Place> {
        self.place.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// A segment is about to be written.
    fn writes(&self) {
        self.in_hand.writes();
        if let Place::Held(place) = &mut *self.place() {
            place.writes(self.segments);
        }
    }

    /// A segment had this outcome.
    fn hears(&self, submitted: &Submitted) {
        self.place().hears(submitted);
    }

    /// It was turned away, and waits for a place once more.
    fn waits_again(&self) {
        *self.place() = Place::None;
        self.in_hand.waits();
    }
}

impl Inner {
    /// Submits one message. Returns the outcome, and the room that the message takes until that is
    /// safe.
    pub(super) async fn carry(
        self: &Arc<Self>,
        text: &OutboundMessage,
        in_hand: InHand,
    ) -> (HandOver, Room) {
        let reference = reference(text.message);
        let parts = submits(text, self.settings.style, reference, self.clock.now());
        let mut under_way = UnderWay {
            message: text.message,
            lane: text.lane,
            leave: Leave::while_fresh(&text.look),
            segments: parts.len(),
            ids: Vec::with_capacity(parts.len()),
            in_hand,
            place: Arc::new(Mutex::new(Place::None)),
        };
        let result = self.carry_parts(parts, &mut under_way).await;
        let place = std::mem::replace(&mut *under_way.place(), Place::Noted);
        // Here, because the caller may take outcomes only once it has recorded others.
        let room = match place {
            Place::Noted => Room::unbounded(),
            place if self.note_answer(text.message, &result) == Safety::Journalled => {
                drop(place);
                Room::unbounded()
            }
            Place::None => Room::unbounded(),
            Place::Held(place) => place.into_room(),
        };
        (result, room)
    }

    async fn carry_parts(
        self: &Arc<Self>,
        parts: Vec<ShortMessage>,
        under_way: &mut UnderWay,
    ) -> HandOver {
        for part in parts {
            match self.carry_part(part, under_way).await {
                Ok(id) => under_way.ids.push(id),
                Err(stopped) => {
                    return self.stopped(&stopped, under_way.ids.len(), under_way.segments);
                }
            }
        }
        self.submitted(std::mem::take(&mut under_way.ids))
    }

    /// Submits the next segment and returns the network's id of it. The message holds a place from
    /// the moment a segment of it may have been sent.
    async fn carry_part(
        self: &Arc<Self>,
        part: ShortMessage,
        under_way: &UnderWay,
    ) -> Result<String, Stopped> {
        let message = under_way.message;
        let is_first = under_way.ids.is_empty();
        let Patience { first_part, later_part } = self.patience;
        let patience = if is_first { first_part } else { later_part };
        let leave = if is_first { under_way.leave.clone() } else { Leave::always() };
        let wait = Wait { lane: under_way.lane, leave };
        let mut tries = self.interrupted.take(message);
        loop {
            if matches!(*under_way.place(), Place::None) {
                let place = self.place(&wait).await;
                let place = place.inspect_err(|_| self.interrupted.keep(message, tries))?;
                *under_way.place() = Place::Held(place);
            }
            let heard = self.heard(under_way);
            let note = || {
                under_way.writes();
                self.note(message);
            };
            let submitted = self.carrier.submit(part.clone(), wait.clone(), note, heard).await;
            under_way.hears(&submitted);
            let may_be_sent =
                matches!(submitted, Submitted::Accepted { .. } | Submitted::Unanswered);
            if is_first && !may_be_sent {
                under_way.waits_again();
            }
            let stopped = match submitted {
                Submitted::Accepted { id } => return Ok(self.settings.ids.of_answer(&id)),
                Submitted::Unanswered => return Err(Stopped::Unanswered),
                Submitted::NotWritten => Stopped::NoConnection,
                Submitted::Withheld => {
                    self.interrupted.keep(message, tries);
                    return Err(Stopped::Withheld);
                }
                Submitted::Refused(status) => match status.remedy() {
                    Remedy::None => return Err(Stopped::Refused(status)),
                    Remedy::SlowDown | Remedy::TryLater => Stopped::TurnedAway(status),
                },
            };
            let is_over = tries.failed(patience, AT_LEAST, AGAIN_AFTER);
            if is_over || *self.closing.borrow() {
                return Err(stopped);
            }
            sleep(AGAIN_AFTER).await;
        }
    }

    /// Notes in the journal that the message is about to be submitted.
    fn note(&self, message: MessageId) {
        let Some(journal) = self.journal.get() else { return };
        let unanswered = match self.settings.unanswered {
            Unanswered::Again => IfUnanswered::Again,
            Unanswered::Undelivered => IfUnanswered::Undelivered,
        };
        // A journal that cannot write this says nothing about the message.
        let _ = journal.append(vec![Entry::Submitting { messages: vec![message], unanswered }]);
    }

    /// With a journal, the outcome is noted as soon as the response to the last segment is read,
    /// and the place is free for the next message before the task of this one runs again.
    fn heard(self: &Arc<Self>, under_way: &UnderWay) -> Heard {
        let UnderWay { message, segments, ids, place, .. } = under_way;
        if self.journal.get().is_none() || ids.len() + 1 < *segments {
            return Heard::nothing();
        }
        // Weak, because the session must not keep its own route.
        let inner = Arc::downgrade(self);
        let (message, mut ids, place) = (*message, ids.clone(), Arc::clone(place));
        Heard::then(move |submitted| {
            let (Submitted::Accepted { id }, Some(inner)) = (submitted, inner.upgrade()) else {
                return;
            };
            ids.push(inner.settings.ids.of_answer(id));
            if inner.note_answer(message, &inner.submitted(ids)) == Safety::Journalled {
                let mut place = place.lock().unwrap_or_else(PoisonError::into_inner);
                place.hears(submitted);
                *place = Place::Noted;
            }
        })
    }

    /// Notes the outcome in the journal.
    fn note_answer(&self, message: MessageId, result: &HandOver) -> Safety {
        let Some(journal) = self.journal.get() else { return Safety::Unrecorded };
        let (result, at) = (result.clone(), self.clock.now());
        match journal.append(vec![Entry::Answered { message, result, at }]) {
            Ok(()) => Safety::Journalled,
            Err(_) => Safety::Unrecorded,
        }
    }

    /// Waits for a place, but no longer than the message may wait, or than the route is open: then
    /// the outcomes that hold places may not be recorded any more.
    async fn place(&self, Wait { lane, leave }: &Wait) -> Result<WindowPlace, Stopped> {
        let mut closing = self.closing.subscribe();
        tokio::select! {
            biased;
            _ = closing.wait_for(|is_closing| *is_closing) => Err(Stopped::NoConnection),
            place = self.carrier.place(*lane) => Ok(place),
            () = leave.ends() => Err(Stopped::Withheld),
        }
    }

    /// The outcome of a message after `left` segments were sent and the next one failed.
    fn stopped(&self, stopped: &Stopped, left: usize, total: usize) -> HandOver {
        let is_closing = *self.closing.borrow();
        let reason = match stopped {
            Stopped::Refused(status) => format!("refused by the network: {status}"),
            Stopped::TurnedAway(status) => format!("not accepted by the network for now: {status}"),
            Stopped::NoConnection if is_closing => "the route is closing".to_owned(),
            Stopped::NoConnection => "no connection to the network".to_owned(),
            Stopped::Unanswered => {
                "the network did not answer; the message may have been sent".to_owned()
            }
            Stopped::Withheld => return HandOver::GivenBack,
        };
        let in_part = left > 0;
        let detail = if in_part {
            format!("{left} of {total} segments submitted; the next: {reason}")
        } else {
            reason
        };
        if matches!(stopped, Stopped::Unanswered) {
            let route = self.name.as_str().to_owned();
            metrics::counter!("sms_smpp_ambiguous_messages_total", "route" => route).increment(1);
        }
        match stopped {
            Stopped::Refused(status) if in_part => {
                HandOver::Abandoned { error: error_of(*status), detail }
            }
            Stopped::Refused(status) => {
                HandOver::Refused { error: error_of(*status), detail: Some(detail) }
            }
            Stopped::TurnedAway(_) | Stopped::NoConnection if !in_part => {
                HandOver::TryLater { detail }
            }
            // Closing cut the retries short, and no segment is without an answer. So the whole
            // message is submitted again, whatever the setting `unanswered` says.
            Stopped::TurnedAway(_) | Stopped::NoConnection if is_closing => {
                HandOver::Unanswered { detail }
            }
            _ => match self.settings.unanswered {
                // The reference stays the same, so a handset recognises repeated segments.
                Unanswered::Again => HandOver::Unanswered { detail },
                Unanswered::Undelivered => {
                    HandOver::Abandoned { error: ErrorCode::NetworkError, detail }
                }
            },
        }
    }

    /// All segments were accepted. Segments with one id share a receipt. Without an id there can
    /// be no receipt.
    fn submitted(&self, ids: Vec<String>) -> HandOver {
        if ids.iter().any(String::is_empty) {
            return HandOver::Taken { simulated: Vec::new() };
        }
        let mut known = BTreeSet::new();
        let mut parts = Vec::with_capacity(ids.len());
        for id in ids {
            if known.insert(id.clone()) {
                parts.push(NetworkId::new(self.name.clone(), id));
            }
        }
        HandOver::Submitted { parts }
    }
}

fn error_of(status: Status) -> ErrorCode {
    match status {
        Status::INVALID_DESTINATION => ErrorCode::UnknownSubscriber,
        _ => ErrorCode::RejectedByNetwork,
    }
}

/// The reference that joins the segments of a message. It is derived from the message id, so it is
/// random, and stays the same when the message is submitted again: a handset that already has some
/// of the segments recognises them.
fn reference(message: MessageId) -> u16 {
    let [.., a, b, c, d] = message.as_u128().to_be_bytes();
    u16::from_be_bytes([a ^ c, b ^ d])
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn messages_created_together_have_different_references_that_never_change() {
        use sms_core::ids::IdSource;
        use sms_core::random::SeededRandom;
        use sms_core::time::Timestamp;
        let now = Timestamp::from_millis(1_795_244_830_123);
        let mut ids = IdSource::default().draw(now, &SeededRandom::new(7));
        let messages: Vec<MessageId> = (0..200).map(|_| ids.next()).collect();
        let wide: BTreeSet<u16> = messages.iter().map(|id| reference(*id)).collect();
        assert!(wide.len() > 190, "{}", wide.len());
        let [narrow, low] = [8, 0].map(|shift| {
            messages.iter().map(|id| (reference(*id) >> shift) & 0xFF).collect::<BTreeSet<_>>()
        });
        assert!(narrow.len() > 100 && low.len() > 100, "{} {}", narrow.len(), low.len());
        assert_eq!(reference(messages[0]), reference(messages[0]));
    }
}
