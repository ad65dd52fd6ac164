//! The room for request bodies, shared fairly.
//!
//! A body stays in memory until its handler has ended. Two pools bound that memory: one for small
//! bodies, up to 64 KB, and one for larger ones. So large bodies never take the room of
//! small ones.
//!
//! In each pool the bodies of one owner may take at most a quarter of what is left free. So an
//! owner alone gets a fifth of the pool, `n` greedy owners get `1/(n+4)` of it each, and there is
//! always room for the next one. Nobody needs to know how many owners there are.

use std::collections::HashMap;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use crate::web::intake::door::Owner;

/// The largest body that counts as small, in bytes.
const SMALL_BODY: usize = 64 * 1_024;

/// An owner may take this part of what is left free.
const SHARE_OF_FREE: usize = 4;

/// Beyond the shares of their owners, this part of a pool may be taken before others notice.
const RESERVE: usize = 2;

/// The room for all bodies.
#[derive(Debug)]
pub(super) struct BodyRoom {
    pools: Mutex<Pools>,
}

/// The room that one body takes. It is released on drop.
#[derive(Debug)]
pub(super) struct HeldRoom {
    room: Arc<BodyRoom>,
    owner: Owner,
    size: Size,
    bytes: usize,
}

/// Why a body gets no more room.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum NoRoom {
    /// The other bodies of its owner take too much.
    OwnShare,
    /// The bodies of all owners take too much.
    Full,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Size {
    Small,
    Large,
}

#[derive(Debug)]
struct Pools {
    small: Pool,
    large: Pool,
}

#[derive(Debug)]
pub(super) struct Pool {
    size: usize,
    /// What is taken within the shares of all owners.
    taken: usize,
    /// What is taken beyond them.
    over: usize,
    /// Both of each owner.
    of_owner: HashMap<Owner, usize>,
}

impl BodyRoom {
    /// Room for this many bytes of small bodies, and of large ones.
    pub(super) fn new(small: usize, large: usize) -> Self {
        let pools = Pools { small: Pool::new(small), large: Pool::new(large) };
        Self { pools: Mutex::new(pools) }
    }

    /// Room for a body of `owner`, of which nothing has arrived. `declared` is the length that its
    /// head states, if any.
    pub(super) fn hold(self: &Arc<Self>, owner: Owner, declared: Option<usize>) -> HeldRoom {
        HeldRoom { room: Arc::clone(self), owner, size: Size::of(declared.unwrap_or(0)), bytes: 0 }
    }

    /// Every change is complete before the lock is released, so a poisoned lock holds valid state.
    fn pools(&self) -> MutexGuard<'_, Pools> {
        self.pools.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl HeldRoom {
    /// Takes `more` bytes. It never waits: the other bodies may need room too before they end.
    pub(super) fn grow(&mut self, more: usize) -> Result<(), NoRoom> {
        let mut pools = self.room.pools();
        if self.size == Size::Small && Size::of(self.bytes + more) == Size::Large {
            pools.large.take(self.owner, 0, self.bytes + more)?;
            pools.small.give_back(self.owner, self.bytes);
            self.size = Size::Large;
        } else {
            pools.of(self.size).take(self.owner, self.bytes, more)?;
        }
        self.bytes += more;
        Ok(())
    }

    /// Whether the body counts as large.
    pub(super) fn is_large(&self) -> bool {
        self.size == Size::Large
    }
}

impl Drop for HeldRoom {
    fn drop(&mut self) {
        self.room.pools().of(self.size).give_back(self.owner, self.bytes);
    }
}

impl Size {
    fn of(bytes: usize) -> Self {
        if bytes <= SMALL_BODY { Self::Small } else { Self::Large }
    }
}

impl Pools {
    fn of(&mut self, size: Size) -> &mut Pool {
        match size {
            Size::Small => &mut self.small,
            Size::Large => &mut self.large,
        }
    }
}

impl Pool {
    pub(super) fn new(size: usize) -> Self {
        Self { size, taken: 0, over: 0, of_owner: HashMap::new() }
    }

    /// Takes `more` bytes for a body that has `own` bytes here.
    fn take(&mut self, owner: Owner, own: usize, more: usize) -> Result<(), NoRoom> {
        self.check(owner, own, more)?;
        self.add(owner, more);
        Ok(())
    }

    /// Whether `more` bytes are fair for something that has `own` bytes here.
    pub(super) fn check(&self, owner: Owner, own: usize, more: usize) -> Result<(), NoRoom> {
        let held = self.of_owner.get(&owner).copied().unwrap_or(0);
        // What owners took beyond their shares is their own affair, until it is too much for all.
        let over = self.over.saturating_sub(self.size / RESERVE);
        let free = self.size.saturating_sub(self.taken + over);
        if !is_fair(held + more, free.checked_sub(more)) {
            // Would it fit if this were the only body of its owner?
            let free_alone = (free + held.saturating_sub(own)).checked_sub(more);
            let fits_alone = is_fair(own + more, free_alone);
            return Err(if fits_alone { NoRoom::OwnShare } else { NoRoom::Full });
        }
        Ok(())
    }

