//! What one account has of the slots: a share, so that its endpoints never take those of all.

use std::collections::{BTreeMap, BTreeSet};

use sms_core::ids::{AccountId, EndpointId};
use sms_core::webhook::endpoint::MAX_PER_ACCOUNT;

/// The part of all slots that the endpoints of one account may take together, in percent.
const SHARE_PERCENT: usize = 75;
/// Beyond this many accounts without attempts, all of these are forgotten.
const REMEMBERED: usize = 10_000;
/// Beyond this many endpoints of an account, those without attempts are forgotten, the longest idle
/// first: accounts replace their endpoints, and nothing reports here which are gone.
const ENDPOINTS: usize = MAX_PER_ACCOUNT;

/// The attempts in flight of each account.
#[derive(Debug)]
pub(super) struct Shares {
    most: usize,
    accounts: BTreeMap<AccountId, Load>,
    owners: BTreeMap<EndpointId, AccountId>,
    /// Accounts that have nothing in flight.
    idle: BTreeSet<AccountId>,
    /// How many attempts have begun or ended.
    turn: u64,
}

#[derive(Debug, Default)]
struct Load {
    in_flight: usize,
    endpoints: BTreeMap<EndpointId, Use>,
}

#[derive(Debug, Default)]
struct Use {
    in_flight: usize,
    /// The turn in which an attempt last began or ended.
    last: u64,
}

impl Load {
    /// Forgets the endpoint that is idle for longest; `None` if none is idle.
    fn forget_one(&mut self) -> Option<EndpointId> {
        let idle = self.endpoints.iter().filter(|(_, used)| used.in_flight == 0);
        let (endpoint, _) = idle.min_by_key(|(_, used)| used.last)?;
        let endpoint = *endpoint;
        self.endpoints.remove(&endpoint);
        Some(endpoint)
    }
}

impl Shares {
    /// Shares of `total` slots.
    pub(super) fn of(total: usize) -> Self {
        let most = (total * SHARE_PERCENT).div_ceil(100).max(1);
        let (accounts, owners, idle) = (BTreeMap::new(), BTreeMap::new(), BTreeSet::new());
        Self { most, accounts, owners, idle, turn: 0 }
    }

    /// Counts an attempt that begins, for its account and its endpoint.
    pub(super) fn take(&mut self, account: AccountId, endpoint: EndpointId) {
        self.turn += 1;
        let load = self.accounts.entry(account).or_default();
        load.in_flight += 1;
        let used = load.endpoints.entry(endpoint).or_default();
        (used.in_flight, used.last) = (used.in_flight + 1, self.turn);
        self.owners.insert(endpoint, account);
        self.idle.remove(&account);
        self.forget_endpoints(account);
    }

    /// An attempt has ended.
    pub(super) fn give_back(&mut self, endpoint: EndpointId) {
        let Some(account) = self.owners.get(&endpoint).copied() else { return };
        let Some(load) = self.accounts.get_mut(&account) else { return };
        self.turn += 1;
        if let Some(used) = load.endpoints.get_mut(&endpoint).filter(|used| used.in_flight > 0) {
            (used.in_flight, used.last) = (used.in_flight - 1, self.turn);
            load.in_flight -= 1;
        }
        if load.in_flight == 0 {
            self.idle.insert(account);
        }
        self.forget_endpoints(account);
        if self.idle.len() > REMEMBERED {
            for account in std::mem::take(&mut self.idle) {
                let endpoints = self.accounts.remove(&account).map(|load| load.endpoints);
                for endpoint in endpoints.into_iter().flat_map(BTreeMap::into_keys) {
                    self.owners.remove(&endpoint);
                }
            }
        }
    }

    /// Forgets endpoints of an account that remembers too many, but none with an attempt in flight.
    fn forget_endpoints(&mut self, account: AccountId) {
        let Some(load) = self.accounts.get_mut(&account) else { return };
        while load.endpoints.len() > ENDPOINTS
            && let Some(endpoint) = load.forget_one()
        {
            self.owners.remove(&endpoint);
        }
    }

