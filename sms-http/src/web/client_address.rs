//! The address of a client, and which proxies may say it.
//!
//! Behind a proxy every connection comes from the proxy, which appends the address of its client to
//! `X-Forwarded-For`. Anybody can send that header, so it counts only as far as it was written by a
//! proxy of [`TrustedProxies`]: it is read from the right, and the first address that is no trusted
//! proxy is the client's. What stands to the left of it was written by the client itself.

use std::fmt;
use std::net::{IpAddr, Ipv6Addr, SocketAddr};
use std::str::FromStr;

use ipnet::{IpNet, Ipv4Net};
use poem::Request;
use poem::http::{HeaderMap, HeaderName};

const FORWARDED_FOR: HeaderName = HeaderName::from_static("x-forwarded-for");

/// The bits of an IPv6 address that name a network. A single client usually has a whole one.
const IPV6_NETWORK_BITS: u32 = 64;

/// The addresses of proxies whose `X-Forwarded-For` counts. The default is none.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct TrustedProxies {
    networks: Vec<IpNet>,
}

/// Why a list of proxies is invalid.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum TrustedProxiesInvalid {
    /// An entry is neither an address nor a network.
    #[error("{0:?} is not an address such as 192.0.2.7 or a network such as 192.0.2.0/24")]
    Entry(String),
    /// An entry covers every address, so that any client could choose its own address.
    #[error("{0:?} covers every address: name only the addresses of your proxies")]
    Everybody(String),
}

/// The address of the client that sent a request. IPv4 addresses inside IPv6 are written as IPv4.
///
/// [`crate::web::intake`] puts it into the data of each request that came over a socket.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct ClientAddress(IpAddr);

/// What a limit per client counts by: an IPv4 address, or an IPv6 network of 64 bits. Otherwise one
/// client could use a new address for each request.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct AddressBlock(IpAddr);

impl TrustedProxies {
    /// Whether the address is that of a trusted proxy.
    pub fn contains(&self, address: IpAddr) -> bool {
        let address = address.to_canonical();
        self.networks.iter().any(|network| network.contains(&address))
    }
}

/// A comma-separated list of addresses and networks; the empty text is no proxy.
impl FromStr for TrustedProxies {
    type Err = TrustedProxiesInvalid;

    fn from_str(text: &str) -> Result<Self, Self::Err> {
        if text.trim().is_empty() {
            return Ok(Self::default());
        }
        let networks = text.split(',').map(|entry| network(entry.trim()));
        Ok(Self { networks: networks.collect::<Result<_, _>>()? })
    }
}

impl ClientAddress {
    /// The address of the client that sent `request`; `None` if it came over no socket.
    pub fn of(request: &Request, trusted: &TrustedProxies) -> Option<Self> {
        let peer = request.remote_addr().as_socket_addr()?.ip();
        Some(Self::behind(peer, request.headers(), trusted))
    }

    /// Whether somebody says the address of another client who is not trusted with that: perhaps a
    /// proxy that nobody named, and whose clients all have one address.
    pub(crate) fn is_of_unnamed_proxy(request: &Request, trusted: &TrustedProxies) -> bool {
        let peer = request.remote_addr().as_socket_addr().map(SocketAddr::ip);
        peer.is_some_and(|peer| !trusted.contains(peer))
            && request.headers().contains_key(FORWARDED_FOR)
    }

    /// The address itself.
    pub fn ip(self) -> IpAddr {
        self.0
    }

    /// What limits per client count this client by.
    pub fn block(self) -> AddressBlock {
        AddressBlock::of(self.0)
    }

    fn behind(peer: IpAddr, headers: &HeaderMap, trusted: &TrustedProxies) -> Self {
        let mut client = peer.to_canonical();
        let values = headers.get_all(FORWARDED_FOR).iter().rev();
        let mut entries = values.flat_map(|value| value.as_bytes().rsplit(|byte| *byte == b','));
        while trusted.contains(client) {
            // Whatever stands left of an entry that is no address cannot be believed.
            let Some(address) = entries.next().and_then(forwarded_address) else { break };
            client = address.to_canonical();
        }
        Self(client)
    }
}

impl AddressBlock {
    /// The block of an address.
    pub fn of(address: IpAddr) -> Self {
        Self(match address.to_canonical() {
            IpAddr::V4(address) => IpAddr::V4(address),
            IpAddr::V6(address) => {
                let network = u128::MAX << (Ipv6Addr::BITS - IPV6_NETWORK_BITS);
                IpAddr::V6(Ipv6Addr::from_bits(address.to_bits() & network))
            }
        })
    }
}

