//! Caches values that every request reads and that rarely change, for a few seconds.
//!
//! A change by this program drops the entry at once. A change by another program is seen when the
//! entry expires. No verdict depends on a cached value.

use std::collections::HashMap;
use std::hash::Hash;
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

use sms_core::account::Settings;
use sms_core::account::api_key::{KeyHash, KeyRecord};
use sms_core::ids::AccountId;
use sms_core::number::Number;
use sms_core::sender_name::SenderName;

/// A revoked key must be refused everywhere within 5 s. The last second is for the read that fills
/// an entry.
const MAX_AGE: Duration = Duration::from_secs(4);
/// When a cache has this many entries, all are dropped.
const MOST_ENTRIES: usize = 100_000;

/// The values that requests read.
pub(crate) struct Caches {
    pub(crate) keys: Cache<KeyHash, KeyRecord>,
    /// Keys that no account has. Apart from the keys in use: a stranger who makes keys up drops
    /// none of those when the cache is full.
    pub(crate) unknown_keys: Cache<KeyHash, ()>,
    pub(crate) settings: Cache<AccountId, Settings>,
    pub(crate) numbers: Cache<AccountId, Vec<Number>>,
    pub(crate) sender_names: Cache<AccountId, Vec<SenderName>>,
    /// Whether an account has no contacts.
    pub(crate) empty_books: Cache<AccountId, bool>,
    /// The accounts that have webhook endpoints.
    pub(crate) listening: Cache<AccountId, ()>,
}

impl Caches {
    pub(crate) fn new() -> Self {
        Self {
            keys: Cache::new(),
            unknown_keys: Cache::new(),
            settings: Cache::new(),
            numbers: Cache::new(),
            sender_names: Cache::new(),
            empty_books: Cache::new(),
            listening: Cache::new(),
        }
    }
}

/// Entries by key, each for [`MAX_AGE`].
pub(crate) struct Cache<K, V>(Mutex<Entries<K, V>>);

struct Entries<K, V> {
    by_key: HashMap<K, (Instant, V)>,
    /// How often entries were dropped. A read that began before the last drop is not cached.
    forgotten: u64,
}

/// Taken before a read, so that an entry that is dropped meanwhile stays dropped.
#[derive(Clone, Copy)]
pub(crate) struct Ticket {
    forgotten: u64,
    since: Instant,
}

impl<K: Eq + Hash, V: Clone> Cache<K, V> {
    pub(crate) fn new() -> Self {
        Self(Mutex::new(Entries { by_key: HashMap::new(), forgotten: 0 }))
    }

    /// The value, or a ticket with which to cache it once it is read.
    pub(crate) fn get(&self, key: &K) -> Result<V, Ticket> {
        let (entries, now) = (self.entries(), Instant::now());
        match entries.by_key.get(key) {
            Some((since, value)) if now.duration_since(*since) < MAX_AGE => Ok(value.clone()),
            _ => Err(Ticket { forgotten: entries.forgotten, since: now }),
        }
    }

    /// Caches a value, unless an entry was dropped since the ticket was taken.
    pub(crate) fn put(&self, ticket: Ticket, key: K, value: V) {
        let mut entries = self.entries();
        if entries.forgotten == ticket.forgotten {
            if entries.by_key.len() >= MOST_ENTRIES {
                entries.by_key.clear();
            }
            entries.by_key.insert(key, (ticket.since, value));
        }
    }

    /// Changes an entry in place.
    pub(crate) fn change(&self, key: &K, change: impl FnOnce(&mut V)) {
        if let Some((_, value)) = self.entries().by_key.get_mut(key) {
            change(value);
        }
    }

    /// Drops one entry. Call it after the change is committed.
    pub(crate) fn forget(&self, key: &K) {
        let mut entries = self.entries();
        entries.by_key.remove(key);
        entries.forgotten += 1;
    }

    /// Drops the entries that match.
    pub(crate) fn forget_where(&self, is_meant: impl Fn(&V) -> bool) {
        let mut entries = self.entries();
        entries.by_key.retain(|_, (_, value)| !is_meant(value));
        entries.forgotten += 1;
    }

    fn entries(&self) -> MutexGuard<'_, Entries<K, V>> {
        // A panic cannot leave the map half changed.
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_cached_value_stays_until_it_is_dropped() {
        let cache = Cache::new();
        let ticket = cache.get(&1).unwrap_err();
        cache.put(ticket, 1, "one");
        assert_eq!(cache.get(&1).ok(), Some("one"));
        cache.forget(&1);
        assert!(cache.get(&1).is_err());
    }

    #[test]
    fn a_value_read_before_a_change_is_not_cached_after_it() {
        let cache = Cache::new();
        let ticket = cache.get(&1).unwrap_err();
        cache.forget_where(|_| true);
        cache.put(ticket, 1, "old");
        assert!(cache.get(&1).is_err());
    }

    #[test]
    fn the_age_of_an_entry_counts_from_the_start_of_its_read() {
        let cache = Cache::new();
        let Err(ticket) = cache.get(&1) else { panic!("nothing is there") };
        let long_ago = Instant::now().checked_sub(MAX_AGE).unwrap();
        cache.put(Ticket { since: long_ago, ..ticket }, 1, "old");
        assert!(cache.get(&1).is_err());
    }

    #[test]
    fn memory_is_bounded() {
        let cache = Cache::new();
        for key in 0..MOST_ENTRIES + 10 {
            let Err(ticket) = cache.get(&key) else { panic!("nothing is there") };
            cache.put(ticket, key, ());
        }
        assert!(cache.entries().by_key.len() <= MOST_ENTRIES);
    }
}
