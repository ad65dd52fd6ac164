//! Accounts, keys and numbers for a measurement.

use std::sync::Arc;
use std::time::Duration;

use sms_core::Sms;
use sms_core::account::Mode;
use sms_core::ids::AccountId;
use sms_core::service::operator::{NewAccountInput, NumberInput};
use sms_core::time::Timestamp;
use sms_store_postgres::{PgSettings, PgStore};
use sqlx::PgPool;

use crate::Failed;
use crate::taker::Taker;

/// A service over a new database, with accounts that have credits, a live key and a number.
pub(crate) struct Stock {
    pub(crate) sms: Sms,
    pub(crate) accounts: Vec<(AccountId, String)>,
    /// For looking at what is there.
    pub(crate) pool: PgPool,
}

pub(crate) async fn stock(url: &str, accounts: usize) -> Result<Stock, Failed> {
    let store = PgStore::connect(url, PgSettings::default()).await?;
    store.migrate().await?;
    let sms = Sms::builder(Arc::new(store)).route(Arc::new(Taker::new())).build();
    let accounts = people(&sms, accounts).await?;
    Ok(Stock { sms, accounts, pool: PgPool::connect(url).await? })
}

/// Makes a number to send from, and accounts with credits and a live key.
pub(crate) async fn people(sms: &Sms, accounts: usize) -> Result<Vec<(AccountId, String)>, Failed> {
    let operator = sms.operator();
    operator.number_create(NumberInput::shared("07700 900000")).await?;
    let mut made = Vec::new();
    for index in 0..accounts {
        let input = NewAccountInput::active(format!("Account {index}"), 1_000_000_000);
        let account = operator.account_create(input).await?;
        let made_key = operator.api_key_create(account.id, Mode::Live, None).await?;
        made.push((account.id, made_key.key.reveal().to_owned()));
    }
    Ok(made)
}

/// The thousand numbers that belong to nobody.
pub(crate) fn drama_numbers() -> Vec<String> {
    (0..1_000).map(|index| format!("07700900{index:03}")).collect()
}

/// A day ahead: accepted, and left alone by the workers.
pub(crate) fn later(sms: &Sms) -> Timestamp {
    sms.now().plus(Duration::from_hours(24))
}
