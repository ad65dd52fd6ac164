//! The settings of the server. Each is a flag and an environment variable, but for the secrets,
//! which are no flags.

use std::net::{IpAddr, SocketAddr};
use std::num::NonZeroU32;
use std::path::PathBuf;
use std::time::Duration;

use clap::Args;
use sms_core::link::LinkBase;
use sms_http::web::client_address::TrustedProxies;
use sms_webhooks::{KeysRefused, SecretKeys};

use crate::data_dir::{DataDir, SHORTEST_TOKEN};
use crate::logging::{self, LogFormat, LogRefused};
use crate::reply_settings::ReplySettings;
use crate::route_settings::Variables;
use crate::routes::{self, RoutesRefused, SIMULATOR};
use crate::secrets::Secrets;
use crate::used_flags::UsedFlags;

/// The settings of the server.
#[derive(Debug, Clone, Args)]
pub struct Settings {
    /// What no flag sets.
    #[command(flatten)]
    pub secrets: Secrets,
    /// Address to listen on; the API is under /api/v1
    #[arg(long, env = "SMS_ADDR", default_value = "127.0.0.1:8080", global = true)]
    pub addr: SocketAddr,
    /// Where data is kept without DATABASE_URL [default: file; memory with SMS_SANDBOX]
    #[arg(long, env = "SMS_STORE", global = true)]
    pub store: Option<StoreKind>,
    /// Folder of the file store. Only one server can use it at a time
    #[arg(long, env = "SMS_DATA_DIR", default_value = "sms-data", global = true)]
    pub data_dir: PathBuf,
    /// Separate address to listen on for /admin/v1 and /metrics, which is readable there without a
    /// token [default: serve them on SMS_ADDR]
    #[arg(long, env = "SMS_ADMIN_ADDR", global = true)]
    pub admin_addr: Option<SocketAddr>,
    /// Serve /metrics on SMS_ADDR without asking for the operator's token
    #[arg(
        long, env = "SMS_METRICS_PUBLIC", num_args = 0..=1, default_missing_value = "true",
        default_value_t = false, action = clap::ArgAction::Set
    )]
    pub metrics_public: bool,
    /// Create a demo account with credits, keys and numbers, once in a store, and print how to use
    /// it. If set, the account of a new file or memory store also has a month of history [default:
    /// true in memory and in a new SMS_DATA_DIR, but without history, if SMS_ADDR is a loopback
    /// address and `simulator` the only route; else false]
    #[arg(long, env = "SMS_DEMO", num_args = 0..=1, default_missing_value = "true")]
    pub demo: Option<bool>,
    /// Serve the console in the browser, under /console [default: true]
    #[arg(long, env = "SMS_CONSOLE", num_args = 0..=1, default_missing_value = "true")]
    pub console: Option<bool>,
    /// Serve the console's files from this folder, to develop them [default: the files in the
    /// program]
    #[arg(long, env = "SMS_CONSOLE_DIR")]
    pub console_dir: Option<PathBuf>,
    /// Run on a clock that the operator can advance; only in memory, and only with the route
    /// `simulator`
    #[arg(
        long, env = "SMS_SANDBOX", num_args = 0..=1, default_missing_value = "true",
        default_value_t = false, action = clap::ArgAction::Set
    )]
    pub sandbox: bool,
    /// Public base URL, used in short links and in the OpenAPI document [default: http://SMS_ADDR]
    #[arg(long, env = "SMS_PUBLIC_URL")]
    pub public_url: Option<String>,
    /// Addresses and networks of your reverse proxies, such as 192.0.2.7,10.0.0.0/8. Only their
    /// X-Forwarded-For is trusted [default: none]
    #[arg(long, env = "SMS_TRUSTED_PROXIES", default_value = "", hide_default_value = true)]
    pub trusted_proxies: TrustedProxies,
    /// Connections allowed at once from one client address; 0 for no limit. Addresses in
    /// SMS_TRUSTED_PROXIES have no limit [default: a quarter of all connections]
    #[arg(long, env = "SMS_CONNECTIONS_PER_ADDRESS")]
    pub connections_per_address: Option<usize>,
    /// Requests per second allowed for one API key
    #[arg(long, env = "SMS_RATE_PER_SECOND", default_value = "20")]
    pub rate_per_second: NonZeroU32,
    /// Requests of one API key allowed in a burst
    #[arg(long, env = "SMS_RATE_BURST", default_value = "40")]
    pub rate_burst: NonZeroU32,
    /// Allow webhook endpoints on loopback and private addresses, for development and tests
    #[arg(
        long, env = "SMS_WEBHOOK_ALLOW_PRIVATE", num_args = 0..=1,
        default_missing_value = "true", default_value_t = false,
        action = clap::ArgAction::Set
    )]
    pub webhook_allow_private: bool,
    /// Delays between the attempts of a webhook delivery, such as 1m,5m,2h
    #[arg(
        long, env = "SMS_WEBHOOK_RETRIES", default_value = "1m,5m,30m,2h,6h,12h",
        value_delimiter = ',', value_parser = duration
    )]
    pub webhook_retries: Vec<Duration>,
    /// How long a webhook endpoint may take to answer, 100ms to 25s
    #[arg(long, env = "SMS_WEBHOOK_TIMEOUT", default_value = "8s", value_parser = duration)]
    pub webhook_timeout: Duration,
    /// Days to keep events in the log of their account, 1 to 3650
    #[arg(
        long, env = "SMS_EVENTS_KEPT_DAYS", default_value_t = 30,
        value_parser = clap::value_parser!(u32).range(1..=3650)
    )]
    pub events_kept_days: u32,
    /// How many messages keywords may send in answer.
    #[command(flatten)]
    pub replies: ReplySettings,
    /// Name servers that resolve the hosts of webhook endpoints: addresses with or without a port,
    /// separated by commas [default: those in /etc/resolv.conf]
    #[arg(long, env = "SMS_DNS_SERVERS", value_delimiter = ',', value_parser = name_server)]
    pub dns_servers: Vec<SocketAddr>,
    /// Names of the routes for live messages. The first is the default; while a route is down, the
    /// next one carries its messages. `simulator` is built in. Any other name is an SMPP route with
    /// its own settings, such as SMS_ROUTE_MAIN_URL and SMS_ROUTE_MAIN_PASSWORD for `main`
    #[arg(long, env = "SMS_ROUTES", default_value = "simulator", value_delimiter = ',')]
    pub routes: Vec<String>,
    /// Folder for the journal of hand-overs, one for each server. With it, a server that is killed
    /// and restarted sends fewer messages twice [default: SMS_DATA_DIR/journal with the file store,
    /// else no journal]
    #[arg(long, env = "SMS_JOURNAL_DIR")]
    pub journal_dir: Option<PathBuf>,
    /// Log filter, such as `info` or `sms_http=debug,warn`
    #[arg(long, env = "SMS_LOG", default_value = "info", global = true)]
    pub log: String,
    /// Log format
    #[arg(long, env = "SMS_LOG_FORMAT", default_value = "text", global = true)]
    pub log_format: LogFormat,
    /// Which of these came as flags: messages name variables, and these go before them.
    #[arg(skip)]
    pub flags: UsedFlags,
}

