//! The servers' current addresses. A restarted server has a new one.

use std::net::SocketAddr;
use std::sync::{Arc, PoisonError, RwLock};

use crate::simulation::dice::Dice;

/// The servers' addresses, shared with the clients.
#[derive(Debug, Clone, Default)]
pub(super) struct Addresses(Arc<RwLock<Vec<SocketAddr>>>);

impl Addresses {
    /// Sets the new address of a server.
    pub(super) fn set(&self, replica: usize, addr: SocketAddr) {
        let mut all = self.0.write().unwrap_or_else(PoisonError::into_inner);
        if replica < all.len() {
            all[replica] = addr;
        } else {
            all.push(addr);
        }
    }

    /// A random server.
    pub(super) fn any(&self, dice: &mut Dice) -> SocketAddr {
        let all = self.all();
        all[dice.below(all.len())]
    }

    /// Another server than that one, if there is one.
    pub(super) fn other(&self, than: SocketAddr, dice: &mut Dice) -> SocketAddr {
        let others: Vec<_> = self.all().into_iter().filter(|addr| *addr != than).collect();
        dice.pick(&others).unwrap_or(than)
    }

    /// All of them, in order.
    pub(super) fn all(&self) -> Vec<SocketAddr> {
        self.0.read().unwrap_or_else(PoisonError::into_inner).clone()
    }
}
