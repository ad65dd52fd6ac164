//! Server-sent events: what a stream of bytes says, line by line. Pure.

/// One event of a stream.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub(crate) struct Frame {
    /// Where to go on after this event.
    pub id: Option<String>,
    /// What it is; empty for `message`.
    pub event: String,
    /// Its data.
    pub data: String,
}

/// Reads frames from chunks of bytes, wherever these are cut.
#[derive(Debug, Default)]
pub(crate) struct FrameReader {
    unread: Vec<u8>,
    frame: Frame,
    has_data: bool,
    last_id: Option<String>,
}

impl FrameReader {
    /// Takes a chunk, and gives the frames that it completes.
    pub(crate) fn push(&mut self, chunk: &[u8]) -> Vec<Frame> {
        let mut unread = std::mem::take(&mut self.unread);
        unread.extend_from_slice(chunk);
        let mut frames = Vec::new();
        let mut rest = unread.as_slice();
        while let Some(end) = rest.iter().position(|byte| *byte == b'\n') {
            let line = String::from_utf8_lossy(&rest[..end]);
            frames.extend(self.line(line.trim_end_matches('\r')));
            rest = &rest[end + 1..];
        }
        self.unread = rest.to_vec();
        frames
    }

    /// The last id, of a frame with or without data: where to go on after what was read.
    pub(crate) fn last_id(&self) -> Option<&str> {
        self.last_id.as_deref()
    }

    /// An empty line completes a frame that has data.
    fn line(&mut self, line: &str) -> Option<Frame> {
        if line.is_empty() {
            let frame = std::mem::take(&mut self.frame);
            if frame.id.is_some() {
                self.last_id.clone_from(&frame.id);
            }
            return std::mem::take(&mut self.has_data).then_some(frame);
        }
        let (name, value) = line.split_once(':').unwrap_or((line, ""));
        let value = value.strip_prefix(' ').unwrap_or(value);
        match name {
            "id" => self.frame.id = Some(value.to_owned()),
            "event" => value.clone_into(&mut self.frame.event),
            "data" => {
                if self.has_data {
                    self.frame.data.push('\n');
                }
                self.has_data = true;
                self.frame.data.push_str(value);
            }
            // A comment, which keeps the connection alive, or a field that means nothing here.
            _ => {}
        }
        None
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn frame(id: Option<&str>, event: &str, data: &str) -> Frame {
        let (event, data) = (event.to_owned(), data.to_owned());
        Frame { id: id.map(str::to_owned), event, data }
    }

    #[test]
    fn frames_are_read_wherever_the_bytes_are_cut() {
        let text = ": hello\n\nid: 01\nevent: message.sent\ndata: {\"a\":\"ü\"}\n\n: 15 s\n\n\
                    event: closed\r\ndata: one\r\ndata:two\r\n\r\ndata: not complete\n";
        let expected =
            [frame(Some("01"), "message.sent", "{\"a\":\"ü\"}"), frame(None, "closed", "one\ntwo")];
        for size in 1..text.len() {
            let mut reader = FrameReader::default();
            let chunks = text.as_bytes().chunks(size);
            let frames: Vec<Frame> = chunks.flat_map(|chunk| reader.push(chunk)).collect();
            assert_eq!(frames, expected, "in chunks of {size}");
        }
    }

    #[test]
    fn a_frame_without_data_is_no_event_and_its_id_counts() {
        let mut reader = FrameReader::default();
        assert_eq!(reader.push(b"retry: 1000\nid: 1\n"), []);
        assert_eq!(reader.last_id(), None, "it is not complete");
        assert_eq!(reader.push(b"\n"), []);
        assert_eq!(reader.last_id(), Some("1"));
        assert_eq!(reader.push(b"event: a\ndata: b\n\n"), [frame(None, "a", "b")]);
        assert_eq!(reader.last_id(), Some("1"));
        assert_eq!(reader.push(b": still here\nid: 2\n\n"), []);
        assert_eq!(reader.last_id(), Some("2"));
    }
}
