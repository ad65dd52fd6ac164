//! Listens to everything that is logged while tests run, at TRACE and by any crate, and ends the
//! tests where it holds a phone number, the words of a text, a key or a secret.
//!
//! A panic in a listener can be swallowed by whichever task logged, and a test that is over may
//! still have tasks. So the whole process is ended, with what was told on its standard error.
//!
//! [`watch`] is called by what tests have in common. Phone numbers, keys, secrets and credentials
//! are known by their form; what has none, such as the words of a text, is known once it has been
//! [told](secret) or stands in [`WORDS`](crate::rules::WORDS).

#![deny(missing_docs)]

mod listener;
pub mod rules;

use std::io::Write;
use std::sync::Once;

use tracing_subscriber::layer::SubscriberExt;
use tracing_subscriber::{Layer, Registry};

pub use listener::Listener;
pub use rules::{Leak, leak, secret};

/// The targets that no server passes on: what they hold may be told to nobody but a developer.
///
/// PostgreSQL's notices can hold whatever statements hold, where a database is set to tell those.
pub const NEVER_PASSED_ON: &[&str] = &["sqlx::postgres::notice"];

/// What is heard.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Heard {
    /// Everything.
    All,
    /// All but the targets that are [`NEVER_PASSED_ON`], for tests that have a database tell them.
    PassedOn,
}

/// Watches everything that is logged in this process from now on. Calls after the first change
/// nothing.
pub fn watch() {
    watch_beside(|| Box::new(tracing_subscriber::layer::Identity::new()));
}

/// The same, with another listener beside, which is made by the first call.
pub fn watch_beside(other: impl FnOnce() -> Box<dyn Layer<Registry> + Send + Sync>) {
    watch_for(Heard::All, other);
}

/// The same, and all or not quite all is heard.
///
/// # Panics
///
/// If something else listens already: then nothing would be watched.
pub fn watch_for(heard: Heard, other: impl FnOnce() -> Box<dyn Layer<Registry> + Send + Sync>) {
    static ONCE: Once = Once::new();
    ONCE.call_once(|| {
        let subscriber = Registry::default().with(other()).with(Listener::new(heard));
        let alone = tracing::subscriber::set_global_default(subscriber).is_ok()
            && log::set_boxed_logger(Box::new(Listener::new(heard))).is_ok();
        assert!(alone, "something else listens already, so nothing would be watched");
        log::set_max_level(log::LevelFilter::Trace);
    });
}

/// Ends this process if a line that was logged elsewhere, as by a server, holds what it must not.
pub fn check_line(from: &str, line: &str) {
    if let Some(leak) = leak(line) {
        end(from, &leak, line);
    }
}

/// Not by a panic: whoever logs may catch it.
fn end(target: &str, leak: &Leak, text: &str) -> ! {
    // The standard error itself: what is printed by a test is kept back.
    let told = format!("\nA LEAK: {target} logged {leak}\n  {}\n", text.trim());
    let _ = std::io::stderr().write_all(told.as_bytes());
    std::process::abort()
}
