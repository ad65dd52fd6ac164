//! What a store does with sessions.

use async_trait::async_trait;

use super::{Session, SessionHash};
use crate::store_error::StoreError;

/// Keeps the sessions of the console by the hashes of their tokens.
#[async_trait]
pub trait SessionStore: Send + Sync {
    /// Writes a new session. Of the sessions whose holders [are the
    /// same](super::Holder::is_same), the `most` newest stay, and older ones are removed.
    async fn session_create(&self, session: Session, most: usize) -> Result<(), StoreError>;

    /// The session with this hash, whether or not its time is over; `None` if there is none. It is
    /// never older than the last change of it in any program.
    async fn session_find(&self, hash: SessionHash) -> Result<Option<Session>, StoreError>;

    /// Removes a session; does nothing if there is none.
    async fn session_delete(&self, hash: SessionHash) -> Result<(), StoreError>;
}
