//! An event stream, over as many connections as it takes.

use std::collections::VecDeque;
use std::sync::Arc;

use reqwest::Response;
use reqwest::header::HeaderValue;
use url::Url;

use crate::error::Error;
use crate::random::random_fraction;
use crate::sse::{Frame, FrameReader};
use crate::transport::{Outgoing, Transport};

/// The server's last event on a connection.
const ENDED: &str = "stream.ended";
/// What begins with this is about the stream, and no event of the account.
const ABOUT_THE_STREAM: &str = "stream.";

/// Events that are followed.
pub(crate) struct Follow {
    transport: Arc<Transport>,
    url: Url,
    connection: Option<Connection>,
    ready: VecDeque<Frame>,
    /// Where to go on once what is ready was taken. An event without an id does not change it.
    last_id: Option<String>,
    /// How many connections in a row have brought nothing.
    in_vain: u32,
}

struct Connection {
    answer: Response,
    reader: FrameReader,
}

impl Follow {
    /// Makes the first connection.
    pub(crate) async fn begin(transport: Arc<Transport>, url: Url) -> Result<Self, Error> {
        let answer = transport.open(&outgoing(&url, None), &transport.retries).await?;
        let connection = Some(Connection { answer, reader: FrameReader::default() });
        Ok(Self { transport, url, connection, ready: VecDeque::new(), last_id: None, in_vain: 0 })
    }

    /// The next event.
    pub(crate) async fn next(&mut self) -> Result<Frame, Error> {
        loop {
            if let Some(frame) = self.ready.pop_front() {
                return Ok(frame);
            }
            let connection = if let Some(connection) = &mut self.connection {
                connection
            } else {
                let again = self.connect_again().await?;
                self.connection.insert(again)
            };
            // A broken connection is an ended one: the last id says where to go on.
            let Ok(Some(chunk)) = connection.answer.chunk().await else {
                self.connection = None;
                continue;
            };
            let frames = connection.reader.push(&chunk);
            if let Some(id) = connection.reader.last_id() {
                self.last_id = Some(id.to_owned());
            }
            for frame in frames {
                if frame.event == ENDED {
                    self.connection = None;
                } else if !frame.event.starts_with(ABOUT_THE_STREAM) {
                    self.in_vain = 0;
                    self.ready.push_back(frame);
                }
            }
        }
    }

    async fn connect_again(&mut self) -> Result<Connection, Error> {
        self.in_vain += 1;
        let retries = self.transport.retries.of_streams();
        tokio::time::sleep(retries.pause(self.in_vain, random_fraction())).await;
        let outgoing = outgoing(&self.url, self.last_id.as_deref());
        let answer = self.transport.open(&outgoing, &retries).await?;
        Ok(Connection { answer, reader: FrameReader::default() })
    }
}

fn outgoing(url: &Url, last_id: Option<&str>) -> Outgoing {
    let mut outgoing = Outgoing::get(url.clone());
    outgoing.accept = HeaderValue::from_static("text/event-stream");
    if let Some(last_id) = last_id {
        outgoing.header("last-event-id", last_id);
    }
    outgoing
}