impl AddressBlock {
    /// The block as a number, which differs from those of all other blocks.
    pub fn number(self) -> u128 {
        match self.0 {
            IpAddr::V4(address) => address.to_ipv6_mapped().to_bits(),
            IpAddr::V6(address) => address.to_bits(),
        }
    }
}

impl fmt::Display for AddressBlock {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.0 {
            IpAddr::V4(address) => address.fmt(formatter),
            IpAddr::V6(network) => write!(formatter, "{network}/{IPV6_NETWORK_BITS}"),
        }
    }
}

impl fmt::Display for ClientAddress {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.fmt(formatter)
    }
}

/// An address, or a network as `address/bits`.
fn network(entry: &str) -> Result<IpNet, TrustedProxiesInvalid> {
    let parsed: Option<IpNet> = match entry.parse::<IpAddr>() {
        Ok(address) => Some(address.into()),
        Err(_) => entry.parse().ok(),
    };
    let network = parsed.ok_or_else(|| TrustedProxiesInvalid::Entry(entry.to_owned()))?;
    let network = canonical(network);
    if network.prefix_len() == 0 {
        return Err(TrustedProxiesInvalid::Everybody(entry.to_owned()));
    }
    Ok(network)
}

/// A network of IPv4 addresses inside IPv6, as a network of IPv4 addresses.
fn canonical(network: IpNet) -> IpNet {
    // The bits before the IPv4 address.
    const MAPPED_BITS: u8 = 96;
    let inside = match network.addr() {
        IpAddr::V4(_) => None,
        IpAddr::V6(address) => address.to_ipv4_mapped(),
    };
    let bits = network.prefix_len().checked_sub(MAPPED_BITS);
    let mapped = inside.zip(bits).and_then(|(address, bits)| Ipv4Net::new(address, bits).ok());
    mapped.map_or(network, IpNet::V4)
}

/// The address in an entry of `X-Forwarded-For`. Some proxies add the port.
fn forwarded_address(entry: &[u8]) -> Option<IpAddr> {
    let entry = std::str::from_utf8(entry).ok()?.trim();
    if let Ok(address) = entry.parse() {
        return Some(address);
    }
    if let Ok(with_port) = entry.parse::<SocketAddr>() {
        return Some(with_port.ip());
    }
    entry.strip_prefix('[')?.strip_suffix(']')?.parse().ok().map(IpAddr::V6)
}

#[cfg(test)]
mod tests {
    use poem::http::HeaderValue;

    use super::*;

    fn client(trusted: &str, peer: &str, forwarded: &[&str]) -> String {
        let mut headers = HeaderMap::new();
        for value in forwarded {
            headers.append(FORWARDED_FOR, HeaderValue::from_str(value).unwrap());
        }
        let trusted = trusted.parse().unwrap();
        ClientAddress::behind(peer.parse().unwrap(), &headers, &trusted).to_string()
    }

    #[test]
    fn without_trusted_proxies_the_client_is_who_connects_whatever_the_header_says() {
        assert_eq!(client("", "192.0.2.1", &[]), "192.0.2.1");
        assert_eq!(client("", "192.0.2.1", &["203.0.113.9"]), "192.0.2.1");
        assert_eq!(client("10.0.0.0/8", "192.0.2.1", &["203.0.113.9"]), "192.0.2.1");
        assert_eq!(client("10.0.0.0/8", "2001:db8::1", &["203.0.113.9"]), "2001:db8::1");
    }

