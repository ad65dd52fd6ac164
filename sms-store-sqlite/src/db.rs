//! A connection, what it remembers between statements, and short names for running statements.

use std::cell::{Cell, RefCell};
use std::collections::{BTreeMap, HashMap};
use std::sync::OnceLock;

use rusqlite::{CachedStatement, Connection, Params, params};
use sms_core::credits::Credits;
use sms_core::ids::AccountId;
use sms_core::statistics::span::Span;
use sms_core::statistics::{Counted, Counts};
use sms_core::time::Timestamp;

use crate::error::{Missing, SqlResult};
use crate::known::Known;
use crate::row::{Cols, amount, id};

static WATCHING: OnceLock<fn(&str)> = OnceLock::new();

/// Has `see` called with the text of each statement that any store of this program runs from now
/// on. It is there for the test that judges their plans. Only the first call has an effect.
#[doc(hidden)]
pub fn watch_statements(see: fn(&str)) {
    // Only the first call has an effect.
    let _ = WATCHING.set(see);
}

/// A connection of the writer or of a reader.
pub(crate) struct Db {
    pub(crate) sql: Connection,
    /// Accounts by the number of their row. Accounts are never deleted.
    accounts: RefCell<HashMap<AccountId, i64>>,
    account_ids: RefCell<HashMap<i64, AccountId>>,
    /// What is known without reading it, on the writer's connection.
    pub(crate) known: Option<Known>,
    /// What the transaction under way still has to write.
    pending: RefCell<Pending>,
    /// Whether deleted things may have left rows to remove.
    pub(crate) has_chores: Cell<bool>,
}

/// Sums that many commands of one commit add to. They are written once, before the commit.
#[derive(Default)]
struct Pending {
    statistics: BTreeMap<(i64, Span, Timestamp), Counts>,
    /// The largest message id of each stretch.
    stretches: BTreeMap<i64, u128>,
    /// The number of the last command that raised events.
    event_seq: Option<i64>,
    /// Balances, each with the position of the last entry in the ledger.
    balances: BTreeMap<i64, (Credits, i64)>,
}

impl Db {
    pub(crate) fn new(sql: Connection) -> Self {
        sql.set_prepared_statement_cache_capacity(512);
        Self {
            sql,
            accounts: RefCell::default(),
            account_ids: RefCell::default(),
            known: None,
            pending: RefCell::default(),
            // An earlier run may have left some.
            has_chores: Cell::new(true),
        }
    }

