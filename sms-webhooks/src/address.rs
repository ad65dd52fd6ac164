//! Which IP addresses a webhook may reach.
//!
//! Pure: it judges one address. [`endpoint_url`](crate::endpoint_url) reads the spellings of
//! addresses, and [`resolver`](crate::resolver) looks up names.

use std::net::{IpAddr, Ipv4Addr, Ipv6Addr};

/// Which addresses webhooks may reach.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Reach {
    /// Public addresses only ([`is_public`]). The default.
    #[default]
    PublicOnly,
    /// Any address, including loopback and private networks. Only for development and tests: on a
    /// public server, customers could reach hosts behind the firewall.
    AnyAddress,
}

impl Reach {
    /// Whether a connection to `ip` is allowed.
    pub fn permits(self, ip: IpAddr) -> bool {
        match self {
            Reach::PublicOnly => is_public(ip),
            Reach::AnyAddress => true,
        }
    }
}

/// Whether `ip` is on the public internet.
///
/// IPv4: everything but the special blocks (private, loopback, link-local, shared, benchmarking,
/// documentation, multicast, reserved, 6to4 relays, `0.0.0.0/8`). IPv6: only global unicast,
/// `2000::/3`, without its special blocks. An IPv4 address inside an IPv6 address is refused
/// (mapped, compatible, 6to4, Teredo). NAT64's `64:ff9b::/96` is the exception: there, the IPv4
/// address decides.
///
/// ```
/// use sms_webhooks::address::is_public;
///
/// assert!(is_public("8.8.8.8".parse().unwrap()));
/// assert!(!is_public("169.254.169.254".parse().unwrap()));
/// assert!(!is_public("::ffff:127.0.0.1".parse().unwrap()));
/// assert!(!is_public("64:ff9b::10.0.0.1".parse().unwrap()));
/// ```
pub fn is_public(ip: IpAddr) -> bool {
    match ip {
        IpAddr::V4(v4) => is_public_v4(v4),
        IpAddr::V6(v6) => is_public_v6(v6),
    }
}

/// Sources: the IANA IPv4 special-purpose address registry, and RFC 7526 for 192.88.99.0/24.
fn is_public_v4(ip: Ipv4Addr) -> bool {
    !matches!(
        ip.octets(),
        // This network, private, loopback; multicast, reserved and broadcast.
        [0 | 10 | 127 | 224..=255, ..]
            // Shared between a carrier and its customers.
            | [100, 64..=127, ..]
            // Link-local, where clouds keep their metadata service.
            | [169, 254, ..]
            // Private.
            | [172, 16..=31, ..]
            | [192, 168, ..]
            // Protocol assignments and documentation.
            | [192, 0, 0 | 2, _]
            // The former relays of 6to4.
            | [192, 88, 99, _]
            // Benchmarking.
            | [198, 18..=19, ..]
            // Documentation.
            | [198, 51, 100, _]
            | [203, 0, 113, _]
    )
}

/// Sources: the IANA IPv6 special-purpose address registry and global unicast assignments.
fn is_public_v6(ip: Ipv6Addr) -> bool {
    let segments = ip.segments();
    if let [0x64, 0xff9b, 0, 0, 0, 0, high, low] = segments {
        // NAT64: the gateway connects to the IPv4 address.
        let [a, b] = high.to_be_bytes();
        let [c, d] = low.to_be_bytes();
        return is_public_v4(Ipv4Addr::new(a, b, c, d));
    }
    // Not among these: unspecified, loopback, mapped, compatible, local NAT64, discard, segment
    // routing, unique-local, link-local, site-local, multicast, unassigned.
    let is_global_unicast = matches!(segments, [0x2000..=0x3fff, ..]);
    let is_special = matches!(
        segments,
        // Protocol assignments (Teredo, benchmarking, anycast of the nearest router) and
        // documentation.
        [0x2001, 0..=0x1ff | 0xdb8, ..]
            // Documentation.
            | [0x3fff, 0..=0xfff, ..]
            // 6to4.
            | [0x2002, ..]
    );
    // Protocol assignments that are globally reachable: AMT, ORCHIDv2, drone ids, AS112.
    let is_global_island =
        matches!(segments, [0x2001, 0x3 | 0x20..=0x3f, ..] | [0x2001, 0x4, 0x112, ..]);
    is_global_unicast && (is_global_island || !is_special)
}

