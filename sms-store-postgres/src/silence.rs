//! Ends this process's connections to a host that has fallen silent.
//!
//! A host that loses its power or its network closes no connection, and the driver waits for its
//! answer without a timeout. The driver does not give access to its sockets, so no timeout can be
//! set there. This module ends the connections to a host that was found silent. Every command under
//! way there fails at once, as if the host had reset its connection.

use std::collections::BTreeSet;
use std::fs::read_dir;
use std::net::{IpAddr, SocketAddr};
use std::os::fd::RawFd;

use nix::sys::socket::{Shutdown, SockaddrStorage, getpeername, shutdown};
use sqlx::postgres::PgConnectOptions;
use tokio::net::lookup_host;

/// The open files of this process, on Linux and other systems.
const OPEN_FILES: &str = "/dev/fd";

/// The addresses of a host; none if it is reached through a Unix socket or its name is unknown.
pub(crate) async fn addresses(host: &PgConnectOptions) -> BTreeSet<(IpAddr, u16)> {
    let name = host.get_host().trim_start_matches('[').trim_end_matches(']');
    let found = lookup_host((name, host.get_port())).await;
    found.map(|all| all.map(canonical).collect()).unwrap_or_default()
}

/// Ends all connections to these addresses, from the next moment on; returns how many.
pub(crate) fn end_connections(to: &BTreeSet<(IpAddr, u16)>) -> usize {
    let Ok(files) = read_dir(OPEN_FILES) else { return 0 };
    let handles: Vec<RawFd> =
        files.filter_map(|file| file.ok()?.file_name().to_str()?.parse().ok()).collect();
    let leads_there = |handle: &RawFd| peer(*handle).is_some_and(|peer| to.contains(&peer));
    let theirs = handles.into_iter().filter(leads_there);
    theirs.filter(|handle| shutdown(*handle, Shutdown::Both).is_ok()).count()
}

/// The address at the other end, if this is a connected socket.
fn peer(handle: RawFd) -> Option<(IpAddr, u16)> {
    let address: SockaddrStorage = getpeername(handle).ok()?;
    if let Some(address) = address.as_sockaddr_in() {
        return Some(canonical(SocketAddr::V4((*address).into())));
    }
    address.as_sockaddr_in6().map(|address| canonical(SocketAddr::V6((*address).into())))
}

fn canonical(address: SocketAddr) -> (IpAddr, u16) {
    (address.ip().to_canonical(), address.port())
}

#[cfg(test)]
mod tests {
    use std::io::Read;
    use std::net::{TcpListener, TcpStream};

    use super::*;

    #[test]
    fn only_connections_to_the_silent_host_end() {
        let [silent, other] = [(); 2].map(|()| TcpListener::bind("127.0.0.1:0").unwrap());
        let addresses = [&silent, &other].map(|host| host.local_addr().unwrap());
        let mut waiting = TcpStream::connect(addresses[0]).unwrap();
        let mut stays = TcpStream::connect(addresses[1]).unwrap();
        stays.set_nonblocking(true).unwrap();
        assert_eq!(end_connections(&[canonical(addresses[0])].into()), 1);
        assert_eq!(waiting.read(&mut [0]).unwrap(), 0, "it ended");
        let pending = stays.read(&mut [0]).unwrap_err();
        assert_eq!(pending.kind(), std::io::ErrorKind::WouldBlock);
    }
}
