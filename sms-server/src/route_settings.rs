//! The settings of one route over SMPP: an environment variable for each,
//! `SMS_ROUTE_{NAME}_{SETTING}`.
//!
//! | setting | default | meaning |
//! |---|---|---|
//! | `URL` | required | `smpp://system_id@host:port`, or `smpps://` for TLS; port 2775 or 3550 |
//! | `PASSWORD`, `PASSWORD_FILE` | required | the password, or the path of a file that holds it |
//! | `CA_FILE` | public CAs | with TLS: a PEM file; only the authorities in it are trusted |
//! | `SYSTEM_TYPE` | none | the `system_type`, if the SMSC requires one |
//! | `VERSION` | 3.4 | the version of SMPP: `3.4` or `5.0` |
//! | `BIND` | transceiver | `transceiver`, or `separate` for a transmitter and a receiver |
//! | `BINDS` | 1 | number of parallel connections, up to 16 |
//! | `WINDOW` | 10 | unanswered messages allowed per connection, up to 1,000 |
//! | `RATE` | none | messages per second over all connections, up to 100,000 |
//! | `LONG_MESSAGES` | udh8 | how long messages are split: `udh8`, `udh16`, `sar` or `payload` |
//! | `GSM7` | unpacked | how GSM-7 text is coded: `unpacked` or `packed` |
//! | `IDS` | same | message ids in response and receipt: `same`, `hex-decimal` or `decimal-hex` |
//! | `UNANSWERED` | again | a message that may have been sent: `again` or `undelivered` |
//! | `PATIENCE` | 30s | how long the SMSC may take to answer |
//! | `IDLE` | 30s | silence after which the route sends an `enquire_link` |
//! | `FAILOVER` | 60s | how long all connections may be down before the next route takes over |
//!
//! Times are `500ms`, `30s` or `5m`, from 100 ms to 10 minutes.

use std::cell::RefCell;
use std::env::VarError;
use std::time::Duration;

use sms_smpp::coding::Septets;
use sms_smpp::report::IdForm;
use sms_smpp::settings::{
    BadUrl, Binds, InvalidSetting, RouteSettings, Transport, Unanswered, Version,
};
use sms_smpp::submit::LongMessages;
use sms_smpp::trust::{BadRoots, Roots};

use crate::secrets::{Hidden, SecretRefused, look_up};

/// A setting of a route that is missing or invalid.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{variable}: {problem}")]
pub struct BadSetting {
    /// The name of the variable.
    pub variable: String,
    /// What is wrong. Never the value, which may be a secret.
    pub problem: &'static str,
}

/// Every setting of a route, as the end of its variable. The table above says what each means.
pub(crate) const ALL: [&str; 17] = [
    "URL",
    "PASSWORD",
    "PASSWORD_FILE",
    "CA_FILE",
    "SYSTEM_TYPE",
    "VERSION",
    "BIND",
    "BINDS",
    "WINDOW",
    "RATE",
    "LONG_MESSAGES",
    "GSM7",
    "IDS",
    "UNANSWERED",
    "PATIENCE",
    "IDLE",
    "FAILOVER",
];

/// Looks up a variable; `None` if it is not set.
pub type Variables<'a> = &'a dyn Fn(&str) -> Option<String>;

/// Reads the settings of the route `name`.
///
/// # Errors
///
/// Every setting that is missing or invalid.
pub fn read(name: &str, variables: Variables<'_>) -> Result<RouteSettings, Vec<BadSetting>> {
    let reader = Reader { prefix: prefix(name), variables, bad: RefCell::default() };
    let settings = reader.account();
    let settings = reader.roots(settings);
    let settings = reader.connections(settings);
    let settings = reader.messages(settings);
    let settings = reader
        .apply("PATIENCE", TIME, settings, |it, text| it.response_timeout(duration(text)?).ok());
    let settings = reader.apply("IDLE", TIME, settings, |it, text| it.idle(duration(text)?).ok());
    let settings =
        reader.apply("FAILOVER", TIME, settings, |it, text| it.failover(duration(text)?).ok());
    let bad = reader.bad.into_inner();
    // Whatever is wrong with the address or the password has been noted.
    settings.filter(|_| bad.is_empty()).ok_or(bad)
}

