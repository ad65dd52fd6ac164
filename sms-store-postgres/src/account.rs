//! Accounts and their keys.

use async_trait::async_trait;
use sms_core::account::api_key::{KeyHash, KeyRecord};
use sms_core::account::store::{
    AccountStore, ApiKeyStore, KeyCreated, NewAccount, ReadsAccounts, ReadsApiKeys,
};
use sms_core::account::{Account, AccountChange, LocalTime, QuietHours, Settings, Share};
use sms_core::commit::LedgerWrites;
use sms_core::idempotency::{Claim, Once};
use sms_core::ids::{AccountId, ApiKeyId};
use sms_core::page::{Page, PageRequest};
use sms_core::store::{CommitError, StoreError};
use sms_core::time::Timestamp;
use sms_core::version::Changed;
use sqlx::Row;
use sqlx::postgres::PgRow;
use uuid::Uuid;

use crate::PgStore;
use crate::begin::{begin, give_up};
use crate::credits::book;
use crate::error::{Context, PgError, PgResult};
use crate::row::{Read, amount, time, uuid, uuids};

/// The columns of an account.
macro_rules! account_columns {
    () => {
        "id, name, status, balance, quiet_start, quiet_end, track_links_default, opt_out_line, \
         opt_out_line_sender, share, created_at, updated_at"
    };
}

pub(crate) fn account(row: &PgRow) -> PgResult<Account> {
    row.in_table("account", || {
        let local = |column: &str| {
            let minutes = u16::try_from(row.try_get::<i16, _>(column)?).ok();
            let local = minutes.and_then(|minutes| LocalTime::new(minutes / 60, minutes % 60));
            local.ok_or_else(|| PgError::invalid(column))
        };
        Ok(Account {
            id: row.id("id")?,
            name: row.try_get("name")?,
            status: row.name("status")?,
            balance: row.credits("balance")?,
            settings: Settings {
                quiet_hours: QuietHours { start: local("quiet_start")?, end: local("quiet_end")? },
                track_links_default: row.try_get("track_links_default")?,
                opt_out_line: row.try_get("opt_out_line")?,
                opt_out_line_sender: row.try_get("opt_out_line_sender")?,
            },
            share: share(row)?,
            created_at: row.at("created_at")?,
            updated_at: row.at("updated_at")?,
        })
    })
}

fn share(row: &PgRow) -> PgResult<Share> {
    let weight = u16::try_from(row.try_get::<i16, _>("share")?).ok();
    let share = weight.and_then(|weight| Share::new(weight).ok());
    share.ok_or_else(|| PgError::invalid("share"))
}

fn weight(share: Share) -> i16 {
    i16::try_from(share.get()).unwrap_or(i16::MAX)
}

/// The columns of an API key.
macro_rules! key_columns {
    () => {
        "id, account_id, mode, name, hash, last_four, created_at, last_used_at, revoked_at"
    };
}

fn key_hash(row: &PgRow) -> PgResult<KeyHash> {
    let bytes: Result<[u8; 32], _> = row.try_get::<Vec<u8>, _>("hash")?.try_into();
    bytes.map(KeyHash::from_bytes).map_err(|_| PgError::invalid("hash"))
}

fn key(row: &PgRow) -> PgResult<KeyRecord> {
    row.in_table("api_key", || {
        Ok(KeyRecord {
            id: row.id("id")?,
            account: row.id("account_id")?,
            mode: row.mode("mode")?,
            name: row.try_get("name")?,
            hash: key_hash(row)?,
            last_four: row.try_get("last_four")?,
            created_at: row.at("created_at")?,
            last_used_at: row.maybe_at("last_used_at")?,
            revoked_at: row.maybe_at("revoked_at")?,
        })
    })
}

fn minutes(local: LocalTime) -> i16 {
    i16::try_from(local.minutes()).unwrap_or_default()
}

#[async_trait]
impl ReadsAccounts for PgStore {
    async fn account_get(&self, id: AccountId) -> Result<Option<Account>, StoreError> {
        let doing = "reading an account";
        let row =
            sqlx::query(concat!("SELECT ", account_columns!(), " FROM account WHERE id = $1"))
                .bind(uuid(id))
                .fetch_optional(&self.pool)
                .await
                .context(doing)?;
        row.as_ref().map(account).transpose().context(doing)
    }

    async fn accounts_among(&self, ids: &[AccountId]) -> Result<Vec<Account>, StoreError> {
        let doing = "reading accounts";
        let rows = sqlx::query(concat!(
            "SELECT ",
            account_columns!(),
            " FROM account WHERE id = ANY($1) ORDER BY id"
        ))
        .bind(uuids(ids.iter().copied()))
        .fetch_all(&self.pool)
        .await
        .context(doing)?;
        rows.iter().map(account).collect::<PgResult<_>>().context(doing)
    }

