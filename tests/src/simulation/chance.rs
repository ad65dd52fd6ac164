//! The randomness of the services under test. It follows from a seed and can be rewound, so that
//! two stores that execute one plan draw the same values.

use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use sms_core::random::{Random, SplitMix};

/// The source of one service.
#[derive(Debug)]
pub struct Source(Mutex<SplitMix>);

impl Source {
    fn state(&self) -> MutexGuard<'_, SplitMix> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Random for Source {
    fn fill(&self, bytes: &mut [u8]) {
        let mut state = self.state();
        for chunk in bytes.chunks_mut(8) {
            let drawn = state.next_u64().to_le_bytes();
            chunk.copy_from_slice(&drawn[..chunk.len()]);
        }
    }
}

/// The sources of all services.
#[derive(Debug, Clone, Default)]
pub struct Chance(Arc<Mutex<Vec<Arc<Source>>>>);

/// Where all sources stood at some moment.
#[derive(Debug)]
pub struct Mark(Vec<SplitMix>);

impl Chance {
    /// Another source.
    pub fn source(&self, seed: u64) -> Arc<Source> {
        let source = Arc::new(Source(Mutex::new(SplitMix::new(seed))));
        self.sources().push(source.clone());
        source
    }

    /// The position of all sources.
    pub fn mark(&self) -> Mark {
        Mark(self.sources().iter().map(|source| source.state().clone()).collect())
    }

    /// Moves all sources to this position.
    pub fn turn_to(&self, mark: &Mark) {
        for (source, state) in self.sources().iter().zip(&mark.0) {
            source.state().clone_from(state);
        }
    }

    fn sources(&self) -> MutexGuard<'_, Vec<Arc<Source>>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}
