//! Tests of the HTTP foundations: a small API that stands for any, through the framework's test
//! client and over real sockets.

#![expect(clippy::unwrap_used, reason = "the helpers of tests are tests as well")]

mod body;
mod connection;
mod docs_page;
mod error;
mod intake;
mod openapi;
mod param;
mod sample;
mod socket;
