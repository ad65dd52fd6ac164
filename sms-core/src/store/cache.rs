//! A cache for values that requests read often and that rarely change, such as API keys.

use std::collections::HashMap;
use std::fmt;
use std::hash::Hash;
use std::sync::{Mutex, MutexGuard, PoisonError};

/// When a cache has this many entries, all are dropped.
const MOST_ENTRIES: usize = 100_000;

/// Entries by key, each until a change drops it.
///
/// Take a [`Ticket`] before the read that fills an entry, and drop the entry after each commit that
/// changes it. Then a value that was read before the commit is never cached after it.
///
/// ```
/// use sms_core::for_stores::cache::Cache;
///
/// let cache = Cache::new();
/// let ticket = cache.get(&"acc").unwrap_err();
/// cache.put(ticket, "acc", 12);
/// assert_eq!(cache.get(&"acc").ok(), Some(12));
/// cache.forget(&"acc");
/// assert!(cache.get(&"acc").is_err());
/// ```
pub struct Cache<K, V>(Mutex<Entries<K, V>>);

struct Entries<K, V> {
    by_key: HashMap<K, V>,
    /// How often entries were dropped. A read that began before the last drop is not cached.
    forgotten: u64,
}

/// Taken before a read, so that an entry that is dropped meanwhile stays dropped.
#[derive(Debug, Clone, Copy)]
pub struct Ticket {
    forgotten: u64,
}

impl<K: Eq + Hash, V: Clone> Cache<K, V> {
    /// A cache without entries.
    pub fn new() -> Self {
        Self::default()
    }

    /// The value.
    ///
    /// # Errors
    ///
    /// If it is not cached: a ticket with which to cache it once it is read.
    pub fn get(&self, key: &K) -> Result<V, Ticket> {
        self.get_if(key, |_| true)
    }

    /// The value, if it is still good.
    ///
    /// # Errors
    ///
    /// If it is not cached, or not good: a ticket, as with [`get`](Self::get).
    pub fn get_if(&self, key: &K, is_good: impl FnOnce(&V) -> bool) -> Result<V, Ticket> {
        let entries = self.entries();
        let ticket = Ticket { forgotten: entries.forgotten };
        entries.by_key.get(key).filter(|value| is_good(value)).cloned().ok_or(ticket)
    }

    /// Caches a value, unless an entry was dropped since the ticket was taken.
    pub fn put(&self, ticket: Ticket, key: K, value: V) {
        let mut entries = self.entries();
        if entries.forgotten == ticket.forgotten {
            if entries.by_key.len() >= MOST_ENTRIES {
                entries.by_key.clear();
            }
            entries.by_key.insert(key, value);
        }
    }

    /// Changes an entry in place. A value that is being read meanwhile is not cached.
    pub fn change(&self, key: &K, change: impl FnOnce(&mut V)) {
        let mut entries = self.entries();
        entries.forgotten += 1;
        if let Some(value) = entries.by_key.get_mut(key) {
            change(value);
        }
    }

    /// Drops one entry. Call it after the change is committed.
    pub fn forget(&self, key: &K) {
        let mut entries = self.entries();
        entries.by_key.remove(key);
        entries.forgotten += 1;
    }

    /// Drops the entries that match.
    pub fn forget_where(&self, is_meant: impl Fn(&V) -> bool) {
        let mut entries = self.entries();
        entries.by_key.retain(|_, value| !is_meant(value));
        entries.forgotten += 1;
    }
}

impl<K, V> Cache<K, V> {
    fn entries(&self) -> MutexGuard<'_, Entries<K, V>> {
        // A panic cannot leave the map half changed.
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl<K, V> Default for Cache<K, V> {
    fn default() -> Self {
        Self(Mutex::new(Entries { by_key: HashMap::new(), forgotten: 0 }))
    }
}

/// Says how many entries there are, and no values: they may be secrets.
impl<K, V> fmt::Debug for Cache<K, V> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Cache")
            .field("entries", &self.entries().by_key.len())
            .finish_non_exhaustive()
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
    fn a_value_read_before_it_was_changed_in_place_is_not_cached_after_it() {
        let cache = Cache::new();
        let ticket = cache.get(&1).unwrap_err();
        cache.change(&1, |value| *value = "new");
        cache.put(ticket, 1, "old");
        assert!(cache.get(&1).is_err());
    }

    #[test]
    fn memory_is_bounded() {
        let cache = Cache::new();
        for key in 0..MOST_ENTRIES + 10 {
            let ticket = cache.get(&key).unwrap_err();
            cache.put(ticket, key, ());
        }
        assert!(cache.entries().by_key.len() <= MOST_ENTRIES);
    }

    #[test]
    fn the_debug_form_shows_no_value() {
        let cache = Cache::new();
        let ticket = cache.get(&"key").unwrap_err();
        cache.put(ticket, "key", "secret");
        assert_eq!(format!("{cache:?}"), "Cache { entries: 1, .. }");
    }
}