const TIME: &str = "must be 100ms to 10m";

/// What the variables of a route begin with: `SMS_ROUTE_MAIN_`.
pub(crate) fn prefix(name: &str) -> String {
    let upper = name.to_ascii_uppercase().replace(|c: char| !c.is_ascii_alphanumeric(), "_");
    format!("{PREFIX}{upper}_")
}

/// What the variables of all routes begin with.
pub(crate) const PREFIX: &str = "SMS_ROUTE_";

/// Reads the variables of one route, and notes what is wrong with them. What is invalid is left as
/// it is by default, so that the rest is checked as well. Where the account itself is invalid, the
/// settings are those of a stand-in.
struct Reader<'a> {
    prefix: String,
    variables: Variables<'a>,
    bad: RefCell<Vec<BadSetting>>,
}

impl Reader<'_> {
    fn bad(&self, setting: &str, problem: &'static str) {
        let variable = format!("{}{setting}", self.prefix);
        self.bad.borrow_mut().push(BadSetting { variable, problem });
    }

    fn get(&self, setting: &str) -> Option<String> {
        (self.variables)(&format!("{}{setting}", self.prefix)).filter(|value| !value.is_empty())
    }

    /// Applies a setting that may be missing; `apply` gives `None` if it is invalid.
    fn apply(
        &self,
        setting: &str,
        problem: &'static str,
        settings: Option<RouteSettings>,
        apply: impl FnOnce(RouteSettings, &str) -> Option<RouteSettings>,
    ) -> Option<RouteSettings> {
        let (settings, Some(value)) = (settings.clone()?, self.get(setting)) else {
            return settings;
        };
        let applied = apply(settings.clone(), value.trim());
        if applied.is_none() {
            self.bad(setting, problem);
        }
        Some(applied.unwrap_or(settings))
    }

    /// The address of the SMSC, and the account there.
    fn account(&self) -> Option<RouteSettings> {
        let password = self.password();
        let stand_in = password.as_deref().unwrap_or("password");
        let made = match self.get("URL") {
            None => {
                self.bad("URL", "is missing; set it to smpp://system_id@host:port");
                None
            }
            Some(url) => match RouteSettings::new(&url, stand_in) {
                Ok(settings) => Some(settings),
                Err(InvalidSetting::Url(bad)) => {
                    self.bad("URL", problem_of(bad));
                    None
                }
                Err(_) => {
                    self.bad("PASSWORD", "must have 1 to 8 octets");
                    None
                }
            },
        };
        let settings = made.or_else(|| RouteSettings::new(STAND_IN, "password").ok());
        let problem = "must have at most 12 characters";
        self.apply("SYSTEM_TYPE", problem, settings, |it, text| it.system_type(text).ok())
    }

    fn password(&self) -> Option<String> {
        let look = |name: &str| (self.variables)(name).ok_or(VarError::NotPresent);
        let problem = match look_up(&format!("{}PASSWORD", self.prefix), &look) {
            Ok(Some(Hidden(password))) => return Some(password),
            Ok(None) => {
                self.bad("PASSWORD", "is missing; set it, or PASSWORD_FILE");
                return None;
            }
            Err(SecretRefused::Twice(_)) => "is set beside PASSWORD; unset one",
            Err(SecretRefused::Empty(_)) => "is empty",
            Err(SecretRefused::File { .. } | SecretRefused::NotText(_)) => "cannot be read",
        };
        self.bad("PASSWORD_FILE", problem);
        None
    }

    fn roots(&self, settings: Option<RouteSettings>) -> Option<RouteSettings> {
        let (settings, Some(path)) = (settings.clone()?, self.get("CA_FILE")) else {
            return settings;
        };
        let without_tls = "needs an smpps:// URL";
        let read = || {
            if settings.peer().transport == Transport::Plain {
                return Err(without_tls);
            }
            let file = std::fs::read(path).map_err(|_| "cannot be read")?;
            let roots = Roots::from_pem(&file).map_err(BadRoots::problem)?;
            settings.clone().roots(roots).map_err(|_| without_tls)
        };
        let read = read();
        Some(read.unwrap_or_else(|problem| {
            self.bad("CA_FILE", problem);
            settings
        }))
    }

    fn connections(&self, settings: Option<RouteSettings>) -> Option<RouteSettings> {
        let settings = self.apply("VERSION", "must be 3.4 or 5.0", settings, |it, text| {
            Some(it.version(match text {
                "3.4" => Version::V3_4,
                "5.0" => Version::V5_0,
                _ => return None,
            }))
        });
        let binds = self.get("BIND");
        let binds = match binds.as_deref().map_or("transceiver", str::trim) {
            "transceiver" => Binds::Transceivers,
            "separate" => Binds::Separate,
            _ => {
                self.bad("BIND", "must be transceiver or separate");
                Binds::Transceivers
            }
        };
        let settings = settings.map(|it| it.clone().binds(binds(1)).unwrap_or(it));
        self.apply("BINDS", "must be 1 to 16", settings, |it, text| {
            it.binds(binds(text.parse().ok()?)).ok()
        })
    }

    fn messages(&self, settings: Option<RouteSettings>) -> Option<RouteSettings> {
        let settings = self.apply("WINDOW", "must be 1 to 1000", settings, |it, text| {
            it.window(text.parse().ok()?).ok()
        });
        let settings = self.apply("RATE", "must be 1 to 100000", settings, |it, text| {
            it.rate(text.parse().ok()?).ok()
        });
        let problem = "must be udh8, udh16, sar or payload";
        let settings = self.apply("LONG_MESSAGES", problem, settings, |it, text| {
            Some(it.long_messages(match text {
                "udh8" => LongMessages::Udh8,
                "udh16" => LongMessages::Udh16,
                "sar" => LongMessages::Sar,
                "payload" => LongMessages::Payload,
                _ => return None,
            }))
        });
        let settings = self.apply("GSM7", "must be unpacked or packed", settings, |it, text| {
            Some(it.septets(match text {
                "unpacked" => Septets::Unpacked,
                "packed" => Septets::Packed,
                _ => return None,
            }))
        });
        let problem = "must be same, hex-decimal or decimal-hex";
        let settings = self.apply("IDS", problem, settings, |it, text| {
            Some(it.ids(match text {
                "same" => IdForm::Same,
                "hex-decimal" => IdForm::HexThenDecimal,
                "decimal-hex" => IdForm::DecimalThenHex,
                _ => return None,
            }))
        });
        self.apply("UNANSWERED", "must be again or undelivered", settings, |it, text| {
            Some(it.unanswered(match text {
                "again" => Unanswered::Again,
                "undelivered" => Unanswered::Undelivered,
                _ => return None,
            }))
        })
    }
}

