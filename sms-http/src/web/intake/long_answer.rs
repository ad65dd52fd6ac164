//! Answers on their way to the client: what they take in memory is counted until it is handed over,
//! and those that take long end with the admission of whoever asked for them.

use std::io;
use std::pin::Pin;
use std::sync::{Arc, Mutex, PoisonError};
use std::task::{Context, Poll, ready};
use std::time::Duration;

use bytes::Bytes;
use futures_util::future::BoxFuture;
use http_body_util::combinators::BoxBody;
use hyper::body::{Body as _, Frame, SizeHint};
use poem::{Body, Response};
use tokio::time::sleep;

use crate::web::intake::answer_room::{HeldAnswer, IfFull};
use crate::web::intake::room::{HeldRoom, NoRoom};
use crate::web::standing::Admission;

/// What is shorter takes as much as its connection does anyway, and is not counted.
const UNCOUNTED: usize = 4 * 1_024;
/// What is shorter is written before anybody could look after its reader.
const SHORT: usize = 64 * 1_024;
/// As much as this is counted for a stream, and more while it has more at hand.
const STREAM: usize = 64 * 1_024;
/// An answer is handed over in pieces of so many bytes, and may end between them.
const PIECE: usize = 16 * 1_024;
/// How long it may take to say the last thing.
const FOR_LAST_WORDS: Duration = Duration::from_secs(1);

/// Who gets an answer, and what it takes.
pub(super) struct Reader {
    pub admission: Admission,
    /// Nothing is counted yet.
    pub held: HeldAnswer,
    /// What to do if the answer finds no room.
    pub if_full: IfFull,
}

/// Counts an answer until it is handed over, or refuses it. `body_room` is the room of the
/// request's body, which a stream may be made of.
///
/// A long answer ends soon after the admission was lost. Then it may still say one thing, such as
/// why it ends. If there is more, the connection is cut, so that nobody takes it for the whole.
pub(super) fn handed_to(
    reader: Reader,
    mut response: Response,
    body_room: Option<HeldRoom>,
) -> Result<Response, NoRoom> {
    let body = BoxBody::from(response.take_body());
    let exact = body.size_hint().exact().map(|length| usize::try_from(length).unwrap_or(STREAM));
    if exact.is_some_and(|length| length <= UNCOUNTED) {
        response.set_body(Body::from(body));
        return Ok(response);
    }
    let Reader { admission, held, if_full } = reader;
    held.resize(exact.unwrap_or(STREAM), if_full)?;
    let is_short = exact.is_some_and(|length| length <= SHORT);
    let end: Option<BoxFuture<'static, ()>> = if is_short {
        None
    } else {
        let followed = admission.follow();
        Some(Box::pin(async move {
            followed.lost().await;
        }))
    };
    let made_of = if exact.is_none() { body_room } else { None };
    let answer = LongAnswer {
        body,
        rest: Bytes::new(),
        end: Mutex::new(end),
        stage: Stage::Admitted,
        held: Arc::new(held),
        is_whole: exact.is_some(),
        _made_of: made_of,
    };
    response.set_body(Body::from(BoxBody::new(answer)));
    Ok(response)
}

/// A body that ends with an admission.
struct LongAnswer {
    body: BoxBody<Bytes, io::Error>,
    /// What the body has given and is not yet handed over.
    rest: Bytes,
    /// What ends the stage, if anything does. The lock is never taken: it only lets threads share
    /// what they never use at once.
    end: Mutex<Option<BoxFuture<'static, ()>>>,
    stage: Stage,
    held: Arc<HeldAnswer>,
    /// Whether all of it was counted at the start.
    is_whole: bool,
    _made_of: Option<HeldRoom>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Stage {
    Admitted,
    /// The admission was lost, and one more thing may be said.
    LastWords,
    /// The last thing was said.
    Said,
    Over,
}

/// A part of an answer, which is counted until its last piece is handed over.
struct Counted {
    bytes: Bytes,
    _held: Arc<HeldAnswer>,
}

impl AsRef<[u8]> for Counted {
    fn as_ref(&self) -> &[u8] {
        &self.bytes
    }
}

type Polled = Poll<Option<io::Result<Frame<Bytes>>>>;

impl LongAnswer {
    fn piece(&mut self, context: &mut Context<'_>) -> Polled {
        while self.rest.is_empty() {
            let Some(frame) = ready!(Pin::new(&mut self.body).poll_frame(context)?) else {
                return Poll::Ready(None);
            };
            match frame.into_data() {
                Ok(data) => self.rest = self.counted(data)?,
                Err(trailers) => return Poll::Ready(Some(Ok(trailers))),
            }
        }
        let piece = self.rest.split_to(PIECE.min(self.rest.len()));
        Poll::Ready(Some(Ok(Frame::data(piece))))
    }

    /// What a stream has at hand finds room, or the stream is cut.
    fn counted(&self, bytes: Bytes) -> io::Result<Bytes> {
        if !self.is_whole {
            let grown = self.held.resize(STREAM.max(bytes.len()), IfFull::Refuse);
            grown.map_err(|_| io::Error::other("the answers on their way take too much memory"))?;
        }
        Ok(Bytes::from_owner(Counted { bytes, _held: Arc::clone(&self.held) }))
    }

    fn stage_ends(&mut self, context: &mut Context<'_>) -> bool {
        // A poisoned lock holds a valid future: nobody ever takes it.
        let end = self.end.get_mut().unwrap_or_else(PoisonError::into_inner);
        end.as_mut().is_some_and(|end| end.as_mut().poll(context).is_ready())
    }

    /// What the body says once the admission was lost.
    fn last_piece(&mut self, context: &mut Context<'_>) -> Polled {
        match self.piece(context) {
            Poll::Ready(Some(Ok(words))) if self.stage == Stage::LastWords => {
                self.stage = Stage::Said;
                Poll::Ready(Some(Ok(words)))
            }
            Poll::Ready(None) => Poll::Ready(None),
            Poll::Pending if !self.stage_ends(context) => Poll::Pending,
            Poll::Ready(Some(_)) | Poll::Pending => {
                self.stage = Stage::Over;
                let cut = "the answer was cut off: whoever asked for it is admitted no longer";
                Poll::Ready(Some(Err(io::Error::other(cut))))
            }
        }
    }
}

impl hyper::body::Body for LongAnswer {
    type Data = Bytes;
    type Error = io::Error;

    fn poll_frame(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Polled {
        let this = &mut *self;
        if this.stage == Stage::Admitted && this.stage_ends(context) {
            this.stage = Stage::LastWords;
            // The body hears of the loss by itself, perhaps a moment later.
            this.end = Mutex::new(Some(Box::pin(sleep(FOR_LAST_WORDS))));
        }
        match this.stage {
            Stage::Admitted => this.piece(context),
            Stage::LastWords | Stage::Said => this.last_piece(context),
            Stage::Over => Poll::Ready(None),
        }
    }

    fn is_end_stream(&self) -> bool {
        self.stage == Stage::Over || (self.rest.is_empty() && self.body.is_end_stream())
    }

    fn size_hint(&self) -> SizeHint {
        let rest = self.rest.len() as u64;
        let of_body = self.body.size_hint();
        let mut hint = SizeHint::new();
        hint.set_lower(of_body.lower() + rest);
        if let Some(upper) = of_body.upper() {
            hint.set_upper(upper + rest);
        }
        hint
    }
}
