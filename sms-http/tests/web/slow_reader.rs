//! Clients that read their answers slowly, over real sockets with small buffers.

use std::net::SocketAddr;
use std::time::Duration;

use poem::EndpointExt;
use poem::endpoint::make_sync;
use sms_http::web::serve::{ServeLimits, serve};
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::TcpSocket;

use crate::socket::bounded;

/// The length of the answer.
const LENGTH: usize = 256 * 1_024;

/// The system makes it the smallest buffer that it allows. So a client that reads 2 KB a second
/// lets the server write about once a second, well within the patience.
const SMALLEST: u32 = 1;

/// A server that can write little before its client reads.
fn start() -> SocketAddr {
    let socket = TcpSocket::new_v4().unwrap();
    socket.set_send_buffer_size(SMALLEST).unwrap();
    socket.bind("127.0.0.1:0".parse().unwrap()).unwrap();
    let listener = socket.listen(16).unwrap();
    let addr = listener.local_addr().unwrap();
    let limits = ServeLimits { unread_timeout: Duration::from_secs(2), ..ServeLimits::default() };
    let answer = make_sync(|_| vec![b'x'; LENGTH]);
    tokio::spawn(serve(listener, answer.map_to_response(), limits, std::future::pending()));
    addr
}

/// How many bytes a client gets that reads so many at once, with a pause before each.
async fn read_of(addr: SocketAddr, bytes: usize, pause: Duration) -> usize {
    let socket = TcpSocket::new_v4().unwrap();
    socket.set_recv_buffer_size(SMALLEST).unwrap();
    let mut socket = socket.connect(addr).await.unwrap();
    let head = b"GET / HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n";
    socket.write_all(head).await.unwrap();
    let (mut buffer, mut all) = (vec![0; bytes], 0);
    loop {
        tokio::time::sleep(pause).await;
        match socket.read(&mut buffer).await {
            // A reset is an end, too.
            Ok(0) | Err(_) => return all,
            Ok(read) => all += read,
        }
    }
}

#[tokio::test]
async fn a_client_that_reads_a_little_now_and_then_is_cut_off_and_a_faster_one_is_not() {
    let addr = start();
    let slow = read_of(addr, 100, Duration::from_millis(50));
    let fast = read_of(addr, 16_384, Duration::from_millis(20));
    let (slow, fast) = bounded(async { tokio::join!(slow, fast) }).await;
    assert!(slow < LENGTH / 2, "{slow} bytes came");
    assert!(fast > LENGTH, "{fast} bytes came");
}
