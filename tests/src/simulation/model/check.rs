//! The outcome of a check, and how checks read the store.

use std::future::Future;

use futures_util::FutureExt;
use sms_core::store::StoreError;

/// Whether an invariant holds; if not, which one and how.
pub type Check = Result<(), String>;

/// Returns an error that names the violated invariant, unless it holds.
macro_rules! ensure {
    ($holds:expr, $($words:tt)+) => {
        if !$holds {
            return Err(format!($($words)+));
        }
    };
}

pub(in crate::simulation) use ensure;

/// Reads the memory store directly, which answers at once.
pub(super) fn read<T>(answer: impl Future<Output = Result<T, StoreError>>) -> Result<T, String> {
    let answer = answer.now_or_never().ok_or("the store under the checks does not answer")?;
    answer.map_err(|error| format!("the store under the checks failed: {error}"))
}
