//! What the server logs, and what it never logs, whatever `SMS_LOG` says.
//!
//! Our crates log no phone number, message body, key or secret, at any level. Other crates make no
//! such promise. At `debug` and `trace` they may log the data they carry, so their lines pass at
//! `info` and above only.

use std::io::{self, IsTerminal, Write};

use sms_core::text::shown_json;
use tracing::{Level, Metadata};
use tracing_subscriber::filter::{EnvFilter, LevelFilter, filter_fn};
use tracing_subscriber::layer::SubscriberExt;
use tracing_subscriber::util::SubscriberInitExt;

/// The prefix of our crates' log targets.
const OURS: &str = "sms_";

/// Targets that may log data even at `info`, with the level from which their lines pass (`None`:
/// never). PostgreSQL's notices hold whatever its configuration asks for. For a misspelt parameter
/// of `DATABASE_URL`, sqlx logs the value, which may be the password.
const HELD_FURTHER: [(&str, Option<Level>); 2] =
    [("sqlx::postgres::notice", Some(Level::WARN)), ("sqlx_postgres::options::parse", None)];

/// The format of log lines.
#[derive(Debug, Clone, Copy, PartialEq, Eq, clap::ValueEnum)]
pub enum LogFormat {
    /// For people.
    Text,
    /// One JSON object per line.
    Json,
}

/// A filter that would not do what was meant.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum LogRefused {
    /// A part names no level.
    #[error(
        "{0:?} names no level: write error, warn, info, debug, trace or off, or a module with one \
         of them, such as sms_http=debug"
    )]
    NoLevel(String),
    /// The filter cannot be read.
    #[error("{0:?} is no filter such as info or sms_http=debug,warn")]
    Form(String),
}

/// Checks a filter. A bare word that is no level would be taken for the name of a module, and
/// silence everything else.
pub fn check(filter: &str) -> Result<(), LogRefused> {
    for part in filter.split(',').map(str::trim).filter(|part| !part.is_empty()) {
        if !part.contains(['=', '[']) && part.parse::<LevelFilter>().is_err() {
            return Err(LogRefused::NoLevel(part.to_owned()));
        }
    }
    EnvFilter::try_new(filter).map(drop).map_err(|_| LogRefused::Form(filter.to_owned()))
}

/// Starts logging to standard error, what this filter lets through.
pub fn start(filter: &str, format: LogFormat) {
    let wanted = EnvFilter::try_new(filter).unwrap_or_else(|_| EnvFilter::new("info"));
    let builder = tracing_subscriber::fmt()
        .with_env_filter(wanted)
        // Only a terminal gets colours.
        .with_ansi(std::io::stderr().is_terminal())
        .with_writer(|| Shown(std::io::stderr()));
    let passes = filter_fn(|line: &Metadata<'_>| passes(line.target(), *line.level()));
    match format {
        LogFormat::Text => builder.finish().with(passes).init(),
        LogFormat::Json => builder.json().finish().with(passes).init(),
    }
}

/// Writes lines, with an escape for each character of others that would change how a line is shown.
/// The subscriber escapes control characters in values itself, and writes each line at once.
struct Shown<W>(W);

impl<W: Write> Write for Shown<W> {
    fn write(&mut self, line: &[u8]) -> io::Result<usize> {
        match std::str::from_utf8(line) {
            Ok(text) => self.0.write_all(shown_json(text).as_bytes())?,
            Err(_) => self.0.write_all(line)?,
        }
        Ok(line.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        self.0.flush()
    }
}

/// Whether a line may be logged at all.
fn passes(target: &str, level: Level) -> bool {
    if target.starts_with(OURS) {
        return true;
    }
    let further = HELD_FURTHER.iter().find(|(held, _)| target == *held);
    match further {
        Some((_, least)) => least.is_some_and(|least| level <= least),
        None => level <= Level::INFO,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_filter_without_a_level_is_refused_instead_of_silencing_everything() {
        for good in ["info", "INFO", "off", "", "sms_http=debug,warn"] {
            assert_eq!(check(good), Ok(()), "{good}");
        }
        for bad in ["inof", "sms_http", "warn,debgu"] {
            assert!(matches!(check(bad), Err(LogRefused::NoLevel(_))), "{bad}");
        }
        for bad in ["sms_http=loud", "warn, sms_core=trace"] {
            assert!(matches!(check(bad), Err(LogRefused::Form(_))), "{bad}");
        }
    }

    #[test]
    fn our_own_lines_pass_at_every_level_and_those_of_others_from_info_on() {
        for level in [Level::ERROR, Level::WARN, Level::INFO, Level::DEBUG, Level::TRACE] {
            assert!(passes("sms_http::web::intake", level));
            for target in ["h2::codec", "hyper_util::client", "sqlx::query", "rustls", "poem"] {
                assert_eq!(passes(target, level), level <= Level::INFO, "{target} {level}");
            }
        }
    }

    #[test]
    fn a_line_cannot_change_how_it_is_shown() {
        let mut shown = Shown(Vec::new());
        let line = "\u{1B}[32m INFO\u{1B}[0m reason=\"a\u{202E}b\u{9B}2J\"\n";
        shown.write_all(line.as_bytes()).unwrap();
        let expected = "\u{1B}[32m INFO\u{1B}[0m reason=\"a\\u202eb\\u009b2J\"\n";
        assert_eq!(String::from_utf8(shown.0).unwrap(), expected);
    }

    #[test]
    fn a_databases_notices_and_options_are_not_logged() {
        assert!(!passes("sqlx::postgres::notice", Level::INFO));
        assert!(passes("sqlx::postgres::notice", Level::WARN));
        assert!(!passes("sqlx_postgres::options::parse", Level::ERROR));
    }
}
