//! Compares the guard's verdicts on all IPv4 addresses with an independent table: the IANA
//! special-purpose address registry as CIDR blocks.

#![expect(clippy::unwrap_used, reason = "a test fails by panicking")]

use std::net::{IpAddr, Ipv4Addr, Ipv6Addr};

use sms_webhooks::address::is_public;

/// What the registry says of a block.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Reachable {
    /// From anywhere.
    Globally,
    /// Not at all, or only from the same network.
    Not,
    /// Globally, but refused: no webhook lives on the anycast address of a protocol.
    ButRefused,
}
use Reachable::{ButRefused, Globally, Not};

/// The registry, and multicast, which has a separate registry. The smallest block that contains an
/// address decides.
const REGISTRY: &str = "
    0.0.0.0/0           globally  all others
    0.0.0.0/8           not       this network
    0.0.0.0/32          not       this host
    10.0.0.0/8          not       private use
    100.64.0.0/10       not       shared address space
    127.0.0.0/8         not       loopback
    169.254.0.0/16      not       link-local
    172.16.0.0/12       not       private use
    192.0.0.0/24        not       protocol assignments
    192.0.0.0/29        not       service continuity
    192.0.0.8/32        not       dummy address
    192.0.0.9/32        refused   port control anycast
    192.0.0.10/32       refused   TURN anycast
    192.0.0.170/32      not       NAT64 discovery
    192.0.0.171/32      not       NAT64 discovery
    192.0.2.0/24        not       documentation (TEST-NET-1)
    192.31.196.0/24     globally  AS112
    192.52.193.0/24     globally  AMT
    192.88.99.0/24      not       former 6to4 relays
    192.168.0.0/16      not       private use
    192.175.48.0/24     globally  AS112, delegated directly
    198.18.0.0/15       not       benchmarking
    198.51.100.0/24     not       documentation (TEST-NET-2)
    203.0.113.0/24      not       documentation (TEST-NET-3)
    224.0.0.0/4         not       multicast
    240.0.0.0/4         not       reserved
    255.255.255.255/32  not       limited broadcast
";

/// A block of addresses, from the first to the last.
#[derive(Debug, Clone, Copy)]
struct Block {
    first: u32,
    last: u32,
    reachable: Reachable,
}

fn blocks() -> Vec<Block> {
    let rows = REGISTRY.lines().map(str::trim).filter(|row| !row.is_empty());
    rows.map(|row| {
        let mut words = row.split_whitespace();
        let (address, bits) = words.next().unwrap().split_once('/').unwrap();
        let bytes: Vec<u64> = address.split('.').map(|byte| byte.parse().unwrap()).collect();
        let first = bytes.iter().fold(0, |number, byte| number * 256 + byte);
        let size = 2_u64.pow(32 - bits.parse::<u32>().unwrap());
        assert_eq!(first % size, 0, "{row}: a block begins at a multiple of its size");
        let reachable = match words.next().unwrap() {
            "globally" => Globally,
            "not" => Not,
            "refused" => ButRefused,
            other => panic!("{other}"),
        };
        let address = |number: u64| u32::try_from(number).unwrap();
        Block { first: address(first), last: address(first + size - 1), reachable }
    })
    .collect()
}

/// The verdict of the smallest block that contains the address.
fn expected(blocks: &[Block], address: u32) -> Reachable {
    let holding = blocks.iter().filter(|block| (block.first..=block.last).contains(&address));
    holding.min_by_key(|block| block.last - block.first).unwrap().reachable
}

/// All addresses in order, as ranges with one verdict each.
fn runs() -> Vec<Block> {
    let blocks = blocks();
    let mut starts: Vec<u32> = blocks.iter().map(|block| block.first).collect();
    starts.extend(blocks.iter().filter_map(|block| block.last.checked_add(1)));
    starts.sort_unstable();
    starts.dedup();
    let mut ends: Vec<u32> = starts.iter().skip(1).map(|next| next - 1).collect();
    ends.push(u32::MAX);
    let run = |(first, last)| Block { first, last, reachable: expected(&blocks, first) };
    starts.into_iter().zip(ends).map(run).collect()
}

