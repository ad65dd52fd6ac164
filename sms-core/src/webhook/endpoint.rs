//! Endpoints: a customer's URL, the events that it subscribes to, and its secret.

use std::collections::BTreeSet;

use crate::event::EventType;
use crate::field_error::FieldError;
use crate::idempotency::fingerprint::Fields;
use crate::idempotency::{Answer, Born};
use crate::ids::{AccountId, EndpointId};
use crate::setters::setters;
use crate::time::Timestamp;
use crate::version::{Changed, IfVersion, Version, Versioned};
use crate::webhook::pause::Pause;
use crate::webhook::replay::Replay;
use crate::webhook::rotation::{OldSecret, SecretChange, SigningSecrets};
use crate::webhook::sealing::{SecretPlace, StoredSecret};

/// The most endpoints of an account.
pub const MAX_PER_ACCOUNT: usize = 10;
/// The most characters of a description.
pub const MAX_DESCRIPTION: usize = 500;
/// How many failed attempts in a row disable an endpoint.
pub const FAILURES_TO_SWITCH_OFF: u32 = 100;

/// Why an endpoint is disabled.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum DisabledReason {
    /// The account disabled it.
    ByOwner,
    /// 100 attempts in a row failed.
    Failures,
}

impl DisabledReason {
    /// Every value. Stores may keep one as its index here: a new value goes to the end.
    pub const ALL: [Self; 2] = [Self::ByOwner, Self::Failures];

    /// The name used in the API and by stores.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::ByOwner => "disabled_by_owner",
            Self::Failures => "consecutive_failures",
        }
    }
}

/// Whether an endpoint is enabled.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Power {
    /// It receives new events.
    On,
    /// It receives no new events, for this reason.
    Off(DisabledReason),
}

impl Power {
    /// Whether it is [`Power::On`].
    pub fn is_on(self) -> bool {
        self == Self::On
    }
}

/// A webhook endpoint: a customer's URL that receives events. An account has at most 10.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Endpoint {
    /// The id, which stays the same when the URL changes.
    pub id: EndpointId,
    /// The account that it belongs to.
    pub account: AccountId,
    /// Where deliveries are sent.
    pub url: String,
    /// The kinds of event that it subscribes to.
    pub events: BTreeSet<EventType>,
    /// The account's description of it; `None` if there is none.
    pub description: Option<String>,
    /// Whether it is enabled.
    pub power: Power,
    /// The secret that signs its deliveries.
    pub secret: StoredSecret,
    /// The secret before the last rotation; `None` if there was none or it was ended at once.
    pub old_secret: Option<OldSecret>,
    /// The number of failed attempts since the last success.
    pub consecutive_failures: u32,
    /// The last pause that it asked for, running or over; `None` if it asked for none since it was
    /// enabled or its URL changed.
    pub pause: Option<Pause>,
    /// The replay that is under way; `None` if there is none. It ends when the endpoint is
    /// disabled.
    pub replay: Option<Replay>,
    /// When a delivery last succeeded; `None` if none has.
    pub last_delivered_at: Option<Timestamp>,
    /// When it was created.
    pub created_at: Timestamp,
    /// When the account last changed it.
    pub updated_at: Timestamp,
}

impl Endpoint {
    /// Whether events of this kind are delivered to it.
    pub fn wants(&self, kind: EventType) -> bool {
        self.power.is_on() && self.events.contains(&kind)
    }

    /// The place that its secrets are sealed for.
    pub fn secret_place(&self) -> SecretPlace {
        SecretPlace { account: self.account, endpoint: self.id }
    }

    /// The secrets that sign a delivery at `at`.
    pub fn signing_secrets(&self, at: Timestamp) -> SigningSecrets<StoredSecret> {
        SigningSecrets::at(&self.secret, self.old_secret.as_ref(), at)
    }

    /// Whether nothing may be sent to it at `at`, because it asked for a pause.
    pub fn is_paused(&self, at: Timestamp) -> bool {
        self.pause.is_some_and(|pause| pause.is_running(at))
    }
}

