//! Accounts and their API keys.

use std::collections::BTreeSet;

use async_trait::async_trait;
use rusqlite::params;
use sms_core::account::api_key::{KeyHash, KeyRecord};
use sms_core::account::store::{
    AccountStore, ApiKeyStore, KeyCreated, NewAccount, ReadsAccounts, ReadsApiKeys,
};
use sms_core::account::{
    Account, AccountChange, AccountStatus, LocalTime, Mode, QuietHours, Settings, Share,
};
use sms_core::commit::LedgerWrites;
use sms_core::idempotency::{Claim, Once};
use sms_core::ids::{AccountId, ApiKeyId};
use sms_core::page::{Page, PageRequest};
use sms_core::store::{CommitError, StoreError};
use sms_core::time::Timestamp;
use sms_core::version::Changed;

use crate::SqliteStore;
use crate::db::Db;
use crate::error::SqlResult;
use crate::known::Standing;
use crate::page::{before, limit_of};
use crate::row::{Cols, amount, id, maybe_time, mode, time};

const ACCOUNT: &str = "id, name, status, balance, quiet_start, quiet_end, track_links, \
     opt_out_line, opt_out_line_sender, share, created_at, updated_at";
const KEY: &str = "id, account, mode, name, hash, last_four, created_at, last_used_at, revoked_at";

#[async_trait]
impl ReadsAccounts for SqliteStore {
    async fn account_get(&self, account: AccountId) -> Result<Option<Account>, StoreError> {
        self.look("reading an account", move |db| db.account(account)).await
    }

    async fn accounts_among(&self, ids: &[AccountId]) -> Result<Vec<Account>, StoreError> {
        let ids: BTreeSet<AccountId> = ids.iter().copied().collect();
        self.look("reading accounts", move |db| {
            let found: SqlResult<Vec<_>> = ids.into_iter().map(|id| db.account(id)).collect();
            Ok(found?.into_iter().flatten().collect())
        })
        .await
    }

    async fn account_settings(&self, account: AccountId) -> Result<Option<Settings>, StoreError> {
        self.look_cached(&self.caches().settings, account, "reading settings", move |db| {
            Ok(db.account(account)?.map(|account| account.settings))
        })
        .await
    }

    async fn account_list(&self, page: PageRequest) -> Result<Page<Account>, StoreError> {
        let query =
            format!("SELECT {ACCOUNT} FROM account WHERE id < ?1 ORDER BY id DESC LIMIT ?2");
        let rows = self.read("listing accounts", move |db| {
            db.all(&query, params![before(page), limit_of(page)], account)
        });
        Ok(Page::of(rows.await?, page.limit, |account: &Account| account.id))
    }
}

#[async_trait]
impl AccountStore for SqliteStore {
    async fn account_create(
        &self,
        new: NewAccount,
        claim: Option<&Claim>,
    ) -> Result<Once<Account>, StoreError> {
        let NewAccount { account, opening } = new;
        self.once("creating an account", claim, move |db| {
            insert(db, &account)?;
            db.book(LedgerWrites::of(account.id, opening.clone(), account.balance))?;
            Ok(Ok(account.clone()))
        })
        .await
    }

    async fn account_update(
        &self,
        id: AccountId,
        change: AccountChange,
        at: Timestamp,
    ) -> Result<Option<Account>, CommitError<Changed>> {
        self.decide("changing an account", move |db| {
            let Some(before) = db.account(id)? else { return Ok(Ok(None)) };
            match change.clone().apply(before, at) {
                Ok(after) => update(db, &after).map(|()| Ok(Some(after))),
                Err(changed) => Ok(Err(CommitError::Refused(changed))),
            }
        })
        .await
    }
}

impl Db {
    pub(crate) fn account(&self, of: AccountId) -> SqlResult<Option<Account>> {
        let found = self.one(
            "SELECT no, id, name, status, balance, quiet_start, quiet_end, track_links,
                 opt_out_line, opt_out_line_sender, share, created_at, updated_at
             FROM account WHERE id = ?1",
            [id(of)],
            |c| Ok((c.get()?, account(c)?)),
        )?;
        Ok(found.map(|(no, account)| match self.unwritten_balance(no) {
            Some((balance, _)) => Account { balance, ..account },
            None => account,
        }))
    }