fn judged(address: u32) -> bool {
    is_public(IpAddr::V4(Ipv4Addr::from_bits(address)))
}

fn judged_inside(prefix: &str, address: u32) -> bool {
    let prefix = prefix.parse::<Ipv6Addr>().unwrap().to_bits();
    is_public(IpAddr::V6(Ipv6Addr::from_bits(prefix | u128::from(address))))
}

#[test]
fn the_table_holds_every_address_once() {
    let sizes = runs().into_iter().map(|run| u64::from(run.last - run.first) + 1);
    assert_eq!(sizes.sum::<u64>(), 1 << 32);
    let forbidden = runs().into_iter().filter(|run| run.reachable == Not);
    let forbidden: u64 = forbidden.map(|run| u64::from(run.last - run.first) + 1).sum();
    assert_eq!(forbidden, 592_708_864 - 2);
}

#[test]
fn the_edges_of_every_block_are_judged_as_the_registry_says() {
    let blocks = blocks();
    for edge in blocks.iter().flat_map(|block| [block.first, block.last]) {
        for address in [edge.wrapping_sub(1), edge, edge.wrapping_add(1)] {
            let public = expected(&blocks, address) == Globally;
            assert_eq!(judged(address), public, "{}", Ipv4Addr::from_bits(address));
        }
    }
}

#[test]
fn no_form_of_an_ipv4_address_in_ipv6_reaches_what_the_address_does_not() {
    let blocks = blocks();
    for edge in blocks.iter().flat_map(|block| [block.first, block.last]) {
        let public = expected(&blocks, edge) == Globally;
        let shown = Ipv4Addr::from_bits(edge);
        assert_eq!(judged_inside("64:ff9b::", edge), public, "NAT64 of {shown}");
        // Mapped, compatible, translated, and local-use NAT64.
        for prefix in ["::ffff:0:0", "::", "::ffff:0:0:0", "64:ff9b:1::"] {
            assert!(!judged_inside(prefix, edge), "{prefix} of {shown}");
        }
        let high = u128::from(edge) << 80;
        let six_to_four = "2002::".parse::<Ipv6Addr>().unwrap().to_bits() | high;
        // Teredo stores the server's address as it is, and the client's inverted.
        let teredo = "2001::".parse::<Ipv6Addr>().unwrap().to_bits();
        let by_server = teredo | u128::from(edge) << 64 | 0x0808_0808;
        let by_client = teredo | 0x0808_0808 << 64 | u128::from(!edge);
        for form in [six_to_four, six_to_four | 1, by_server, by_client] {
            let form = Ipv6Addr::from_bits(form);
            assert!(!is_public(IpAddr::V6(form)), "{form} of {shown}");
        }
    }
}

/// 4,294,967,296 addresses: plain, mapped and under NAT64.
#[test]
#[ignore = "a minute with --release: scripts/fuzz 0 addresses"]
fn every_ipv4_address_is_judged_as_the_registry_says() {
    let mut tried = 0_u64;
    for run in runs() {
        let public = run.reachable == Globally;
        for address in run.first..=run.last {
            let is_right = judged(address) == public
                && is_public(IpAddr::V6(Ipv6Addr::from_bits(NAT64 | u128::from(address))))
                    == public
                && !is_public(IpAddr::V6(Ipv6Addr::from_bits(MAPPED | u128::from(address))));
            assert!(is_right, "{}", Ipv4Addr::from_bits(address));
            tried += 1;
        }
    }
    assert_eq!(tried, 1 << 32);
}

/// `64:ff9b::/96`
const NAT64: u128 = 0x0064_ff9b << 96;
/// `::ffff:0:0/96`
const MAPPED: u128 = 0xffff << 32;
