//! Resolves host names, and refuses names with a forbidden address.
//!
//! The guard runs twice: at registration, to refuse early, and before each request. The HTTP client
//! connects only to the addresses that the guard has just checked, so a name that resolves
//! differently the second time gains nothing. Addresses written in the URL never
//! reach a resolver; [`endpoint_url`](crate::endpoint_url) judges them.

use std::io;
use std::net::{IpAddr, SocketAddr};
use std::sync::Arc;

use async_trait::async_trait;
use thiserror::Error;

use crate::address::Reach;

/// Looks up host names.
#[async_trait]
pub trait Resolve: std::fmt::Debug + Send + Sync {
    /// Every address of `host`, best first.
    ///
    /// # Errors
    ///
    /// An I/O error when the lookup fails. "No such name" may be an error or an empty list: the
    /// guard treats both alike.
    async fn resolve(&self, host: &str) -> io::Result<Vec<IpAddr>>;
}

/// Why the guard returned no addresses.
#[derive(Debug, Error)]
pub enum GuardError {
    /// The name could not be looked up or has no address.
    #[error("the host name does not resolve")]
    NotResolved(#[source] io::Error),
    /// At least one of the name's addresses is forbidden. The error does not name it.
    #[error("the host name has a forbidden address")]
    Forbidden,
}

/// A resolver that returns addresses only if **every** address of the name is permitted.
///
/// ```
/// use std::net::IpAddr;
/// use std::sync::Arc;
/// use sms_webhooks::{Guard, GuardError, Reach, Resolve};
///
/// #[derive(Debug)]
/// struct Fixed(Vec<IpAddr>);
///
/// #[async_trait::async_trait]
/// impl Resolve for Fixed {
///     async fn resolve(&self, _host: &str) -> std::io::Result<Vec<IpAddr>> {
///         Ok(self.0.clone())
///     }
/// }
///
/// # tokio::runtime::Runtime::new().unwrap().block_on(async {
/// let mixed = Fixed(vec!["8.8.8.8".parse().unwrap(), "10.0.0.1".parse().unwrap()]);
/// let guard = Guard::new(Reach::PublicOnly, Arc::new(mixed));
/// assert!(matches!(guard.addresses("example.com").await, Err(GuardError::Forbidden)));
/// # });
/// ```
#[derive(Debug, Clone)]
pub struct Guard {
    reach: Reach,
    resolver: Arc<dyn Resolve>,
}

impl Guard {
    /// A guard over `resolver` that permits what `reach` permits.
    pub fn new(reach: Reach, resolver: Arc<dyn Resolve>) -> Guard {
        Guard { reach, resolver }
    }

    /// How far this guard lets webhooks reach.
    pub fn reach(&self) -> Reach {
        self.reach
    }

    /// Looks `host` up and returns its addresses, all of them permitted and at least one.
    ///
    /// # Errors
    ///
    /// [`GuardError::NotResolved`] without an address, [`GuardError::Forbidden`] when any
    /// address is forbidden, even if others are public.
    pub async fn addresses(&self, host: &str) -> Result<Vec<IpAddr>, GuardError> {
        let addresses = self.resolver.resolve(host).await.map_err(GuardError::NotResolved)?;
        if addresses.is_empty() {
            return Err(GuardError::NotResolved(io::ErrorKind::NotFound.into()));
        }
        if !addresses.iter().all(|ip| self.reach.permits(*ip)) {
            return Err(GuardError::Forbidden);
        }
        Ok(addresses)
    }
}

tokio::task_local! {
    /// The addresses that the request of this task may connect to.
    static CHECKED: Vec<IpAddr>;
}

/// Makes a request that connects to these addresses alone, which the guard has permitted.
pub(crate) async fn connecting_to<F: Future>(addresses: Vec<IpAddr>, request: F) -> F::Output {
    CHECKED.scope(addresses, request).await
}

/// Gives the HTTP client the addresses that were checked for its request. It looks nothing up: a
/// request without checked addresses fails.
pub(crate) struct CheckedAddresses;

impl reqwest::dns::Resolve for CheckedAddresses {
    fn resolve(&self, _name: reqwest::dns::Name) -> reqwest::dns::Resolving {
        let addresses = CHECKED.try_with(Clone::clone);
        Box::pin(async move {
            // Port 0 stands for the URL's port.
            let sockets = addresses?.into_iter().map(|ip| SocketAddr::new(ip, 0));
            Ok(Box::new(sockets) as reqwest::dns::Addrs)
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[derive(Debug)]
    struct Fixed(Vec<&'static str>);

    #[async_trait]
    impl Resolve for Fixed {
        async fn resolve(&self, _host: &str) -> io::Result<Vec<IpAddr>> {
            Ok(self.0.iter().map(|text| text.parse().unwrap()).collect())
        }
    }

    #[derive(Debug)]
    struct Broken;

    #[async_trait]
    impl Resolve for Broken {
        async fn resolve(&self, _host: &str) -> io::Result<Vec<IpAddr>> {
            Err(io::Error::other("name server out of reach"))
        }
    }

    async fn verdict(addresses: &[&'static str], reach: Reach) -> Result<usize, GuardError> {
        let guard = Guard::new(reach, Arc::new(Fixed(addresses.to_vec())));
        guard.addresses("example.com").await.map(|permitted| permitted.len())
    }

    #[tokio::test]
    async fn any_forbidden_address_refuses_the_name() {
        let refused: [&[&str]; 5] = [
            &["127.0.0.1"],
            &["8.8.8.8", "127.0.0.1"],
            &["10.0.0.1", "8.8.8.8"],
            &["8.8.8.8", "2606:4700::1111", "::ffff:10.0.0.1"],
            &["64:ff9b::169.254.169.254"],
        ];
        for addresses in refused {
            let found = verdict(addresses, Reach::PublicOnly).await;
            assert!(matches!(found, Err(GuardError::Forbidden)), "{addresses:?}");
            assert_eq!(verdict(addresses, Reach::AnyAddress).await.unwrap(), addresses.len());
        }
    }

    #[tokio::test]
    async fn public_addresses_pass_in_their_order() {
        let guard =
            Guard::new(Reach::PublicOnly, Arc::new(Fixed(vec!["2606:4700::1111", "8.8.8.8"])));
        let addresses = guard.addresses("example.com").await.unwrap();
        let expected: [IpAddr; 2] =
            ["2606:4700::1111".parse().unwrap(), "8.8.8.8".parse().unwrap()];
        assert_eq!(addresses, expected);
    }

    #[tokio::test]
    async fn no_address_and_a_failed_lookup_are_not_resolved() {
        let none = verdict(&[], Reach::AnyAddress).await;
        assert!(matches!(none, Err(GuardError::NotResolved(_))));
        let guard = Guard::new(Reach::PublicOnly, Arc::new(Broken));
        let broken = guard.addresses("example.com").await;
        assert!(matches!(broken, Err(GuardError::NotResolved(_))));
    }
}
