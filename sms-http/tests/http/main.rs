//! Tests of the HTTP side. The foundations are tested with a small API that stands for any
//! (`sample`); the APIs themselves as the server puts them together, over a memory store (`rig`);
//! and the server as its users meet it, as a process (`process`).

#![expect(clippy::unwrap_used, reason = "the helpers of tests are tests as well")]

mod admin_account;
mod admin_api_key;
mod admin_credits;
mod admin_network;
mod admin_number;
mod admin_sender_name;
mod auth;
mod bad_input;
mod balance;
mod body;
mod connection;
mod contact;
mod contact_import;
mod delivery;
mod described;
mod docs_page;
mod document;
mod error;
mod forced_outcome;
mod hooks;
mod intake;
mod list;
mod message;
mod message_contact;
mod message_export;
mod message_idempotency;
mod message_quote;
mod message_send;
mod number;
mod openapi;
mod operations;
mod opt_out;
mod param;
mod process;
mod rate_limit;
mod rate_limit_shared;
mod rig;
mod sample;
mod sender_name;
mod server;
mod server_command;
mod server_outage;
mod server_postgres;
mod socket;
mod statistics;
mod template;
mod tenancy;
mod test_key;
mod webhook;
