//! Credit adjustments by the operator, and the ledger.

use async_trait::async_trait;
use rusqlite::params;
use sms_core::commit::{Booked, LedgerWrites};
use sms_core::credits::adjust::{AdjustPlan, AdjustRefused, Adjusted};
use sms_core::credits::ledger::{Cause, Draft, Entry, Kind};
use sms_core::credits::store::{CreditStore, ReadsCredits};
use sms_core::credits::{Change, Credits};
use sms_core::idempotency::{Claim, Once};
use sms_core::ids::AccountId;
use sms_core::page::{Cursor, Page, PageRequest};
use sms_core::statistics::Tally;
use sms_core::store::{CommitError, StoreError};

use crate::SqliteStore;
use crate::db::Db;
use crate::error::{Missing, SqlResult};
use crate::known::Standing;
use crate::page::limit_of;
use crate::row::{Cols, amount, id, maybe_id, time, whole};

#[async_trait]
impl ReadsCredits for SqliteStore {
    async fn ledger_list(
        &self,
        account: AccountId,
        page: PageRequest,
    ) -> Result<Page<Entry>, StoreError> {
        let end = page.after.map_or(u64::MAX, Cursor::position);
        let rows = self.read("listing a ledger", move |db| {
            let Some(no) = db.account_no(account)? else { return Ok(Vec::new()) };
            db.all(
                "SELECT seq, id, kind, batch_id, message_id, campaign_id, number_id, rent_due_at,
                     amount, balance_after, note, created_at
                 FROM ledger_entry WHERE account = ?1 AND seq < ?2 ORDER BY seq DESC LIMIT ?3",
                params![no, whole(end), limit_of(page)],
                |c| Ok((c.whole()?, entry(c)?)),
            )
        });
        let mut rows = rows.await?;
        let more = rows.len() > page.limit.get();
        rows.truncate(page.limit.get());
        let next = rows.last().filter(|_| more).map(|(seq, _)| Cursor::after_position(*seq));
        Ok(Page { items: rows.into_iter().map(|(_, entry)| entry).collect(), next })
    }
}

#[async_trait]
impl CreditStore for SqliteStore {
    async fn credits_adjust(
        &self,
        plan: AdjustPlan,
        claim: Option<&Claim>,
    ) -> Result<Once<Adjusted>, CommitError<AdjustRefused>> {
        self.once("adjusting credits", claim, move |db| {
            let AdjustPlan { account, draft } = plan.clone();
            let Some(balance) = db.balance(account)? else {
                return Ok(Err(AdjustRefused::NoSuchAccount));
            };
            let mut ledger = LedgerWrites::default();
            match ledger.post(account, balance, vec![draft]) {
                Err(reason) => Ok(Err(reason.into())),
                Ok(balance) => {
                    db.book(ledger)?;
                    Ok(Ok(Adjusted { balance }))
                }
            }
        })
        .await
    }
}

impl Db {
    /// The balance of an account; `None` if there is no such account.
    pub(crate) fn balance(&self, account: AccountId) -> SqlResult<Option<Credits>> {
        Ok(self.standing(account)?.map(|standing| standing.balance))
    }

    /// Posts refunds against the balances of their accounts.
    pub(crate) fn refund(
        &self,
        refunds: impl IntoIterator<Item = (AccountId, Vec<Draft>)>,
    ) -> SqlResult<()> {
        let mut ledger = LedgerWrites::default();
        for (account, drafts) in refunds {
            let Some(balance) = self.balance(account)? else { continue };
            // This cannot overflow: top-ups leave room for refunds.
            let _ = ledger.post(account, balance, drafts);
        }
        self.book(ledger)
    }

    /// Writes ledger entries, balances, and what they count.
    pub(crate) fn book(&self, writes: LedgerWrites) -> SqlResult<()> {
        let LedgerWrites { accounts, tally } = writes;
        for (account, Booked { entries, balance }) in accounts {
            let standing = self.standing(account)?;
            let mut standing = standing.ok_or_else(|| Missing::error("account"))?;
            for entry in &entries {
                standing.ledger_seq += 1;
                insert(self, standing.no, standing.ledger_seq, entry)?;
            }
            self.write_balance_later(standing.no, (balance, standing.ledger_seq));
            if let Some(known) = &self.known {
                known.learn_standing(account, Standing { balance, ..standing });
            }
        }
        self.tally(&tally)
    }

