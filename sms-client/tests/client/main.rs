//! Tests of the client: against the API's document, whose examples are recorded answers, and
//! against a server that answers from a script. The command line's tests use it against the real
//! server.

#![expect(clippy::unwrap_used, reason = "the helpers of tests are tests as well")]

mod document;
mod events;
mod pages;
mod replay;
mod retries;
mod script;
mod versions;