    async fn account_settings(&self, id: AccountId) -> Result<Option<Settings>, StoreError> {
        let ticket = match self.caches.settings.get(&id) {
            Ok(settings) => return Ok(Some(settings)),
            Err(ticket) => ticket,
        };
        let settings = self.account_get(id).await?.map(|account| account.settings);
        if let Some(settings) = &settings {
            self.caches.settings.put(ticket, id, settings.clone());
        }
        Ok(settings)
    }

    async fn account_list(&self, page: PageRequest) -> Result<Page<Account>, StoreError> {
        let doing = "listing accounts";
        let before = page
            .after
            .map_or(Uuid::max(), |cursor| uuid(cursor.id::<sms_core::ids::AccountKind>()));
        let rows = sqlx::query(concat!(
            "SELECT ",
            account_columns!(),
            " FROM account WHERE id < $1 ORDER BY id DESC LIMIT $2"
        ))
        .bind(before)
        .bind(i64::try_from(page.limit.get() + 1).unwrap_or(i64::MAX))
        .fetch_all(&self.pool)
        .await
        .context(doing)?;
        let rows: PgResult<Vec<Account>> = rows.iter().map(account).collect();
        Ok(Page::of(rows.context(doing)?, page.limit, |account: &Account| account.id))
    }
}

#[async_trait]
impl AccountStore for PgStore {
    async fn account_create(
        &self,
        new: NewAccount,
        claim: Option<&Claim>,
    ) -> Result<Once<Account>, StoreError> {
        let doing = "creating an account";
        let NewAccount { account, opening } = new;
        let mut tx = begin(&self.pool).await.context(doing)?;
        let inserted = sqlx::query(
            "INSERT INTO account (id, name, status, balance, quiet_start, quiet_end,
                 track_links_default, opt_out_line, opt_out_line_sender, created_at, updated_at,
                 share)
             VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11, $12)
             ON CONFLICT (id) DO NOTHING",
        )
        .bind(uuid(account.id))
        .bind(&account.name)
        .bind(account.status.as_str())
        .bind(amount(account.balance))
        .bind(minutes(account.settings.quiet_hours.start))
        .bind(minutes(account.settings.quiet_hours.end))
        .bind(account.settings.track_links_default)
        .bind(&account.settings.opt_out_line)
        .bind(&account.settings.opt_out_line_sender)
        .bind(time(account.created_at))
        .bind(time(account.updated_at))
        .bind(weight(account.share))
        .execute(&mut *tx)
        .await
        .context(doing)?;
        if inserted.rows_affected() == 0 {
            // Perhaps another server has just made it for the same key.
            tx.rollback().await.context(doing)?;
            let earlier = self.earlier(claim).await.context(doing)?;
            let taken = PgError::Taken("account");
            return earlier.map(Once::Earlier).ok_or(taken).context(doing);
        }
        let ledger = LedgerWrites::of(account.id, opening, account.balance);
        book(&mut tx, ledger, |_| Some(0)).await.context(doing)?;
        self.conclude(tx, claim, account).await.context(doing)
    }

    async fn account_update(
        &self,
        id: AccountId,
        change: AccountChange,
        at: Timestamp,
    ) -> Result<Option<Account>, CommitError<Changed>> {
        let doing = "updating an account";
        let mut tx = begin(&self.pool).await.context(doing)?;
        let row = sqlx::query(concat!(
            "SELECT ",
            account_columns!(),
            " FROM account WHERE id = $1 FOR NO KEY UPDATE"
        ))
        .bind(uuid(id))
        .fetch_optional(&mut *tx)
        .await
        .context(doing)?;
        let Some(row) = row else { return Ok(give_up(tx, None).await) };
        let changed = match change.apply(account(&row).context(doing)?, at) {
            Ok(changed) => changed,
            Err(refused) => return Err(give_up(tx, CommitError::Refused(refused)).await),
        };
        sqlx::query(
            "UPDATE account SET name = $2, status = $3, quiet_start = $4, quiet_end = $5,
                 track_links_default = $6, opt_out_line = $7, opt_out_line_sender = $8,
                 updated_at = $9, share = $10
             WHERE id = $1",
        )
        .bind(uuid(id))
        .bind(&changed.name)
        .bind(changed.status.as_str())
        .bind(minutes(changed.settings.quiet_hours.start))
        .bind(minutes(changed.settings.quiet_hours.end))
        .bind(changed.settings.track_links_default)
        .bind(&changed.settings.opt_out_line)
        .bind(&changed.settings.opt_out_line_sender)
        .bind(time(changed.updated_at))
        .bind(weight(changed.share))
        .execute(&mut *tx)
        .await
        .context(doing)?;
        let committed = tx.commit().await.context(doing);
        self.caches.settings.forget(&id);
        committed?;
        Ok(Some(changed))
    }
}

