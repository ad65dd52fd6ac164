//! What the server logs, and what it never logs, whatever `SMS_LOG` says.
//!
//! Our crates log no phone number, message body, key or secret, at any level. Other crates make no
//! such promise. At `debug` and `trace` they may log the data they carry, so their lines pass at
//! `info` and above only.

use std::io::IsTerminal;

use tracing::{Level, Metadata};
use tracing_subscriber::filter::{EnvFilter, filter_fn};
use tracing_subscriber::layer::SubscriberExt;
use tracing_subscriber::util::SubscriberInitExt;

use super::settings::{LogFormat, Settings};

/// The prefix of our crates' log targets.
const OURS: &str = "sms_";

/// Targets that may log data even at `info`, with the level from which their lines pass (`None`:
/// never). PostgreSQL's notices hold whatever its configuration asks for. For a misspelt parameter
/// of `DATABASE_URL`, sqlx logs the value, which may be the password.
const HELD_FURTHER: [(&str, Option<Level>); 2] =
    [("sqlx::postgres::notice", Some(Level::WARN)), ("sqlx_postgres::options::parse", None)];

/// Starts logging to standard error.
pub fn start(settings: &Settings) {
    let wanted = EnvFilter::try_new(&settings.log).unwrap_or_else(|_| EnvFilter::new("info"));
    let builder = tracing_subscriber::fmt()
        .with_env_filter(wanted)
        // Only a terminal gets colours.
        .with_ansi(std::io::stderr().is_terminal())
        .with_writer(std::io::stderr);
    let passes = filter_fn(|line: &Metadata<'_>| passes(line.target(), *line.level()));
    match settings.log_format {
        LogFormat::Text => builder.finish().with(passes).init(),
        LogFormat::Json => builder.json().finish().with(passes).init(),
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
    fn our_own_lines_pass_at_every_level_and_those_of_others_from_info_on() {
        for level in [Level::ERROR, Level::WARN, Level::INFO, Level::DEBUG, Level::TRACE] {
            assert!(passes("sms_http::web::intake", level));
            for target in ["h2::codec", "hyper_util::client", "sqlx::query", "rustls", "poem"] {
                assert_eq!(passes(target, level), level <= Level::INFO, "{target} {level}");
            }
        }
    }

    #[test]
    fn a_databases_notices_and_options_are_not_logged() {
        assert!(!passes("sqlx::postgres::notice", Level::INFO));
        assert!(passes("sqlx::postgres::notice", Level::WARN));
        assert!(!passes("sqlx_postgres::options::parse", Level::ERROR));
    }
}
