//! Accounts: who sends, whether they may, and how they have set things.

use crate::credits::Credits;
use crate::ids::AccountId;
use crate::time::Timestamp;

pub mod api_key;
mod mode;
pub mod settings;
pub mod status;
pub mod store;

pub use mode::Mode;
pub use settings::{LocalTime, QuietHours, Settings};
pub use status::AccountStatus;

/// An account as a store keeps it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Account {
    /// Its id.
    pub id: AccountId,
    /// Its name, for the operator.
    pub name: String,
    /// Whether it may send.
    pub status: AccountStatus,
    /// What it can spend; always the sum of its ledger.
    pub balance: Credits,
    /// Its own settings.
    pub settings: Settings,
    /// When it was made.
    pub created_at: Timestamp,
    /// When name, status or settings last changed.
    pub updated_at: Timestamp,
}

/// What the operator wants changed; what is `None` stays.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct AccountChange {
    /// A new name.
    pub name: Option<String>,
    /// A new status.
    pub status: Option<AccountStatus>,
    /// New settings, each by itself.
    pub settings: settings::SettingsChange,
}

impl AccountChange {
    /// The account as it is after the change.
    #[must_use]
    pub fn apply(self, account: Account, at: Timestamp) -> Account {
        let Self { name, status, settings } = self;
        Account {
            name: name.unwrap_or(account.name),
            status: status.unwrap_or(account.status),
            settings: settings.apply(account.settings),
            updated_at: at,
            ..account
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::account::settings::SettingsChange;
    use crate::samples::{account, credits, now};

    #[test]
    fn a_change_of_an_account_leaves_alone_what_it_does_not_name() {
        let nothing = AccountChange::default().apply(account(), now());
        assert_eq!(nothing, Account { updated_at: now(), ..account() });
        let change = AccountChange {
            name: Some("Brasserie".to_owned()),
            status: Some(AccountStatus::Suspended),
            settings: SettingsChange { track_links_default: Some(true), ..Default::default() },
        };
        let changed = change.apply(account(), now());
        let expected = Account {
            name: "Brasserie".to_owned(),
            status: AccountStatus::Suspended,
            settings: Settings { track_links_default: true, ..Settings::default() },
            updated_at: now(),
            ..account()
        };
        assert_eq!(changed, expected);
        assert_eq!(changed.balance, credits(100), "a balance changes by the ledger alone");
    }

    #[test]
    fn a_mode_has_a_name_and_only_one_of_them_is_a_test() {
        for (mode, name, is_test) in [(Mode::Live, "live", false), (Mode::Test, "test", true)] {
            assert_eq!((mode.to_string(), mode.is_test()), (name.to_owned(), is_test));
        }
    }
}
