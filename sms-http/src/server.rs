//! The reference server: its settings, its command line, and how it is built from them. The binary
//! only calls [`run()`] and [`command::run()`].

pub mod app;
pub mod backing;
pub mod banner;
pub mod cli;
pub mod command;
pub mod copy_command;
pub mod copy_progress;
pub mod data_command;
pub mod data_dir;
pub mod demo;
pub mod demo_start;
pub mod file_metrics;
pub mod handles;
pub mod logging;
pub mod mistakes;
pub mod operator_client;
pub mod reply_settings;
pub mod route_settings;
pub mod routes;
pub mod run;
pub mod secrets;
pub mod settings;
pub mod used_flags;

pub use run::{Additions, run, run_with};
