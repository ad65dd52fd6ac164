//! What a send request may ask for, and the rules for its fields.

use std::time::Duration;

use crate::field_error::FieldError;
use crate::idempotency::key::IdempotencyKey;
use crate::ids::{ContactId, ListId, TemplateId};
use crate::lane::Lane;
use crate::phone::split_recipients;
use crate::text::length::MAX_CHARACTERS;
use crate::time::Timestamp;

/// The most numbers in `to`, after splitting.
pub const MAX_TO: usize = 1_000;
/// The most contacts of a list that a send goes to. All of its messages are planned, and answered,
/// at once.
pub const MAX_LIST: usize = 100_000;
/// The most characters of `client_ref`.
pub const MAX_CLIENT_REF: usize = 64;
/// How far ahead a message may be scheduled: 365 days.
pub const FURTHEST_SCHEDULE: Duration = Duration::from_hours(365 * 24);
/// How far in the past `schedule_at` may be and still mean now: 1 minute.
pub const SCHEDULE_GRACE: Duration = Duration::from_mins(1);

/// A request to send one message to many people.
///
/// ```
/// use sms_core::sending::SendRequest;
///
/// let request = SendRequest::new("Your table is ready")
///     .to("07700 900123")
///     .client_ref("booking-42");
/// ```
///
/// A request can also name a template, contacts and lists of the account:
///
/// ```
/// # use sms_core::ids::{ContactId, ListId, TemplateId};
/// use sms_core::sending::SendRequest;
///
/// # fn of(template: TemplateId, list: ListId, contacts: [ContactId; 2]) -> SendRequest {
/// SendRequest::from_template(template).to_list(list).to_contacts(contacts).sender("Bistro")
/// # }
/// ```
#[derive(Clone, PartialEq, Eq, Default)]
#[must_use = "a request does nothing until it is sent"]
#[non_exhaustive]
pub struct SendRequest {
    /// Phone numbers in any common format; each string may hold several, separated by commas or new
    /// lines. At most 1,000 in all.
    pub to: Vec<String>,
    /// Saved contacts of the account.
    pub contact_ids: Vec<ContactId>,
    /// A list of the account, whose contacts all receive the message.
    pub list_id: Option<ListId>,
    /// The text, at most 1,600 characters, with merge fields.
    pub body: String,
    /// The template to use if `body` is empty.
    pub template_id: Option<TemplateId>,
    /// An approved sender name, which recipients see instead of a number but cannot reply to;
    /// `None` for the number.
    pub sender: Option<String>,
    /// When to send, at most a year ahead; `None` for now.
    pub schedule_at: Option<Timestamp>,
    /// The caller's own reference, at most 64 characters.
    pub client_ref: Option<String>,
    /// Whether to add the account's opt-out line.
    pub append_opt_out: bool,
    /// Whether to replace links by tracked short links.
    pub track_links: bool,
    /// The normal lane or bulk; `None` to decide by the number of recipients.
    pub priority: Option<Lane>,
    /// The key by which a repetition of the request is recognised; `None` to send each time.
    pub idempotency_key: Option<IdempotencyKey>,
}

/// Shows how many of each were given, never which.
impl std::fmt::Debug for SendRequest {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("SendRequest")
            .field("numbers", &self.numbers().count())
            .field("contact_ids", &self.contact_ids.len())
            .field("list_id", &self.list_id)
            .field("body_bytes", &self.body.len())
            .field("schedule_at", &self.schedule_at)
            .finish_non_exhaustive()
    }
}

impl SendRequest {
    /// A request to send `body`, without recipients yet.
    pub fn new(body: impl Into<String>) -> Self {
        Self { body: body.into(), ..Self::default() }
    }

    /// A request to send the body of this template, without recipients yet.
    pub fn from_template(template: TemplateId) -> Self {
        Self { template_id: Some(template), ..Self::default() }
    }

    /// Sends to this number, or to several, separated by commas or new lines.
    pub fn to(mut self, numbers: impl Into<String>) -> Self {
        self.to.push(numbers.into());
        self
    }

    /// Sends to these contacts of the account.
    pub fn to_contacts(mut self, contacts: impl IntoIterator<Item = ContactId>) -> Self {
        self.contact_ids.extend(contacts);
        self
    }

    /// Sends to every contact on this list of the account.
    pub fn to_list(mut self, list: ListId) -> Self {
        self.list_id = Some(list);
        self
    }

    /// Shows this approved sender name instead of a number.
    pub fn sender(mut self, name: impl Into<String>) -> Self {
        self.sender = Some(name.into());
        self
    }

    /// Sends at `at` rather than now.
    pub fn schedule_at(mut self, at: Timestamp) -> Self {
        self.schedule_at = Some(at);
        self
    }

    /// Adds the caller's own reference.
    pub fn client_ref(mut self, reference: impl Into<String>) -> Self {
        self.client_ref = Some(reference.into());
        self
    }

    /// Sends in this lane, whatever the recipients.
    pub fn priority(mut self, lane: Lane) -> Self {
        self.priority = Some(lane);
        self
    }

    /// Adds the account's opt-out line.
    pub fn append_opt_out(mut self) -> Self {
        self.append_opt_out = true;
        self
    }

    /// Replaces links by tracked short links.
    pub fn track_links(mut self) -> Self {
        self.track_links = true;
        self
    }

    /// Makes a repetition with the same key return the first answer instead of sending again.
    pub fn idempotency_key(mut self, key: IdempotencyKey) -> Self {
        self.idempotency_key = Some(key);
        self
    }

