//! Tests of the whole server over HTTP: the APIs and the console as it puts them together, over the
//! default store (`rig`), and the server as its users meet it, as a process (`process`). What the
//! web framework promises for any API is tested beside it, in `sms-http/tests/web`.

#![expect(clippy::unwrap_used, reason = "the helpers of tests are tests as well")]

mod admin_account;
mod admin_api_key;
mod admin_credits;
mod admin_network;
mod admin_number;
mod admin_sender_name;
mod api_key;
mod auth;
mod bad_input;
mod balance;
mod body_room;
mod browser;
mod campaign;
mod campaign_send;
#[cfg(target_os = "linux")]
mod clock_step;
mod console;
mod console_account;
mod console_fields;
mod console_forms;
mod console_import;
mod console_pages;
mod console_review;
mod console_session;
mod console_tabs;
mod contact;
mod contact_import;
mod conversation;
mod cursor_list;
mod delivery;
mod described;
mod docs_pages;
mod document;
mod documented;
mod door;
mod endpoints;
mod event;
mod event_reader;
mod event_stream;
mod every_bad_field;
mod examples;
mod flood;
mod forced_outcome;
mod fresh;
mod handles;
mod heavy_work;
mod hooks;
mod if_match;
mod keyword;
mod link;
mod list;
mod lost_admission;
mod memory_bound;
mod message;
mod message_contact;
mod message_export;
mod message_idempotency;
mod message_quote;
mod message_send;
mod metrics;
mod number;
#[path = "../../../sms-http/tests/web/openapi_problems.rs"]
mod openapi_problems;
mod operations;
mod opt_out;
mod originator;
#[path = "../../../tests/suite/pages.rs"]
mod pages;
mod process;
mod rate_limit;
mod rate_limit_shared;
mod rig;
mod rolling_deploy;
mod sandbox;
mod sandbox_months;
mod secret_door;
mod secret_key;
mod sender_name;
mod server;
mod server_backup;
mod server_command;
mod server_console;
mod server_copy;
mod server_demo;
mod server_file;
mod server_no_writes;
mod server_outage;
mod server_postgres;
mod short_link;
mod short_link_postgres;
mod smpp_failover;
mod smpp_fault;
mod smpp_inbound;
mod smpp_obstacle;
mod smpp_receipt;
mod smpp_send;
mod smpp_stop;
mod smpp_world;
#[path = "../../../sms-http/tests/web/socket.rs"]
mod socket;
mod statistics;
mod stranger;
mod template;
mod tenancy;
mod test_key;
#[path = "../../../sms-http/tests/web/watched.rs"]
mod watched;
mod webhook;
mod webhook_libraries;
mod webhook_replay;
mod workbook;
