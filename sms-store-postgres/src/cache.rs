//! Caches of values that requests read often and that rarely change, for a few seconds.
//!
//! A change by this program drops the entry at once. A change by another program is seen when the
//! entry expires. No verdict depends on a cached value.

use std::hash::Hash;
use std::time::{Duration, Instant};

use sms_core::account::Settings;
use sms_core::account::api_key::{KeyHash, KeyRecord};
use sms_core::for_stores::cache as core;
use sms_core::ids::AccountId;
use sms_core::number::Number;
use sms_core::sender_name::SenderName;

/// A revoked key must be refused everywhere within 5 s. The last second is for the read that fills
/// an entry.
const MAX_AGE: Duration = Duration::from_secs(4);

/// The values that requests read.
#[derive(Default)]
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

/// Entries by key, each for [`MAX_AGE`] from the start of the read that filled it.
pub(crate) struct Cache<K, V>(core::Cache<K, (Instant, V)>);

/// Taken before a read.
#[derive(Clone, Copy)]
pub(crate) struct Ticket {
    ticket: core::Ticket,
    since: Instant,
}

impl<K, V> Default for Cache<K, V> {
    fn default() -> Self {
        Self(core::Cache::default())
    }
}

impl<K: Eq + Hash, V: Clone> Cache<K, V> {
    /// The value, or a ticket with which to cache it once it is read.
    pub(crate) fn get(&self, key: &K) -> Result<V, Ticket> {
        let now = Instant::now();
        let (_, value) = self
            .0
            .get_if(key, |(since, _)| now.duration_since(*since) < MAX_AGE)
            .map_err(|ticket| Ticket { ticket, since: now })?;
        Ok(value)
    }

    /// Caches a value, unless an entry was dropped since the ticket was taken.
    pub(crate) fn put(&self, Ticket { ticket, since }: Ticket, key: K, value: V) {
        self.0.put(ticket, key, (since, value));
    }

    /// Changes an entry in place.
    pub(crate) fn change(&self, key: &K, change: impl FnOnce(&mut V)) {
        self.0.change(key, |(_, value)| change(value));
    }

    /// Drops one entry. Call it after the change is committed.
    pub(crate) fn forget(&self, key: &K) {
        self.0.forget(key);
    }

    /// Drops the entries that match.
    pub(crate) fn forget_where(&self, is_meant: impl Fn(&V) -> bool) {
        self.0.forget_where(|(_, value)| is_meant(value));
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_age_of_an_entry_counts_from_the_start_of_its_read() {
        let cache = Cache::default();
        let Err(ticket) = cache.get(&1) else { panic!("nothing is there") };
        cache.put(ticket, 1, "new");
        assert_eq!(cache.get(&1).ok(), Some("new"));
        let long_ago = Instant::now().checked_sub(MAX_AGE).unwrap();
        cache.put(Ticket { since: long_ago, ..ticket }, 1, "old");
        assert!(cache.get(&1).is_err());
    }
}
