//! The settings of the server: each an environment variable and a flag of the same name.

use std::fmt;
use std::net::SocketAddr;
use std::num::NonZeroU32;
use std::time::Duration;

use clap::Args;
use sms_core::link::LinkBase;

use super::routes::{self, RoutesRefused, SIMULATOR};

/// How the server is set up.
#[derive(Debug, Clone, Args)]
pub struct Settings {
    /// Where it listens; the API is under /api/v1
    #[arg(long, env = "SMS_ADDR", default_value = "127.0.0.1:8080", global = true)]
    pub addr: SocketAddr,
    /// A `postgres://` address; without it the in-memory store serves
    #[arg(long, env = "DATABASE_URL", hide_env_values = true, global = true)]
    pub database_url: Option<Hidden>,
    /// The operator's token; without it a random one is made and printed once, in memory mode only
    #[arg(long, env = "SMS_ADMIN_TOKEN", hide_env_values = true, global = true)]
    pub admin_token: Option<Hidden>,
    /// A listener of its own for /admin/v1 and /metrics; without it they are served on SMS_ADDR
    #[arg(long, env = "SMS_ADMIN_ADDR", global = true)]
    pub admin_addr: Option<SocketAddr>,
    /// Make a demo account with credits, keys and numbers, and print how to use it; true in memory
    /// mode unless set
    #[arg(long, env = "SMS_DEMO", num_args = 0..=1, default_missing_value = "true")]
    pub demo: Option<bool>,
    /// A clock that the operator moves; needs the in-memory store and no route but the simulator
    #[arg(
        long, env = "SMS_SANDBOX", num_args = 0..=1, default_missing_value = "true",
        default_value_t = false, action = clap::ArgAction::Set
    )]
    pub sandbox: bool,
    /// The base of short links and of the address in the API's document [default: http://SMS_ADDR]
    #[arg(long, env = "SMS_PUBLIC_URL")]
    pub public_url: Option<String>,
    /// Requests per second of one key
    #[arg(long, env = "SMS_RATE_PER_SECOND", default_value = "20")]
    pub rate_per_second: NonZeroU32,
    /// Requests of one key that may come at once
    #[arg(long, env = "SMS_RATE_BURST", default_value = "40")]
    pub rate_burst: NonZeroU32,
    /// Let webhook endpoints be loopback or private addresses, for development and tests
    #[arg(
        long, env = "SMS_WEBHOOK_ALLOW_PRIVATE", num_args = 0..=1,
        default_missing_value = "true", default_value_t = false,
        action = clap::ArgAction::Set
    )]
    pub webhook_allow_private: bool,
    /// Delays of webhook retries, such as 1m,5m,2h
    #[arg(
        long, env = "SMS_WEBHOOK_RETRIES", default_value = "1m,5m,30m,2h,6h,12h",
        value_delimiter = ',', value_parser = duration
    )]
    pub webhook_retries: Vec<Duration>,
    /// How long a webhook endpoint may take to answer
    #[arg(long, env = "SMS_WEBHOOK_TIMEOUT", default_value = "8s", value_parser = duration)]
    pub webhook_timeout: Duration,
    /// Names of the routes that carry live texts, the first one by default; when one is down the
    /// next carries its texts. Each but `simulator` goes over SMPP and has variables of its own:
    /// SMS_ROUTE_MAIN_URL, SMS_ROUTE_MAIN_PASSWORD and so on
    #[arg(long, env = "SMS_ROUTES", default_value = "simulator", value_delimiter = ',')]
    pub routes: Vec<String>,
    /// What is logged, as `info` or `sms_http=debug,warn`
    #[arg(long, env = "SMS_LOG", default_value = "info", global = true)]
    pub log: String,
    /// How it is logged
    #[arg(long, env = "SMS_LOG_FORMAT", default_value = "text", global = true)]
    pub log_format: LogFormat,
}

/// How log lines look.
#[derive(Debug, Clone, Copy, PartialEq, Eq, clap::ValueEnum)]
pub enum LogFormat {
    /// For people.
    Text,
    /// One JSON object a line.
    Json,
}

/// A setting that must not be shown.
#[derive(Clone, PartialEq, Eq)]
pub struct Hidden(pub String);

impl fmt::Debug for Hidden {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("…")
    }
}

impl std::str::FromStr for Hidden {
    type Err = std::convert::Infallible;

    fn from_str(text: &str) -> Result<Self, Self::Err> {
        Ok(Self(text.to_owned()))
    }
}

/// Settings that do not go together.
#[derive(Debug, PartialEq, Eq, thiserror::Error)]
pub enum SettingsRefused {
    /// `DATABASE_URL` names something other than PostgreSQL.
    #[error("DATABASE_URL must begin with postgres://; unset it to serve from memory")]
    NotPostgres,
    /// There is no token that outlives the server.
    #[error(
        "DATABASE_URL is set, so SMS_ADMIN_TOKEN has to be set too: one of 16 characters at least"
    )]
    NoToken,
    /// A sandbox is to stand on a database.
    #[error("SMS_SANDBOX is set, and so is DATABASE_URL: a sandbox serves from memory; unset one")]
    SandboxNeedsMemory,
    /// A sandbox is to have routes whose networks do not go by its clock.
    #[error("SMS_SANDBOX is set: a sandbox has no route but the simulator")]
    SandboxNeedsSimulator,
    /// The routes cannot be.
    #[error(transparent)]
    Routes(#[from] RoutesRefused),
    /// The operator's token can be guessed.
    #[error("SMS_ADMIN_TOKEN has less than 16 characters; give a longer one")]
    WeakToken,
    /// An endpoint's time is out of bounds.
    #[error("SMS_WEBHOOK_TIMEOUT must be 100ms to 25s: less than a delivery is held for")]
    WebhookTimeout,
    /// The public address is no URL.
    #[error("SMS_PUBLIC_URL must begin with http:// or https:// and must not end with a slash")]
    PublicUrl,
}

