//! Tests of the web framework, with a small API that stands for any (`sample`). The APIs themselves
//! are tested as the server puts them together, in `sms-server/tests/http`.

#![expect(clippy::unwrap_used, reason = "the helpers of tests are tests as well")]

mod body;
mod client_address;
mod connection;
mod docs_page;
mod error;
mod head;
mod intake;
mod openapi;
mod openapi_problems;
mod param;
mod sample;
mod slow_reader;
mod socket;
mod turn;
mod watched;
