//! What all answers of a store have in common.

use sms_core::store::{CommitError, StoreError};

/// An answer that can report a failure of the store, and can be compared with another answer.
pub trait Answer: Sized {
    /// The answer of an unreachable store to a call for `asked` items.
    fn unavailable(asked: usize) -> Self;

    /// The number of answers.
    fn count(&self) -> usize {
        1
    }

    /// Whether it equals another answer. Messages of failures may differ between stores.
    fn is_same(&self, other: &Self) -> bool;
}

fn unavailable() -> StoreError {
    StoreError::Unavailable { doing: "failing on purpose", source: None }
}

impl<T: PartialEq> Answer for Result<T, StoreError> {
    fn unavailable(_asked: usize) -> Self {
        Err(unavailable())
    }

    fn is_same(&self, other: &Self) -> bool {
        match (self, other) {
            (Ok(one), Ok(other)) => one == other,
            (Err(_), Err(_)) => true,
            (Ok(_), Err(_)) | (Err(_), Ok(_)) => false,
        }
    }
}

impl<T: PartialEq, R: PartialEq> Answer for Result<T, CommitError<R>> {
    fn unavailable(_asked: usize) -> Self {
        Err(CommitError::Store(unavailable()))
    }

    fn is_same(&self, other: &Self) -> bool {
        match (self, other) {
            (Ok(one), Ok(other)) => one == other,
            (Err(CommitError::Refused(one)), Err(CommitError::Refused(other))) => one == other,
            (Err(CommitError::Stale), Err(CommitError::Stale))
            | (Err(CommitError::Store(_)), Err(CommitError::Store(_))) => true,
            _ => false,
        }
    }
}

impl<T: Answer> Answer for Vec<T> {
    fn unavailable(asked: usize) -> Self {
        (0..asked).map(|_| T::unavailable(1)).collect()
    }

    fn count(&self) -> usize {
        self.len()
    }

    fn is_same(&self, other: &Self) -> bool {
        self.len() == other.len() && self.iter().zip(other).all(|(one, other)| one.is_same(other))
    }
}
