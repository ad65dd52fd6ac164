//! The reference server: settings, what is put together from them, and the loops that keep it
//! going. The binary only calls [`run()`].

pub mod app;
pub mod backing;
pub mod banner;
pub mod cli;
pub mod command;
pub mod demo;
pub mod logging;
pub mod operator_client;
pub mod route_gauges;
pub mod routes;
pub mod run;
mod sandbox_work;
pub mod settings;
pub mod upkeep;
pub mod wake;
pub mod work;

pub use run::{Additions, run, run_with};
