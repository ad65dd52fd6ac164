//! Sender names: names shown in place of a number, once the operator has approved them.
//!
//! A name belongs to one account. The account requests it, the operator approves or rejects it
//! ([`review`]), and only approved names can send. Names are compared without regard to case.

use std::fmt;
use std::ops::RangeInclusive;
use std::str::FromStr;

use crate::idempotency::{Answer, Born};
use crate::ids::{AccountId, SenderNameId};
use crate::time::Timestamp;

pub mod likeness;
pub mod review;
pub(crate) mod status;
pub mod store;

pub use status::ReviewStatus;

/// The permitted length of a name, in characters. 11 is the maximum of an alphanumeric address
/// (3GPP TS 23.040, 9.1.2.5).
pub const VALUE_CHARACTERS: RangeInclusive<usize> = 3..=11;
/// The maximum length of a purpose or a reason, in characters.
pub const MAX_REMARK: usize = 500;

/// A name that networks accept. Two values are equal only if written alike; see
/// [`same_as`](Self::same_as).
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SenderValue(String);

/// Why a text cannot be a sender name.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub enum NotASenderName {
    /// It has fewer than 3 characters.
    #[error("a sender name must have at least 3 characters")]
    TooShort,
    /// It has more than 11 characters.
    #[error("a sender name may have at most 11 characters")]
    TooLong,
    /// It contains characters that networks do not accept, or no letter.
    #[error(
        "a sender name consists of letters, digits, &._- and inner spaces, with at least one letter"
    )]
    InvalidFormat,
}

impl NotASenderName {
    /// The error code of the field.
    pub fn code(self) -> &'static str {
        match self {
            Self::TooShort => "too_short",
            Self::TooLong => "too_long",
            Self::InvalidFormat => "invalid_format",
        }
    }
}

impl FromStr for SenderValue {
    type Err = NotASenderName;

    fn from_str(text: &str) -> Result<Self, NotASenderName> {
        let length = text.chars().count();
        if length < *VALUE_CHARACTERS.start() {
            return Err(NotASenderName::TooShort);
        }
        if length > *VALUE_CHARACTERS.end() {
            return Err(NotASenderName::TooLong);
        }
        let may_stand = |c: char| c.is_ascii_alphanumeric() || " &._-".contains(c);
        let has_letter = text.contains(|c: char| c.is_ascii_alphabetic());
        if !text.chars().all(may_stand) || !has_letter || text.trim() != text {
            return Err(NotASenderName::InvalidFormat);
        }
        Ok(Self(text.to_owned()))
    }
}

impl SenderValue {
    /// The name as it is shown.
    pub fn as_str(&self) -> &str {
        &self.0
    }

    /// The form in which names that differ only in case are equal.
    pub fn folded(&self) -> String {
        folded(&self.0)
    }

    /// Whether the text is this name, regardless of case.
    pub fn same_as(&self, text: &str) -> bool {
        self.0.eq_ignore_ascii_case(text)
    }
}

impl fmt::Display for SenderValue {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

/// A text in the form in which sender names are compared: ASCII lower case.
pub fn folded(text: &str) -> String {
    text.to_ascii_lowercase()
}

/// A name that an account has requested.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SenderName {
    /// The id of the request.
    pub id: SenderNameId,
    /// The account that requested the name.
    pub account: AccountId,
    /// The name as recipients see it, 3 to 11 characters.
    pub value: SenderValue,
    /// What the account wants it for, at most 500 characters; `None` if not given.
    pub purpose: Option<String>,
    /// The operator's decision, or that it is pending.
    pub status: ReviewStatus,
    /// The operator's reason, at most 500 characters; `None` if not given.
    pub reason: Option<String>,
    /// When the account requested the name.
    pub created_at: Timestamp,
    /// When the operator last decided; `None` if not yet.
    pub reviewed_at: Option<Timestamp>,
}

impl SenderName {
    /// A name that awaits review.
    pub fn requested(
        id: SenderNameId,
        account: AccountId,
        value: SenderValue,
        purpose: Option<String>,
        at: Timestamp,
    ) -> Self {
        Self {
            id,
            account,
            value,
            purpose,
            status: ReviewStatus::Pending,
            reason: None,
            created_at: at,
            reviewed_at: None,
        }
    }

    /// Whether it blocks another request for the same name: it is pending or approved.
    pub fn is_live(&self) -> bool {
        self.status != ReviewStatus::Rejected
    }
}