    /// Takes `more` bytes that are fair.
    pub(super) fn add(&mut self, owner: Owner, more: usize) {
        self.taken += more;
        self.note(owner, more);
    }

    /// Takes `more` bytes that are more than fair. They count against their owner.
    pub(super) fn add_over(&mut self, owner: Owner, more: usize) {
        self.over += more;
        self.note(owner, more);
    }

    fn note(&mut self, owner: Owner, more: usize) {
        if more > 0 {
            *self.of_owner.entry(owner).or_default() += more;
        }
    }

    pub(super) fn give_back(&mut self, owner: Owner, bytes: usize) {
        self.taken = self.taken.saturating_sub(bytes);
        self.forget(owner, bytes);
    }

    pub(super) fn give_back_over(&mut self, owner: Owner, bytes: usize) {
        self.over = self.over.saturating_sub(bytes);
        self.forget(owner, bytes);
    }

    fn forget(&mut self, owner: Owner, bytes: usize) {
        if let Some(held) = self.of_owner.get_mut(&owner) {
            *held = held.saturating_sub(bytes);
            if *held == 0 {
                self.of_owner.remove(&owner);
            }
        }
    }
}

#[cfg(test)]
impl Pool {
    pub(super) fn taken(&self) -> usize {
        self.taken + self.over
    }
}

/// Whether an owner may hold `held` bytes when that leaves `free` for the others.
fn is_fair(held: usize, free: Option<usize>) -> bool {
    free.is_some_and(|free| held <= free / SHARE_OF_FREE)
}

#[cfg(test)]
mod tests {
    use super::*;

    const KB: usize = 1_024;

    /// Takes large bodies of 1 KB steps until one is refused, and says how much was held then.
    fn fill(room: &Arc<BodyRoom>, owner: u128) -> (HeldRoom, NoRoom) {
        let mut body = room.hold(Owner::Numbered(owner), Some(SMALL_BODY + 1));
        loop {
            if let Err(refused) = body.grow(KB) {
                return (body, refused);
            }
        }
    }

    /// The KB taken of both pools.
    fn taken(room: &BodyRoom) -> (usize, usize) {
        let pools = room.pools();
        (pools.small.taken / KB, pools.large.taken / KB)
    }

    #[test]
    fn greedy_owners_share_equally_and_leave_room_for_the_next() {
        let room = Arc::new(BodyRoom::new(0, 1_000 * KB));
        let mut bodies = Vec::new();
        for (owner, expected) in [(1, 200), (2, 160), (3, 128)] {
            let (body, refused) = fill(&room, owner);
            assert_eq!((body.bytes / KB, refused), (expected, NoRoom::Full));
            bodies.push(body);
        }
        // What one gives back, all may share.
        bodies.remove(0);
        assert_eq!(bodies[0].grow(KB), Ok(()));
        drop(bodies);
        assert_eq!(taken(&room), (0, 0));
        assert!(room.pools().large.of_owner.is_empty());
    }

    #[test]
    fn an_owner_is_told_apart_from_a_full_pool() {
        let room = Arc::new(BodyRoom::new(0, 1_000 * KB));
        let (_first, alone) = fill(&room, 1);
        assert_eq!(alone, NoRoom::Full);
        let (_second, beside_another) = fill(&room, 1);
        assert_eq!(beside_another, NoRoom::OwnShare);
    }

    #[test]
    fn a_body_that_grows_large_moves_to_the_pool_of_large_ones() {
        let room = Arc::new(BodyRoom::new(1_000 * KB, 1_000 * KB));
        let mut body = room.hold(Owner::Numbered(1), None);
        body.grow(64 * KB).unwrap();
        assert_eq!(taken(&room), (64, 0));
        body.grow(KB).unwrap();
        assert_eq!(taken(&room), (0, 65));
        let mut declared = room.hold(Owner::Numbered(2), Some(65 * KB));
        declared.grow(KB).unwrap();
        assert_eq!(taken(&room), (0, 66));
        drop((body, declared));
        assert_eq!(taken(&room), (0, 0));
    }

    #[test]
    fn a_refused_move_leaves_everything_as_it_was() {
        let room = Arc::new(BodyRoom::new(1_000 * KB, 100 * KB));
        let mut body = room.hold(Owner::Numbered(1), None);
        body.grow(64 * KB).unwrap();
        assert_eq!(body.grow(KB), Err(NoRoom::Full));
        assert_eq!(taken(&room), (64, 0));
    }
}
