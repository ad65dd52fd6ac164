//! How a route is set up: one variable for each setting, `SMS_ROUTE_{NAME}_{SETTING}`.
//!
//! | setting | default | meaning |
//! |---|---|---|
//! | `URL` | required | `smpp://system_id@host:port`, or `smpps://` for TLS; port 2775 or 3550 |
//! | `PASSWORD`, `PASSWORD_FILE` | required | the password, or a file with it |
//! | `CA_FILE` | public ones | with TLS: a PEM file of the authorities to trust, and no others |
//! | `SYSTEM_TYPE` | none | the kind of client, where the peer wants one |
//! | `VERSION` | 3.4 | the version spoken: `3.4` or `5.0` |
//! | `BIND` | transceiver | `transceiver`, or `separate` for a transmitter and a receiver |
//! | `BINDS` | 1 | connections side by side, up to 16 |
//! | `WINDOW` | 10 | texts of one connection that may wait for their answer, up to 1,000 |
//! | `RATE` | none | texts a second over all connections |
//! | `LONG_TEXTS` | udh8 | `udh8`, `udh16`, `sar` or `payload` |
//! | `GSM7` | unpacked | `unpacked` or `packed` |
//! | `IDS` | same | ids in answer and receipt: `same`, `hex-decimal` or `decimal-hex` |
//! | `UNANSWERED` | again | what becomes of a text that perhaps left: `again` or `undelivered` |
//! | `PATIENCE` | 30s | how long the peer may take to answer |
//! | `IDLE` | 30s | silence after which a sign of life is asked for |
//! | `FAILOVER` | 60s | how long all connections may be down before the next route takes over |

use std::fmt;
use std::time::Duration;

use crate::coding::Septets;
use crate::pdu::Bind;
use crate::report::IdForm;
use crate::submit::{LongTexts, Style};
use crate::trust::Roots;

/// How a route is set up.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct RouteSettings {
    /// Where the peer listens.
    pub peer: Peer,
    /// Which authorities may vouch for it, where the connection is protected by TLS.
    pub roots: Roots,
    /// Who we are.
    pub bind: Bind,
    /// Which connections there are.
    pub binds: Binds,
    /// Texts of one connection that may wait for their answer.
    pub window: usize,
    /// Texts a second over all connections; `None` for as many as the peer takes.
    pub rate: Option<u32>,
    /// How the peer wants its texts.
    pub style: Style,
    /// How its receipts spell ids.
    pub ids: IdForm,
    /// What becomes of a text that perhaps left.
    pub unanswered: Unanswered,
    /// How long the peer may take to answer.
    pub patience: Duration,
    /// Silence after which a sign of life is asked for.
    pub idle: Duration,
    /// How long all connections may be down before the next route takes over.
    pub failover: Duration,
}

/// Where a peer listens.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Peer {
    /// Its name or address.
    pub host: String,
    /// Its port.
    pub port: u16,
    /// How the connection is protected.
    pub transport: Transport,
}

/// How a connection is protected.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Transport {
    /// Not at all.
    Plain,
    /// By TLS, with the certificate and its name checked.
    Tls,
}

/// Which connections a route keeps.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Binds {
    /// So many transceivers.
    Transceivers(usize),
    /// So many transmitters, and as many receivers.
    Separate(usize),
}

/// What becomes of a text that was written and never answered: it has left perhaps.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Unanswered {
    /// It is sent again, perhaps for the second time.
    #[default]
    Again,
    /// It ends as `undelivered` with `network_error`, and is not refunded: it may have left.
    Undelivered,
}

/// A setting that is missing or cannot be.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{variable}: {problem}")]
pub struct BadSetting {
    /// Which.
    pub variable: String,
    /// What is wrong, and what it should be. Never its value, which may be a secret.
    pub problem: &'static str,
}

/// Where settings come from: the value of a variable, if it is set.
pub type Variables<'a> = &'a dyn Fn(&str) -> Option<String>;

