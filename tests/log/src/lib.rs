//! Reads everything that any crate logs while tests run, down to TRACE. Aborts the tests if a log
//! contains a phone number, the body of a message, a key or a secret.
//!
//! The task that logs may catch a panic, and tasks may outlive their test. So a leak aborts the
//! whole process, after printing the log line to standard error.
//!
//! The setup that tests share calls [`watch`]. It recognises phone numbers, keys, secrets and
//! credentials by their form. Other strings, such as the body of a message, it recognises once a
//! test has [registered](secret) them, or if they are in [`WORDS`](crate::rules::WORDS).

#![deny(missing_docs)]

mod listener;
pub mod rules;
mod words;

use std::sync::Once;

use tracing_subscriber::layer::SubscriberExt;
use tracing_subscriber::{Layer, Registry};

use listener::end;
pub use listener::{Heard, Listener, NEVER_PASSED_ON};
pub use rules::{Leak, leak, secret};

/// Reads everything that this process logs from now on. Only the first call has an effect.
pub fn watch() {
    watch_beside(|| Box::new(tracing_subscriber::layer::Identity::new()));
}

/// Like [`watch`], with another layer beside it. Only the first call builds that layer.
pub fn watch_beside(other: impl FnOnce() -> Box<dyn Layer<Registry> + Send + Sync>) {
    watch_for(Heard::All, other);
}

/// Like [`watch_beside`], for some or all log targets.
///
/// # Panics
///
/// If the process already has a subscriber or logger: then this one would read nothing.
pub fn watch_for(heard: Heard, other: impl FnOnce() -> Box<dyn Layer<Registry> + Send + Sync>) {
    static ONCE: Once = Once::new();
    ONCE.call_once(|| {
        let subscriber = Registry::default().with(other()).with(Listener::new(heard));
        let alone = tracing::subscriber::set_global_default(subscriber).is_ok()
            && log::set_boxed_logger(Box::new(Listener::new(heard))).is_ok();
        assert!(alone, "another subscriber or logger is installed, so logs cannot be watched");
        log::set_max_level(log::LevelFilter::Trace);
    });
}

/// Aborts this process if a line that another process logged, such as a server, contains a leak.
pub fn check_line(from: &str, line: &str) {
    if let Some(leak) = leak(line) {
        end(from, &leak, line);
    }
}
