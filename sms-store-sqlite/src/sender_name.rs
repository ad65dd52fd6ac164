//! Sender names.

use async_trait::async_trait;
use rusqlite::params;
use sms_core::idempotency::{Claim, Once};
use sms_core::ids::AccountId;
use sms_core::page::{Page, PageRequest};
use sms_core::sender_name::review::{ReviewPlan, ReviewRefused};
use sms_core::sender_name::store::{NamesWanted, ReadsSenderNames, SenderNameStore};
use sms_core::sender_name::{ReviewStatus, SenderName, SenderNameExists, settle_request};
use sms_core::store::{CommitError, StoreError};

use crate::SqliteStore;
use crate::db::Db;
use crate::error::SqlResult;
use crate::page::{before, limit_of};
use crate::row::{Cols, id, maybe_time, time};

/// The columns that [`name`] reads.
macro_rules! name_columns {
    () => {
        "SELECT id, account, value, purpose, status, reason, created_at, reviewed_at \
         FROM sender_name "
    };
}

#[async_trait]
impl ReadsSenderNames for SqliteStore {
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
        let rows = self.read("listing sender names for review", move |db| match status {
            Some(status) => db.all(
                concat!(
                    name_columns!(),
                    "INDEXED BY sender_name_by_status
                     WHERE status = ?1 AND id < ?2 ORDER BY id DESC LIMIT ?3"
                ),
                params![code(status), before(page), limit_of(page)],
                |c| name(db, c),
            ),
            None => db.all(
                concat!(name_columns!(), "WHERE id < ?1 ORDER BY id DESC LIMIT ?2"),
                params![before(page), limit_of(page)],
                |c| name(db, c),
            ),
        });
        Ok(Page::of(rows.await?, page.limit, |name: &SenderName| name.id))
    }
}

#[async_trait]
impl SenderNameStore for SqliteStore {
    async fn sender_name_create(
        &self,
        name: SenderName,
        claim: Option<&Claim>,
    ) -> Result<Once<SenderName>, CommitError<SenderNameExists>> {
        self.once("requesting a sender name", claim, move |db| {
            if let Err(refused) = settle_request(&same_names(db, &name)?) {
                return Ok(Err(refused));
            }
            put(db, &name)?;
            Ok(Ok(name.clone()))
        })
        .await
    }

    async fn sender_name_review(
        &self,
        plan: ReviewPlan,
    ) -> Result<SenderName, CommitError<ReviewRefused>> {
        self.decide("reviewing a sender name", move |db| {
            let query = concat!(name_columns!(), "WHERE id = ?1");
            let found = db.one(query, [id(plan.id)], |c| name(db, c))?;
            let same = match &found {
                Some(name) => same_names(db, name)?,
                None => Vec::new(),
            };
            match plan.settle(found.as_ref(), &same) {
                Ok(decided) => {
                    put(db, &decided)?;
                    Ok(Ok(decided))
                }
                Err(refused) => Ok(Err(CommitError::Refused(refused))),
            }
        })
        .await
    }
}

impl SqliteStore {
    async fn all_sender_names(&self, account: AccountId) -> Result<Vec<SenderName>, StoreError> {
        self.read("listing sender names", move |db| {
            let Some(no) = db.account_no(account)? else { return Ok(Vec::new()) };
            db.all(concat!(name_columns!(), "WHERE account = ?1 ORDER BY id DESC"), [no], |c| {
                name(db, c)
            })
        })
        .await
    }

    async fn approved_sender_names(
        &self,
        account: AccountId,
    ) -> Result<Vec<SenderName>, StoreError> {
        let (names, doing) = (&self.caches().sender_names, "reading approved sender names");
        let found = self.look_cached(names, account, doing, move |db| {
            let Some(no) = db.account_no(account)? else { return Ok(None) };
            let query = concat!(name_columns!(), "WHERE account = ?1 AND status = ?2");
            db.all(query, [no, code(ReviewStatus::Approved)], |c| name(db, c)).map(Some)
        });
        Ok(found.await?.unwrap_or_default())
    }
}

impl Db {
    /// Whether an account has an approved name with this folded value.
    pub(crate) fn is_name_approved(&self, account: i64, folded: &str) -> SqlResult<bool> {
        self.has(
            "SELECT 1 FROM sender_name INDEXED BY sender_name_by_value
             WHERE account = ?1 AND folded = ?2 AND status = ?3",
            params![account, folded, code(ReviewStatus::Approved)],
        )
    }
}

/// The account's sender names that equal this one, ignoring case.
fn same_names(db: &Db, of: &SenderName) -> SqlResult<Vec<SenderName>> {
    let no = db.known_account(of.account)?;
    let query = concat!(name_columns!(), "WHERE account = ?1 AND folded = ?2 ORDER BY id DESC");
    db.all(query, params![no, of.value.folded()], |c| name(db, c))
}

fn code(status: ReviewStatus) -> i64 {
    match status {
        ReviewStatus::Pending => 0,
        ReviewStatus::Approved => 1,
        ReviewStatus::Rejected => 2,
    }
}

fn put(db: &Db, name: &SenderName) -> SqlResult<()> {
    let SenderName { id: of, account, value, purpose, status, reason, created_at, reviewed_at } =
        name;
    db.run(
        "INSERT OR REPLACE INTO sender_name (id, account, value, folded, purpose, status, reason,
             created_at, reviewed_at)
         VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9)",
        params![
            id(*of),
            db.known_account(*account)?,
            value.as_str(),
            value.folded(),
            purpose,
            code(*status),
            reason,
            time(*created_at),
            maybe_time(*reviewed_at)
        ],
    )?;
    Ok(())
}

fn name(db: &Db, c: &mut Cols<'_>) -> SqlResult<SenderName> {
    Ok(SenderName {
        id: c.id()?,
        account: db.account_id(c.get()?)?,
        value: c.name()?,
        purpose: c.get()?,
        status: c.among(&ReviewStatus::ALL)?,
        reason: c.get()?,
        created_at: c.at()?,
        reviewed_at: c.maybe_at()?,
    })
}