    /// A statement, which stays prepared.
    pub(crate) fn prepare(&self, sql: &str) -> SqlResult<CachedStatement<'_>> {
        if let Some(see) = WATCHING.get() {
            see(sql);
        }
        self.sql.prepare_cached(sql)
    }

    /// Runs a statement; returns how many rows it changed.
    pub(crate) fn run(&self, sql: &str, params: impl Params) -> SqlResult<usize> {
        self.prepare(sql)?.execute(params)
    }

    /// The first row of a query.
    pub(crate) fn one<T>(
        &self,
        sql: &str,
        params: impl Params,
        read: impl FnOnce(&mut Cols<'_>) -> SqlResult<T>,
    ) -> SqlResult<Option<T>> {
        let mut statement = self.prepare(sql)?;
        let mut rows = statement.query(params)?;
        rows.next()?.map(|row| read(&mut Cols::of(row))).transpose()
    }

    /// All rows of a query.
    pub(crate) fn all<T>(
        &self,
        sql: &str,
        params: impl Params,
        mut read: impl FnMut(&mut Cols<'_>) -> SqlResult<T>,
    ) -> SqlResult<Vec<T>> {
        let mut statement = self.prepare(sql)?;
        let mut rows = statement.query(params)?;
        let mut all = Vec::new();
        while let Some(row) = rows.next()? {
            all.push(read(&mut Cols::of(row))?);
        }
        Ok(all)
    }

    /// Whether a query has a row.
    pub(crate) fn has(&self, sql: &str, params: impl Params) -> SqlResult<bool> {
        self.prepare(sql)?.exists(params)
    }

    /// The number of an account's row; `None` if there is no such account.
    pub(crate) fn account_no(&self, account: AccountId) -> SqlResult<Option<i64>> {
        if let Some(no) = self.accounts.borrow().get(&account) {
            return Ok(Some(*no));
        }
        let found = self.one("SELECT no FROM account WHERE id = ?1", [id(account)], |c| c.get())?;
        if let Some(no) = found {
            self.accounts.borrow_mut().insert(account, no);
            self.account_ids.borrow_mut().insert(no, account);
        }
        Ok(found)
    }

    /// The number of an account's row, which has to exist.
    pub(crate) fn known_account(&self, account: AccountId) -> SqlResult<i64> {
        self.account_no(account)?.ok_or_else(|| Missing::error("account"))
    }

    /// The id of the account with this row.
    pub(crate) fn account_id(&self, no: i64) -> SqlResult<AccountId> {
        if let Some(account) = self.account_ids.borrow().get(&no) {
            return Ok(*account);
        }
        let found = self.one("SELECT id FROM account WHERE no = ?1", [no], |c| c.id())?;
        let account = found.ok_or_else(|| Missing::error("account"))?;
        self.accounts.borrow_mut().insert(account, no);
        self.account_ids.borrow_mut().insert(no, account);
        Ok(account)
    }

    /// Adds to statistics.
    pub(crate) fn count(&self, account: i64, at: Timestamp, counted: Counted, amount: i64) {
        let mut pending = self.pending.borrow_mut();
        for span in Span::ALL {
            let counts = pending.statistics.entry((account, span, span.beginning(at))).or_default();
            counts.add(counted, amount);
        }
    }

    /// A balance that is not written yet.
    pub(crate) fn unwritten_balance(&self, account: i64) -> Option<(Credits, i64)> {
        self.pending.borrow().balances.get(&account).copied()
    }

    /// Notes a balance, with the position of the last entry in the ledger.
    pub(crate) fn write_balance_later(&self, account: i64, balance: (Credits, i64)) {
        self.pending.borrow_mut().balances.insert(account, balance);
    }

    /// Notes that a message was written to a stretch.
    pub(crate) fn note_stretch(&self, stretch: i64, message: u128) {
        let mut pending = self.pending.borrow_mut();
        let last = pending.stretches.entry(stretch).or_default();
        *last = message.max(*last);
    }

    /// The number of a command that raises events: one more than that of the last.
    pub(crate) fn next_event_seq(&self) -> SqlResult<i64> {
        let known = self.pending.borrow().event_seq;
        let last = match known {
            Some(last) => last,
            None => self
                .one("SELECT seq FROM event_count WHERE is_only = 1", [], |c| c.get())?
                .unwrap_or_default(),
        };
        self.pending.borrow_mut().event_seq = Some(last + 1);
        Ok(last + 1)
    }

    /// Writes what is pending.
    pub(crate) fn flush(&self) -> SqlResult<()> {
        let Pending { statistics, stretches, event_seq, balances } =
            std::mem::take(&mut *self.pending.borrow_mut());
        if let Some(seq) = event_seq {
            self.run("UPDATE event_count SET seq = ?1 WHERE is_only = 1", [seq])?;
        }
        for (account, (balance, ledger_seq)) in balances {
            self.run(
                "UPDATE account SET balance = ?2, ledger_seq = ?3 WHERE no = ?1",
                params![account, amount(balance), ledger_seq],
            )?;
        }
        for ((account, span, at), counts) in statistics {
            self.run(
                "INSERT INTO statistic
                     (account, span, at, sent, delivered, failed, received, credits)
                 VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8)
                 ON CONFLICT DO UPDATE SET sent = sent + excluded.sent,
                     delivered = delivered + excluded.delivered, failed = failed + excluded.failed,
                     received = received + excluded.received, credits = credits + excluded.credits",
                params![
                    account,
                    span as i64,
                    at.as_millis(),
                    counts.sent,
                    counts.delivered,
                    counts.failed,
                    counts.received,
                    counts.credits
                ],
            )?;
        }
        for (stretch, last) in stretches {
            self.run(
                "INSERT INTO stretch (no, last_id) VALUES (?1, ?2)
                 ON CONFLICT DO UPDATE SET last_id = max(last_id, excluded.last_id)",
                params![stretch, last.to_be_bytes()],
            )?;
        }
        Ok(())
    }

    /// Forgets what a transaction that was rolled back may have left.
    pub(crate) fn forget(&self) {
        self.accounts.borrow_mut().clear();
        self.account_ids.borrow_mut().clear();
        if let Some(known) = &self.known {
            known.forget();
        }
        *self.pending.borrow_mut() = Pending::default();
    }
}