#[cfg(test)]
mod tests {
    use std::sync::LazyLock;

    use super::*;
    use proptest::prelude::*;

    /// The forbidden IPv4 blocks, written independently of the code above.
    const FORBIDDEN_V4: [(&str, u32); 15] = [
        ("0.0.0.0", 8),
        ("10.0.0.0", 8),
        ("100.64.0.0", 10),
        ("127.0.0.0", 8),
        ("169.254.0.0", 16),
        ("172.16.0.0", 12),
        ("192.0.0.0", 24),
        ("192.0.2.0", 24),
        ("192.88.99.0", 24),
        ("192.168.0.0", 16),
        ("198.18.0.0", 15),
        ("198.51.100.0", 24),
        ("203.0.113.0", 24),
        ("224.0.0.0", 4),
        ("240.0.0.0", 4),
    ];

    /// IPv6 verdicts by longest prefix, written independently of the code above. `64:ff9b::/96` has
    /// a separate test.
    const VERDICTS_V6: [(&str, u32, Verdict); 11] = [
        ("::", 0, Verdict::Forbidden),
        ("2000::", 3, Verdict::Public),
        ("2001::", 23, Verdict::Forbidden),
        ("2001:3::", 32, Verdict::Public),
        ("2001:4:112::", 48, Verdict::Public),
        ("2001:20::", 28, Verdict::Public),
        ("2001:30::", 28, Verdict::Public),
        ("2001:db8::", 32, Verdict::Forbidden),
        ("2002::", 16, Verdict::Forbidden),
        ("3fff::", 20, Verdict::Forbidden),
        ("64:ff9b::", 96, Verdict::OfIpv4),
    ];

    /// Blocks that must be refused from the first to the last address.
    const WHOLE_BLOCKS_V6: [(&str, u32); 25] = [
        ("::", 128),
        ("::1", 128),
        ("::", 96),
        ("::ffff:0:0", 96),
        ("::ffff:0:0:0", 96),
        ("64:ff9b:1::", 48),
        ("64:ff9b:8000::", 33),
        ("100::", 64),
        ("100:0:0:1::", 64),
        ("200::", 7),
        ("400::", 6),
        ("1000::", 4),
        ("2001::", 32),
        ("2001:1::", 32),
        ("2001:2::", 48),
        ("2001:10::", 28),
        ("2001:db8::", 32),
        ("2002::", 16),
        ("3fff::", 20),
        ("4000::", 3),
        ("5f00::", 16),
        ("fc00::", 7),
        ("fe80::", 10),
        ("fec0::", 10),
        ("ff00::", 8),
    ];

    #[derive(Debug, Clone, Copy, PartialEq, Eq)]
    enum Verdict {
        Public,
        Forbidden,
        OfIpv4,
    }

    fn v4(text: &str) -> u32 {
        text.parse::<Ipv4Addr>().unwrap().to_bits()
    }

    fn v6(text: &str) -> u128 {
        text.parse::<Ipv6Addr>().unwrap().to_bits()
    }

    static PARSED_V4: LazyLock<Vec<(u32, u32)>> = LazyLock::new(|| {
        let parse = |(network, length): &(&str, u32)| (v4(network), *length);
        FORBIDDEN_V4.iter().map(parse).collect()
    });

    static PARSED_V6: LazyLock<Vec<(u128, u32, Verdict)>> = LazyLock::new(|| {
        let parse = |row: &(&str, u32, Verdict)| (v6(row.0), row.1, row.2);
        VERDICTS_V6.iter().map(parse).collect()
    });

    fn expected_v4(ip: u32) -> bool {
        let in_block = |(network, length): &(u32, u32)| (ip ^ network).leading_zeros() >= *length;
        !PARSED_V4.iter().any(in_block)
    }

