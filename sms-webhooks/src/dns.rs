//! The asynchronous resolver: no thread waits for a name server, and each look-up ends in time.
//!
//! It reads `/etc/resolv.conf` and `/etc/hosts` once, when it is built.

use std::io;
use std::net::{IpAddr, Ipv4Addr, SocketAddr};
use std::time::Duration;

use async_trait::async_trait;
use hickory_resolver::TokioResolver;
use hickory_resolver::config::{LookupIpStrategy, NameServerConfig, ResolverConfig, ResolverOpts};
use hickory_resolver::net::runtime::TokioRuntimeProvider;

use crate::resolver::Resolve;

/// How long a name server may take to answer one query.
const QUERY_TIMEOUT: Duration = Duration::from_secs(2);
/// How often a query without an answer is repeated.
const REPEATS: usize = 2;
/// How many answers are remembered.
const REMEMBERED: u64 = 4_096;
/// How long an answer is remembered at most, however long its time to live.
const REMEMBERED_FOR: Duration = Duration::from_mins(5);
/// How long it is remembered at most that a name has no address.
const ABSENCE_REMEMBERED_FOR: Duration = Duration::from_secs(10);
/// Queries in flight to one name server: more than look-ups may ask at once.
const QUERIES_IN_FLIGHT: usize = 1_024;

/// Asks name servers, and remembers at most 4,096 answers for at most 5 minutes.
#[derive(Clone)]
pub struct DnsResolver {
    inner: TokioResolver,
}

impl DnsResolver {
    /// Asks the system's name servers. Like the C library, it asks one on this machine if the
    /// system names none.
    ///
    /// # Errors
    ///
    /// When the resolver cannot be set up.
    pub fn system() -> io::Result<Self> {
        let (config, options) =
            hickory_resolver::system_conf::read_system_conf().unwrap_or_else(|error| {
                tracing::warn!(%error, "no usable resolv.conf: asking a local name server");
                let here = NameServerConfig::udp_and_tcp(Ipv4Addr::LOCALHOST.into());
                (ResolverConfig::from_parts(None, Vec::new(), vec![here]), ResolverOpts::default())
            });
        Self::build(config, options)
    }

    /// Asks these name servers, over UDP and TCP.
    ///
    /// # Errors
    ///
    /// When the resolver cannot be set up.
    pub fn asking(name_servers: &[SocketAddr]) -> io::Result<Self> {
        Self::build(servers(name_servers), ResolverOpts::default())
    }

    fn build(config: ResolverConfig, mut options: ResolverOpts) -> io::Result<Self> {
        options.timeout = options.timeout.min(QUERY_TIMEOUT);
        options.attempts = options.attempts.min(REPEATS);
        options.ip_strategy = LookupIpStrategy::Ipv4AndIpv6;
        options.cache_size = REMEMBERED;
        options.positive_max_ttl = Some(REMEMBERED_FOR);
        options.negative_max_ttl = Some(ABSENCE_REMEMBERED_FOR);
        options.max_active_requests = QUERIES_IN_FLIGHT;
        let provider = TokioRuntimeProvider::default();
        let builder = TokioResolver::builder_with_config(config, provider).with_options(options);
        Ok(Self { inner: builder.build().map_err(io::Error::other)? })
    }
}

/// These name servers, over UDP and TCP.
fn servers(addresses: &[SocketAddr]) -> ResolverConfig {
    let server = |address: &SocketAddr| {
        let mut server = NameServerConfig::udp_and_tcp(address.ip());
        for connection in &mut server.connections {
            connection.port = address.port();
        }
        server
    };
    ResolverConfig::from_parts(None, Vec::new(), addresses.iter().map(server).collect())
}

impl std::fmt::Debug for DnsResolver {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("DnsResolver").finish_non_exhaustive()
    }
}

#[async_trait]
impl Resolve for DnsResolver {
    async fn resolve(&self, host: &str) -> io::Result<Vec<IpAddr>> {
        let found = self.inner.lookup_ip(host).await.map_err(io::Error::other)?;
        Ok(found.iter().collect())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[tokio::test]
    async fn localhost_is_this_machine() {
        for name in ["localhost", "localhost."] {
            let addresses = DnsResolver::system().unwrap().resolve(name).await.unwrap();
            assert!(addresses.iter().all(IpAddr::is_loopback), "{addresses:?}");
            assert!(addresses.contains(&IpAddr::V4(Ipv4Addr::LOCALHOST)), "{addresses:?}");
        }
    }

    /// As a system may have it: a minute for each of ten queries, and answers kept for a day.
    fn patient() -> ResolverOpts {
        let mut options = ResolverOpts::default();
        options.timeout = Duration::from_mins(1);
        options.attempts = 10;
        options.cache_size = 1_000_000;
        options.positive_max_ttl = Some(Duration::from_hours(24));
        options.negative_max_ttl = Some(Duration::from_hours(24));
        options
    }

    #[test]
    fn so_many_answers_are_remembered_for_so_long_whatever_the_system_says() {
        let here = servers(&["127.0.0.1:9".parse().unwrap()]);
        let resolver = DnsResolver::build(here, patient()).unwrap();
        let options = resolver.inner.options();
        assert_eq!(options.cache_size, 4_096);
        assert_eq!(options.positive_max_ttl, Some(Duration::from_mins(5)));
        assert_eq!(options.negative_max_ttl, Some(Duration::from_secs(10)));
    }

    #[tokio::test(start_paused = true)]
    async fn a_look_up_that_is_never_answered_ends_in_time_whatever_the_system_says() {
        let silent = tokio::net::UdpSocket::bind("127.0.0.1:0").await.unwrap();
        let silent = servers(&[silent.local_addr().unwrap()]);
        let resolver = DnsResolver::build(silent, patient()).unwrap();
        let started = tokio::time::Instant::now();
        assert!(resolver.resolve("hook.example.com").await.is_err());
        let took = started.elapsed();
        assert!(took <= Duration::from_secs(12), "{took:?}");
    }

    #[tokio::test]
    async fn a_name_of_the_hosts_file_is_found_without_a_name_server() {
        let hosts = std::fs::read_to_string("/etc/hosts").unwrap();
        let lines = hosts.lines().map(|line| line.split('#').next().unwrap_or_default());
        let resolver = DnsResolver::asking(&["127.0.0.1:9".parse().unwrap()]).unwrap();
        for line in lines {
            let mut words = line.split_whitespace();
            let Some(Ok(ip)) = words.next().map(str::parse::<IpAddr>) else { continue };
            for name in words {
                let addresses = resolver.resolve(name).await.unwrap();
                assert!(addresses.contains(&ip), "{name}: {addresses:?}");
            }
        }
    }
}
