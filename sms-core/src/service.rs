//! The service: rules, store, routes and webhooks put together.
//!
//! [`Sms`] is a cheap handle on the service. [`Sms::account`] is the only way to the data of one
//! account, so that no account sees another's data. [`Sms::operator`] leads to what belongs to the
//! operator.
//!
//! # Background work
//!
//! Nothing is spawned here. Background work is split into bounded calls: `Workers::start` of
//! `sms-workers` runs all of them on tokio, and a test makes them one by one. A program that drives
//! them itself, for example on another runtime, makes these calls:
//!
//! | Call | When | What it does |
//! |---|---|---|
//! | [`Sms::dispatch_due`] | [`Work::Dispatch`] | hands due messages to their routes |
//! | [`Sms::dispatch_held`] | always, as a task, if wanted | new messages leave without a claim |
//! | [`Sms::simulate_due`] | [`Work::FollowUps`] | brings back what simulated routes owe |
//! | [`Sms::deliver_webhooks`] | [`Work::Webhooks`] | attempts due webhook deliveries |
//! | [`Sms::replays_go_on`] | [`Sms::next_replay`], at least every second | replays events |
//! | [`Sms::charge_rents`] | [`Work::Rents`] | charges due rent of numbers |
//! | [`Sms::renew_leases`] | three times per [`Sms::lease_length`] | keeps claimed messages |
//! | [`Sms::tidy`] | every minute, until it returns 0 | removes what is past its retention |
//! | [`Sms::prepare_search`] | every minute, until it returns 0 | speeds up searches |
//! | [`Sms::fold_statistics`] | every 10 s, until less than a batch is left | adds up statistics |
//! | [`Sms::listen_to_others`] | always, as a task | passes on wake-ups of other programs |
//! | [`Route::run`] with [`Sms::sink`] | always, as a task for each of [`Sms::routes`] | connects |
//! | [`Route::close`] | once, at the end, while `run` still runs | answers what is under way |
//! | [`Sms::record_kept`] | every second; last, until it succeeds | records what the store missed |
//!
//! [`Sms::next_work`] returns the time at which work of a [`Work`] kind is due. A commit may create
//! earlier work; register with [`Sms::wake_with`] to be woken then. [`Sms::do_work`] does work of
//! any kind.
//!
//! [`Route::run`]: crate::route::Route::run
//! [`Route::close`]: crate::route::Route::close

pub mod account;
mod addressees;
pub mod api_key;
pub mod authenticate;
pub mod campaign;
pub mod compute;
pub mod contact;
pub mod conversation;
mod credits;
pub mod event;
pub mod inbound;
pub mod keyed;
pub mod keyword;
pub mod link;
pub mod list;
pub mod new_account;
mod new_number;
pub mod no_webhooks;
pub mod number;
mod obstacle;
pub mod operator;
pub mod opt_out;
mod planning;
mod reading;
pub mod replay;
mod replay_look;
pub mod sandbox;
mod sealing;
pub mod sender_name;
pub mod sending;
pub mod session;
mod sms;
pub mod statistics;
pub mod template;
mod turns;
pub mod unmatched;
mod wake;
pub mod webhook;
pub mod work;

pub use account::AccountHandle;
pub use authenticate::Caller;
pub use compute::Compute;
pub use operator::Operator;
pub use sms::{Sms, SmsBuilder};
pub use wake::{Wake, WakeOthers, Work};