    /// The numbers in `to`, one by one.
    pub fn numbers(&self) -> impl Iterator<Item = &str> {
        self.to.iter().flat_map(|text| split_recipients(text))
    }

    /// Every rule for single fields that the request breaks; empty if it is valid.
    pub fn check(&self, now: Timestamp) -> Vec<FieldError> {
        let mut errors = Vec::new();
        let numbers = self.numbers().count();
        if numbers > MAX_TO {
            errors.push(FieldError::new("to", "too_many", "to must have at most 1,000 numbers"));
        }
        if numbers == 0 && self.contact_ids.is_empty() && self.list_id.is_none() {
            let message = "give at least one of to, contact_ids and list_id";
            errors.push(FieldError::new("to", "required", message));
        }
        if self.body.is_empty() && self.template_id.is_none() {
            errors.push(FieldError::new("body", "required", "give a body or a template_id"));
        }
        if self.body.chars().count() > MAX_CHARACTERS {
            let message = "body must have at most 1,600 characters";
            errors.push(FieldError::new("body", "too_long", message));
        }
        let has_nul = |text: &String| text.contains('\0');
        for (field, has_nul) in [
            ("to", self.to.iter().any(has_nul)),
            ("body", has_nul(&self.body)),
            ("client_ref", self.client_ref.as_ref().is_some_and(has_nul)),
        ] {
            if has_nul {
                let message = format!("{field} must not contain the character U+0000");
                errors.push(FieldError::new(field, "invalid_character", message));
            }
        }
        if self.client_ref.as_ref().is_some_and(|text| text.chars().count() > MAX_CLIENT_REF) {
            let message = "client_ref must have at most 64 characters";
            errors.push(FieldError::new("client_ref", "too_long", message));
        }
        errors.extend(self.schedule_at.and_then(|at| check_schedule(at, now)));
        errors
    }

    /// When to send the messages; `None` for now, also if the time has just passed.
    pub fn scheduled_at(&self, now: Timestamp) -> Option<Timestamp> {
        self.schedule_at.filter(|at| *at > now)
    }
}

/// Why `at` cannot be a scheduled time; `None` if it can.
pub(crate) fn check_schedule(at: Timestamp, now: Timestamp) -> Option<FieldError> {
    let message = if at < now.minus(SCHEDULE_GRACE) {
        "this time is in the past"
    } else if at > now.plus(FURTHEST_SCHEDULE) {
        "this time is more than 365 days ahead"
    } else {
        return None;
    };
    Some(FieldError::new("schedule_at", "out_of_range", message))
}

#[cfg(test)]
mod tests {
    use super::*;

    const NOW: i64 = 1_763_708_830_123;
    const YEAR: i64 = 365 * 24 * 60 * 60 * 1_000;

    fn fields(request: &SendRequest) -> Vec<String> {
        let errors = request.check(Timestamp::from_millis(NOW));
        errors.into_iter().map(|error| error.field).collect()
    }

    fn good() -> SendRequest {
        SendRequest::new("hello").to("07700 900123")
    }

    #[test]
    fn every_bad_field_is_named_at_once() {
        let request = SendRequest {
            client_ref: Some("x".repeat(65)),
            schedule_at: Some(Timestamp::from_millis(0)),
            ..SendRequest::default()
        };
        assert_eq!(fields(&request), ["to", "body", "client_ref", "schedule_at"]);
    }

    #[test]
    fn each_limit_holds_at_the_limit_and_one_past_it() {
        let numbers = |count: usize| vec!["07700900123,"; count].concat();
        let none: [&str; 0] = [];
        assert_eq!(fields(&SendRequest::new("x").to(numbers(1_000))), none);
        assert_eq!(fields(&SendRequest::new("x").to(numbers(1_001))), ["to"]);
        assert_eq!(fields(&SendRequest::new("é".repeat(1_600)).to("x")), none);
        assert_eq!(fields(&SendRequest::new("é".repeat(1_601)).to("x")), ["body"]);
        assert_eq!(fields(&good().client_ref("é".repeat(64))), none);
        assert_eq!(fields(&good().client_ref("é".repeat(65))), ["client_ref"]);
        for (offset, is_good) in
            [(YEAR, true), (YEAR + 1, false), (-60_000, true), (-60_001, false)]
        {
            let request = good().schedule_at(Timestamp::from_millis(NOW + offset));
            assert_eq!(fields(&request).is_empty(), is_good, "{offset}");
        }
    }

    #[test]
    fn a_schedule_in_the_last_minute_means_now() {
        let now = Timestamp::from_millis(NOW);
        let at = |offset| Timestamp::from_millis(NOW + offset);
        assert_eq!(good().schedule_at(at(-60_000)).scheduled_at(now), None);
        assert_eq!(good().schedule_at(at(0)).scheduled_at(now), None);
        assert_eq!(good().schedule_at(at(1)).scheduled_at(now), Some(at(1)));
    }

    #[test]
    fn the_character_u_0000_which_no_store_can_keep_is_refused() {
        assert_eq!(fields(&SendRequest::new("a\0b").to("07700 900123")), ["body"]);
        assert_eq!(fields(&good().client_ref("a\0b")), ["client_ref"]);
    }

    #[test]
    fn blank_recipients_are_no_recipients() {
        assert_eq!(fields(&SendRequest::new("x").to(" ,\n, ")), ["to"]);
    }
}
