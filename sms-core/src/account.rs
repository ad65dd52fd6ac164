//! Accounts: who sends, whether they may send, and their settings.

use crate::credits::Credits;
use crate::ids::AccountId;
use crate::setters::setters;
use crate::time::Timestamp;
use crate::version::{Changed, IfVersion, Version, Versioned};

pub mod api_key;
pub mod settings;
pub(crate) mod share;
pub mod status;
pub mod store;

pub use crate::mode::Mode;
pub use settings::{LocalTime, QuietHours, Settings};
pub use share::{NotAShare, Share};
pub use status::AccountStatus;

/// An account as a store keeps it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Account {
    /// The id of the account.
    pub id: AccountId,
    /// The name that the operator gave the account.
    pub name: String,
    /// Whether the account may send.
    pub status: AccountStatus,
    /// The credits that the account can spend; always the sum of its ledger.
    pub balance: Credits,
    /// The settings that the account can change.
    pub settings: Settings,
    /// Its weight among accounts whose messages wait for the same route.
    pub share: Share,
    /// When the operator created the account.
    pub created_at: Timestamp,
    /// When name, status or settings last changed.
    pub updated_at: Timestamp,
}

/// What the operator sets, but not the balance.
impl Versioned for Account {
    const KIND: &'static str = "account";

    fn version(&self) -> Version {
        let Self { id, name, status, balance: _, settings, share, .. } = self;
        Version::of(Self::KIND, id, |fields| {
            fields.add("name", [name]);
            fields.add("status", [status.as_str()]);
            settings.meaning(fields);
            fields.add("share", [share.to_string()]);
        })
    }
}

/// A change of an account by the operator. `None` leaves a value as it is.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct AccountChange {
    /// The new name, for the operator: 1 to 200 characters.
    pub name: Option<String>,
    /// The new status. Messages that wait are checked against it when they are claimed.
    pub status: Option<AccountStatus>,
    /// Changes of single settings.
    pub settings: settings::SettingsChange,
    /// A new weight among accounts whose messages wait.
    pub share: Option<Share>,
    /// The versions on which the change may be made.
    pub if_version: IfVersion,
}

impl AccountChange {
    /// The account after the change, made at `at`, given the account that the store found under
    /// its lock.
    ///
    /// # Errors
    ///
    /// The account has another version than the change was made on.
    pub fn apply(self, account: Account, at: Timestamp) -> Result<Account, Changed> {
        let Self { name, status, settings, share, if_version } = self;
        if_version.check(&account)?;
        Ok(Account {
            name: name.unwrap_or(account.name),
            status: status.unwrap_or(account.status),
            settings: settings.apply(account.settings),
            share: share.unwrap_or(account.share),
            updated_at: at,
            ..account
        })
    }
}

setters! { AccountChange {
    /// Replaces the name: 1 to 200 characters.
    name(name: impl Into<String>) = Some(name.into());
    /// Replaces the status, which decides whether the account may send.
    status(status: AccountStatus) = Some(status);
    /// Replaces the weight that the account has among those whose messages wait.
    share(share: Share) = Some(share);
    /// Changes the settings that `change` names, and leaves the others.
    settings(change: settings::SettingsChange) = change;
    /// Makes the change on this version only.
    if_version(version: impl Into<IfVersion>) = version.into();
} }

#[cfg(test)]
mod tests {
    use super::*;
    use crate::account::settings::SettingsChange;
    use crate::samples::{account, credits, now};

    #[test]
    fn a_change_of_an_account_keeps_the_values_it_does_not_name() {
        let nothing = AccountChange::default().apply(account(), now()).unwrap();
        assert_eq!(nothing, Account { updated_at: now(), ..account() });
        let change = AccountChange {
            name: Some("Brasserie".to_owned()),
            status: Some(AccountStatus::Suspended),
            settings: SettingsChange { track_links_default: Some(true), ..Default::default() },
            share: Share::new(3).ok(),
            if_version: IfVersion::Any,
        };
        let changed = change.apply(account(), now()).unwrap();
        let expected = Account {
            name: "Brasserie".to_owned(),
            status: AccountStatus::Suspended,
            settings: Settings { track_links_default: true, ..Settings::default() },
            share: Share::new(3).unwrap(),
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
