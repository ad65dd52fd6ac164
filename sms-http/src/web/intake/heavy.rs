//! Work that grows with what a stranger sends: it runs apart from the threads that serve everybody,
//! and only so much of it at once.
//!
//! A handler whose body is over 16 KB, or brings a file, runs on a thread of its own, from the
//! reading of the body to the answer. What bodies become in memory is counted before: an array of
//! small objects takes many times the bytes that it came in, and a workbook may take as much as
//! there is, however few bytes it has. Those that find no room wait for their turn. An owner has
//! few turns at once, and the others of theirs wait before they stand in the line of all; so
//! owners take turns.

use std::collections::HashMap;
use std::panic::resume_unwind;
use std::sync::{Arc, Mutex, PoisonError, Weak};
use std::time::Duration;

use tokio::runtime::Handle;
use tokio::sync::{OwnedSemaphorePermit, Semaphore};
use tokio::task::spawn_blocking;
use tokio::time::timeout;
use tracing::Span;

use crate::web::intake::door::Owner;

const KB: usize = 1_024;
const MB: usize = 1_024 * KB;

/// What a larger body brings is worked on apart.
const IN_PLACE: usize = 16 * KB;
/// A larger body stands in the line of large ones.
const MIDDLING: usize = 64 * KB;
/// A body becomes at most so many times its length: as an array of objects with one field each.
const GROWS: usize = 64;
/// What the largest body becomes at most, because the number of its values and cells is limited.
const MOST: usize = 160 * MB;

/// How long a body waits for its turn. Then its request is refused, and nothing was done.
const WAITS: Duration = Duration::from_secs(20);

/// The work that is under way.
#[derive(Debug)]
pub(super) struct HeavyWork {
    middling: Line,
    large: Line,
}

/// How heavy the work on a body is, and what the body becomes in memory, in bytes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Weight {
    /// It is done in place.
    Light,
    Middling(usize),
    Large(usize),
}

/// Those that wait for room.
#[derive(Debug)]
struct Line {
    /// In KB.
    room: Arc<Semaphore>,
    /// How many of one owner have a turn at once.
    of_one: usize,
    owners: Mutex<HashMap<Owner, Weak<Semaphore>>>,
}

/// The turn of a body did not come in time.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct TooLate;

/// The turn of one body, until it is dropped.
#[derive(Debug)]
pub(super) struct Turn {
    _of_owner: OwnedSemaphorePermit,
    _room: OwnedSemaphorePermit,
}

impl HeavyWork {
    /// Two of the largest bodies fit, or five of 1 MB, and sixteen of 64 KB.
    pub(super) fn new() -> Self {
        Self { middling: Line::new(64 * MB, 4), large: Line::new(2 * MOST, 1) }
    }

    /// Waits for the turn of a body; `None` for one that needs none.
    pub(super) async fn turn(&self, owner: Owner, of: Weight) -> Result<Option<Turn>, TooLate> {
        let turn = match of {
            Weight::Light => return Ok(None),
            Weight::Middling(bytes) => self.middling.turn(owner, bytes),
            Weight::Large(bytes) => self.large.turn(owner, bytes),
        };
        timeout(WAITS, turn).await.map_err(|_| TooLate)
    }
}

impl Weight {
    pub(super) fn of(body: &[u8]) -> Self {
        let becomes = body.len().saturating_mul(GROWS).min(MOST);
        // A form with files begins with its boundary, whatever the head says of it; no JSON does.
        let brings_a_file = body.starts_with(b"--");
        if becomes < MOST && brings_a_file && has_zip(body) {
            return Self::Large(MOST);
        }
        match body.len() {
            0..=IN_PLACE if !brings_a_file => Self::Light,
            0..=MIDDLING => Self::Middling(becomes),
            _ => Self::Large(becomes),
        }
    }
}

/// Whether a zip file begins somewhere in a body: a workbook is one.
fn has_zip(body: &[u8]) -> bool {
    const BEGINS: &[u8] = b"PK\x03\x04";
    body.windows(BEGINS.len()).any(|bytes| bytes == BEGINS)
}

impl Line {
    fn new(bytes: usize, of_one: usize) -> Self {
        Self { room: Arc::new(Semaphore::new(bytes / KB)), of_one, owners: Mutex::default() }
    }

    /// `None` if a semaphore were closed, which none ever is.
    async fn turn(&self, owner: Owner, bytes: usize) -> Option<Turn> {
        let of_owner = self.of_owner(owner).acquire_owned().await.ok()?;
        let wanted = u32::try_from(bytes / KB).unwrap_or(u32::MAX);
        let room = Arc::clone(&self.room).acquire_many_owned(wanted).await.ok()?;
        Some(Turn { _of_owner: of_owner, _room: room })
    }

