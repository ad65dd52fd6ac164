//! A server that answers from a script and keeps what it was asked.

use std::collections::VecDeque;
use std::sync::{Arc, Mutex};

use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
use tokio::net::{TcpListener, TcpStream};

/// What the server does with a request.
pub(crate) enum Turn {
    /// Answers this status with these further header lines and this body.
    Answer(u16, &'static str, String),
    /// Closes the connection without an answer.
    Break,
}

/// A request as it arrived.
#[derive(Debug, Clone)]
pub(crate) struct Asked {
    pub head: String,
    pub body: String,
}

impl Asked {
    pub(crate) fn line(&self) -> &str {
        self.head.lines().next().unwrap()
    }

    pub(crate) fn header(&self, name: &str) -> Option<&str> {
        self.head.lines().find_map(|line| {
            let (found, value) = line.split_once(':')?;
            found.eq_ignore_ascii_case(name).then(|| value.trim())
        })
    }
}

/// A server at a free port, until the runtime of the test ends.
pub(crate) struct Script {
    pub url: String,
    asked: Arc<Mutex<Vec<Asked>>>,
}

impl Script {
    pub(crate) async fn start(turns: Vec<Turn>) -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let url = format!("http://{}", listener.local_addr().unwrap());
        let asked = Arc::new(Mutex::new(Vec::new()));
        let kept = Arc::clone(&asked);
        let mut turns = VecDeque::from(turns);
        tokio::spawn(async move {
            while let Ok((mut socket, _)) = listener.accept().await {
                let Some(request) = read(&mut socket).await else { continue };
                kept.lock().unwrap().push(request);
                let text = match turns.pop_front() {
                    Some(Turn::Answer(status, headers, body)) => answer(status, headers, &body),
                    Some(Turn::Break) => continue,
                    None => answer(404, "", "the script is over"),
                };
                socket.write_all(text.as_bytes()).await.unwrap();
            }
        });
        Self { url, asked }
    }

    /// All requests so far.
    pub(crate) fn asked(&self) -> Vec<Asked> {
        self.asked.lock().unwrap().clone()
    }
}

fn answer(status: u16, headers: &str, body: &str) -> String {
    let length = body.len();
    format!(
        "HTTP/1.1 {status} -\r\nConnection: close\r\nContent-Length: {length}\r\n\
         {headers}\r\n{body}"
    )
}

async fn read(socket: &mut TcpStream) -> Option<Asked> {
    let mut bytes = Vec::new();
    loop {
        let text = String::from_utf8_lossy(&bytes).into_owned();
        if let Some((head, body)) = text.split_once("\r\n\r\n") {
            let asked = Asked { head: head.to_owned(), body: body.to_owned() };
            let length = asked.header("content-length").map_or(0, |n| n.parse().unwrap());
            if body.len() >= length {
                return Some(asked);
            }
        }
        if socket.read_buf(&mut bytes).await.unwrap() == 0 {
            return None;
        }
    }
}
