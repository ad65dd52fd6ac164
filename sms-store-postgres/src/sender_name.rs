//! Sender names and their review.
//!
//! Requests and decisions lock the account's row, so that each sees the one before.

use async_trait::async_trait;
use sms_core::idempotency::{Claim, Once};
use sms_core::ids::{AccountId, SenderNameId, SenderNameKind};
use sms_core::page::{Page, PageRequest};
use sms_core::sender_name::review::{ReviewPlan, ReviewRefused};
use sms_core::sender_name::store::{NamesWanted, ReadsSenderNames, SenderNameStore};
use sms_core::sender_name::{ReviewStatus, SenderName, SenderNameExists, settle_request};
use sms_core::store::{CommitError, StoreError};
use sqlx::postgres::PgRow;
use sqlx::{PgConnection, QueryBuilder, Row};
use uuid::Uuid;

use crate::PgStore;
use crate::begin::{begin, give_up};
use crate::credits::lock_balances;
use crate::error::{Context, PgResult};
use crate::row::{Read, time, uuid};

/// The columns of a sender name.
macro_rules! name_columns {
    () => {
        "id, account_id, value, purpose, status, reason, created_at, reviewed_at"
    };
}

fn sender_name(row: &PgRow) -> PgResult<SenderName> {
    row.in_table("sender_name", || {
        Ok(SenderName {
            id: row.id("id")?,
            account: row.id("account_id")?,
            value: row.name("value")?,
            purpose: row.try_get("purpose")?,
            status: row.name("status")?,
            reason: row.try_get("reason")?,
            created_at: row.at("created_at")?,
            reviewed_at: row.maybe_at("reviewed_at")?,
        })
    })
}

fn sender_names(rows: &[PgRow]) -> PgResult<Vec<SenderName>> {
    rows.iter().map(sender_name).collect()
}

#[async_trait]
impl ReadsSenderNames for PgStore {
    async fn sender_name_list(
        &self,
        account: AccountId,
        wanted: NamesWanted,
    ) -> Result<Vec<SenderName>, StoreError> {
        match wanted {
            NamesWanted::All => self.all_sender_names(account).await,
            NamesWanted::Approved => self.approved_sender_names(account).await,
        }
    }

    async fn sender_names_for_review(
        &self,
        status: Option<ReviewStatus>,
        page: PageRequest,
    ) -> Result<Page<SenderName>, StoreError> {
        let doing = "listing sender names for review";
        let before = page.after.map_or(Uuid::max(), |cursor| uuid(cursor.id::<SenderNameKind>()));
        let mut query =
            QueryBuilder::new(concat!("SELECT ", name_columns!(), " FROM sender_name WHERE id < "));
        query.push_bind(before);
        if let Some(status) = status {
            query.push(" AND status = ").push_bind(status.as_str());
        }
        query.push(" ORDER BY id DESC LIMIT ");
        query.push_bind(i64::try_from(page.limit.get() + 1).unwrap_or(i64::MAX));
        let rows = query.build().fetch_all(&self.pool).await.context(doing)?;
        let rows = sender_names(&rows).context(doing)?;
        Ok(Page::of(rows, page.limit, |name: &SenderName| name.id))
    }
}

#[async_trait]
impl SenderNameStore for PgStore {
    async fn sender_name_create(
        &self,
        name: SenderName,
        claim: Option<&Claim>,
    ) -> Result<Once<SenderName>, CommitError<SenderNameExists>> {
        let doing = "requesting a sender name";
        let mut tx = begin(&self.pool).await.context(doing)?;
        lock_balances(&mut tx, [name.account]).await.context(doing)?;
        let same = same_names(&mut tx, name.account, &name.value.folded()).await.context(doing)?;
        if let Err(refused) = settle_request(&same) {
            drop(tx);
            return self.refused(claim, CommitError::Refused(refused)).await;
        }
        insert(&mut tx, &name).await.context(doing)?;
        Ok(self.conclude(tx, claim, name).await.context(doing)?)
    }