#[async_trait]
impl ReadsApiKeys for PgStore {
    async fn api_key_list(&self, account: AccountId) -> Result<Vec<KeyRecord>, StoreError> {
        let doing = "listing API keys";
        let rows = sqlx::query(concat!(
            "SELECT ",
            key_columns!(),
            " FROM api_key WHERE account_id = $1 ORDER BY id DESC"
        ))
        .bind(uuid(account))
        .fetch_all(&self.pool)
        .await
        .context(doing)?;
        rows.iter().map(key).collect::<PgResult<_>>().context(doing)
    }

    async fn api_key_find(&self, hash: KeyHash) -> Result<Option<KeyRecord>, StoreError> {
        let ticket = match self.caches.keys.get(&hash) {
            Ok(key) => return Ok(Some(key)),
            Err(ticket) => ticket,
        };
        let Err(unknown_ticket) = self.caches.unknown_keys.get(&hash) else { return Ok(None) };
        let doing = "looking up an API key";
        let row = sqlx::query(concat!("SELECT ", key_columns!(), " FROM api_key WHERE hash = $1"))
            .bind(hash.as_bytes().as_slice())
            .fetch_optional(&self.pool)
            .await
            .context(doing)?;
        let found = row.as_ref().map(key).transpose().context(doing)?;
        match &found {
            Some(key) => self.caches.keys.put(ticket, hash, key.clone()),
            None => self.caches.unknown_keys.put(unknown_ticket, hash, ()),
        }
        Ok(found)
    }
}

#[async_trait]
impl ApiKeyStore for PgStore {
    async fn api_key_create(
        &self,
        key: KeyRecord,
        claim: Option<&Claim>,
    ) -> Result<Once<KeyCreated>, StoreError> {
        let doing = "creating an API key";
        let mut tx = begin(&self.pool).await.context(doing)?;
        let made = sqlx::query(
            "INSERT INTO api_key (hash, account_id, id, mode, name, last_four, created_at)
             SELECT $1, account.id, $3, $4, $5, $6, $7 FROM account WHERE account.id = $2",
        )
        .bind(key.hash.as_bytes().as_slice())
        .bind(uuid(key.account))
        .bind(uuid(key.id))
        .bind(key.mode.as_str())
        .bind(&key.name)
        .bind(&key.last_four)
        .bind(time(key.created_at))
        .execute(&mut *tx)
        .await
        .context(doing)?;
        if made.rows_affected() == 0 {
            give_up(tx, ()).await;
            let earlier = self.earlier(claim).await.context(doing)?;
            return Ok(earlier.map_or(Once::Done(KeyCreated::NoSuchAccount), Once::Earlier));
        }
        let hash = key.hash;
        let once = self.conclude(tx, claim, key).await.context(doing);
        // Also after an error: the key may have been committed.
        self.caches.unknown_keys.forget(&hash);
        Ok(once?.map(|_| KeyCreated::Created))
    }

    async fn api_key_revoke(
        &self,
        account: AccountId,
        id: ApiKeyId,
        at: Timestamp,
    ) -> Result<Option<KeyRecord>, StoreError> {
        let doing = "revoking an API key";
        let row = sqlx::query(concat!(
            "UPDATE api_key SET revoked_at = COALESCE(revoked_at, $3)
             WHERE account_id = $1 AND id = $2 RETURNING ",
            key_columns!(),
        ))
        .bind(uuid(account))
        .bind(uuid(id))
        .bind(time(at))
        .fetch_optional(&self.pool)
        .await
        .context(doing);
        // Also after an error: the update may have been committed.
        self.caches.keys.forget_where(|key| key.account == account && key.id == id);
        row?.as_ref().map(key).transpose().context(doing)
    }

    async fn api_key_used(
        &self,
        account: AccountId,
        id: ApiKeyId,
        at: Timestamp,
    ) -> Result<(), StoreError> {
        let doing = "recording the use of an API key";
        // Reads do this, so it waits neither for the disk nor for a standby.
        let row = sqlx::query(
            "UPDATE api_key SET last_used_at = $3
             FROM (SELECT set_config('synchronous_commit', 'off', true)) AS unwaited
             WHERE account_id = $1 AND id = $2 RETURNING hash",
        )
        .bind(uuid(account))
        .bind(uuid(id))
        .bind(time(at))
        .fetch_optional(&self.pool)
        .await
        .context(doing)?;
        if let Some(row) = row {
            let hash = key_hash(&row).context(doing)?;
            self.caches.keys.change(&hash, |key| key.last_used_at = Some(at));
        }
        Ok(())
    }
}
