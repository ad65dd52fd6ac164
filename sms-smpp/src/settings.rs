//! The settings of a route: [`RouteSettings`].

use std::ops::RangeInclusive;
use std::time::Duration;

use crate::coding::Septets;
use crate::pdu::Bind;
use crate::report::IdForm;
use crate::submit::{LongMessages, Style};
use crate::trust::Roots;

mod peer;

pub use peer::{BadUrl, Peer, Transport};

/// How many connections a route may keep in each direction.
pub const CONNECTIONS: RangeInclusive<usize> = 1..=16;
/// How many `submit_sm`s of one connection may await their response.
pub const WINDOW: RangeInclusive<usize> = 1..=1_000;
/// How many `submit_sm`s a second all connections together may send.
pub const RATE: RangeInclusive<u32> = 1..=100_000;
/// The range of a timeout.
pub const TIMEOUT: RangeInclusive<Duration> = Duration::from_millis(100)..=Duration::from_mins(10);
/// How many octets a password may have (5.2.2).
const PASSWORD: RangeInclusive<usize> = 1..=8;
/// How many octets a system type may have (5.2.3).
const SYSTEM_TYPE: usize = 12;

/// The settings of a route. Only the URL and the password are required.
///
/// ```
/// use std::time::Duration;
/// use sms_smpp::settings::RouteSettings;
///
/// let settings = RouteSettings::new("smpps://example@smsc.example.com", "secret")?
///     .window(100)?
///     .rate(250)?
///     .failover(Duration::from_secs(120))?;
/// assert_eq!(settings.peer().to_string(), "smpps://smsc.example.com:3550");
/// # Ok::<(), sms_smpp::settings::InvalidSetting>(())
/// ```
#[derive(Debug, Clone, PartialEq, Eq)]
#[must_use]
pub struct RouteSettings {
    pub(crate) peer: Peer,
    pub(crate) roots: Roots,
    pub(crate) bind: Bind,
    pub(crate) binds: Binds,
    pub(crate) window: usize,
    pub(crate) rate: Option<u32>,
    pub(crate) style: Style,
    pub(crate) ids: IdForm,
    pub(crate) unanswered: Unanswered,
    pub(crate) patience: Duration,
    pub(crate) idle: Duration,
    pub(crate) failover: Duration,
}

/// Which connections a route keeps.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Binds {
    /// This many transceivers, each of which submits and receives.
    Transceivers(usize),
    /// This many transmitters, and as many receivers.
    Separate(usize),
}

/// The protocol version that a bind announces (5.2.4).
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Version {
    /// SMPP 3.4, whose `interface_version` is 0x34.
    #[default]
    V3_4,
    /// SMPP 5.0. Only the version number in the bind differs; 3.4 is spoken.
    V5_0,
}

/// What happens to a message that was submitted but got no response, so it may have been sent.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Unanswered {
    /// It is submitted again; the recipient may get it twice.
    #[default]
    Again,
    /// It ends as `undelivered` with `network_error`, without a refund.
    Undelivered,
}

/// An invalid setting. The error never contains the value, which may be a secret.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum InvalidSetting {
    /// The URL of the SMSC, with the system id in it.
    #[error("the URL {0}")]
    Url(#[source] BadUrl),
    /// The password: SMPP allows at most 8 octets.
    #[error("the password must have 1 to 8 octets, none of them zero")]
    Password,
    /// The system type: SMPP allows at most 12 octets.
    #[error("the system type must have at most 12 octets, none of them zero")]
    SystemType,
    /// The number of connections.
    #[error("a route must have 1 to 16 connections")]
    Binds,
    /// The window: how many submissions of a connection may wait for their responses.
    #[error("the window must be 1 to 1000 messages")]
    Window,
    /// The rate, in messages a second.
    #[error("the rate must be 1 to 100000 messages a second")]
    Rate,
    /// A timeout or an interval, 100 ms to 10 minutes.
    #[error("timeouts must be 100 ms to 10 minutes")]
    Timeout,
    /// Certificate authorities for a connection without TLS.
    #[error("certificate authorities need an smpps:// URL")]
    RootsWithoutTls,
}

impl RouteSettings {
    /// A route to `smpp://system_id@host:port`, or `smpps://` for TLS; the ports 2775 and 3550 may
    /// be left out. The password has 1 to 8 octets.
    ///
    /// # Errors
    ///
    /// When one of them is invalid.
    pub fn new(url: &str, password: impl Into<String>) -> Result<Self, InvalidSetting> {
        let (peer, system_id) = peer::parse(url).map_err(InvalidSetting::Url)?;
        let password = password.into();
        if !PASSWORD.contains(&password.len()) || password.contains('\0') {
            return Err(InvalidSetting::Password);
        }
        let (system_type, version) = (String::new(), Version::default().octet());
        Ok(Self {
            peer,
            roots: Roots::public(),
            bind: Bind { system_id, password, system_type, version },
            binds: Binds::Transceivers(1),
            window: 10,
            rate: None,
            style: Style::default(),
            ids: IdForm::default(),
            unanswered: Unanswered::default(),
            patience: Duration::from_secs(30),
            idle: Duration::from_secs(30),
            failover: Duration::from_mins(1),
        })
    }

    /// Where the SMSC listens.
    pub fn peer(&self) -> &Peer {
        &self.peer
    }