impl RouteSettings {
    /// Reads the settings of the route `name`.
    ///
    /// # Errors
    ///
    /// The first setting that is missing or cannot be.
    pub fn read(name: &str, variables: Variables<'_>) -> Result<Self, BadSetting> {
        let reader = Reader { prefix: prefix(name), variables };
        let (peer, system_id) =
            reader.required("URL", "is missing: smpp://system_id@host:port", peer)?;
        let version = reader.or("VERSION", 0x34, "is 3.4 or 5.0", |text| match text {
            "3.4" => Some(0x34),
            "5.0" => Some(0x50),
            _ => None,
        })?;
        let system_type =
            reader.or("SYSTEM_TYPE", String::new(), "has at most 12 characters", |text| {
                (text.len() <= 12).then(|| text.to_owned())
            })?;
        let password = reader.password()?;
        let count = reader.or("BINDS", 1, "is 1 to 16", |text| within(text, 1, 16))?;
        let is_bound_as = |text: &str| match text {
            "transceiver" => Some(Binds::Transceivers(count)),
            "separate" => Some(Binds::Separate(count)),
            _ => None,
        };
        let transceivers = Binds::Transceivers(count);
        let long_texts =
            reader.or("LONG_TEXTS", LongTexts::Udh8, "is udh8, udh16, sar or payload", |text| {
                match text {
                    "udh8" => Some(LongTexts::Udh8),
                    "udh16" => Some(LongTexts::Udh16),
                    "sar" => Some(LongTexts::Sar),
                    "payload" => Some(LongTexts::Payload),
                    _ => None,
                }
            })?;
        let septets =
            reader.or("GSM7", Septets::Unpacked, "is unpacked or packed", |text| match text {
                "unpacked" => Some(Septets::Unpacked),
                "packed" => Some(Septets::Packed),
                _ => None,
            })?;
        let form = |text: &str| match text {
            "same" => Some(IdForm::Same),
            "hex-decimal" => Some(IdForm::HexThenDecimal),
            "decimal-hex" => Some(IdForm::DecimalThenHex),
            _ => None,
        };
        let fate = |text: &str| match text {
            "again" => Some(Unanswered::Again),
            "undelivered" => Some(Unanswered::Undelivered),
            _ => None,
        };
        let time = |setting, default| {
            reader.or(setting, Duration::from_secs(default), "is 100ms to 10m", duration)
        };
        let roots = reader.roots(peer.transport)?;
        Ok(Self {
            peer,
            roots,
            bind: Bind { system_id, password, system_type, version },
            binds: reader.or("BIND", transceivers, "is transceiver or separate", is_bound_as)?,
            window: reader.or("WINDOW", 10, "is 1 to 1000", |text| within(text, 1, 1_000))?,
            rate: reader.or("RATE", None, "is 1 to 100000", |text| {
                within(text, 1, 100_000).map(|rate| u32::try_from(rate).ok())
            })?,
            style: Style { long_texts, septets },
            ids: reader.or("IDS", IdForm::Same, "is same, hex-decimal or decimal-hex", form)?,
            unanswered: reader.or(
                "UNANSWERED",
                Unanswered::Again,
                "is again or undelivered",
                fate,
            )?,
            patience: time("PATIENCE", 30)?,
            idle: time("IDLE", 30)?,
            failover: time("FAILOVER", 60)?,
        })
    }
}

impl fmt::Display for Peer {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let scheme = match self.transport {
            Transport::Plain => "smpp",
            Transport::Tls => "smpps",
        };
        write!(f, "{scheme}://{}:{}", self.host, self.port)
    }
}

/// What the variables of a route begin with: `SMS_ROUTE_MAIN_`.
pub fn prefix(name: &str) -> String {
    let upper = name.to_ascii_uppercase().replace(|c: char| !c.is_ascii_alphanumeric(), "_");
    format!("SMS_ROUTE_{upper}_")
}

/// Reads the variables of one route.
struct Reader<'a> {
    prefix: String,
    variables: Variables<'a>,
}