/// A store that needs no database.
#[derive(Debug, Clone, Copy, PartialEq, Eq, clap::ValueEnum)]
pub enum StoreKind {
    /// A file in SMS_DATA_DIR: every answered request survives.
    File,
    /// Memory: nothing outlives the server.
    Memory,
}

/// Where a server keeps its data.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Keeping<'a> {
    /// Nowhere: it is gone when the server stops.
    Memory,
    /// In this folder.
    File(DataDir<'a>),
    /// In the PostgreSQL database of this URL.
    Postgres(&'a str),
}

/// Settings that are invalid, or that contradict each other. Messages name the variables;
/// [`UsedFlags::named_in`] puts the flags that were used in their place.
#[derive(Debug, PartialEq, Eq, thiserror::Error)]
pub enum SettingsRefused {
    /// `DATABASE_URL` names something other than PostgreSQL.
    #[error("DATABASE_URL must begin with postgres://; unset it to keep data in SMS_DATA_DIR")]
    NotPostgres,
    /// Two places to keep data in.
    #[error("SMS_STORE and DATABASE_URL are both set: leave SMS_STORE out to use the database")]
    TwoStores,
    /// A sandbox would move the clock of data that stays.
    #[error("SMS_SANDBOX is set with SMS_STORE=file: a sandbox runs in memory only; leave one out")]
    SandboxKeepsNothing,
    /// The database outlives the server, and a generated token would not.
    #[error(
        "SMS_ADMIN_TOKEN is missing: with DATABASE_URL it is required, with at least 16 characters"
    )]
    NoToken,
    /// A sandbox cannot use a database.
    #[error(
        "SMS_SANDBOX and DATABASE_URL are both set: a sandbox runs in memory only; leave one out"
    )]
    SandboxNeedsMemory,
    /// Real networks do not go by the clock of a sandbox.
    #[error("SMS_SANDBOX is set: a sandbox supports only the route simulator; check SMS_ROUTES")]
    SandboxNeedsSimulator,
    /// The settings of the routes are invalid.
    #[error(transparent)]
    Routes(#[from] RoutesRefused),
    /// The operator's token is too short, so it can be guessed.
    #[error("SMS_ADMIN_TOKEN is too short: it must have at least 16 characters")]
    WeakToken,
    /// The timeout of webhooks is out of range: it must be shorter than the lease of a delivery.
    #[error("SMS_WEBHOOK_TIMEOUT must be 100ms to 25s")]
    WebhookTimeout,
    /// The filter of the log would not do what was meant.
    #[error("SMS_LOG: {0}")]
    Log(#[from] LogRefused),
    /// The keys for webhook secrets cannot be used.
    #[error("SMS_SECRET_KEY: {0}")]
    SecretKey(#[from] KeysRefused),
    /// The public base URL is invalid.
    #[error("SMS_PUBLIC_URL must begin with http:// or https:// and must not end with a slash")]
    PublicUrl,
}

impl Settings {
    /// Everything that is wrong with the settings, each by itself or together. Empty if they are
    /// valid.
    pub fn mistakes(&self, variables: Variables<'_>) -> Vec<SettingsRefused> {
        use SettingsRefused as Refused;
        let database = self.database();
        let is_postgres =
            |url: &str| url.starts_with("postgres://") || url.starts_with("postgresql://");
        let token = self.secrets.admin_token.as_ref().map(|token| token.0.as_str());
        let simulates = self.routes.iter().all(|name| name == SIMULATOR);
        let timeouts = Duration::from_millis(100)..=Duration::from_secs(25);
        let is_url = |url: &String| LinkBase::new(url).is_ok();
        let checks = [
            (database.is_some_and(|url| !is_postgres(url)), Refused::NotPostgres),
            (database.is_some() && token.is_none(), Refused::NoToken),
            (self.sandbox && database.is_some(), Refused::SandboxNeedsMemory),
            (self.store.is_some() && database.is_some(), Refused::TwoStores),
            (self.sandbox && self.store == Some(StoreKind::File), Refused::SandboxKeepsNothing),
            (self.sandbox && !simulates, Refused::SandboxNeedsSimulator),
            (token.is_some_and(|token| token.len() < SHORTEST_TOKEN), Refused::WeakToken),
            (!timeouts.contains(&self.webhook_timeout), Refused::WebhookTimeout),
            (!self.public_url.as_ref().is_none_or(is_url), Refused::PublicUrl),
        ];
        let mut mistakes: Vec<Refused> =
            checks.into_iter().filter(|(is_wrong, _)| *is_wrong).map(|(_, why)| why).collect();
        mistakes.extend(self.secret_keys().err().map(Refused::from));
        mistakes.extend(logging::check(&self.log).err().map(Refused::from));
        let routes = routes::read(&self.routes, variables);
        mistakes.extend(routes.err().into_iter().flatten().map(Refused::from));
        mistakes
    }

    /// The keys that seal webhook secrets; `None` to store these in plain text.
    pub fn secret_keys(&self) -> Result<Option<SecretKeys>, KeysRefused> {
        let keys = self.secrets.secret_key.as_ref().map(|keys| keys.0.as_str());
        keys.filter(|keys| !keys.is_empty()).map(str::parse).transpose()
    }

    /// Where the data is kept.
    pub fn keeping(&self) -> Keeping<'_> {
        match (self.database(), self.store) {
            (Some(url), _) => Keeping::Postgres(url),
            (None, Some(StoreKind::Memory)) => Keeping::Memory,
            (None, None) if self.sandbox => Keeping::Memory,
            (None, _) => Keeping::File(DataDir(&self.data_dir)),
        }
    }

    /// The URL of the database; `None` to keep data elsewhere.
    pub fn database(&self) -> Option<&str> {
        let url = self.secrets.database_url.as_ref().map(|url| url.0.as_str());
        url.filter(|url| !url.is_empty())
    }

    /// The folder of the journal of hand-overs; `None` for no journal.
    pub fn journal(&self) -> Option<PathBuf> {
        match (&self.journal_dir, self.keeping()) {
            (Some(folder), _) => Some(folder.clone()),
            (None, Keeping::File(data)) => Some(data.journal()),
            (None, Keeping::Memory | Keeping::Postgres(_)) => None,
        }
    }

    /// The public base URL; by default the address on which the server listens.
    pub fn public_url(&self, listening: SocketAddr) -> String {
        self.public_url.clone().unwrap_or_else(|| format!("http://{listening}"))
    }
}

/// Reads a duration such as `500ms`, `8s`, `5m`, `2h`.
fn duration(text: &str) -> Result<Duration, String> {
    let text = text.trim();
    let split = text.find(|c: char| !c.is_ascii_digit()).unwrap_or(text.len());
    let (number, unit) = text.split_at(split);
    let number: u32 =
        number.parse().map_err(|_| format!("{text:?} is not a duration such as 8s"))?;
    let unit = match unit {
        "ms" => Duration::from_millis(1),
        "s" => Duration::from_secs(1),
        "m" => Duration::from_mins(1),
        "h" => Duration::from_hours(1),
        _ => return Err(format!("{text:?} is not a duration: its unit must be ms, s, m or h")),
    };
    Ok(unit * number)
}

/// The port of name servers.
const DNS: u16 = 53;

/// Reads the address of a name server, such as `192.0.2.53` or `[2001:db8::53]:5353`.
fn name_server(text: &str) -> Result<SocketAddr, String> {
    let text = text.trim();
    let without_port = text.parse().map(|ip: IpAddr| SocketAddr::new(ip, DNS));
    without_port
        .or_else(|_| text.parse())
        .map_err(|_| format!("{text:?} is not the address of a name server, such as 192.0.2.53"))
}

#[cfg(test)]
mod tests {
    use clap::Parser as _;

    use super::*;
    use crate::cli::Cli;
    use crate::secrets::Hidden;

    fn settings(flags: &[&str]) -> Settings {
        let program = ["sms-server"];
        Cli::try_parse_from(program.iter().chain(flags)).unwrap().settings
    }

    /// With these secrets: the database's URL, the operator's token, and the keys.
    fn with(flags: &[&str], secrets: [Option<&str>; 3]) -> Settings {
        let [database_url, admin_token, secret_key] =
            secrets.map(|secret| secret.map(|text| Hidden(text.to_owned())));
        let secrets = Secrets { database_url, admin_token, secret_key };
        Settings { secrets, ..settings(flags) }
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
        assert_eq!(defaults.keeping(), Keeping::File(DataDir("sms-data".as_ref())));
        assert_eq!(defaults.journal().as_deref(), Some("sms-data/journal".as_ref()));
        assert_eq!((defaults.rate_per_second.get(), defaults.rate_burst.get()), (20, 40));
        let minutes: Vec<u64> = defaults.webhook_retries.iter().map(|d| d.as_secs() / 60).collect();
        assert_eq!(minutes, [1, 5, 30, 120, 360, 720]);
        assert_eq!(defaults.webhook_timeout, Duration::from_secs(8));
        assert_eq!(defaults.public_url(defaults.addr), "http://127.0.0.1:8080");
        assert_eq!(defaults.mistakes(&|_| None), []);
    }

    #[test]
    fn data_is_kept_in_a_folder_unless_the_settings_say_otherwise() {
        let folder = DataDir("other".as_ref());
        for (flags, keeping) in [
            (vec!["--data-dir", "other"], Keeping::File(folder)),
            (vec!["--store", "file", "--data-dir", "other"], Keeping::File(folder)),
            (vec!["--store", "memory"], Keeping::Memory),
            (vec!["--sandbox"], Keeping::Memory),
        ] {
            assert_eq!(settings(&flags).keeping(), keeping, "{flags:?}");
        }
        let database = with(&[], [Some("postgres://x"), None, None]);
        assert_eq!(database.keeping(), Keeping::Postgres("postgres://x"));
    }

    #[test]
    fn the_journal_is_on_where_data_is_kept_in_a_folder() {
        for (flags, folder) in [
            (vec!["--data-dir", "other"], Some("other/journal")),
            (vec!["--data-dir", "other", "--journal-dir", "own"], Some("own")),
            (vec!["--store", "memory"], None),
            (vec!["--store", "memory", "--journal-dir", "own"], Some("own")),
        ] {
            assert_eq!(settings(&flags).journal(), folder.map(PathBuf::from), "{flags:?}");
        }
    }

    #[test]
    fn invalid_settings_are_refused_with_the_reason() {
        for (flags, refused) in [
            (vec!["--sandbox", "--store", "file"], SettingsRefused::SandboxKeepsNothing),
            (vec!["--sandbox", "--routes", "main"], SettingsRefused::SandboxNeedsSimulator),
            (vec!["--routes", "simulator,test"], RoutesRefused::OfTestKeys.into()),
            (vec!["--routes", ""], RoutesRefused::Name.into()),
            (vec!["--public-url", "example.com"], SettingsRefused::PublicUrl),
            (vec!["--webhook-timeout", "0s"], SettingsRefused::WebhookTimeout),
            (vec!["--webhook-timeout", "26s"], SettingsRefused::WebhookTimeout),
        ] {
            // The route itself lacks settings as well.
            assert_eq!(settings(&flags).mistakes(&|_| None)[0], refused);
        }
        let (url, token) = (Some("postgres://x"), Some("a-very-long-secret-token"));
        for (flags, secrets, refused) in [
            (vec![], [Some("mysql://x"), token, None], SettingsRefused::NotPostgres),
            (vec![], [url, None, None], SettingsRefused::NoToken),
            (vec!["--sandbox"], [url, token, None], SettingsRefused::SandboxNeedsMemory),
            (vec!["--store", "memory"], [url, token, None], SettingsRefused::TwoStores),
            (vec![], [None, Some("short"), None], SettingsRefused::WeakToken),
            (vec![], [None, None, Some("abc")], KeysRefused::Form.into()),
        ] {
            assert_eq!(with(&flags, secrets).mistakes(&|_| None), [refused]);
        }
    }

    #[test]
    fn trusted_proxies_are_a_list_and_an_invalid_entry_is_named() {
        let both = settings(&["--trusted-proxies", "192.0.2.7, 10.0.0.0/8"]).trusted_proxies;
        assert!(both.contains("10.1.2.3".parse().unwrap()));
        assert!(!settings(&[]).trusted_proxies.contains("127.0.0.1".parse().unwrap()));
        let parsed = Cli::try_parse_from(["sms-server", "--trusted-proxies", "192.0.2.7,proxy"]);
        let message = parsed.unwrap_err().to_string();
        assert!(message.contains("\"proxy\" is not an address"), "{message}");
    }

    #[test]
    fn name_servers_are_a_list_of_addresses_with_or_without_a_port() {
        let all = settings(&["--dns-servers", "192.0.2.53, 127.0.0.1:5353,2001:db8::1,[::1]:54"]);
        let all: Vec<String> = all.dns_servers.iter().map(SocketAddr::to_string).collect();
        assert_eq!(all, ["192.0.2.53:53", "127.0.0.1:5353", "[2001:db8::1]:53", "[::1]:54"]);
        assert!(settings(&[]).dns_servers.is_empty());
        let parsed = Cli::try_parse_from(["sms-server", "--dns-servers", "dns.example.com"]);
        let message = parsed.unwrap_err().to_string();
        assert!(message.contains("is not the address of a name server"), "{message}");
    }

    #[test]
    fn secrets_are_not_shown() {
        let shown = format!("{:?}", with(&[], [Some("canary"); 3]));
        assert!(!shown.contains("canary"), "{shown}");
    }

    #[test]
    fn a_secret_as_a_flag_is_refused_wherever_it_stands_and_its_variable_is_named() {
        for (flag, variable) in [
            ("--database-url", "DATABASE_URL"),
            ("--admin-token", "SMS_ADMIN_TOKEN"),
            ("--secret-key", "SMS_SECRET_KEY"),
        ] {
            let both = format!("{flag}=canary");
            for arguments in [
                vec![flag],
                vec![flag, "canary"],
                vec![both.as_str()],
                vec!["account", "list", flag, "canary"],
                vec![flag, "canary", "check"],
            ] {
                let program = std::iter::once(&"sms-server");
                let refused = Cli::try_parse_from(program.chain(&arguments)).unwrap_err();
                let told = refused.to_string();
                let named = format!("set {variable} in the environment, or {variable}_FILE");
                assert!(told.contains(&named), "{arguments:?}: {told}");
                assert!(!told.contains("canary"), "{arguments:?}: {told}");
            }
        }
    }
}
