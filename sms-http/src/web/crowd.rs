//! How many connections each client address has open, and the answer to one too many.

use std::collections::HashMap;
use std::io::{self, Read as _, Write as _};
use std::net::{IpAddr, Shutdown};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use poem::IntoResponse;
use tokio::net::TcpStream;

use crate::web::client_address::{AddressBlock, TrustedProxies};
use crate::web::error::ApiError;
use crate::web::refused_head::as_bytes;

/// Counts the connections that were refused.
const REFUSED: &str = "http_connections_refused_total";

/// The `Retry-After` of a refused connection.
const RETRY_AFTER_SECONDS: u64 = 10;

/// The open connections by client address.
#[derive(Debug)]
pub(crate) struct Crowd {
    /// The most connections of one address; `None` for no bound.
    most: Option<usize>,
    /// Every client of a proxy comes from the proxy's address, so these have no bound.
    proxies: TrustedProxies,
    refusal: Vec<u8>,
    open: Mutex<HashMap<AddressBlock, usize>>,
}

/// The place of one connection. Dropping it makes room for another.
#[derive(Debug)]
pub(crate) struct Place {
    crowd: Arc<Crowd>,
    counted: Option<AddressBlock>,
}

impl Crowd {
    pub(crate) async fn new(most: Option<usize>, proxies: TrustedProxies) -> Arc<Self> {
        let refusal = ApiError::too_many_connections(RETRY_AFTER_SECONDS).into_response();
        let refusal = as_bytes(refusal).await;
        Arc::new(Self { most, proxies, refusal, open: Mutex::default() })
    }

    /// A place for one more connection from `address`; `None` if it has too many.
    pub(crate) fn enter(self: &Arc<Self>, address: IpAddr) -> Option<Place> {
        let bound = self.most.filter(|_| !self.proxies.contains(address));
        let Some(most) = bound else {
            return Some(Place { crowd: Arc::clone(self), counted: None });
        };
        let block = AddressBlock::of(address);
        let mut open = self.open();
        let count = open.entry(block).or_default();
        if *count >= most {
            return None;
        }
        *count += 1;
        Some(Place { crowd: Arc::clone(self), counted: Some(block) })
    }

    /// Answers 429 and closes the connection, without waiting for anything: the answer fits into
    /// the buffer of a new socket.
    pub(crate) fn turn_away(&self, socket: TcpStream) {
        metrics::counter!(REFUSED).increment(1);
        let Ok(mut socket) = socket.into_std() else { return };
        // What has been sent is read: otherwise closing resets the connection, and the client may
        // lose the answer. Errors mean that the client has gone.
        let _ = io::copy(&mut (&mut socket).take(8_192), &mut io::sink());
        let _ = socket.write_all(&self.refusal);
        let _ = socket.shutdown(Shutdown::Write);
    }

    /// Every change is complete before the lock is released, so a poisoned lock holds valid state.
    fn open(&self) -> MutexGuard<'_, HashMap<AddressBlock, usize>> {
        self.open.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Drop for Place {
    fn drop(&mut self) {
        let Some(block) = self.counted else { return };
        let mut open = self.crowd.open();
        if let Some(count) = open.get_mut(&block) {
            *count -= 1;
            if *count == 0 {
                open.remove(&block);
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[tokio::test]
    async fn an_address_has_so_many_places_and_a_proxy_any_number() {
        let crowd = Crowd::new(Some(2), "10.0.0.0/8".parse().unwrap()).await;
        let enter = |address: &str| crowd.enter(address.parse().unwrap());
        let places = [enter("192.0.2.1").unwrap(), enter("192.0.2.1").unwrap()];
        assert!(enter("192.0.2.1").is_none());
        assert!(enter("::ffff:192.0.2.1").is_none());
        assert!(enter("192.0.2.2").is_some());
        let proxy: Vec<Option<Place>> = (0..9).map(|_| enter("10.1.2.3")).collect();
        assert!(proxy.iter().all(Option::is_some));
        drop(places);
        assert!(enter("192.0.2.1").is_some());
        assert!(crowd.open().is_empty());
    }
}
