//! Opt-outs.

use std::collections::BTreeSet;

use async_trait::async_trait;
use rusqlite::params;
use sms_core::idempotency::{Claim, Once};
use sms_core::ids::AccountId;
use sms_core::message::filter::Search;
use sms_core::opt_out::store::{OptOutStore, ReadsOptOuts};
use sms_core::opt_out::{Added, OptOut};
use sms_core::page::{OffsetPage, OffsetRequest};
use sms_core::phone::E164;
use sms_core::store::StoreError;

use crate::SqliteStore;
use crate::command::Size;
use crate::db::Db;
use crate::error::SqlResult;
use crate::row::{Cols, digits, size, time, whole};

#[async_trait]
impl ReadsOptOuts for SqliteStore {
    async fn opt_outs_among(
        &self,
        account: AccountId,
        numbers: &[E164],
    ) -> Result<BTreeSet<E164>, StoreError> {
        let numbers = numbers.to_vec();
        self.look("looking up opt-outs", move |db| {
            let Some(no) = db.account_no(account)? else { return Ok(BTreeSet::new()) };
            let mut found = BTreeSet::new();
            for number in numbers {
                if db.is_opted_out(no, number)? {
                    found.insert(number);
                }
            }
            Ok(found)
        })
        .await
    }

    async fn opt_out_list(
        &self,
        account: AccountId,
        search: Option<&Search>,
        wanted: OffsetRequest,
    ) -> Result<OffsetPage<OptOut>, StoreError> {
        let search = search.cloned();
        self.read("listing opt-outs", move |db| {
            let Some(no) = db.account_no(account)? else {
                return Ok(OffsetPage { items: Vec::new(), total: 0 });
            };
            match search {
                None => list(db, no, wanted),
                Some(search) => find(db, no, &search, wanted),
            }
        })
        .await
    }
}

#[async_trait]
impl OptOutStore for SqliteStore {
    async fn opt_out_create(
        &self,
        account: AccountId,
        opt_out: OptOut,
        claim: Option<&Claim>,
    ) -> Result<Once<Added>, StoreError> {
        self.once("opting out", claim, move |db| {
            let no = db.known_account(account)?;
            let existing = db.one(
                "SELECT phone, source, note, created_at FROM opt_out
                 WHERE account = ?1 AND phone = ?2",
                [no, digits(opt_out.phone)],
                read,
            )?;
            let added = opt_out.clone().settle(existing);
            if let Added::New(opt_out) = &added {
                db.add_opt_out(no, opt_out)?;
            }
            Ok(Ok(added))
        })
        .await
    }

    async fn opt_outs_add(
        &self,
        account: AccountId,
        opt_outs: Vec<OptOut>,
    ) -> Result<BTreeSet<E164>, StoreError> {
        self.write_sized("opting out", Size::Portion, move |db| {
            let no = db.known_account(account)?;
            let mut new = BTreeSet::new();
            for opt_out in &opt_outs {
                if !db.is_opted_out(no, opt_out.phone)? {
                    db.add_opt_out(no, opt_out)?;
                    new.insert(opt_out.phone);
                }
            }
            Ok(new)
        })
        .await
    }

    async fn opt_out_delete(&self, account: AccountId, phone: E164) -> Result<bool, StoreError> {
        self.write("removing an opt-out", move |db| {
            let Some(no) = db.account_no(account)? else { return Ok(false) };
            db.remove_opt_out(no, phone)
        })
        .await
    }
}

fn list(db: &Db, account: i64, wanted: OffsetRequest) -> SqlResult<OffsetPage<OptOut>> {
    let count = "SELECT count(*) FROM opt_out WHERE account = ?1";
    let total = db.one(count, [account], |c| c.whole())?.unwrap_or(0);
    let items = db.all(
        "SELECT phone, source, note, created_at FROM opt_out INDEXED BY opt_out_by_time
         WHERE account = ?1 ORDER BY created_at DESC, phone DESC LIMIT ?2 OFFSET ?3",
        params![account, size(wanted.limit.get()), whole(wanted.offset)],
        read,
    )?;
    Ok(OffsetPage { items, total })
}

fn find(
    db: &Db,
    account: i64,
    search: &Search,
    wanted: OffsetRequest,
) -> SqlResult<OffsetPage<OptOut>> {
    let (query, number) = match search {
        Search::Number(number) => (
            "SELECT phone, source, note, created_at FROM opt_out WHERE account = ?1 AND phone = ?2",
            digits(*number),
        ),
        Search::Words(_) => (
            "SELECT phone, source, note, created_at FROM opt_out INDEXED BY opt_out_by_time
             WHERE account = ?1 AND ?2 = 0 ORDER BY created_at DESC, phone DESC",
            0,
        ),
    };
    let mut statement = db.prepare(query)?;
    let mut rows = statement.query([account, number])?;
    // Kept are those of the page alone: the account may have any number.
    let (mut items, mut total) = (Vec::new(), 0);
    while let Some(row) = rows.next()? {
        let one = read(&mut Cols::of(row))?;
        if one.is_found_by(search) {
            total += 1;
            if total > wanted.offset && items.len() < wanted.limit.get() {
                items.push(one);
            }
        }
    }
    Ok(OffsetPage { items, total })
}

fn read(c: &mut Cols<'_>) -> SqlResult<OptOut> {
    Ok(OptOut { phone: c.number()?, source: c.name()?, note: c.get()?, created_at: c.at()? })
}

impl Db {
    pub(crate) fn is_opted_out(&self, account: i64, phone: E164) -> SqlResult<bool> {
        self.has(
            "SELECT 1 FROM opt_out WHERE account = ?1 AND phone = ?2",
            [account, digits(phone)],
        )
    }

    pub(crate) fn add_opt_out(&self, account: i64, opt_out: &OptOut) -> SqlResult<()> {
        let OptOut { phone, source, note, created_at } = opt_out;
        self.run(
            "INSERT OR REPLACE INTO opt_out (account, phone, source, note, created_at)
             VALUES (?1, ?2, ?3, ?4, ?5)",
            params![account, digits(*phone), source.as_str(), note, time(*created_at)],
        )?;
        Ok(())
    }

    pub(crate) fn remove_opt_out(&self, account: i64, phone: E164) -> SqlResult<bool> {
        let delete = "DELETE FROM opt_out WHERE account = ?1 AND phone = ?2";
        Ok(self.run(delete, [account, digits(phone)])? == 1)
    }
}
