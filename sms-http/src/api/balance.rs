//! `GET /balance`: the balance of an account, and whether it may send.

use poem::web::Data;
use poem_openapi::{Object, OpenApi};
use sms_core::Sms;
use sms_core::account::AccountStatus;
use sms_core::service::Caller;

use super::tag::Tag;
use crate::web::choice::Named;
use crate::web::envelope::Answer;
use crate::web::error::ApiError;

/// The balance of an account.
#[derive(Debug, Object)]
#[oai(example)]
struct Balance {
    /// The balance. One credit pays for one segment.
    credits: u64,
    /// Whether the account may send.
    account_status: Named<AccountStatus>,
}

impl poem_openapi::types::Example for Balance {
    fn example() -> Self {
        Self { credits: 1_000, account_status: Named(AccountStatus::Active) }
    }
}

/// The handler of `/balance`.
#[derive(Debug)]
pub struct BalanceApi {
    sms: Sms,
}

impl BalanceApi {
    pub(super) fn new(sms: Sms) -> Self {
        Self { sms }
    }
}

#[OpenApi(tag = "Tag::Account")]
impl BalanceApi {
    /// Read the balance
    ///
    /// The balance, and whether the account may send.
    #[oai(path = "/balance", method = "get", operation_id = "balance_get")]
    async fn get(&self, caller: Data<&Caller>) -> Result<Answer<Balance>, ApiError> {
        let account = self.sms.account(caller.account, caller.mode).get().await?;
        Ok(Answer::new(Balance {
            credits: account.balance.get(),
            account_status: Named(account.status),
        }))
    }
}
