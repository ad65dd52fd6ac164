//! The trace of a run: a hash of all its lines, and the last lines themselves.

use std::collections::VecDeque;
use std::fmt;

use sms_core::time::Timestamp;

use super::executor::TaskId;

/// How many lines are kept for a report.
const KEPT: usize = 60;

/// The detail of a line.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Detail {
    /// Nothing.
    None,
    /// A name.
    Name(&'static str),
    /// The number of an id.
    Id(u128),
    /// How many.
    Count(usize),
    /// A moment.
    Moment(Timestamp),
}

/// One line.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Line {
    /// The step.
    pub step: u64,
    /// What the clock showed.
    pub at: Timestamp,
    /// The task, or 0.
    pub task: TaskId,
    /// What happened.
    pub word: &'static str,
    /// What else is known.
    pub detail: Detail,
}

impl fmt::Display for Line {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{:>7}  {}  ", self.step, self.at)?;
        if self.task > 0 {
            write!(f, "#{} ", self.task)?;
        }
        f.write_str(self.word)?;
        match self.detail {
            Detail::None => Ok(()),
            Detail::Name(name) => write!(f, " {name}"),
            Detail::Id(id) => write!(f, " …{:012x}", id & 0xFFFF_FFFF_FFFF),
            Detail::Count(count) => write!(f, " {count}"),
            Detail::Moment(at) => write!(f, " {at}"),
        }
    }
}

/// Whether lines are printed at once.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Voice {
    /// They are only stored.
    #[default]
    Silent,
    /// They are printed too.
    Aloud,
}

/// The lines of a run.
#[derive(Debug)]
pub struct Trace {
    last: VecDeque<Line>,
    hash: u64,
    voice: Voice,
}

impl Trace {
    /// An empty trace.
    pub fn new(voice: Voice) -> Self {
        Self { last: VecDeque::with_capacity(KEPT), hash: 0xCBF2_9CE4_8422_2325, voice }
    }

    /// Adds a line.
    pub fn add(&mut self, line: Line) {
        let Line { step, at, task, word, detail } = line;
        self.mix(step);
        self.mix(at.as_millis().unsigned_abs());
        self.mix(task);
        self.mix_text(word);
        match detail {
            Detail::None => self.mix(0),
            Detail::Name(name) => self.mix_text(name),
            Detail::Id(id) => {
                for half in [id >> 64, id & u128::from(u64::MAX)] {
                    self.mix(u64::try_from(half).unwrap_or_default());
                }
            }
            Detail::Count(count) => self.mix(count as u64),
            Detail::Moment(at) => self.mix(at.as_millis().unsigned_abs()),
        }
        if self.last.len() == KEPT {
            self.last.pop_front();
        }
        self.last.push_back(line);
        if self.voice == Voice::Aloud {
            println!("{line}");
        }
    }

    /// A hash of all lines: two runs with the same hash are the same.
    pub fn hash(&self) -> u64 {
        self.hash
    }

    /// The last lines, as text.
    pub fn last_lines(&self) -> Vec<String> {
        self.last.iter().map(ToString::to_string).collect()
    }

    fn mix(&mut self, word: u64) {
        let mixed = (self.hash ^ word).wrapping_mul(0x9E37_79B9_7F4A_7C15);
        self.hash = mixed ^ (mixed >> 32);
    }

    fn mix_text(&mut self, text: &str) {
        for chunk in text.as_bytes().chunks(8) {
            let word = chunk.iter().fold(0, |word, byte| (word << 8) | u64::from(*byte));
            self.mix(word);
        }
    }
}
