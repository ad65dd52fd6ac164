//! A name server on loopback: it never answers for `*.slow.example.com`, and has an address for
//! every other name.

use std::net::{Ipv4Addr, SocketAddr};
use std::sync::{Arc, Mutex};

use tokio::net::UdpSocket;

/// The questions that came, by name.
#[derive(Debug, Clone)]
pub(crate) struct NameServer {
    pub(crate) address: SocketAddr,
    asked: Arc<Mutex<Vec<String>>>,
}

impl NameServer {
    /// Answers with `ip` until the test ends.
    pub(crate) async fn start(ip: Ipv4Addr) -> Self {
        let socket = UdpSocket::bind("127.0.0.1:0").await.unwrap();
        let server = Self { address: socket.local_addr().unwrap(), asked: Arc::default() };
        let asked = Arc::clone(&server.asked);
        tokio::spawn(async move {
            let mut buffer = [0; 1_500];
            while let Ok((length, from)) = socket.recv_from(&mut buffer).await {
                let query = &buffer[..length];
                let (name, question_end) = name_of(query);
                asked.lock().unwrap().push(name.clone());
                if !name.ends_with(".slow.example.com") {
                    let answer = answer(query, question_end, ip);
                    let _ = socket.send_to(&answer, from).await;
                }
            }
        });
        server
    }

    /// How many different names ending so were asked for.
    pub(crate) fn names(&self, ending: &str) -> usize {
        let asked = self.asked.lock().unwrap();
        let names = asked.iter().filter(|name| name.ends_with(ending));
        names.collect::<std::collections::BTreeSet<_>>().len()
    }

    /// How many questions came.
    pub(crate) fn questions(&self) -> usize {
        self.asked.lock().unwrap().len()
    }
}

/// The name in a query, lower-case, and where its question ends.
fn name_of(query: &[u8]) -> (String, usize) {
    let mut labels = Vec::new();
    let mut at = 12;
    while query[at] != 0 {
        let end = at + 1 + usize::from(query[at]);
        labels.push(String::from_utf8_lossy(&query[at + 1..end]).to_lowercase());
        at = end;
    }
    (labels.join("."), at + 5)
}

/// An answer to a question for an address: `ip` for IPv4, for an hour, and none for IPv6.
fn answer(query: &[u8], question_end: usize, ip: Ipv4Addr) -> Vec<u8> {
    let asks_for_ipv4 = query[question_end - 4..question_end - 2] == [0, 1];
    let mut answer = query[..2].to_vec();
    let (found, absent) = (u8::from(asks_for_ipv4), u8::from(!asks_for_ipv4));
    answer.extend([0x81, 0x80, 0, 1, 0, found, 0, absent, 0, 0]);
    answer.extend(&query[12..question_end]);
    if asks_for_ipv4 {
        answer.extend([0xc0, 12, 0, 1, 0, 1, 0, 0, 0x0e, 0x10, 0, 4]);
        answer.extend(ip.octets());
    } else {
        // The start of authority, which says for how long the name has none (RFC 2308).
        answer.extend([0xc0, 12, 0, 6, 0, 1, 0, 0, 0, 60, 0, 22, 0, 0]);
        answer.extend([0, 0, 0, 60].repeat(5));
    }
    answer
}
