//! Messages: what a message is, how it is serialised, and what can happen to it.
//!
//! [`status`] holds the state machine, [`filter`] the filters of a list. What one step of a message
//! does (refund, timeline, events) is in [`change`](crate::change), which knows events as well.

pub mod error_code;
pub mod filter;
pub(crate) mod record;
pub mod signature;
pub mod status;

pub use error_code::ErrorCode;
pub use filter::MessageFilter;
pub use record::{Body, Direction, Message, TimelineEntry, Times};
pub use status::MessageStatus;