/// What the account sets, and the secrets, but no failures, pauses or replays. A secret enters the
/// digest as it is stored, which cannot be guessed, so the version reveals nothing about it.
impl Versioned for Endpoint {
    const KIND: &'static str = "webhook";

    fn version(&self) -> Version {
        let Self { id, account: _, url, events, description, power, secret, old_secret, .. } = self;
        let off = match power {
            Power::On => None,
            Power::Off(reason) => Some(reason.as_str()),
        };
        let old = old_secret.as_ref();
        Version::of(Self::KIND, id, |fields| {
            fields.add("url", [url]);
            fields.add("events", events.iter().map(|event| event.as_str()));
            fields.add("description", description.as_deref());
            fields.add("off", off);
            fields.add("secret", [secret.to_stored()]);
            fields.add("old_secret", old.map(|old| old.secret.to_stored()));
            fields.add("old_secret_until", old.map(|old| old.until.to_string()));
        })
    }
}

/// A repetition returns the endpoint as it was created. Its secret is not kept.
impl Answer for Endpoint {
    type Kept = Born<EndpointId>;

    fn kept(&self) -> Self::Kept {
        Born { id: self.id, at: self.created_at }
    }
}

/// The fields of a new endpoint.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub struct EndpointInput {
    /// Where deliveries are sent.
    pub url: String,
    /// The kinds of event that it subscribes to, at least one.
    pub events: BTreeSet<EventType>,
    /// The account's description of it; `None` if there is none.
    pub description: Option<String>,
    /// Whether it is enabled from the start.
    pub power: Power,
}

impl EndpointInput {
    /// An endpoint at `url` that is on and wants these kinds of event.
    pub fn new(url: impl Into<String>, events: impl IntoIterator<Item = EventType>) -> Self {
        Self {
            url: url.into(),
            events: events.into_iter().collect(),
            description: None,
            power: Power::On,
        }
    }

    /// Adds the meaning of the input to a fingerprint.
    pub fn meaning(&self, fields: &mut Fields) {
        let Self { url, events, description, power } = self;
        fields.add("url", [url]);
        fields.add("events", events.iter().map(|event| event.as_str()));
        fields.add("description", description.as_deref());
        fields.add("off", (!power.is_on()).then_some(""));
    }

    /// The endpoint as it is first stored: without failures, pause or replay.
    pub fn into_endpoint(
        self,
        id: EndpointId,
        account: AccountId,
        secret: StoredSecret,
        at: Timestamp,
    ) -> Endpoint {
        let Self { url, events, description, power } = self;
        Endpoint {
            id,
            account,
            url,
            events,
            description,
            power,
            secret,
            old_secret: None,
            consecutive_failures: 0,
            pause: None,
            replay: None,
            last_delivered_at: None,
            created_at: at,
            updated_at: at,
        }
    }
}

setters! { EndpointInput {
    /// Describes the endpoint for people of the account.
    description(text: impl Into<String>) = Some(text.into());
    /// Sets whether the endpoint is on from the start.
    power(power: Power) = power;
} }

/// A change of an endpoint. A field that is `None` stays as it is.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct EndpointChange {
    /// A new URL, to which deliveries that wait are sent too.
    pub url: Option<String>,
    /// Other kinds of event.
    pub events: Option<BTreeSet<EventType>>,
    /// A new description; `Some(None)` removes it.
    pub description: Option<Option<String>>,
    /// Enables or disables it.
    pub power: Option<Power>,
    /// A new secret, or the end of an old one.
    pub secret: Option<SecretChange>,
    /// The versions on which the change may be made.
    pub if_version: IfVersion,
}