    /// What a send needs to know of its account; `None` if there is no such account.
    pub(crate) fn standing(&self, account: AccountId) -> SqlResult<Option<Standing>> {
        let known = self.known.as_ref().and_then(|known| known.standing(account));
        if known.is_some() {
            return Ok(known);
        }
        let mut found = self.one(
            "SELECT no, status, balance, ledger_seq,
                 EXISTS (SELECT 1 FROM opt_out WHERE account = no),
                 EXISTS (SELECT 1 FROM conversation WHERE account = no)
             FROM account WHERE id = ?1",
            [id(account)],
            |c| {
                Ok(Standing {
                    no: c.get()?,
                    status: c.among(&AccountStatus::ALL)?,
                    balance: c.credits()?,
                    ledger_seq: c.get()?,
                    has_opt_outs: c.yes()?,
                    has_conversations: c.yes()?,
                })
            },
        )?;
        if let Some(standing) = &mut found
            && let Some((balance, ledger_seq)) = self.unwritten_balance(standing.no)
        {
            (standing.balance, standing.ledger_seq) = (balance, ledger_seq);
        }
        if let (Some(known), Some(standing)) = (&self.known, found) {
            known.learn_standing(account, standing);
        }
        Ok(found)
    }
}

fn insert(db: &Db, account: &Account) -> SqlResult<()> {
    let Account { id: of, name, status, balance, settings, share, created_at, updated_at } =
        account;
    let Settings { quiet_hours, track_links_default, opt_out_line, opt_out_line_sender } = settings;
    db.run(
        "INSERT INTO account (id, name, status, balance, quiet_start, quiet_end, track_links,
             opt_out_line, opt_out_line_sender, created_at, updated_at, share, ledger_seq)
         VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9, ?10, ?11, ?12, 0)",
        params![
            id(*of),
            name,
            status_code(*status),
            amount(*balance),
            quiet_hours.start.minutes(),
            quiet_hours.end.minutes(),
            track_links_default,
            opt_out_line,
            opt_out_line_sender,
            time(*created_at),
            time(*updated_at),
            share.get()
        ],
    )?;
    Ok(())
}

/// Writes everything but the balance.
fn update(db: &Db, account: &Account) -> SqlResult<()> {
    let Account { id: of, name, status, balance: _, settings, share, created_at: _, updated_at } =
        account;
    let Settings { quiet_hours, track_links_default, opt_out_line, opt_out_line_sender } = settings;
    db.run(
        "UPDATE account SET name = ?2, status = ?3, quiet_start = ?4, quiet_end = ?5,
             track_links = ?6, opt_out_line = ?7, opt_out_line_sender = ?8, updated_at = ?9,
             share = ?10
         WHERE id = ?1",
        params![
            id(*of),
            name,
            status_code(*status),
            quiet_hours.start.minutes(),
            quiet_hours.end.minutes(),
            track_links_default,
            opt_out_line,
            opt_out_line_sender,
            time(*updated_at),
            share.get()
        ],
    )?;
    Ok(())
}

fn account(c: &mut Cols<'_>) -> SqlResult<Account> {
    Ok(Account {
        id: c.id()?,
        name: c.get()?,
        status: c.among(&AccountStatus::ALL)?,
        balance: c.credits()?,
        settings: Settings {
            quiet_hours: QuietHours { start: local_time(c)?, end: local_time(c)? },
            track_links_default: c.yes()?,
            opt_out_line: c.get()?,
            opt_out_line_sender: c.get()?,
        },
        share: c.map(|weight: u16| Share::new(weight).ok())?,
        created_at: c.at()?,
        updated_at: c.at()?,
    })
}

fn local_time(c: &mut Cols<'_>) -> SqlResult<LocalTime> {
    c.map(|minutes: u16| LocalTime::new(minutes / 60, minutes % 60))
}

fn status_code(status: AccountStatus) -> i64 {
    match status {
        AccountStatus::Active => 0,
        AccountStatus::Pending => 1,
        AccountStatus::Suspended => 2,
    }
}

