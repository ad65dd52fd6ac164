//! A small HTTP receiver on a loopback socket that answers well or badly, as each test asks.

use std::net::SocketAddr;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;

use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::{TcpListener, TcpStream};
use tokio::sync::mpsc;

/// What the receiver does with each connection.
#[derive(Debug, Clone)]
pub(crate) enum Behaviour {
    /// Reads the request, writes these bytes and closes.
    Answer(Vec<u8>),
    /// Answers 200 to one request after the other on the same connection.
    KeepOpen,
    /// Closes without reading.
    CloseAtOnce,
    /// Reads the request and closes without an answer.
    CloseAfterRequest,
    /// Reads the request and keeps the connection open in silence.
    NeverAnswer,
    /// Writes the first bytes at once, then the others one by one with pauses, and keeps open.
    Drip { at_once: Vec<u8>, then: Vec<u8> },
    /// Writes the bytes and then zeros for as long as the other side reads.
    Flood(Vec<u8>),
}

/// An answer that ends with the connection.
pub(crate) fn answer(status_line: &str, headers: &str, body: &str) -> Behaviour {
    let length = body.len();
    let text = format!(
        "HTTP/1.1 {status_line}\r\n{headers}content-length: {length}\r\nconnection: close\r\n\r\n\
         {body}"
    );
    Behaviour::Answer(text.into_bytes())
}

/// A request as it came over the wire.
#[derive(Debug)]
pub(crate) struct Received {
    pub(crate) head: String,
    pub(crate) body: Vec<u8>,
}

impl Received {
    /// The value of a header by its exact spelling.
    pub(crate) fn header(&self, name: &str) -> Option<&str> {
        let mut lines = self.head.lines().filter_map(|line| line.split_once(": "));
        lines.find(|(found, _)| *found == name).map(|(_, value)| value)
    }
}

/// A running receiver. Its tasks end with the test's runtime.
#[derive(Debug)]
pub(crate) struct Receiver {
    pub(crate) address: SocketAddr,
    requests: mpsc::UnboundedReceiver<Received>,
    flooded: mpsc::UnboundedReceiver<usize>,
    connections: Arc<AtomicUsize>,
}

impl Receiver {
    pub(crate) async fn start(behaviour: Behaviour) -> Receiver {
        Receiver::start_at("127.0.0.1:0", behaviour).await
    }

    pub(crate) async fn start_at(address: &str, behaviour: Behaviour) -> Receiver {
        let listener = TcpListener::bind(address).await.unwrap();
        let address = listener.local_addr().unwrap();
        let (request_sender, requests) = mpsc::unbounded_channel();
        let (flood_sender, flooded) = mpsc::unbounded_channel();
        let connections = Arc::new(AtomicUsize::new(0));
        let counter = Arc::clone(&connections);
        tokio::spawn(async move {
            loop {
                let (stream, _) = listener.accept().await.unwrap();
                counter.fetch_add(1, Ordering::SeqCst);
                let (requests, flooded) = (request_sender.clone(), flood_sender.clone());
                tokio::spawn(serve(stream, behaviour.clone(), requests, flooded));
            }
        });
        Receiver { address, requests, flooded, connections }
    }

    pub(crate) fn url(&self, path: &str) -> String {
        format!("http://{}{path}", self.address)
    }

    pub(crate) async fn request(&mut self) -> Received {
        self.requests.recv().await.unwrap()
    }

    /// How many bytes a flood wrote until the other side hung up.
    pub(crate) async fn flooded_bytes(&mut self) -> usize {
        self.flooded.recv().await.unwrap()
    }

    /// The connections since the last call. A listener accepts connections in order: once it has
    /// served one from here, it has accepted all earlier ones.
    pub(crate) async fn connections(&self) -> usize {
        let mut own = TcpStream::connect(self.address).await.unwrap();
        own.write_all(b"POST /own HTTP/1.1\r\ncontent-length: 0\r\n\r\n").await.unwrap();
        // Any answer, or the end of the connection, shows that it was accepted.
        let _ = own.read(&mut [0_u8; 1]).await;
        let with_own = self.connections.swap(0, Ordering::SeqCst);
        with_own.checked_sub(1).unwrap()
    }
}

async fn serve(
    mut stream: TcpStream,
    behaviour: Behaviour,
    requests: mpsc::UnboundedSender<Received>,
    flooded: mpsc::UnboundedSender<usize>,
) {
    if matches!(behaviour, Behaviour::CloseAtOnce) {
        return;
    }
    let Some(request) = read_request(&mut stream).await else {
        return;
    };
    let _ = requests.send(request);
    match behaviour {
        Behaviour::CloseAtOnce | Behaviour::CloseAfterRequest => {}
        Behaviour::Answer(bytes) => {
            let _ = stream.write_all(&bytes).await;
            let _ = stream.shutdown().await;
        }
        Behaviour::KeepOpen => loop {
            let ok = b"HTTP/1.1 200 OK\r\ncontent-length: 0\r\n\r\n";
            if stream.write_all(ok).await.is_err() || read_request(&mut stream).await.is_none() {
                return;
            }
        },
        Behaviour::NeverAnswer => until_the_other_side_closes(&mut stream).await,
        Behaviour::Drip { at_once, then } => {
            stream.write_all(&at_once).await.unwrap();
            for byte in then {
                // The slow pace is the point of this receiver. No test waits for its end.
                tokio::time::sleep(Duration::from_millis(20)).await;
                if stream.write_all(&[byte]).await.is_err() {
                    return;
                }
            }
            until_the_other_side_closes(&mut stream).await;
        }
        Behaviour::Flood(bytes) => {
            stream.write_all(&bytes).await.unwrap();
            let zeros = vec![b'0'; 64 * 1_024];
            let mut written = 0;
            while let Ok(count) = stream.write(&zeros).await {
                written += count;
            }
            let _ = flooded.send(written);
        }
    }
}

/// Reads a head and a body with `Content-Length`. Returns `None` if the connection ends first or
/// the input is not HTTP.
async fn read_request(stream: &mut TcpStream) -> Option<Received> {
    let mut bytes = Vec::new();
    let head_end = loop {
        let mut piece = [0_u8; 1_024];
        let count = stream.read(&mut piece).await.ok()?;
        bytes.extend_from_slice(&piece[..count]);
        if let Some(at) = bytes.windows(4).position(|window| window == b"\r\n\r\n") {
            break at + 4;
        }
        if count == 0 {
            return None;
        }
        if !bytes.starts_with(&b"POST "[..bytes.len().min(5)]) {
            // A plain HTTP server answers a TLS handshake like this.
            let _ = stream.write_all(b"HTTP/1.1 400 Bad Request\r\n\r\n").await;
            return None;
        }
    };
    let head = String::from_utf8(bytes[..head_end].to_vec()).ok()?;
    let length = head.lines().find_map(|line| {
        let (name, value) = line.split_once(": ")?;
        name.eq_ignore_ascii_case("content-length").then(|| value.parse::<usize>().ok())?
    });
    let length = length.unwrap_or(0);
    let mut body = bytes.split_off(head_end);
    while body.len() < length {
        let mut piece = [0_u8; 1_024];
        let count = stream.read(&mut piece).await.ok()?;
        if count == 0 {
            return None;
        }
        body.extend_from_slice(&piece[..count]);
    }
    Some(Received { head, body })
}

async fn until_the_other_side_closes(stream: &mut TcpStream) {
    let mut piece = [0_u8; 64];
    while let Ok(count) = stream.read(&mut piece).await {
        if count == 0 {
            return;
        }
    }
}
