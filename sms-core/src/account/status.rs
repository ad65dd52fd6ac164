//! Whether an account may send.

use std::fmt;

use super::mode::Mode;
use crate::unknown_name::UnknownName;

/// The state of an account.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum AccountStatus {
    /// Approved: sends with either kind of key.
    Active,
    /// Awaiting approval: test keys work, live sends are refused.
    Pending,
    /// Suspended: sends with neither kind of key.
    Suspended,
}

/// Why an account may not send.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub enum MayNotSend {
    /// It awaits approval.
    #[error("the account is pending approval")]
    Pending,
    /// It is suspended.
    #[error("the account is suspended")]
    Suspended,
}

impl AccountStatus {
    /// Every status, in the order of the documentation.
    pub const ALL: [Self; 3] = [Self::Active, Self::Pending, Self::Suspended];

    /// The name used in the API and by stores.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Active => "active",
            Self::Pending => "pending",
            Self::Suspended => "suspended",
        }
    }

    /// Whether an account of this status may send texts of this kind.
    pub fn may_send(self, mode: Mode) -> Result<(), MayNotSend> {
        match (self, mode) {
            (Self::Active, _) | (Self::Pending, Mode::Test) => Ok(()),
            (Self::Pending, Mode::Live) => Err(MayNotSend::Pending),
            (Self::Suspended, _) => Err(MayNotSend::Suspended),
        }
    }
}

impl fmt::Display for AccountStatus {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.as_str())
    }
}

impl std::str::FromStr for AccountStatus {
    type Err = UnknownName;

    fn from_str(text: &str) -> Result<Self, UnknownName> {
        Self::ALL
            .into_iter()
            .find(|status| status.as_str() == text)
            .ok_or(UnknownName::of("account status"))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_an_active_account_sends_and_a_pending_one_tests() {
        for (status, live, test) in [
            (AccountStatus::Active, Ok(()), Ok(())),
            (AccountStatus::Pending, Err(MayNotSend::Pending), Ok(())),
            (AccountStatus::Suspended, Err(MayNotSend::Suspended), Err(MayNotSend::Suspended)),
        ] {
            assert_eq!(status.may_send(Mode::Live), live);
            assert_eq!(status.may_send(Mode::Test), test);
            assert_eq!(status.to_string().parse(), Ok(status));
        }
    }
}
