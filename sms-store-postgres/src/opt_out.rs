//! Opt-outs.

use std::collections::BTreeSet;

use async_trait::async_trait;
use sms_core::ids::AccountId;
use sms_core::opt_out::store::OptOutStore;
use sms_core::phone::E164;
use sms_core::store::StoreError;

use crate::PgStore;
use crate::error::failed;
use crate::row::{Read, digits, uuid};

#[async_trait]
impl OptOutStore for PgStore {
    async fn opt_outs_among(
        &self,
        account: AccountId,
        numbers: &[E164],
    ) -> Result<BTreeSet<E164>, StoreError> {
        let doing = failed("reading opt-outs");
        let rows =
            sqlx::query("SELECT phone FROM opt_out WHERE account_id = $1 AND phone = ANY($2)")
                .bind(uuid(account))
                .bind(numbers.iter().map(|number| digits(*number)).collect::<Vec<_>>())
                .fetch_all(&self.pool)
                .await
                .map_err(&doing)?;
        rows.iter().map(|row| row.number("phone")).collect::<sqlx::Result<_>>().map_err(&doing)
    }
}
