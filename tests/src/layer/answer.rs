//! What answers of a store have in common.

use sms_core::store::{CommitError, StoreError};

/// An answer that can tell that the store failed, and be compared with another.
pub trait Answer: Sized {
    /// The answer to a call that asked for `asked` things, of a store that cannot be reached.
    fn unavailable(asked: usize) -> Self;

    /// How many answers it is.
    fn count(&self) -> usize {
        1
    }

    /// Whether it says the same as another. Stores need not fail in the same words.
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
