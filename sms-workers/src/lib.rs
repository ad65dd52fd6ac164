#![doc = include_str!("../README.md")]
//!
//! # The loops
//!
//! | Loop | What it does |
//! |---|---|
//! | [`Loop::Dispatch`] | hands due messages to their routes, several loops side by side |
//! | [`Loop::Held`] | hands new messages over that found room when they were accepted |
//! | [`Loop::FollowUps`] | brings back receipts and replies of simulated routes |
//! | [`Loop::Webhooks`] | attempts due webhook deliveries, many side by side |
//! | [`Loop::Replays`] | replays events to webhook endpoints, portion by portion |
//! | [`Loop::Events`] | calls the program for events ([`Workers::on_event`]) |
//! | [`Loop::Rents`] | charges due rent of numbers, within a minute |
//! | [`Loop::Leases`] | renews the leases of messages that are being submitted |
//! | [`Loop::Tidy`] | removes what is past its retention, every minute |
//! | [`Loop::Search`] | prepares searches, every minute |
//! | [`Loop::Statistics`] | adds up statistics, every 10 s |
//! | [`Loop::Route`] | runs one route: connects it, and closes it at the end |
//! | [`Loop::WakeUps`] | listens for wake-ups of other programs over the same store |
//! | [`Loop::RouteGauges`] | measures routes every 2 s, and their unmatched receipts every 15 s |
//!
//! When the store fails, a loop logs it and tries again. A loop that panics is gone, so
//! [`Workers::failed`] reports it: stop the program then, and start it again.
//!
//! # Several programs over one database
//!
//! Any number of programs may run workers over one store. Each finds the others' work by polling,
//! about once a second. To hear of it within milliseconds, exchange wake-ups:
//!
//! ```no_run
//! use std::sync::Arc;
//! use sms_core::Sms;
//! use sms_store_postgres::{PgClock, PgSettings, PgStore, PgWake};
//! use sms_workers::{WorkerOptions, Workers};
//!
//! # async fn start() -> Result<(), Box<dyn std::error::Error>> {
//! let store = PgStore::connect("postgres://localhost/sms", PgSettings::default()).await?;
//! let clock = Arc::new(PgClock::start(&store).await?);
//! let wake = Arc::new(PgWake::new(&store));
//! let sms = Sms::builder(Arc::new(store)).clock(clock).wake_others(wake).build();
//! let workers = Workers::start(&sms, WorkerOptions::new());
//! # Ok(())
//! # }
//! ```
//!
//! `PgClock` gives all of them the time of the database, so that leases and due times agree.
//!
//! # Stopping
//!
//! [`Workers::stop`] first lets no loop claim more. Each route then closes while it still runs, so
//! that the network can answer what was submitted, and what arrives meanwhile is taken in. At last
//! the loops record the last outcomes. What does not end in time is ended; other programs, or this
//! one when it is started again, take up what it held when the lease runs out. A message may then
//! be sent twice.
//!
//! # Long computations
//!
//! [`Threads`] plans sends and quotes to long lists on threads of their own, so that they hold up
//! neither the loops nor anything else on the runtime. Give it to `Sms::builder` with `compute`.
//!
//! # Programs that are killed
//!
//! A program that is killed has submitted messages whose outcome is not recorded, and others send
//! them again. [`FileJournal`] keeps what it knew for its next run, so that only those are sent
//! twice that the network had not answered. Give the same journal to the service and to its routes.
//!
//! # Metrics
//!
//! The loops count what they do through the `metrics` facade; without a recorder that costs
//! nothing. `docs/metrics.md` lists the names.
//!
//! # What is absent
//!
//! No rules: what is due, and what becomes of it, `sms-core` decides. A program on another runtime
//! makes the same calls itself: [`sms_core::service`] lists them.

#![deny(missing_docs)]

mod bells;
mod carrying;
mod dispatch;
mod events;
mod follow_ups;
mod held;
mod journal;
mod leases;
mod options;
mod pause;
mod rents;
mod replays;
mod route_gauges;
mod routes;
mod stopping;
mod threads;
mod upkeep;
mod webhooks;
mod worker;
mod workers;

pub use journal::{FileJournal, JournalRefused};
pub use options::WorkerOptions;
pub use pause::{PauseSwitch, Paused};
pub use threads::Threads;
pub use workers::{Loop, StopFailed, WorkerPanicked, Workers};