impl Settings {
    /// Refuses settings that do not go together or that this version cannot serve.
    pub fn check(&self) -> Result<(), SettingsRefused> {
        if let Some(url) = self.database() {
            if !url.starts_with("postgres://") && !url.starts_with("postgresql://") {
                return Err(SettingsRefused::NotPostgres);
            }
            if self.admin_token.is_none() {
                return Err(SettingsRefused::NoToken);
            }
        }
        if self.sandbox && self.database().is_some() {
            return Err(SettingsRefused::SandboxNeedsMemory);
        }
        routes::check_names(&self.routes)?;
        if self.sandbox && self.routes.iter().any(|name| name != SIMULATOR) {
            return Err(SettingsRefused::SandboxNeedsSimulator);
        }
        if self.admin_token.as_ref().is_some_and(|token| token.0.len() < 16) {
            return Err(SettingsRefused::WeakToken);
        }
        let bounds = Duration::from_millis(100)..=Duration::from_secs(25);
        if !bounds.contains(&self.webhook_timeout) {
            return Err(SettingsRefused::WebhookTimeout);
        }
        if self.public_url.as_ref().is_some_and(|url| LinkBase::new(url).is_err()) {
            return Err(SettingsRefused::PublicUrl);
        }
        Ok(())
    }

    /// Where the database is; `None` serves from memory.
    pub fn database(&self) -> Option<&str> {
        let url = self.database_url.as_ref().map(|url| url.0.as_str());
        url.filter(|url| !url.is_empty())
    }

    /// Whether a demo account is made: by default in memory mode, where nothing else is there.
    pub fn wants_demo(&self) -> bool {
        self.demo.unwrap_or(self.database().is_none())
    }

    /// The base of links, given where the server really listens.
    pub fn public_url(&self, listening: SocketAddr) -> String {
        self.public_url.clone().unwrap_or_else(|| format!("http://{listening}"))
    }
}

/// Reads a duration such as `500ms`, `8s`, `5m`, `2h`.
fn duration(text: &str) -> Result<Duration, String> {
    let text = text.trim();
    let split = text.find(|c: char| !c.is_ascii_digit()).unwrap_or(text.len());
    let (number, unit) = text.split_at(split);
    let number: u32 = number.parse().map_err(|_| format!("{text:?} is no duration such as 8s"))?;
    let unit = match unit {
        "ms" => Duration::from_millis(1),
        "s" => Duration::from_secs(1),
        "m" => Duration::from_mins(1),
        "h" => Duration::from_hours(1),
        _ => return Err(format!("{text:?} is no duration: use ms, s, m or h")),
    };
    Ok(unit * number)
}

#[cfg(test)]
mod tests {
    use clap::Parser as _;

    use super::super::cli::Cli;
    use super::*;

    fn settings(flags: &[&str]) -> Settings {
        let program = ["sms-server"];
        Cli::try_parse_from(program.iter().chain(flags)).unwrap().settings
    }

    #[test]
    fn durations_have_a_unit() {
        for (text, millis) in [("500ms", 500), ("8s", 8_000), ("5m", 300_000), ("2h", 7_200_000)] {
            assert_eq!(duration(text), Ok(Duration::from_millis(millis)));
        }
        for bad in ["", "8", "s", "1d", "-1s", "1.5s"] {
            assert!(duration(bad).is_err(), "{bad}");
        }
    }

    #[test]
    fn the_defaults_are_those_of_the_decisions_page() {
        let defaults = settings(&[]);
        assert_eq!(defaults.addr.to_string(), "127.0.0.1:8080");
        assert!(defaults.wants_demo());
        assert_eq!((defaults.rate_per_second.get(), defaults.rate_burst.get()), (20, 40));
        let minutes: Vec<u64> = defaults.webhook_retries.iter().map(|d| d.as_secs() / 60).collect();
        assert_eq!(minutes, [1, 5, 30, 120, 360, 720]);
        assert_eq!(defaults.webhook_timeout, Duration::from_secs(8));
        assert_eq!(defaults.public_url(defaults.addr), "http://127.0.0.1:8080");
        assert_eq!(defaults.check(), Ok(()));
    }

    #[test]
    fn what_cannot_be_served_is_refused_with_the_reason() {
        for (flags, refused) in [
            (vec!["--database-url", "mysql://x"], SettingsRefused::NotPostgres),
            (vec!["--database-url", "postgres://x"], SettingsRefused::NoToken),
            (
                vec![
                    "--sandbox",
                    "--database-url",
                    "postgres://x",
                    "--admin-token",
                    "a-very-long-secret-token",
                ],
                SettingsRefused::SandboxNeedsMemory,
            ),
            (vec!["--sandbox", "--routes", "main"], SettingsRefused::SandboxNeedsSimulator),
            (vec!["--routes", "simulator,test"], RoutesRefused::OfTestKeys.into()),
            (vec!["--routes", ""], RoutesRefused::Name.into()),
            (vec!["--admin-token", "short"], SettingsRefused::WeakToken),
            (vec!["--public-url", "example.com"], SettingsRefused::PublicUrl),
            (vec!["--webhook-timeout", "0s"], SettingsRefused::WebhookTimeout),
            (vec!["--webhook-timeout", "26s"], SettingsRefused::WebhookTimeout),
        ] {
            assert_eq!(settings(&flags).check(), Err(refused));
        }
    }

    #[test]
    fn secrets_are_not_shown() {
        let shown = format!("{:?}", settings(&["--admin-token", "a-very-long-secret-token"]));
        assert!(!shown.contains("a-very-long-secret-token"));
    }
}
