//! Balances and the ledger.

use async_trait::async_trait;
use sms_core::commit::LedgerWrites;
use sms_core::credits::adjust::{AdjustPlan, AdjustRefused, Adjusted};
use sms_core::credits::ledger::Entry;
use sms_core::credits::store::{CreditStore, ReadsCredits};
use sms_core::idempotency::{Claim, Once};
use sms_core::ids::AccountId;
use sms_core::page::{Cursor, Page, PageRequest};
use sms_core::store::{CommitError, StoreError};
use sqlx::{PgConnection, Row};

use crate::PgStore;
use crate::begin::{begin, give_up};
use crate::error::{Context, PgResult};
use crate::row::uuid;

mod ledger;

pub(crate) use ledger::{Causes, book, ledger_entry, lock_balances};
use ledger::{entry, entry_columns};

const ADJUSTING: &str = "adjusting credits";

async fn adjust(
    connection: &mut PgConnection,
    plan: AdjustPlan,
) -> Result<Adjusted, CommitError<AdjustRefused>> {
    let AdjustPlan { account, draft } = plan;
    let balances = lock_balances(connection, [account]).await.context(ADJUSTING)?;
    let Some((balance, seq)) = balances.get(&account).copied() else {
        return Err(CommitError::Refused(AdjustRefused::NoSuchAccount));
    };
    let mut ledger = LedgerWrites::default();
    let balance = ledger
        .post(account, balance, vec![draft])
        .map_err(|reason| CommitError::Refused(reason.into()))?;
    book(connection, ledger, |_| Some(seq)).await.context(ADJUSTING)?;
    Ok(Adjusted { balance })
}

#[async_trait]
impl ReadsCredits for PgStore {
    async fn ledger_list(
        &self,
        account: AccountId,
        page: PageRequest,
    ) -> Result<Page<Entry>, StoreError> {
        let doing = "reading the ledger";
        let before = page
            .after
            .map_or(i64::MAX, |cursor| i64::try_from(cursor.position()).unwrap_or(i64::MAX));
        let limit = page.limit.get();
        let rows = sqlx::query(concat!(
            "SELECT ",
            entry_columns!(),
            " FROM ledger_entry WHERE account_id = $1 AND seq < $2
             ORDER BY seq DESC LIMIT $3",
        ))
        .bind(uuid(account))
        .bind(before)
        .bind(i64::try_from(limit + 1).unwrap_or(i64::MAX))
        .fetch_all(&self.pool)
        .await
        .context(doing)?;
        let mut next = None;
        if rows.len() > limit {
            let last: i64 = rows[limit - 1].try_get("seq").context(doing)?;
            next = u64::try_from(last).ok().map(Cursor::after_position);
        }
        let items: PgResult<Vec<Entry>> = rows.iter().take(limit).map(entry).collect();
        Ok(Page { items: items.context(doing)?, next })
    }
}

#[async_trait]
impl CreditStore for PgStore {
    async fn credits_adjust(
        &self,
        plan: AdjustPlan,
        claim: Option<&Claim>,
    ) -> Result<Once<Adjusted>, CommitError<AdjustRefused>> {
        let mut tx = begin(&self.pool).await.context(ADJUSTING)?;
        match adjust(&mut tx, plan).await {
            Ok(adjusted) => Ok(self.conclude(tx, claim, adjusted).await.context(ADJUSTING)?),
            Err(refused) => {
                let refused = give_up(tx, refused).await;
                self.refused(claim, refused).await
            }
        }
    }
}