    async fn sender_name_review(
        &self,
        plan: ReviewPlan,
    ) -> Result<SenderName, CommitError<ReviewRefused>> {
        let doing = "reviewing a sender name";
        let mut tx = begin(&self.pool).await.context(doing)?;
        // The account and the value of a name never change.
        let found = find(&mut tx, plan.id).await.context(doing)?;
        let same = match &found {
            None => Vec::new(),
            Some(name) => {
                lock_balances(&mut tx, [name.account]).await.context(doing)?;
                let folded = name.value.folded();
                same_names(&mut tx, name.account, &folded).await.context(doing)?
            }
        };
        let name = same.iter().find(|name| name.id == plan.id);
        let decided = match plan.settle(name, &same) {
            Ok(decided) => decided,
            Err(refused) => return Err(give_up(tx, CommitError::Refused(refused)).await),
        };
        update(&mut tx, &decided).await.context(doing)?;
        let committed = tx.commit().await.context(doing);
        // Also after an error: the change may have been committed.
        self.caches.sender_names.forget(&decided.account);
        committed?;
        Ok(decided)
    }
}

impl PgStore {
    async fn all_sender_names(&self, account: AccountId) -> Result<Vec<SenderName>, StoreError> {
        let doing = "listing sender names";
        let rows = sqlx::query(concat!(
            "SELECT ",
            name_columns!(),
            " FROM sender_name WHERE account_id = $1 ORDER BY id DESC"
        ))
        .bind(uuid(account))
        .fetch_all(&self.pool)
        .await
        .context(doing)?;
        sender_names(&rows).context(doing)
    }

    async fn approved_sender_names(
        &self,
        account: AccountId,
    ) -> Result<Vec<SenderName>, StoreError> {
        let ticket = match self.caches.sender_names.get(&account) {
            Ok(names) => return Ok(names),
            Err(ticket) => ticket,
        };
        let doing = "finding an account's sender names";
        let rows = sqlx::query(concat!(
            "SELECT ",
            name_columns!(),
            " FROM sender_name WHERE account_id = $1 AND status = $2 ORDER BY id"
        ))
        .bind(uuid(account))
        .bind(ReviewStatus::Approved.as_str())
        .fetch_all(&self.pool)
        .await
        .context(doing)?;
        let names = sender_names(&rows).context(doing)?;
        self.caches.sender_names.put(ticket, account, names.clone());
        Ok(names)
    }
}

async fn find(connection: &mut PgConnection, id: SenderNameId) -> PgResult<Option<SenderName>> {
    let row = sqlx::query(concat!("SELECT ", name_columns!(), " FROM sender_name WHERE id = $1"))
        .bind(uuid(id))
        .fetch_optional(connection)
        .await?;
    row.as_ref().map(sender_name).transpose()
}

/// An account's names that differ only in case.
async fn same_names(
    connection: &mut PgConnection,
    account: AccountId,
    folded: &str,
) -> PgResult<Vec<SenderName>> {
    let rows = sqlx::query(concat!(
        "SELECT ",
        name_columns!(),
        " FROM sender_name WHERE account_id = $1 AND folded = $2"
    ))
    .bind(uuid(account))
    .bind(folded)
    .fetch_all(connection)
    .await?;
    sender_names(&rows)
}

async fn insert(connection: &mut PgConnection, name: &SenderName) -> PgResult<()> {
    let SenderName { id, account, value, purpose, status, reason, created_at, reviewed_at } = name;
    let insert = sqlx::query(
        "INSERT INTO sender_name (account_id, id, value, folded, purpose, status, reason,
             created_at, reviewed_at)
         VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9)",
    )
    .bind(uuid(*account))
    .bind(uuid(*id))
    .bind(value.as_str())
    .bind(value.folded())
    .bind(purpose)
    .bind(status.as_str())
    .bind(reason)
    .bind(time(*created_at))
    .bind(reviewed_at.map(time));
    insert.execute(connection).await?;
    Ok(())
}

async fn update(connection: &mut PgConnection, name: &SenderName) -> PgResult<()> {
    let update = sqlx::query(
        "UPDATE sender_name SET status = $3, reason = $4, reviewed_at = $5
         WHERE account_id = $1 AND id = $2",
    )
    .bind(uuid(name.account))
    .bind(uuid(name.id))
    .bind(name.status.as_str())
    .bind(&name.reason)
    .bind(name.reviewed_at.map(time));
    update.execute(connection).await?;
    Ok(())
}