    fn expected_v6(ip: u128) -> bool {
        let (_, _, verdict) = PARSED_V6
            .iter()
            .filter(|(network, length, _)| (ip ^ network).leading_zeros() >= *length)
            .max_by_key(|(_, length, _)| *length)
            .unwrap();
        match verdict {
            Verdict::Public => true,
            Verdict::Forbidden => false,
            Verdict::OfIpv4 => expected_v4(u32::try_from(ip & 0xffff_ffff).unwrap()),
        }
    }

    fn judge_v4(ip: u32) -> bool {
        is_public(IpAddr::V4(Ipv4Addr::from_bits(ip)))
    }

    fn judge_v6(ip: u128) -> bool {
        is_public(IpAddr::V6(Ipv6Addr::from_bits(ip)))
    }

    /// A small generator with a fixed seed, so that a failure repeats.
    struct SplitMix(u64);

    impl SplitMix {
        fn next(&mut self) -> u64 {
            self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
            let mut mixed = self.0;
            mixed = (mixed ^ (mixed >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
            mixed = (mixed ^ (mixed >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
            mixed ^ (mixed >> 31)
        }
    }

    #[test]
    fn both_edges_of_every_ipv4_block_are_forbidden_and_their_neighbours_follow_the_table() {
        for (network, length) in FORBIDDEN_V4 {
            let first = v4(network);
            let last = first | (u32::MAX >> length);
            assert!(!judge_v4(first) && !judge_v4(last), "{network}/{length}");
            for neighbour in [first.wrapping_sub(1), last.wrapping_add(1)] {
                assert_eq!(judge_v4(neighbour), expected_v4(neighbour), "next to {network}");
            }
        }
    }

    #[test]
    fn the_neighbours_of_these_blocks_are_public() {
        let public = [
            "1.0.0.0",
            "9.255.255.255",
            "11.0.0.0",
            "100.63.255.255",
            "100.128.0.0",
            "126.255.255.255",
            "128.0.0.0",
            "169.253.255.255",
            "169.255.0.0",
            "172.15.255.255",
            "172.32.0.0",
            "191.255.255.255",
            "192.0.1.0",
            "192.0.3.0",
            "192.88.98.255",
            "192.88.100.0",
            "192.167.255.255",
            "192.169.0.0",
            "198.17.255.255",
            "198.20.0.0",
            "198.51.99.255",
            "198.51.101.0",
            "203.0.112.255",
            "203.0.114.0",
            "223.255.255.255",
        ];
        for text in public {
            assert!(judge_v4(v4(text)), "{text}");
        }
    }

    #[test]
    fn the_forbidden_ipv4_blocks_hold_592_708_864_addresses() {
        let total: u64 = FORBIDDEN_V4.iter().map(|(_, length)| 1_u64 << (32 - length)).sum();
        assert_eq!(total, 592_708_864);
    }

    #[test]
    fn every_edge_of_every_ipv4_slash_16_and_special_slash_24_follows_the_table() {
        for high in 0..=u32::from(u16::MAX) {
            let base = high << 16;
            for ip in [base, base + 1, base + 0x7fff, base + 0xfffe, base + 0xffff] {
                assert_eq!(judge_v4(ip), expected_v4(ip), "{}", Ipv4Addr::from_bits(ip));
            }
        }
        for network in ["192.0.0.0", "192.88.0.0", "198.51.0.0", "203.0.0.0"] {
            for low in 0..=u32::from(u16::MAX) {
                let ip = v4(network) + low;
                assert_eq!(judge_v4(ip), expected_v4(ip), "{}", Ipv4Addr::from_bits(ip));
            }
        }
    }

    #[test]
    fn a_million_random_addresses_of_each_family_follow_the_tables() {
        let mut random = SplitMix(2026);
        for _ in 0..1_000_000 {
            let (high, low) = (random.next(), random.next());
            let ip4 = u32::try_from(high >> 32).unwrap();
            assert_eq!(judge_v4(ip4), expected_v4(ip4), "{}", Ipv4Addr::from_bits(ip4));
            let ip6 = (u128::from(high) << 64) | u128::from(low);
            assert_eq!(judge_v6(ip6), expected_v6(ip6), "{}", Ipv6Addr::from_bits(ip6));
        }
    }

    #[test]
    fn every_ipv6_slash_32_under_2001_and_every_slash_16_follows_the_table() {
        for group in 0..=u128::from(u16::MAX) {
            let under_2001 = v6("2001::") | (group << 96);
            let slash_16 = group << 112;
            for base in [under_2001, slash_16] {
                for ip in [base, base | 1, base | (0x112 << 80), base | (u128::MAX >> 32)] {
                    assert_eq!(judge_v6(ip), expected_v6(ip), "{}", Ipv6Addr::from_bits(ip));
                }
            }
        }
    }

    #[test]
    fn whole_ipv6_blocks_are_forbidden_edge_to_edge() {
        for (network, length) in WHOLE_BLOCKS_V6 {
            let first = v6(network);
            let last = first | u128::MAX.checked_shr(length).unwrap_or(0);
            assert!(!judge_v6(first) && !judge_v6(last), "{network}/{length}");
        }
    }

    #[test]
    fn the_addresses_next_to_every_ipv6_block_follow_the_table() {
        for (network, length, _) in VERDICTS_V6 {
            let first = v6(network);
            let last = first | u128::MAX.checked_shr(length).unwrap_or(0);
            for ip in [first, last, first.wrapping_sub(1), last.wrapping_add(1)] {
                assert_eq!(judge_v6(ip), expected_v6(ip), "{}", Ipv6Addr::from_bits(ip));
            }
        }
    }

    #[test]
    fn addresses_of_well_known_public_servers_are_public() {
        for text in ["2606:4700::1111", "2a00:1450:4009::200e", "2001:4860:4860::8888"] {
            assert!(judge_v6(v6(text)), "{text}");
        }
        assert!(judge_v6(v6("64:ff9b::8.8.8.8")));
    }

    #[test]
    fn the_metadata_services_of_clouds_are_forbidden() {
        let services =
            ["169.254.169.254", "169.254.170.2", "100.100.100.200", "192.0.0.192", "fd00:ec2::254"];
        for text in services {
            assert!(!is_public(text.parse().unwrap()), "{text}");
        }
    }

    #[test]
    fn the_open_reach_permits_every_address() {
        for text in ["127.0.0.1", "::1", "10.0.0.1", "8.8.8.8", "0.0.0.0"] {
            let ip: IpAddr = text.parse().unwrap();
            assert!(Reach::AnyAddress.permits(ip));
            assert_eq!(Reach::PublicOnly.permits(ip), is_public(ip));
        }
        assert_eq!(Reach::default(), Reach::PublicOnly);
    }

    proptest! {
        #[test]
        fn nat64_inherits_the_verdict_of_the_ipv4_it_carries(ip in any::<u32>()) {
            let carrier = v6("64:ff9b::") | u128::from(ip);
            prop_assert_eq!(judge_v6(carrier), judge_v4(ip));
        }

        #[test]
        fn ipv4_in_any_other_ipv6_form_is_forbidden(ip in any::<u32>(), tail in any::<u64>()) {
            let mapped = v6("::ffff:0:0") | u128::from(ip);
            let compatible = u128::from(ip);
            let six_to_four = v6("2002::") | (u128::from(ip) << 80) | u128::from(tail);
            let teredo = v6("2001::") | (u128::from(ip) << 64) | u128::from(tail);
            let local_nat64 = v6("64:ff9b:1::") | u128::from(ip);
            for form in [mapped, compatible, six_to_four, teredo, local_nat64] {
                prop_assert!(!judge_v6(form), "{}", Ipv6Addr::from_bits(form));
            }
        }

        #[test]
        fn every_address_inside_a_forbidden_block_is_forbidden(
            block in proptest::sample::select(&FORBIDDEN_V4[..]),
            offset in any::<u32>(),
        ) {
            let (network, length) = block;
            prop_assert!(!judge_v4(v4(network) | (offset & (u32::MAX >> length))));
        }
    }
}