#[async_trait]
impl ReadsApiKeys for SqliteStore {
    async fn api_key_list(&self, account: AccountId) -> Result<Vec<KeyRecord>, StoreError> {
        let query = format!("SELECT {KEY} FROM api_key WHERE account = ?1 ORDER BY id DESC");
        self.read("listing API keys", move |db| {
            let Some(no) = db.account_no(account)? else { return Ok(Vec::new()) };
            db.all(&query, [no], |c| key(db, c))
        })
        .await
    }

    async fn api_key_find(&self, hash: KeyHash) -> Result<Option<KeyRecord>, StoreError> {
        self.look_cached(&self.caches().keys, hash, "finding an API key", move |db| {
            db.one(
                "SELECT id, account, mode, name, hash, last_four, created_at, last_used_at,
                     revoked_at
                 FROM api_key WHERE hash = ?1",
                [hash.as_bytes()],
                |c| key(db, c),
            )
        })
        .await
    }
}

#[async_trait]
impl ApiKeyStore for SqliteStore {
    async fn api_key_create(
        &self,
        key: KeyRecord,
        claim: Option<&Claim>,
    ) -> Result<Once<KeyCreated>, StoreError> {
        let claim = claim.cloned();
        self.write("creating an API key", move |db| {
            if let Some(earlier) = db.earlier(claim.as_ref())? {
                return Ok(Once::Earlier(earlier));
            }
            let Some(account) = db.account_no(key.account)? else {
                return Ok(Once::Done(KeyCreated::NoSuchAccount));
            };
            insert_key(db, account, &key)?;
            db.remember(claim.as_ref(), &key)?;
            Ok(Once::Done(KeyCreated::Created))
        })
        .await
    }

    async fn api_key_revoke(
        &self,
        account: AccountId,
        of: ApiKeyId,
        at: Timestamp,
    ) -> Result<Option<KeyRecord>, StoreError> {
        let query = format!(
            "UPDATE api_key SET revoked_at = coalesce(revoked_at, ?3)
             WHERE account = ?1 AND id = ?2 RETURNING {KEY}"
        );
        self.write("revoking an API key", move |db| {
            let Some(no) = db.account_no(account)? else { return Ok(None) };
            db.one(&query, params![no, id(of), time(at)], |c| key(db, c))
        })
        .await
    }

    async fn api_key_used(
        &self,
        account: AccountId,
        of: ApiKeyId,
        at: Timestamp,
    ) -> Result<(), StoreError> {
        self.write("recording the use of an API key", move |db| {
            let Some(no) = db.account_no(account)? else { return Ok(()) };
            db.run(
                "UPDATE api_key SET last_used_at = ?3 WHERE account = ?1 AND id = ?2",
                params![no, id(of), time(at)],
            )?;
            Ok(())
        })
        .await
    }
}

fn insert_key(db: &Db, account: i64, key: &KeyRecord) -> SqlResult<()> {
    let KeyRecord {
        id: of,
        account: _,
        mode: of_mode,
        name,
        hash,
        last_four,
        created_at,
        last_used_at,
        revoked_at,
    } = key;
    db.run(
        "INSERT INTO api_key (id, account, mode, name, hash, last_four, created_at, last_used_at,
             revoked_at)
         VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9)",
        params![
            id(*of),
            account,
            mode(*of_mode),
            name,
            hash.as_bytes(),
            last_four,
            time(*created_at),
            maybe_time(*last_used_at),
            maybe_time(*revoked_at)
        ],
    )?;
    Ok(())
}

fn key(db: &Db, c: &mut Cols<'_>) -> SqlResult<KeyRecord> {
    Ok(KeyRecord {
        id: c.id()?,
        account: db.account_id(c.get()?)?,
        mode: c.among(&Mode::ALL)?,
        name: c.get()?,
        hash: KeyHash::from_bytes(c.get()?),
        last_four: c.get()?,
        created_at: c.at()?,
        last_used_at: c.maybe_at()?,
        revoked_at: c.maybe_at()?,
    })
}
