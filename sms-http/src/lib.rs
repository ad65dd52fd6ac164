//! The HTTP side of the SMS platform: the API, the operator's API, and the reference server.
//!
//! Only this crate knows HTTP. [`api`] has the handlers of the API and [`admin`] those of the
//! operator's, [`short_link`] leads people where short URLs stand for, [`server`] puts a whole
//! server together. What they are built on knows nothing of
//! texts or credits:
//!
//! 1. [`serve`] accepts connections and bounds what a slow or silent client may hold.
//! 2. [`intake`] is the outermost endpoint: request ids, bodies read whole, handlers that a client
//!    cannot cancel, the log line and the metrics. It finds the pattern of a path in [`route`].
//! 3. [`body`] and [`param`] are what handlers take; [`fields`] reads the fields of a body, and
//!    [`field_error`] collects every mistake of a request before it is answered.
//! 4. [`envelope`] is what handlers return, [`error`] what they fail with.
//! 5. [`rate_limit`] counts the requests of a key.
//! 6. [`openapi`] is the document of the API, and [`docs_page`] the page that shows it.

pub mod admin;
pub mod api;
pub mod body;
mod connection;
pub mod docs_page;
mod domain_error;
pub mod envelope;
pub mod error;
pub mod field_error;
pub mod fields;
pub mod intake;
pub mod json;
pub mod moment;
pub mod openapi;
pub mod param;
pub mod rate_limit;
pub mod request_id;
pub mod route;
pub mod serve;
pub mod server;
pub mod short_link;