/// The account of settings whose own is invalid.
const STAND_IN: &str = "smpps://example@smsc.example.com";

fn problem_of(url: BadUrl) -> &'static str {
    match url {
        BadUrl::Form => "must be smpp://system_id@host:port, or smpps:// for TLS",
        BadUrl::SystemIdMissing => "has no system_id before the @",
        BadUrl::SystemIdLength => "must have a system_id of 1 to 15 octets",
        BadUrl::Password => "must not contain the password; use PASSWORD or PASSWORD_FILE",
    }
}

/// Reads a duration such as `500ms`, `30s` or `5m`.
fn duration(text: &str) -> Option<Duration> {
    let split = text.find(|c: char| !c.is_ascii_digit())?;
    let (number, unit) = text.split_at(split);
    let number: u64 = number.parse().ok()?;
    match unit {
        "ms" => Some(Duration::from_millis(number)),
        "s" => Some(Duration::from_secs(number)),
        "m" => Some(Duration::from_secs(number.checked_mul(60)?)),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use std::collections::{BTreeMap, BTreeSet};

    use super::*;

    const URL: &str = "smpp://example@smsc.example.com";

    /// The settings, or the only thing that is wrong with them.
    fn read(settings: &[(&str, &str)]) -> Result<RouteSettings, BadSetting> {
        read_all(settings).map_err(|mut bad| {
            assert_eq!(bad.len(), 1, "{bad:?}");
            bad.remove(0)
        })
    }

    fn read_all(settings: &[(&str, &str)]) -> Result<RouteSettings, Vec<BadSetting>> {
        let mut variables: BTreeMap<String, String> = BTreeMap::from([
            ("SMS_ROUTE_MAIN_URL".to_owned(), URL.to_owned()),
            ("SMS_ROUTE_MAIN_PASSWORD".to_owned(), "secret".to_owned()),
        ]);
        for (setting, value) in settings {
            variables.insert(format!("SMS_ROUTE_MAIN_{setting}"), (*value).to_owned());
        }
        super::read("main", &|name| variables.get(name).cloned())
    }

    #[test]
    fn url_and_password_are_enough() {
        assert_eq!(read(&[]).unwrap(), RouteSettings::new(URL, "secret").unwrap());
    }

    #[test]
    fn every_setting_is_read() {
        let settings = read(&[
            ("URL", "smpps://example@[::1]:3551/"),
            ("SYSTEM_TYPE", "VMA"),
            ("VERSION", "5.0"),
            ("BIND", "separate"),
            ("BINDS", "2"),
            ("WINDOW", "100"),
            ("RATE", " 250 "),
            ("LONG_MESSAGES", "sar"),
            ("GSM7", "packed"),
            ("IDS", "hex-decimal"),
            ("UNANSWERED", "undelivered"),
            ("PATIENCE", "10s"),
            ("IDLE", "500ms"),
            ("FAILOVER", "2m"),
        ]);
        let expected = || {
            RouteSettings::new("smpps://example@[::1]:3551/", "secret")?
                .system_type("VMA")?
                .version(Version::V5_0)
                .binds(Binds::Separate(2))?
                .window(100)?
                .rate(250)?
                .long_messages(LongMessages::Sar)
                .septets(Septets::Packed)
                .ids(IdForm::HexThenDecimal)
                .unanswered(Unanswered::Undelivered)
                .response_timeout(Duration::from_secs(10))?
                .idle(Duration::from_millis(500))?
                .failover(Duration::from_mins(2))
        };
        assert_eq!(settings, Ok(expected().unwrap()));
    }

    #[test]
    fn an_invalid_setting_is_reported_by_its_variable_and_never_by_its_value() {
        for (setting, value) in [
            ("URL", ""),
            ("URL", "http://example@smsc.example.com"),
            ("URL", "smpp://smsc.example.com"),
            ("URL", "smpp://example:secret@smsc.example.com"),
            ("URL", "smpp://example@:2775"),
            ("URL", "smpp://example@host:port"),
            ("URL", "smpp://a-name-of-sixteen@smsc.example.com"),
            ("PASSWORD", "longer-than-8"),
            ("VERSION", "3.3"),
            ("BIND", "both"),
            ("BINDS", "0"),
            ("BINDS", "17"),
            ("WINDOW", "1001"),
            ("RATE", "0"),
            ("LONG_MESSAGES", "udh"),
            ("GSM7", "7bit"),
            ("IDS", "hex"),
            ("UNANSWERED", "drop"),
            ("PATIENCE", "30"),
            ("IDLE", "11m"),
            ("FAILOVER", "99ms"),
            ("SYSTEM_TYPE", "thirteen-char"),
        ] {
            let refused = read(&[(setting, value)]).unwrap_err();
            assert_eq!(refused.variable, format!("SMS_ROUTE_MAIN_{setting}"), "{value}");
            let shown = refused.to_string();
            assert!(!shown.contains("secret") && !shown.contains("longer-than-8"), "{shown}");
        }
    }

    #[test]
    fn everything_that_is_wrong_is_told_at_once() {
        let bad = read_all(&[
            ("URL", "smsc.example.com"),
            ("PASSWORD", ""),
            ("BIND", "both"),
            ("WINDOW", "0"),
            ("IDLE", "never"),
        ]);
        let told = bad.unwrap_err();
        let told: Vec<&str> =
            told.iter().map(|bad| &bad.variable["SMS_ROUTE_MAIN_".len()..]).collect();
        assert_eq!(told, ["PASSWORD", "URL", "BIND", "WINDOW", "IDLE"]);
    }

    #[test]
    fn every_setting_is_listed() {
        let asked = RefCell::new(BTreeSet::new());
        let look = |name: &str| {
            asked.borrow_mut().insert(name["SMS_ROUTE_MAIN_".len()..].to_owned());
            None
        };
        super::read("main", &look).unwrap_err();
        assert_eq!(asked.into_inner(), ALL.map(str::to_owned).into());
    }

    #[test]
    fn a_password_may_come_from_a_file() {
        let path = std::env::temp_dir().join(format!("sms-smpp-password-{}", std::process::id()));
        std::fs::write(&path, "secret\n").unwrap();
        let file = path.display().to_string();
        let settings = read(&[("PASSWORD", ""), ("PASSWORD_FILE", &file)]).unwrap();
        std::fs::remove_file(&path).unwrap();
        assert_eq!(settings, RouteSettings::new(URL, "secret").unwrap());
        let twice = read(&[("PASSWORD_FILE", &file)]).unwrap_err().to_string();
        assert!(twice.starts_with("SMS_ROUTE_MAIN_PASSWORD_FILE: is set beside"), "{twice}");
        let refused = read(&[("PASSWORD", ""), ("PASSWORD_FILE", &file)]).unwrap_err();
        assert_eq!(refused.to_string(), "SMS_ROUTE_MAIN_PASSWORD_FILE: cannot be read");
        assert!(!format!("{settings:?}").contains("secret"));
    }

    #[test]
    fn a_file_of_authorities_that_is_missing_empty_or_broken_is_reported() {
        let path = std::env::temp_dir().join(format!("sms-smpp-ca-{}.pem", std::process::id()));
        let file = path.display().to_string();
        let over_tls = ("URL", "smpps://example@smsc.example.com");
        let refusal = |settings: &[(&str, &str)]| read(settings).unwrap_err().to_string();
        let missing = refusal(&[over_tls, ("CA_FILE", &file)]);
        assert_eq!(missing, "SMS_ROUTE_MAIN_CA_FILE: cannot be read");
        let broken = "-----BEGIN CERTIFICATE-----\nAAAA\n-----END CERTIFICATE-----\n";
        for (content, problem) in [
            ("", "holds no certificate in PEM"),
            ("no certificate", "holds no certificate in PEM"),
            (broken, "holds a certificate that cannot be read"),
            (&broken[..40], "holds a certificate that cannot be read"),
        ] {
            std::fs::write(&path, content).unwrap();
            let refused = refusal(&[over_tls, ("CA_FILE", &file)]);
            assert_eq!(refused, format!("SMS_ROUTE_MAIN_CA_FILE: {problem}"), "{content}");
        }
        std::fs::remove_file(&path).unwrap();
        let plain = refusal(&[("CA_FILE", &file)]);
        assert_eq!(plain, "SMS_ROUTE_MAIN_CA_FILE: needs an smpps:// URL");
    }

    #[test]
    fn a_route_has_variables_of_its_own() {
        assert_eq!(prefix("main"), "SMS_ROUTE_MAIN_");
        assert_eq!(prefix("backup-2"), "SMS_ROUTE_BACKUP_2_");
    }
}
