//! What streams of events may take.

use std::time::Duration;

/// Limits of the streams of one server.
#[derive(Debug, Clone, Copy)]
pub struct StreamLimits {
    /// The most streams of one key; the console's are counted apart. Over it the answer is 429.
    pub per_key: usize,
    /// The most streams in all. Over it the answer is 503.
    pub in_all: usize,
    /// A stream that is quiet for so long gets a comment line.
    pub beat_every: Duration,
    /// A reader that takes nothing for so long, while there is something, is cut off.
    pub patience: Duration,
    /// How often news are looked for while some were signalled, and while none were.
    pub look_every: (Duration, Duration),
}

impl Default for StreamLimits {
    fn default() -> Self {
        Self {
            per_key: 10,
            in_all: 1_000,
            beat_every: Duration::from_secs(15),
            patience: Duration::from_secs(10),
            look_every: (Duration::from_millis(25), Duration::from_secs(1)),
        }
    }
}