    /// Adds what a commit counts to statistics.
    pub(crate) fn tally(&self, tally: &Tally) -> SqlResult<()> {
        for count in tally.counts() {
            let no = self.known_account(count.account)?;
            self.count(no, count.at, count.counted, count.amount);
        }
        Ok(())
    }
}

fn kind_code(kind: Kind) -> i64 {
    match kind {
        Kind::Send => 0,
        Kind::Refund => 1,
        Kind::Rent => 2,
        Kind::TopUp => 3,
        Kind::Adjustment => 4,
    }
}

fn insert(db: &Db, account: i64, seq: i64, entry: &Entry) -> SqlResult<()> {
    let Entry { id: of, cause, amount: change, balance_after, note, created_at } = entry;
    let (mut batch, mut message, mut campaign, mut number, mut due) =
        (None, None, None, None, None);
    match *cause {
        Cause::Send { batch: of, campaign: its } => {
            (batch, campaign) = (Some(id(of)), maybe_id(its));
        }
        Cause::Refund { message: of, batch: its, campaign: whose } => {
            (message, batch, campaign) = (Some(id(of)), maybe_id(its), maybe_id(whose));
        }
        Cause::Rent { number: of, due_at } => (number, due) = (Some(id(of)), Some(time(due_at))),
        Cause::TopUp | Cause::Adjustment => {}
    }
    db.run(
        "INSERT INTO ledger_entry (account, seq, id, kind, batch_id, message_id, campaign_id,
             number_id, rent_due_at, amount, balance_after, note, created_at)
         VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9, ?10, ?11, ?12, ?13)",
        params![
            account,
            seq,
            id(*of),
            kind_code(cause.kind()),
            batch,
            message,
            campaign,
            number,
            due,
            change.get(),
            amount(*balance_after),
            note,
            time(*created_at)
        ],
    )?;
    Ok(())
}

fn entry(c: &mut Cols<'_>) -> SqlResult<Entry> {
    let of = c.id()?;
    let kind = c.among(&Kind::ALL)?;
    let (batch, message, campaign, number, due) =
        (c.maybe_id()?, c.maybe_id()?, c.maybe_id()?, c.maybe_id()?, c.maybe_at()?);
    let cause = match kind {
        Kind::Send => batch.map(|batch| Cause::Send { batch, campaign }),
        Kind::Refund => message.map(|message| Cause::Refund { message, batch, campaign }),
        Kind::Rent => number.zip(due).map(|(number, due_at)| Cause::Rent { number, due_at }),
        Kind::TopUp => Some(Cause::TopUp),
        Kind::Adjustment => Some(Cause::Adjustment),
    };
    Ok(Entry {
        id: of,
        cause: cause.ok_or_else(|| c.invalid())?,
        amount: c.map(Change::new)?,
        balance_after: c.credits()?,
        note: c.get()?,
        created_at: c.at()?,
    })
}

#[cfg(test)]
mod tests {
    use sms_core::ids::LedgerEntryId;
    use sms_core::time::Timestamp;

    use super::*;
    use crate::open::{MIGRATIONS, in_memory};

    #[test]
    fn a_balance_is_read_as_it_was_booked_before_it_is_written() {
        let connection = in_memory(&MIGRATIONS);
        let insert = "INSERT INTO account (id, name, status, balance, quiet_start, quiet_end,
                 track_links, opt_out_line, opt_out_line_sender, created_at, updated_at, share,
                 ledger_seq)
             VALUES (?1, 'Shop', 1, 7, 0, 0, 0, 0, 0, 0, 0, 1, 3)";
        let account = AccountId::from_u128(1);
        connection.execute(insert, [id(account)]).unwrap();
        let db = Db::new(connection);
        let take = |amount: i64, left| {
            let balance_after = Credits::new(left).unwrap();
            let entry = Entry {
                id: LedgerEntryId::from_u128(left.into()),
                cause: Cause::Adjustment,
                amount: Change::new(-amount).unwrap(),
                balance_after,
                note: None,
                created_at: Timestamp::from_millis(0),
            };
            db.book(LedgerWrites::of(account, Some(entry), balance_after)).unwrap();
        };
        take(2, 5);
        let read = || db.account(account).unwrap().unwrap().balance.get();
        assert_eq!((read(), db.balance(account).unwrap()), (5, Credits::new(5).ok()));
        db.flush().unwrap();
        assert_eq!(read(), 5);
        take(1, 4);
        db.forget();
        assert_eq!(read(), 5, "what was rolled back does not count");
    }
}
