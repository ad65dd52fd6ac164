//! Turns logs into strings: every field of every event and span of `tracing`, and the records of
//! the `log` crate.

use std::error::Error;
use std::fmt::{self, Write};

use tracing::field::{Field, Visit};
use tracing::span::{Attributes, Id, Record};
use tracing::{Event, Subscriber};
use tracing_subscriber::Layer;
use tracing_subscriber::layer::Context;

use crate::rules::{Leak, leak};

/// Log targets that no server writes to its log, because only a developer may see them.
///
/// PostgreSQL's notices can contain the data of statements, if the database is configured so.
pub const NEVER_PASSED_ON: &[&str] = &["sqlx::postgres::notice"];

/// Which log targets are read.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Heard {
    /// Everything.
    All,
    /// Everything except [`NEVER_PASSED_ON`], for tests in which a database writes such notices.
    PassedOn,
}

/// Reads logs and aborts the process on a leak.
#[derive(Debug)]
pub struct Listener {
    heard: Heard,
}

impl Listener {
    /// A listener for these log targets.
    pub fn new(heard: Heard) -> Self {
        Self { heard }
    }

    fn read(&self, target: &str, text: &str) {
        let passed_on = || !NEVER_PASSED_ON.contains(&target);
        if let Some(leak) = leak(text)
            && (self.heard == Heard::All || passed_on())
        {
            end(target, &leak, text);
        }
    }
}

impl<S: Subscriber> Layer<S> for Listener {
    fn on_event(&self, event: &Event<'_>, _: Context<'_, S>) {
        let mut text = Text::default();
        event.record(&mut text);
        self.read(event.metadata().target(), &text.0);
    }

    fn on_new_span(&self, span: &Attributes<'_>, _: &Id, _: Context<'_, S>) {
        let mut text = Text::default();
        span.record(&mut text);
        self.read(span.metadata().target(), &text.0);
    }

    fn on_record(&self, _: &Id, record: &Record<'_>, _: Context<'_, S>) {
        let mut text = Text::default();
        record.record(&mut text);
        self.read("a span", &text.0);
    }
}

impl log::Log for Listener {
    fn enabled(&self, _: &log::Metadata<'_>) -> bool {
        true
    }

    fn log(&self, record: &log::Record<'_>) {
        self.read(record.target(), &record.args().to_string());
    }

    fn flush(&self) {}
}

/// The values of fields, one per line.
#[derive(Debug, Default)]
struct Text(String);

impl Text {
    fn add(&mut self, value: fmt::Arguments<'_>) {
        // Writing to a `String` cannot fail.
        let _ = writeln!(self.0, "{value}");
    }
}

impl Visit for Text {
    fn record_debug(&mut self, _: &Field, value: &dyn fmt::Debug) {
        self.add(format_args!("{value:?}"));
    }

    fn record_str(&mut self, _: &Field, value: &str) {
        self.add(format_args!("{value}"));
    }

    fn record_error(&mut self, _: &Field, value: &(dyn Error + 'static)) {
        let mut cause = Some(value);
        while let Some(error) = cause {
            self.add(format_args!("{error}"));
            cause = error.source();
        }
    }
}

/// Aborts rather than panics, because the code that logs may catch a panic.
pub(crate) fn end(target: &str, leak: &Leak, text: &str) -> ! {
    // Writes to standard error directly, because the test harness captures what tests print.
    let told = format!("\nA LEAK: {target} logged {leak}\n  {}\n", text.trim());
    let _ = std::io::Write::write_all(&mut std::io::stderr(), told.as_bytes());
    std::process::abort()
}