impl EndpointChange {
    /// The endpoint after the change. Enabling it resets the count of failures. Enabling it and
    /// moving it to another URL end its pause. Enabling and disabling it end its replay. Disabling
    /// an endpoint that failures have disabled keeps that reason.
    ///
    /// # Errors
    ///
    /// The endpoint, which the store found under its lock, has another version than the change was
    /// made on.
    pub fn apply(self, endpoint: Endpoint, at: Timestamp) -> Result<Endpoint, Changed> {
        let Self { url, events, description, power, secret, if_version } = self;
        if_version.check(&endpoint)?;
        let enables = !endpoint.power.is_on() && power == Some(Power::On);
        let moves = url.as_ref().is_some_and(|url| *url != endpoint.url);
        let failures = if enables { 0 } else { endpoint.consecutive_failures };
        let power = match (endpoint.power, power) {
            (Power::Off(reason), Some(Power::Off(_))) => Power::Off(reason),
            (_, Some(power)) | (power, None) => power,
        };
        let (secret, old_secret) = match secret {
            Some(change) => change.apply(endpoint.secret, at),
            None => (endpoint.secret, endpoint.old_secret),
        };
        Ok(Endpoint {
            url: url.unwrap_or(endpoint.url),
            events: events.unwrap_or(endpoint.events),
            description: description.unwrap_or(endpoint.description),
            power,
            secret,
            old_secret,
            consecutive_failures: failures,
            pause: endpoint.pause.filter(|_| !enables && !moves),
            replay: endpoint.replay.filter(|_| !enables && power.is_on()),
            updated_at: at,
            ..endpoint
        })
    }
}

setters! { EndpointChange {
    /// Replaces the URL. Deliveries that wait are sent to the new one.
    url(url: impl Into<String>) = Some(url.into());
    /// Replaces the kinds of event that the endpoint wants.
    events(kinds: impl IntoIterator<Item = EventType>) = Some(kinds.into_iter().collect());
    /// Replaces the description; `None` removes it.
    description(text: Option<&str>) = Some(text.map(str::to_owned));
    /// Switches the endpoint on or off.
    power(power: Power) = Some(power);
    /// Makes the change on this version only.
    if_version(version: impl Into<IfVersion>) = version.into();
} }

/// What is wrong with a description that is given.
pub(crate) fn check_description(text: Option<&str>) -> Option<FieldError> {
    FieldError::of_text("description", text?, 0..=MAX_DESCRIPTION)
}

/// Why an endpoint was not created.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub enum EndpointRefused {
    /// The account has the most endpoints that it may have.
    #[error(
        "the account already has {MAX_PER_ACCOUNT} webhook endpoints, the most it may have; \
         delete one first"
    )]
    LimitReached,
}

