//! The letters of a file, of which some may be read again.

use std::io::{self, Read};

use crate::letters::Letters;

/// The most bytes that are kept for a mark. What is before an older one is forgotten.
const MOST_KEPT: usize = 1 << 20;

/// A place to go back to.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Mark(u64);

/// The bytes of a file's UTF-8: those that come, and those since a mark.
pub(crate) struct Tape<R> {
    letters: Letters<R>,
    kept: Vec<u8>,
    /// The place of the first byte kept.
    begins: u64,
    /// The next one, counted from there.
    at: usize,
    /// The first place that can be gone back to; `None` without a mark.
    held: Option<Mark>,
}

impl<R: Read> Tape<R> {
    pub(crate) fn new(letters: Letters<R>) -> Self {
        Self { letters, kept: Vec::new(), begins: 0, at: 0, held: None }
    }

    /// The byte that follows `after` others; `None` at the end of the file.
    pub(crate) fn peek(&mut self, after: usize) -> io::Result<Option<u8>> {
        while self.kept.len() <= self.at + after {
            let Some(byte) = self.letters.next()? else { return Ok(None) };
            self.kept.push(byte);
        }
        Ok(Some(self.kept[self.at + after]))
    }

    pub(crate) fn next(&mut self) -> io::Result<Option<u8>> {
        if self.held.is_none() && self.kept.is_empty() {
            let next = self.letters.next()?;
            self.begins += u64::from(next.is_some());
            return Ok(next);
        }
        let next = self.peek(0)?;
        self.at += usize::from(next.is_some());
        if self.held.is_some() && self.kept.len() > MOST_KEPT {
            self.held = None;
        }
        if self.held.is_none() && (self.at == self.kept.len() || self.at > MOST_KEPT / 2) {
            self.drop_read();
        }
        Ok(next)
    }

    /// Marks the place before the next byte.
    pub(crate) fn mark(&mut self) -> Mark {
        if self.held.is_none() {
            self.drop_read();
        }
        let mark = Mark(self.begins + self.at as u64);
        let is_near = |held: &Mark| mark.0 - held.0 < MOST_KEPT as u64 / 4;
        self.held = Some(self.held.filter(is_near).unwrap_or(mark));
        mark
    }

    /// Goes back to a mark, if what is behind it is kept.
    pub(crate) fn go_back(&mut self, mark: Mark) -> bool {
        if self.held.is_none_or(|held| held.0 > mark.0) {
            return false;
        }
        self.at = usize::try_from(mark.0 - self.begins).unwrap_or(self.at);
        self.forget(mark);
        true
    }

    /// The mark is no longer needed.
    pub(crate) fn forget(&mut self, mark: Mark) {
        self.held = self.held.filter(|held| *held != mark);
    }

    fn drop_read(&mut self) {
        self.begins += self.at as u64;
        self.kept.drain(..self.at);
        self.at = 0;
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::encoding::Encoding;

    fn tape(text: &str) -> Tape<&[u8]> {
        Tape::new(Letters::new(text.as_bytes(), Encoding::Utf8))
    }

    fn read(tape: &mut Tape<&[u8]>, count: usize) -> String {
        let bytes = (0..count).map_while(|_| tape.next().unwrap()).collect();
        String::from_utf8(bytes).unwrap()
    }

    #[test]
    fn what_was_read_since_a_mark_is_read_again() {
        let mut tape = tape("abcdefgh");
        assert_eq!(read(&mut tape, 2), "ab");
        let first = tape.mark();
        assert_eq!((read(&mut tape, 2), tape.peek(1).unwrap()), ("cd".to_owned(), Some(b'f')));
        let second = tape.mark();
        assert_eq!(read(&mut tape, 3), "efg");
        assert!(tape.go_back(second));
        assert_eq!(read(&mut tape, 1), "e");
        assert!(tape.go_back(first));
        assert!(!tape.go_back(second), "it is forgotten with the first");
        assert_eq!(read(&mut tape, 9), "cdefgh");
        assert_eq!((tape.peek(0).unwrap(), tape.next().unwrap()), (None, None));
    }

    #[test]
    fn no_more_is_kept_than_may_be() {
        let text = "x".repeat(4 * MOST_KEPT);
        let mut tape = tape(&text);
        let mark = tape.mark();
        read(&mut tape, MOST_KEPT + 1);
        assert!(!tape.go_back(mark));
        for _ in 0..2 {
            tape.mark();
            read(&mut tape, MOST_KEPT - 1);
            assert!(tape.kept.len() <= MOST_KEPT + 1);
        }
    }
}