impl Reader<'_> {
    fn bad(&self, setting: &str, problem: &'static str) -> BadSetting {
        BadSetting { variable: format!("{}{setting}", self.prefix), problem }
    }

    fn get(&self, setting: &str) -> Option<String> {
        (self.variables)(&format!("{}{setting}", self.prefix)).filter(|value| !value.is_empty())
    }

    fn required<T>(
        &self,
        setting: &str,
        problem: &'static str,
        read: impl Fn(&str) -> Result<T, &'static str>,
    ) -> Result<T, BadSetting> {
        let value = self.get(setting).ok_or_else(|| self.bad(setting, problem))?;
        read(&value).map_err(|problem| self.bad(setting, problem))
    }

    fn or<T>(
        &self,
        setting: &str,
        default: T,
        problem: &'static str,
        read: impl Fn(&str) -> Option<T>,
    ) -> Result<T, BadSetting> {
        match self.get(setting) {
            None => Ok(default),
            Some(value) => read(value.trim()).ok_or_else(|| self.bad(setting, problem)),
        }
    }

    fn roots(&self, transport: Transport) -> Result<Roots, BadSetting> {
        let Some(path) = self.get("CA_FILE") else { return Ok(Roots::public()) };
        let bad = |problem| self.bad("CA_FILE", problem);
        if transport == Transport::Plain {
            return Err(bad("is of use with smpps:// only"));
        }
        let file = std::fs::read(path).map_err(|_| bad("cannot be read"))?;
        Roots::from_pem(&file).map_err(|refused| bad(refused.problem()))
    }

    fn password(&self) -> Result<String, BadSetting> {
        let password = match (self.get("PASSWORD"), self.get("PASSWORD_FILE")) {
            (Some(password), _) => password,
            (None, Some(path)) => {
                let read = std::fs::read_to_string(path);
                let read = read.map_err(|_| self.bad("PASSWORD_FILE", "cannot be read"))?;
                read.trim_end_matches(['\r', '\n']).to_owned()
            }
            (None, None) => {
                return Err(self.bad("PASSWORD", "is missing, and so is PASSWORD_FILE"));
            }
        };
        if (1..=8).contains(&password.len()) && !password.contains('\0') {
            Ok(password)
        } else {
            Err(self.bad("PASSWORD", "has 1 to 8 octets"))
        }
    }
}

/// `smpp://system_id@host:port`.
fn peer(url: &str) -> Result<(Peer, String), &'static str> {
    const FORM: &str = "is smpp://system_id@host:port, or smpps:// for TLS";
    let (scheme, rest) = url.split_once("://").ok_or(FORM)?;
    let (transport, default_port) = match scheme {
        "smpp" => (Transport::Plain, 2775),
        "smpps" => (Transport::Tls, 3550),
        _ => return Err(FORM),
    };
    let (system_id, place) = rest.rsplit_once('@').ok_or("names no system_id before the @")?;
    if system_id.contains(':') {
        return Err("holds a password; it goes into PASSWORD or PASSWORD_FILE");
    }
    if !(1..=15).contains(&system_id.len()) {
        return Err("has a system_id of 1 to 15 octets");
    }
    let place = place.trim_end_matches('/');
    // The port follows the last colon, unless that stands within the brackets of an IPv6 address.
    let (host, port) = match place.rsplit_once(':') {
        Some((host, port)) if !port.ends_with(']') => (host, port.parse().map_err(|_| FORM)?),
        _ => (place, default_port),
    };
    let host = host.trim_start_matches('[').trim_end_matches(']');
    if host.is_empty() || host.contains(['/', '?', '#']) {
        return Err(FORM);
    }
    Ok((Peer { host: host.to_owned(), port, transport }, system_id.to_owned()))
}

fn within(text: &str, least: usize, most: usize) -> Option<usize> {
    text.parse().ok().filter(|number| (least..=most).contains(number))
}

/// `500ms`, `30s` or `5m`, from 100 ms to 10 minutes.
fn duration(text: &str) -> Option<Duration> {
    let split = text.find(|c: char| !c.is_ascii_digit())?;
    let (number, unit) = text.split_at(split);
    let number: u64 = number.parse().ok()?;
    let duration = match unit {
        "ms" => Duration::from_millis(number),
        "s" => Duration::from_secs(number),
        "m" => Duration::from_secs(number.checked_mul(60)?),
        _ => return None,
    };
    (Duration::from_millis(100)..=Duration::from_mins(10)).contains(&duration).then_some(duration)
}

#[cfg(test)]
mod tests;