/// A repetition returns the name as it was created.
impl Answer for SenderName {
    type Kept = Born<SenderNameId>;

    fn kept(&self) -> Self::Kept {
        Born { id: self.id, at: self.created_at }
    }
}

/// The account already has this name, or its review is pending.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[error("the account already has this sender name, or its review is pending")]
pub struct SenderNameExists;

/// The verdict on a request for a name, given the account's names with the same folded value.
pub fn settle_request<'a>(
    same: impl IntoIterator<Item = &'a SenderName>,
) -> Result<(), SenderNameExists> {
    if same.into_iter().any(SenderName::is_live) { Err(SenderNameExists) } else { Ok(()) }
}

/// The account's approved name that a send requests, regardless of case; `None` if there is none.
pub fn approved<'a>(names: &'a [SenderName], wanted: &str) -> Option<&'a SenderValue> {
    let is_approved = |name: &&SenderName| name.status == ReviewStatus::Approved;
    names.iter().filter(is_approved).map(|name| &name.value).find(|value| value.same_as(wanted))
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::NotASenderName as N;
    use super::ReviewStatus as S;
    use super::*;
    use crate::samples::{account_id, now};

    fn name(value: &str, status: ReviewStatus) -> SenderName {
        let value = value.parse().unwrap();
        let id = SenderNameId::from_u128(1);
        SenderName { status, ..SenderName::requested(id, account_id(), value, None, now()) }
    }

    #[test]
    fn a_name_has_3_to_11_characters_that_networks_accept() {
        for good in ["abc", "Bistro & Co", "A-1", "x.y", "O_o", "123456789ab", "&a&", "1 a"] {
            assert_eq!(good.parse::<SenderValue>().map(|v| v.to_string()), Ok(good.to_owned()));
        }
        for (bad, reason) in [
            ("", N::TooShort),
            ("ab", N::TooShort),
            ("Bistro & Co.", N::TooLong),
            ("123", N::InvalidFormat),
            ("&._", N::InvalidFormat),
            (" abc", N::InvalidFormat),
            ("abc ", N::InvalidFormat),
            ("Café", N::InvalidFormat),
            ("a\tb", N::InvalidFormat),
            ("a\0b", N::InvalidFormat),
            ("a+b", N::InvalidFormat),
            ("ａbc", N::InvalidFormat),
        ] {
            let refused = bad.parse::<SenderValue>().unwrap_err();
            assert_eq!(refused, reason, "{bad:?}");
            assert!(["too_short", "too_long", "invalid_format"].contains(&refused.code()));
        }
    }

    #[test]
    fn a_name_is_free_unless_it_is_pending_or_approved() {
        let of = |statuses: &[ReviewStatus]| -> Vec<SenderName> {
            statuses.iter().map(|status| name("Bistro", *status)).collect()
        };
        for (statuses, is_free) in [
            (&[][..], true),
            (&[S::Rejected, S::Rejected], true),
            (&[S::Pending], false),
            (&[S::Rejected, S::Approved], false),
        ] {
            assert_eq!(settle_request(&of(statuses)).is_ok(), is_free, "{statuses:?}");
        }
    }

    #[test]
    fn only_an_approved_name_sends_written_as_approved_regardless_of_case() {
        let names = [
            name("Bistro", ReviewStatus::Approved),
            name("Till", ReviewStatus::Pending),
            name("Cafe", ReviewStatus::Rejected),
        ];
        for (wanted, found) in [
            ("Bistro", Some("Bistro")),
            ("BISTRO", Some("Bistro")),
            ("Bistro ", None),
            ("Bistr", None),
            ("", None),
            ("Till", None),
            ("Cafe", None),
        ] {
            assert_eq!(approved(&names, wanted).map(SenderValue::as_str), found, "{wanted}");
        }
    }

    proptest! {
        #[test]
        fn a_text_that_parses_as_a_name_obeys_the_rules(text in "[ -~é]{0,13}") {
            let length = text.chars().count();
            if let Ok(value) = text.parse::<SenderValue>() {
                prop_assert!((3..=11).contains(&length));
                prop_assert!(value.as_str().chars().any(|c| c.is_ascii_alphabetic()));
                prop_assert!(value.same_as(&value.folded()));
                prop_assert_eq!(value.as_str(), &text);
            }
        }
    }
}
