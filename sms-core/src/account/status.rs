//! The status of an account, which decides whether it may send.

use std::fmt;

use crate::mode::Mode;
use crate::unknown_name::UnknownName;

/// The status of an account.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum AccountStatus {
    /// Approved: live and test keys may send.
    Active,
    /// Awaiting approval: test keys may send, live keys may not.
    Pending,
    /// Suspended: neither live nor test keys may send.
    Suspended,
}

/// Why an account may not send.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub enum MayNotSend {
    /// The account awaits approval.
    #[error("the account is pending approval; until then, only test keys can send")]
    Pending,
    /// The account is suspended.
    #[error("the account is suspended; ask the operator to reactivate it")]
    Suspended,
}

impl AccountStatus {
    /// Every status, in the order of the API's documentation.
    pub const ALL: [Self; 3] = [Self::Active, Self::Pending, Self::Suspended];

    /// The name used in the API and by stores.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Active => "active",
            Self::Pending => "pending",
            Self::Suspended => "suspended",
        }
    }

    /// Whether an account with this status may send messages of this mode.
    pub(crate) fn may_send(self, mode: Mode) -> Result<(), MayNotSend> {
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
    fn an_active_account_may_send_and_a_pending_one_only_in_test_mode() {
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