    /// Lessens the room of endpoints to what their accounts have left. What is left is divided
    /// among the endpoints of the account, rounded up, so that none of them waits for the others.
    /// `each` is the room of an endpoint that is not listed.
    pub(super) fn limit(&self, rooms: &mut BTreeMap<EndpointId, usize>, each: usize) {
        for load in self.accounts.values() {
            let left = self.most.saturating_sub(load.in_flight);
            let of_each = left.div_ceil(load.endpoints.len().max(1));
            let wanted = |endpoint| rooms.get(endpoint).copied().unwrap_or(each);
            let in_all: usize = load.endpoints.keys().map(wanted).sum();
            if in_all <= left {
                continue;
            }
            for endpoint in load.endpoints.keys() {
                let room = rooms.entry(*endpoint).or_insert(each);
                *room = of_each.min(*room);
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn endpoint(number: u128) -> EndpointId {
        EndpointId::from_u128(number)
    }

    /// The room of these endpoints, each of which could have 32.
    fn rooms(shares: &Shares, endpoints: u128) -> Vec<usize> {
        let mut rooms = (0..endpoints).map(|number| (endpoint(number), 32)).collect();
        shares.limit(&mut rooms, 4);
        rooms.into_values().collect()
    }

    #[test]
    fn an_account_leaves_a_quarter_of_the_slots_to_the_others() {
        let mut shares = Shares::of(256);
        let [one, other] = [1, 2].map(AccountId::from_u128);
        for number in 0..10 {
            shares.take(one, endpoint(number));
        }
        assert_eq!(rooms(&shares, 10), [19; 10], "182 of 192 are left, for ten");
        for _ in 0..182 {
            shares.take(one, endpoint(0));
        }
        shares.take(other, endpoint(10));
        let left = rooms(&shares, 11);
        assert_eq!((&left[..10], left[10]), (&[0; 10][..], 32), "the other has its own");
        shares.give_back(endpoint(9));
        assert_eq!(rooms(&shares, 10), [1; 10], "none of its endpoints waits for the others");
    }

    #[test]
    fn an_endpoint_that_no_record_lists_is_bounded_with_its_account() {
        let mut shares = Shares::of(8);
        for _ in 0..6 {
            shares.take(AccountId::from_u128(1), endpoint(1));
        }
        let mut rooms = BTreeMap::new();
        shares.limit(&mut rooms, 4);
        assert_eq!(rooms, BTreeMap::from([(endpoint(1), 0)]));
    }

    #[test]
    fn the_endpoints_that_an_account_had_before_take_nothing_from_those_that_it_has() {
        let mut shares = Shares::of(256);
        let account = AccountId::from_u128(1);
        for number in 0..500 {
            shares.take(account, endpoint(number));
            shares.give_back(endpoint(number));
            assert_eq!(shares.owners.len(), shares.accounts[&account].endpoints.len());
            assert!(shares.owners.len() <= ENDPOINTS, "{number}: {}", shares.owners.len());
        }
        let mut rooms = BTreeMap::from([(endpoint(499), 32)]);
        shares.limit(&mut rooms, 4);
        assert_eq!(rooms[&endpoint(499)], 32, "the last has its whole room");
    }

    #[test]
    fn an_endpoint_with_an_attempt_in_flight_is_counted_however_many_its_account_has() {
        let mut shares = Shares::of(256);
        let account = AccountId::from_u128(1);
        for number in 0..100 {
            shares.take(account, endpoint(number));
        }
        // The longest idle are forgotten, and those in flight are not.
        for number in 0..95 {
            shares.give_back(endpoint(number));
        }
        let load = &shares.accounts[&account];
        let left: Vec<EndpointId> = load.endpoints.keys().copied().collect();
        assert_eq!((left, load.in_flight), ((90..100).map(endpoint).collect(), 5));
        (0..100).for_each(|number| shares.give_back(endpoint(number)));
        let load = &shares.accounts[&account];
        assert_eq!((load.in_flight, load.endpoints.len()), (0, ENDPOINTS));
    }

    #[test]
    fn accounts_without_attempts_are_remembered_up_to_a_bound() {
        let mut shares = Shares::of(256);
        for number in 0..=REMEMBERED as u128 {
            shares.take(AccountId::from_u128(number), endpoint(number));
            shares.give_back(endpoint(number));
        }
        assert!(shares.accounts.is_empty() && shares.owners.is_empty());
    }
}
