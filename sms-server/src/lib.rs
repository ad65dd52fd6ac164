#![doc = include_str!("../README.md")]
//!
//! # How it is built
//!
//! 1. [`cli`] is the command line: [`settings`], or a [`command`]. [`mistakes`] tells everything
//!    that is wrong with them at once.
//! 2. [`mod@run`] starts the parts of a server in their order, and stops them. [`backing`] opens
//!    the data, [`service`] builds the service on it, and [`app`] has the paths of its listeners.
//! 3. [`console`] serves people in a browser: it signs them in and passes on to both APIs.
//! 4. [`sandbox`] is a service whose clock the operator moves, and [`demo`] an account to try a
//!    server out with.
//! 5. [`copy_command`] and [`data_command`] work on the stored data itself, without a server.
//!
//! The program only calls [`run()`] and [`command::run()`].

pub mod app;
pub mod backing;
pub mod banner;
pub mod cli;
pub mod command;
pub mod console;
pub mod copy_command;
pub mod copy_progress;
pub mod data_command;
pub mod data_dir;
pub mod demo;
pub mod demo_start;
pub mod file_metrics;
pub mod handles;
pub mod listeners;
pub mod logging;
pub mod metrics_page;
pub mod mistakes;
pub mod operator_client;
pub mod operator_token;
pub mod reply_settings;
pub mod route_settings;
pub mod routes;
pub mod run;
pub mod sandbox;
pub mod secrets;
pub mod service;
pub mod settings;
pub mod start_failed;
pub mod used_flags;

pub use run::{run, run_with};
pub use service::Additions;
