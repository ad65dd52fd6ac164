//! The command line as its users run it, against a real server in this process. Each test has its
//! own account and its own home.

#![expect(clippy::unwrap_used, reason = "the helpers of tests are tests as well")]

mod campaigns;
mod commands;
mod documented;
mod home;
mod import;
mod listen;
mod login;
#[path = "../../../tests/suite/pages.rs"]
mod pages;
mod receiver;
mod send;
mod server;
mod terminal;
mod usage;
