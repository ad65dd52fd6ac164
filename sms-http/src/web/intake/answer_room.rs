//! The room for answers that wait to be read, shared fairly as that for request bodies is.

use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use crate::web::intake::door::Owner;
use crate::web::intake::room::{NoRoom, Pool};

/// The room for all answers.
#[derive(Debug)]
pub(super) struct AnswerRoom {
    pool: Mutex<Pool>,
}

/// What one answer takes, until it is dropped.
#[derive(Debug)]
pub(super) struct HeldAnswer {
    room: Arc<AnswerRoom>,
    owner: Owner,
    /// Changed under the lock of the pool alone.
    bytes: Mutex<Bytes>,
}

/// What an answer takes.
#[derive(Debug, Clone, Copy, Default)]
struct Bytes {
    /// Within the share of its owner.
    fair: usize,
    /// Beyond it.
    over: usize,
}

/// What to do with an answer that finds no room.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum IfFull {
    /// Nothing was changed: the client may ask again.
    Refuse,
    /// The client has to know what was done. It is counted, so that the next request of its owner
    /// waits.
    CountAnyway,
}

impl AnswerRoom {
    pub(super) fn new(bytes: usize) -> Arc<Self> {
        Arc::new(Self { pool: Mutex::new(Pool::new(bytes)) })
    }

    /// Whether an owner may ask for more while these answers wait.
    pub(super) fn check(&self, owner: Owner) -> Result<(), NoRoom> {
        self.pool().check(owner, 0, 1)
    }

    /// For an answer of this owner, of which nothing is counted yet.
    pub(super) fn hold(self: &Arc<Self>, owner: Owner) -> HeldAnswer {
        HeldAnswer { room: Arc::clone(self), owner, bytes: Mutex::default() }
    }

    /// Every change is complete before the lock is released, so a poisoned lock holds valid state.
    fn pool(&self) -> MutexGuard<'_, Pool> {
        self.pool.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl HeldAnswer {
    /// Counts so many bytes instead of those before.
    pub(super) fn resize(&self, bytes: usize, if_full: IfFull) -> Result<(), NoRoom> {
        let mut own = self.bytes.lock().unwrap_or_else(PoisonError::into_inner);
        let mut pool = self.room.pool();
        let taken = own.fair + own.over;
        if let Some(more) = bytes.checked_sub(taken) {
            match pool.check(self.owner, taken, more) {
                Ok(()) => {
                    pool.add(self.owner, more);
                    own.fair += more;
                }
                Err(full) if if_full == IfFull::Refuse => return Err(full),
                Err(_) => {
                    pool.add_over(self.owner, more);
                    own.over += more;
                }
            }
        } else {
            let less = taken - bytes;
            let of_over = less.min(own.over);
            pool.give_back_over(self.owner, of_over);
            pool.give_back(self.owner, less - of_over);
            own.over -= of_over;
            own.fair -= less - of_over;
        }
        Ok(())
    }
}

impl Drop for HeldAnswer {
    fn drop(&mut self) {
        let Bytes { fair, over } = *self.bytes.get_mut().unwrap_or_else(PoisonError::into_inner);
        let mut pool = self.room.pool();
        pool.give_back(self.owner, fair);
        pool.give_back_over(self.owner, over);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const OWNERS: [Owner; 2] = [Owner::Numbered(1), Owner::Numbered(2)];

    #[test]
    fn an_owner_alone_has_a_fifth_and_the_next_one_has_room_all_the_same() {
        let room = AnswerRoom::new(1_000);
        let [one, other] = OWNERS.map(|owner| room.hold(owner));
        assert_eq!(one.resize(201, IfFull::Refuse), Err(NoRoom::Full));
        assert_eq!(one.resize(200, IfFull::Refuse), Ok(()));
        assert_eq!(room.check(OWNERS[0]), Err(NoRoom::OwnShare));
        assert_eq!((room.check(OWNERS[1]), other.resize(160, IfFull::Refuse)), (Ok(()), Ok(())));
        assert_eq!(one.resize(100, IfFull::Refuse), Ok(()));
        assert_eq!(room.check(OWNERS[0]), Ok(()));
        drop((one, other));
        assert_eq!(room.pool().taken(), 0);
    }

    #[test]
    fn an_answer_that_says_what_was_done_counts_against_its_owner_alone() {
        let room = AnswerRoom::new(1_000);
        let [done, other] = OWNERS.map(|owner| room.hold(owner));
        assert_eq!(done.resize(500, IfFull::CountAnyway), Ok(()));
        assert_eq!(room.check(OWNERS[0]), Err(NoRoom::OwnShare));
        assert_eq!(other.resize(200, IfFull::Refuse), Ok(()), "as if nobody were there");
        assert_eq!(done.resize(100, IfFull::Refuse), Ok(()));
        assert_eq!(room.check(OWNERS[0]), Ok(()));
        drop((done, other));
        assert_eq!(room.pool().taken(), 0);
    }

    #[test]
    fn what_is_over_all_shares_is_bounded_in_all() {
        let room = AnswerRoom::new(1_000);
        let [done, other] = OWNERS.map(|owner| room.hold(owner));
        assert_eq!(done.resize(5_000, IfFull::CountAnyway), Ok(()));
        assert_eq!(room.check(OWNERS[1]), Err(NoRoom::Full), "more than half of the room again");
        assert_eq!(other.resize(1_000, IfFull::CountAnyway), Ok(()));
        drop(done);
        assert_eq!(room.check(OWNERS[0]), Ok(()));
        drop(other);
        assert_eq!(room.pool().taken(), 0);
    }
}
