//! The web framework that the handlers are built on. It knows nothing of messages: no file in here
//! uses the core or a module of this crate outside `web`.
//!
//! 1. [`serve`] accepts connections and bounds what a slow or silent client may hold.
//! 2. [`intake`] is the endpoint of a server: request ids, bodies read whole, handlers that a
//!    client cannot cancel, the log line and the metrics. It finds the pattern of a path, and the
//!    [`operation`] that answers, in [`path_pattern`].
//!    [`client_address`] says who sent a request through proxies.
//!    An answer that takes long ends with the [`standing`] of whoever asked for it.
//! 3. [`body`], [`param`] and [`path_param`] are what handlers take. [`fields`] declares and reads
//!    the fields of a body, [`choice`] the values of an enum, and [`field_error`] collects every
//!    mistake of a request before it is answered.
//! 4. [`envelope`] is what handlers return, [`error`] what they fail with, and [`failing`] says so
//!    in the document.
//! 5. [`openapi`] writes the document of an API, and [`docs_page`] the [`page`] that shows it.
//!    [`error_page`] explains the codes of errors.

pub mod body;
pub mod choice;
pub mod client_address;
mod collection;
mod connection;
mod crowd;
pub mod docs_page;
pub mod entity_tag;
pub mod envelope;
pub mod error;
pub mod error_page;
pub mod failing;
pub mod field_error;
pub mod fields;
pub mod intake;
pub mod json;
pub mod moment;
pub mod openapi;
pub mod operation;
pub mod page;
pub mod param;
pub mod path_param;
pub mod path_pattern;
mod reader_pace;
mod refused_head;
pub mod request_id;
pub mod serve;
pub mod standing;
pub mod unknown_fields;
