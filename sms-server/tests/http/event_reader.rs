//! A reader of server-sent events, as their specification describes one.

use futures_util::StreamExt as _;
use futures_util::stream::BoxStream;
use poem::http::HeaderMap;
use serde_json::Value;

use crate::rig::Ask;
use crate::socket::bounded;

/// What stands between two empty lines.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct Frame {
    pub id: Option<String>,
    /// The type of an event; `None` if the frame is none.
    pub event: Option<String>,
    pub data: Value,
    pub has_comment: bool,
}

/// A stream that is read.
pub(crate) struct Reader {
    pub headers: HeaderMap,
    body: BoxStream<'static, std::io::Result<Vec<u8>>>,
    read: String,
    /// How much of it was taken as frames.
    taken: usize,
    /// As an `EventSource` keeps it.
    pub last_id: String,
}

impl Reader {
    pub(crate) async fn open(ask: Ask) -> Self {
        let answer = ask.unread().await;
        let (parts, body) = answer.into_parts();
        assert_eq!(parts.status, 200);
        let body = body.into_bytes_stream().map(|chunk| chunk.map(|chunk| chunk.to_vec())).boxed();
        let headers = parts.headers;
        let mut own = Self { headers, body, read: String::new(), taken: 0, last_id: String::new() };
        let opening = own.frame().await.expect("an opening");
        assert_eq!((opening.event, opening.id.is_some()), (None, true));
        own
    }

    /// The next frame; `None` at the end.
    pub(crate) async fn frame(&mut self) -> Option<Frame> {
        loop {
            if let Some(end) = self.read[self.taken..].find("\n\n") {
                let frame = frame(&self.read[self.taken..self.taken + end]);
                self.taken += end + 2;
                if let Some(id) = &frame.id {
                    self.last_id.clone_from(id);
                }
                return Some(frame);
            }
            let chunk = bounded(self.body.next()).await?.unwrap();
            self.read.push_str(&String::from_utf8(chunk).unwrap());
        }
    }

    /// The next event, without comments before it.
    pub(crate) async fn event(&mut self) -> Frame {
        loop {
            let frame = self.frame().await.expect("another event");
            if frame.event.is_some() {
                return frame;
            }
        }
    }

    /// The data of the next events.
    pub(crate) async fn events(&mut self, count: usize) -> Vec<Value> {
        let mut events = Vec::new();
        while events.len() < count {
            let Frame { id, event, data, .. } = self.event().await;
            assert_eq!(data["type"], event.unwrap());
            assert_eq!(data["position"], id.unwrap());
            events.push(data);
        }
        events
    }

    /// The last event, and then the end.
    pub(crate) async fn ending(&mut self) -> Value {
        let last = self.event().await;
        assert_eq!(last.event.as_deref(), Some("stream.ended"), "{last:?}");
        assert_eq!(self.frame().await, None);
        assert_eq!(last.data["after"], last.id.unwrap());
        last.data
    }

    /// All that has come.
    pub(crate) fn text(&self) -> &str {
        &self.read
    }
}

fn frame(text: &str) -> Frame {
    let mut frame = Frame { id: None, event: None, data: Value::Null, has_comment: false };
    for line in text.lines() {
        match line.split_once(": ").unwrap_or_else(|| panic!("no field: {line}")) {
            ("", _) => frame.has_comment = true,
            ("id", id) => frame.id = Some(id.to_owned()),
            ("event", event) => frame.event = Some(event.to_owned()),
            ("data", data) => frame.data = serde_json::from_str(data).unwrap(),
            ("retry", "1000") => {}
            other => panic!("{other:?}"),
        }
    }
    frame
}