    /// How messages are submitted.
    pub fn style(&self) -> Style {
        self.style
    }

    /// How the SMSC's receipts spell message ids; [`ids`](Self::ids) sets it.
    pub fn id_form(&self) -> IdForm {
        self.ids
    }

    /// What happens to a message that gets no response; [`unanswered`](Self::unanswered) sets it.
    pub fn when_unanswered(&self) -> Unanswered {
        self.unanswered
    }

    /// The certificate authorities that TLS connections trust; by default the public ones.
    ///
    /// # Errors
    ///
    /// When the connection uses no TLS.
    pub fn roots(mut self, roots: Roots) -> Result<Self, InvalidSetting> {
        if self.peer.transport == Transport::Plain {
            return Err(InvalidSetting::RootsWithoutTls);
        }
        self.roots = roots;
        Ok(self)
    }

    /// The kind of client, where the SMSC requires one: up to 12 octets; none by default.
    ///
    /// # Errors
    ///
    /// When it is longer.
    pub fn system_type(mut self, system_type: impl Into<String>) -> Result<Self, InvalidSetting> {
        let system_type = system_type.into();
        if system_type.len() > SYSTEM_TYPE || system_type.contains('\0') {
            return Err(InvalidSetting::SystemType);
        }
        self.bind.system_type = system_type;
        Ok(self)
    }

    /// The protocol version that binds announce; 3.4 by default.
    pub fn version(mut self, version: Version) -> Self {
        self.bind.version = version.octet();
        self
    }

    /// Which connections the route keeps, 1 to 16 in each direction; one transceiver by default.
    ///
    /// # Errors
    ///
    /// When there are too few or too many.
    pub fn binds(mut self, binds: Binds) -> Result<Self, InvalidSetting> {
        let (Binds::Transceivers(count) | Binds::Separate(count)) = binds;
        if !CONNECTIONS.contains(&count) {
            return Err(InvalidSetting::Binds);
        }
        self.binds = binds;
        Ok(self)
    }

    /// How many `submit_sm`s of one connection may await their response, 1 to 1,000; 10 by default.
    ///
    /// # Errors
    ///
    /// When it is out of range.
    pub fn window(mut self, messages: usize) -> Result<Self, InvalidSetting> {
        if !WINDOW.contains(&messages) {
            return Err(InvalidSetting::Window);
        }
        self.window = messages;
        Ok(self)
    }

    /// How many `submit_sm`s a second all connections together may send, 1 to 100,000; by default
    /// as many as the SMSC accepts. Each segment is a `submit_sm`.
    ///
    /// # Errors
    ///
    /// When it is out of range.
    pub fn rate(mut self, messages_per_second: u32) -> Result<Self, InvalidSetting> {
        if !RATE.contains(&messages_per_second) {
            return Err(InvalidSetting::Rate);
        }
        self.rate = Some(messages_per_second);
        Ok(self)
    }

    /// How a message of several segments is submitted; by default a `submit_sm` for each segment,
    /// with a user data header.
    pub fn long_messages(mut self, long_messages: LongMessages) -> Self {
        self.style.long_messages = long_messages;
        self
    }

    /// How GSM-7 is laid out in octets; unpacked by default.
    pub fn septets(mut self, septets: Septets) -> Self {
        self.style.septets = septets;
        self
    }

    /// How the SMSC's receipts spell message ids; by default as its responses do.
    pub fn ids(mut self, ids: IdForm) -> Self {
        self.ids = ids;
        self
    }

    /// What happens to a message that was submitted but got no response; by default it is submitted
    /// again.
    pub fn unanswered(mut self, unanswered: Unanswered) -> Self {
        self.unanswered = unanswered;
        self
    }

    /// How long the SMSC may take to respond, 100 ms to 10 minutes; 30 s by default. After an
    /// `enquire_link` without a response the route reconnects.
    ///
    /// # Errors
    ///
    /// When it is out of range.
    pub fn response_timeout(mut self, timeout: Duration) -> Result<Self, InvalidSetting> {
        self.patience = in_range(timeout)?;
        Ok(self)
    }

    /// How long a connection may be silent before an `enquire_link` is sent, 100 ms to 10 minutes;
    /// 30 s by default.
    ///
    /// # Errors
    ///
    /// When it is out of range.
    pub fn idle(mut self, silence: Duration) -> Result<Self, InvalidSetting> {
        self.idle = in_range(silence)?;
        Ok(self)
    }

    /// How long all connections may be down before the next route takes over, 100 ms to 10 minutes;
    /// 60 s by default.
    ///
    /// # Errors
    ///
    /// When it is out of range.
    pub fn failover(mut self, after: Duration) -> Result<Self, InvalidSetting> {
        self.failover = in_range(after)?;
        Ok(self)
    }
}

fn in_range(timeout: Duration) -> Result<Duration, InvalidSetting> {
    if TIMEOUT.contains(&timeout) { Ok(timeout) } else { Err(InvalidSetting::Timeout) }
}

impl Version {
    /// Its `interface_version`, as the bind carries it (5.2.4).
    fn octet(self) -> u8 {
        match self {
            Self::V3_4 => 0x34,
            Self::V5_0 => 0x50,
        }
    }
}

#[cfg(test)]
mod tests;