    #[test]
    fn the_client_is_the_right_most_address_that_is_no_trusted_proxy() {
        let trusted = "10.0.0.0/8, 2001:db8:aa::/48,198.51.100.7";
        for (peer, forwarded, expected) in [
            ("10.0.0.1", &["203.0.113.9"][..], "203.0.113.9"),
            ("198.51.100.7", &["203.0.113.9"], "203.0.113.9"),
            ("198.51.100.8", &["203.0.113.9"], "198.51.100.8"),
            // What the client itself sent stands to the left of what the proxy appended.
            ("10.0.0.1", &["192.0.2.66, 203.0.113.9"], "203.0.113.9"),
            ("10.0.0.1", &["10.0.0.2, 203.0.113.9"], "203.0.113.9"),
            ("10.0.0.1", &["junk, 203.0.113.9"], "203.0.113.9"),
            // A proxy may append a header line instead of an entry.
            ("10.0.0.1", &["192.0.2.66", "203.0.113.9"], "203.0.113.9"),
            // Several proxies.
            ("10.0.0.1", &["192.0.2.66, 203.0.113.9, 10.0.0.3,10.0.0.2"], "203.0.113.9"),
            ("10.0.0.1", &["203.0.113.9", "10.0.0.3, 198.51.100.7"], "203.0.113.9"),
            ("2001:db8:aa::1", &["203.0.113.9, 10.0.0.3"], "203.0.113.9"),
            // IPv6, and IPv4 inside IPv6.
            ("10.0.0.1", &["2001:db8::9"], "2001:db8::9"),
            ("::ffff:10.0.0.1", &["203.0.113.9"], "203.0.113.9"),
            ("10.0.0.1", &["::ffff:203.0.113.9"], "203.0.113.9"),
            ("10.0.0.1", &["203.0.113.9, ::ffff:10.0.0.2"], "203.0.113.9"),
            // With ports.
            ("10.0.0.1", &["203.0.113.9:4711"], "203.0.113.9"),
            ("10.0.0.1", &["[2001:db8::9]:4711"], "2001:db8::9"),
            ("10.0.0.1", &["[2001:db8::9]"], "2001:db8::9"),
            // Only proxies: a health check of theirs.
            ("10.0.0.1", &[], "10.0.0.1"),
            ("10.0.0.1", &["10.0.0.3, 10.0.0.2"], "10.0.0.3"),
            // Nothing left of an entry that is no address counts.
            ("10.0.0.1", &["203.0.113.9, unknown"], "10.0.0.1"),
            ("10.0.0.1", &["203.0.113.9, , 10.0.0.2"], "10.0.0.2"),
            ("10.0.0.1", &[""], "10.0.0.1"),
        ] {
            assert_eq!(client(trusted, peer, forwarded), expected, "{peer} {forwarded:?}");
        }
    }

    #[test]
    fn proxies_are_addresses_and_networks_and_never_everybody() {
        let trusts = |list: &str, address: &str| {
            list.parse::<TrustedProxies>().unwrap().contains(address.parse().unwrap())
        };
        for (list, address, expected) in [
            ("", "127.0.0.1", false),
            (" ", "127.0.0.1", false),
            ("127.0.0.1", "127.0.0.1", true),
            ("127.0.0.1", "127.0.0.2", false),
            ("127.0.0.1", "::ffff:127.0.0.1", true),
            ("::ffff:127.0.0.1", "127.0.0.1", true),
            ("::ffff:10.0.0.0/104", "10.1.2.3", true),
            ("::ffff:10.0.0.0/104", "11.1.2.3", false),
            ("10.1.2.3/8", "10.200.0.1", true),
            ("192.0.2.0/24 , ::1", "::1", true),
            ("2001:db8::/32", "2001:db9::1", false),
        ] {
            assert_eq!(trusts(list, address), expected, "{list:?} {address}");
        }
        for entry in ["x", "10.0.0.0/33", "10.0.0", "proxy.example.com", "10.0.0.0/"] {
            let refused = TrustedProxiesInvalid::Entry(entry.to_owned());
            assert_eq!(format!("::1,{entry}").parse::<TrustedProxies>(), Err(refused));
        }
        assert!("10.0.0.1,".parse::<TrustedProxies>().is_err());
        for entry in ["0.0.0.0/0", "::/0", "::ffff:0.0.0.0/96"] {
            let refused = TrustedProxiesInvalid::Everybody(entry.to_owned());
            assert_eq!(entry.parse::<TrustedProxies>(), Err(refused));
        }
    }

    #[test]
    fn limits_count_an_ipv4_address_or_an_ipv6_network() {
        let block = |address: &str| AddressBlock::of(address.parse().unwrap());
        assert_eq!(block("192.0.2.1"), block("::ffff:192.0.2.1"));
        assert_ne!(block("192.0.2.1"), block("192.0.2.2"));
        assert_eq!(block("2001:db8:1:2::1"), block("2001:db8:1:2:ffff::9"));
        assert_ne!(block("2001:db8:1:2::1"), block("2001:db8:1:3::1"));
    }
}
