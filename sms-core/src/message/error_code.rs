//! Why a message failed or was not delivered: the closed list that clients branch on.

use std::fmt;

use serde::{Serialize, Serializer};

use crate::unknown_name::UnknownName;

/// The `error_code` of a message.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum ErrorCode {
    /// The recipient opted out after the message was accepted and before it was sent.
    OptedOut,
    /// The message could not be submitted within its validity, or the network gave up at its end.
    Expired,
    /// The network refused the message.
    RejectedByNetwork,
    /// The network knows no such subscriber.
    UnknownSubscriber,
    /// The handset was off or out of reach.
    AbsentSubscriber,
    /// Any other failure of the network.
    NetworkError,
    /// The account was suspended before the message was sent.
    AccountSuspended,
    /// The message's number was no longer the account's, and the account had no other.
    NoNumber,
    /// The sender name was rejected before the message was sent.
    SenderNotApproved,
}

impl ErrorCode {
    /// Every code, in the order of the specification.
    pub const ALL: [Self; 9] = [
        Self::OptedOut,
        Self::Expired,
        Self::RejectedByNetwork,
        Self::UnknownSubscriber,
        Self::AbsentSubscriber,
        Self::NetworkError,
        Self::AccountSuspended,
        Self::NoNumber,
        Self::SenderNotApproved,
    ];

    /// The stable code of the API.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::OptedOut => "opted_out",
            Self::Expired => "expired",
            Self::RejectedByNetwork => "rejected_by_network",
            Self::UnknownSubscriber => "unknown_subscriber",
            Self::AbsentSubscriber => "absent_subscriber",
            Self::NetworkError => "network_error",
            Self::AccountSuspended => "account_suspended",
            Self::NoNumber => "no_number",
            Self::SenderNotApproved => "sender_not_approved",
        }
    }

    /// The `error_message` of the API, a sentence for people.
    pub fn message(self) -> &'static str {
        match self {
            Self::OptedOut => "The number opted out before the message was sent.",
            Self::Expired => "The message could not be delivered before it expired.",
            Self::RejectedByNetwork => "The network refused the message.",
            Self::UnknownSubscriber => "The network knows no such number.",
            Self::AbsentSubscriber => "The phone was off or out of reach.",
            Self::NetworkError => "The network could not deliver the message.",
            Self::AccountSuspended => "The account was suspended before the message was sent.",
            Self::NoNumber => "The account had no number to send the message from.",
            Self::SenderNotApproved => "The sender name was rejected before the message was sent.",
        }
    }
}

impl fmt::Display for ErrorCode {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.as_str())
    }
}

impl std::str::FromStr for ErrorCode {
    type Err = UnknownName;

    fn from_str(text: &str) -> Result<Self, UnknownName> {
        Self::ALL
            .into_iter()
            .find(|code| code.as_str() == text)
            .ok_or(UnknownName::of("error code"))
    }
}

impl Serialize for ErrorCode {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.serialize_str(self.as_str())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn codes_are_the_documented_ones_and_read_back() {
        let codes = ErrorCode::ALL.map(ErrorCode::as_str);
        assert_eq!(
            codes,
            [
                "opted_out",
                "expired",
                "rejected_by_network",
                "unknown_subscriber",
                "absent_subscriber",
                "network_error",
                "account_suspended",
                "no_number",
                "sender_not_approved",
            ]
        );
        for code in ErrorCode::ALL {
            assert_eq!(code.as_str().parse(), Ok(code));
            assert_eq!(code.to_string(), code.as_str());
            assert_eq!(serde_json::to_value(code).unwrap(), code.as_str());
        }
        assert!("delivered".parse::<ErrorCode>().is_err());
    }
}