/// The verdict on a new endpoint for an account that has `existing` endpoints.
pub fn settle_creation(existing: usize) -> Result<(), EndpointRefused> {
    if existing < MAX_PER_ACCOUNT { Ok(()) } else { Err(EndpointRefused::LimitReached) }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::random::SeededRandom;
    use crate::webhook::Secret;

    fn endpoint(power: Power) -> Endpoint {
        let input = EndpointInput {
            url: "https://example.com/hook".to_owned(),
            events: BTreeSet::from([EventType::MessageSent]),
            description: None,
            power,
        };
        let secret = Secret::generate(&SeededRandom::new(1)).into();
        let at = Timestamp::from_millis(0);
        let made =
            input.into_endpoint(EndpointId::from_u128(1), AccountId::from_u128(1), secret, at);
        Endpoint { consecutive_failures: 7, ..made }
    }

    #[test]
    fn the_reason_for_a_disabled_endpoint_has_its_name_in_the_api() {
        assert_eq!(DisabledReason::ByOwner.as_str(), "disabled_by_owner");
        assert_eq!(DisabledReason::Failures.as_str(), "consecutive_failures");
    }

    #[test]
    fn enabling_resets_failures_and_only_an_enabled_endpoint_receives_events() {
        let off = endpoint(Power::Off(DisabledReason::Failures));
        assert!(!off.wants(EventType::MessageSent));
        let change = EndpointChange { power: Some(Power::On), ..EndpointChange::default() };
        let on = change.apply(off, Timestamp::from_millis(5)).unwrap();
        assert_eq!((on.power, on.consecutive_failures), (Power::On, 0));
        assert!(on.wants(EventType::MessageSent));
        assert!(!on.wants(EventType::MessageDelivered));
    }

    #[test]
    fn enabling_and_another_url_end_a_pause_and_nothing_else_does() {
        let at = Timestamp::from_millis(5);
        let pause = Some(Pause { since: at, until: Timestamp::from_millis(9) });
        let on = Endpoint { pause, ..endpoint(Power::On) };
        let off = Endpoint { pause, ..endpoint(Power::Off(DisabledReason::ByOwner)) };
        let change = EndpointChange::default;
        for (before, change, expected) in [
            (&on, change(), pause),
            (&on, change().power(Power::On), pause),
            (&on, change().description(None), pause),
            (&on, change().url(on.url.clone()), pause),
            (&on, change().url("https://example.com/other"), None),
            (&off, change().power(Power::On), None),
            (&off, change(), pause),
        ] {
            let after = change.clone().apply(before.clone(), at).unwrap();
            assert_eq!(after.pause, expected, "{change:?}");
        }
        assert!(on.is_paused(at) && !on.is_paused(Timestamp::from_millis(9)));
        assert!(!endpoint(Power::On).is_paused(at));
    }

    #[test]
    fn enabling_an_enabled_endpoint_keeps_its_failures() {
        let failing = Endpoint { consecutive_failures: 99, ..endpoint(Power::On) };
        let change = EndpointChange { power: Some(Power::On), ..EndpointChange::default() };
        let still = change.apply(failing, Timestamp::from_millis(5)).unwrap();
        assert_eq!((still.power, still.consecutive_failures), (Power::On, 99));
    }

    #[test]
    fn disabling_again_keeps_the_reason() {
        let by_owner = Some(Power::Off(DisabledReason::ByOwner));
        let change = || EndpointChange { power: by_owner, ..EndpointChange::default() };
        let at = Timestamp::from_millis(5);
        let failed = Power::Off(DisabledReason::Failures);
        assert_eq!(change().apply(endpoint(failed), at).unwrap().power, failed);
        assert_eq!(Some(change().apply(endpoint(Power::On), at).unwrap().power), by_owner);
    }

    #[test]
    fn a_description_has_up_to_500_characters() {
        for (text, code) in [
            ("é".repeat(500), None),
            ("é".repeat(501), Some("too_long")),
            ("a\0".to_owned(), Some("invalid_character")),
        ] {
            assert_eq!(check_description(Some(&text)).map(|error| error.code), code);
        }
        assert_eq!(check_description(None), None);
    }

    #[test]
    fn an_account_has_ten_endpoints_and_no_eleventh() {
        assert_eq!(settle_creation(9), Ok(()));
        assert_eq!(settle_creation(10), Err(EndpointRefused::LimitReached));
    }

    #[test]
    fn a_new_endpoint_has_failed_nothing_and_delivered_nothing() {
        let at = Timestamp::from_millis(5);
        let made = Endpoint { consecutive_failures: 0, ..endpoint(Power::On) };
        let again = EndpointInput {
            url: made.url.clone(),
            events: made.events.clone(),
            description: None,
            power: Power::On,
        }
        .into_endpoint(made.id, made.account, made.secret.clone(), at);
        assert_eq!(again, Endpoint { created_at: at, updated_at: at, ..made });
    }

    #[test]
    fn a_change_of_an_endpoint_leaves_alone_what_it_does_not_name() {
        let (at, named) = (Timestamp::from_millis(5), Some("orders".to_owned()));
        let before = || Endpoint { description: named.clone(), ..endpoint(Power::On) };
        let nothing = EndpointChange::default().apply(before(), at).unwrap();
        assert_eq!(nothing, Endpoint { updated_at: at, ..before() });
        let secret = StoredSecret::from(Secret::generate(&SeededRandom::new(2)));
        assert_ne!(secret, before().secret);
        let everything = EndpointChange {
            url: Some("https://example.com/other".to_owned()),
            events: Some(BTreeSet::from([EventType::MessageReceived])),
            description: Some(None),
            power: Some(Power::Off(DisabledReason::ByOwner)),
            secret: Some(SecretChange::ReplaceAtOnce(secret.clone())),
            if_version: IfVersion::Any,
        };
        let expected = Endpoint {
            url: "https://example.com/other".to_owned(),
            events: BTreeSet::from([EventType::MessageReceived]),
            description: None,
            power: Power::Off(DisabledReason::ByOwner),
            secret,
            updated_at: at,
            ..before()
        };
        assert_eq!(everything.apply(before(), at), Ok(expected));
    }
}
