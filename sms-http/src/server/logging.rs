//! What the server logs, and what it never logs, whatever `SMS_LOG` asks for.
//!
//! Nothing of ours logs a number, a text, a key or a secret, at any level. Other crates promise no
//! such thing: at `debug` and `trace` they may tell what they carry, so they are held at `info`.

use std::io::IsTerminal;

use tracing::{Level, Metadata};
use tracing_subscriber::filter::{EnvFilter, filter_fn};
use tracing_subscriber::layer::SubscriberExt;
use tracing_subscriber::util::SubscriberInitExt;

use super::settings::{LogFormat, Settings};

/// What our own crates' targets begin with.
const OURS: &str = "sms_";

/// Targets that may tell contents at `info` and above too, and how severe a line has to be to pass.
/// PostgreSQL's notices hold whatever it is set to tell; and a parameter of `DATABASE_URL` that is
/// misspelt is told with its value, which may be the password.
const HELD_FURTHER: [(&str, Option<Level>); 2] =
    [("sqlx::postgres::notice", Some(Level::WARN)), ("sqlx_postgres::options::parse", None)];

/// Logs to standard error from now on, as the settings say.
pub fn start(settings: &Settings) {
    let wanted = EnvFilter::try_new(&settings.log).unwrap_or_else(|_| EnvFilter::new("info"));
    let builder = tracing_subscriber::fmt()
        .with_env_filter(wanted)
        // Colours are for people: a file or a collector of logs gets none.
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
    fn what_a_database_tells_of_its_statements_and_settings_does_not_pass() {
        assert!(!passes("sqlx::postgres::notice", Level::INFO));
        assert!(passes("sqlx::postgres::notice", Level::WARN));
        assert!(!passes("sqlx_postgres::options::parse", Level::ERROR));
    }
}