    fn of_owner(&self, owner: Owner) -> Arc<Semaphore> {
        // Every change is complete before the lock is released.
        let mut owners = self.owners.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(own) = owners.get(&owner).and_then(Weak::upgrade) {
            return own;
        }
        owners.retain(|_, turns| turns.strong_count() > 0);
        let own = Arc::new(Semaphore::new(self.of_one));
        owners.insert(owner, Arc::downgrade(&own));
        own
    }
}

/// Runs work on a thread of its own; `None` if the runtime is shutting down.
pub(super) async fn on_own_thread<T: Send + 'static>(
    work: impl Future<Output = T> + Send + 'static,
) -> Option<T> {
    let (runtime, span) = (Handle::current(), Span::current());
    let working = spawn_blocking(move || span.in_scope(|| runtime.block_on(work)));
    match working.await {
        Ok(done) => Some(done),
        Err(ended) => match ended.try_into_panic() {
            Ok(panic) => resume_unwind(panic),
            Err(_shutting_down) => None,
        },
    }
}

#[cfg(test)]
mod tests {
    use std::pin::pin;

    use futures_util::FutureExt as _;

    use super::*;

    fn owner(number: u128) -> Owner {
        Owner::Numbered(number)
    }

    /// The weight of a body of so many bytes.
    fn of(bytes: usize) -> Weight {
        Weight::of(&vec![b' '; bytes])
    }

    #[test]
    fn a_file_is_never_worked_on_in_place_and_a_workbook_is_as_heavy_as_any() {
        let file = |content: &str| Weight::of(format!("--x\r\n\r\n{content}").as_bytes());
        assert_eq!((of(16 * KB), of(16 * KB + 1)), (Weight::Light, Weight::Middling(MB + 64)));
        assert_eq!(file("phone\n1\n"), Weight::Middling(15 * GROWS));
        assert_eq!(file("PK\x03\x04"), Weight::Large(MOST));
        assert_eq!(file(&("x".repeat(MB) + "PK\x03\x04")), Weight::Large(MOST));
        assert_eq!(of(MB), Weight::Large(64 * MB));
        assert_eq!(of(8 * MB), Weight::Large(MOST));
        assert_eq!(Weight::of(b"{\"text\":\"PK\x03\x04\"}"), Weight::Light, "no file");
    }

    #[tokio::test]
    async fn small_bodies_need_no_turn_and_one_owner_leaves_room_for_the_next() {
        let work = HeavyWork::new();
        assert!(work.turn(owner(1), of(16 * KB)).await.unwrap().is_none());
        let first = work.turn(owner(1), of(8 * MB)).await.unwrap().unwrap();
        let mut second = pin!(work.turn(owner(1), of(8 * MB)));
        assert!(second.as_mut().now_or_never().is_none(), "an owner has one turn at once");
        let _other = work.turn(owner(2), of(8 * MB)).await.unwrap().unwrap();
        let mut third = pin!(work.turn(owner(3), of(100 * KB)));
        assert!(third.as_mut().now_or_never().is_none(), "two of the largest fill the room");
        assert!(work.turn(owner(3), of(64 * KB)).now_or_never().is_some(), "others have their own");
        drop(first);
        assert!(third.as_mut().now_or_never().is_some(), "it stood in line before");
    }

    #[tokio::test]
    async fn many_of_a_megabyte_have_a_turn_together_and_what_is_over_is_forgotten() {
        let work = HeavyWork::new();
        let mut turns = Vec::new();
        for number in 0..5 {
            turns.push(work.turn(owner(number), of(MB)).now_or_never().unwrap());
        }
        assert!(work.turn(owner(5), of(MB)).now_or_never().is_none());
        drop(turns);
        assert!(work.turn(owner(6), of(MB)).await.unwrap().is_some());
        assert_eq!(work.large.owners.lock().unwrap().len(), 1);
    }

    #[tokio::test(start_paused = true)]
    async fn a_body_whose_turn_comes_too_late_is_refused() {
        let work = HeavyWork::new();
        let first = work.turn(owner(1), of(MB)).await.unwrap().unwrap();
        assert!(matches!(work.turn(owner(1), of(MB)).await, Err(TooLate)));
        drop(first);
        assert!(work.turn(owner(1), of(MB)).await.unwrap().is_some());
    }
}
