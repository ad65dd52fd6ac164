//! Accounts whose sends were refused less than a minute ago. Their messages are written after the
//! verdict, not before it, so that a client that keeps retrying leaves no dead rows behind.

use std::collections::HashMap;
use std::time::Duration;

use sms_core::ids::AccountId;
use sms_core::sending::settle::SendRefused;
use sms_core::store::CommitError;
use sms_core::time::Timestamp;

use super::facts::Settled;

/// How long an account is doubted after a refusal.
const DOUBTED_FOR: Duration = Duration::from_mins(1);
/// The most accounts to remember. When there are more, all are forgotten.
const MOST_ACCOUNTS: usize = 10_000;

/// When each account was last refused. A hint: the verdict is the same either way.
#[derive(Default)]
pub(super) struct Doubtful(HashMap<AccountId, Timestamp>);

impl Doubtful {
    pub(super) fn is(&self, account: AccountId, at: Timestamp) -> bool {
        self.0.get(&account).is_some_and(|refused| at.since(*refused) < DOUBTED_FOR)
    }

    pub(super) fn learn(&mut self, account: AccountId, at: Timestamp, settled: &Settled) {
        match settled {
            Settled::Accepted { .. } => {
                if !self.0.is_empty() {
                    self.0.remove(&account);
                }
            }
            Settled::Refused(CommitError::Refused(
                SendRefused::InsufficientCredit { .. }
                | SendRefused::MayNotSend(_)
                | SendRefused::TestMessagesUsedUp { .. },
            )) => {
                if self.0.len() >= MOST_ACCOUNTS {
                    self.0.clear();
                }
                self.0.insert(account, at);
            }
            Settled::Refused(_) | Settled::Replayed(_) => {}
        }
    }
}
