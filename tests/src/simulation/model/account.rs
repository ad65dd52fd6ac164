//! Accounts: what each may spend, what it spent, and which numbers have opted out.

use sms_core::account::{Account, AccountChange};
use sms_core::credits::ledger::Cause;
use sms_core::ids::AccountId;
use sms_core::page::{Limit, PageRequest};
use sms_core::time::Timestamp;

use super::record::amount;
use super::{AccountModel, Check, Model, Moment, read};

impl Model {
    /// An account was made.
    pub fn saw_account(&mut self, moment: &Moment<'_>, account: &Account) -> Check {
        self.accounts.insert(account.id, AccountModel::new(account));
        self.check_ledger(moment, account.id)
    }

    /// The operator changed an account.
    pub fn saw_account_update(
        &mut self,
        moment: &Moment<'_>,
        id: AccountId,
        change: AccountChange,
        at: Timestamp,
        answer: Option<&Account>,
    ) -> Check {
        let own = self.accounts.get_mut(&id);
        let must = own.map(|own| {
            own.status = change.status.unwrap_or(own.status);
            own.shown.name = change.name.unwrap_or_else(|| own.shown.name.clone());
            own.shown.updated_at = at;
            own.as_shown()
        });
        ensure!(answer == must.as_ref(), "{id} became {answer:?} and must become {must:?}");
        if must.is_some() { self.check_ledger(moment, id) } else { Ok(()) }
    }

    /// The operator changed a balance, or was refused.
    pub fn saw_adjustment(
        &mut self,
        moment: &Moment<'_>,
        id: AccountId,
        change: i64,
        answer: Option<u64>,
    ) -> Check {
        let Some(own) = self.accounts.get_mut(&id) else {
            ensure!(answer.is_none(), "credits were given to {id}, which does not exist");
            return Ok(());
        };
        let fits = own.balance + change >= 0;
        ensure!(answer.is_some() == fits, "a change by {change} of {} has {answer:?}", own.balance);
        if fits {
            own.granted += change;
            own.book_entry(if change < 0 { Cause::Adjustment } else { Cause::TopUp }, change);
            let balance = own.balance;
            ensure!(answer.map(amount) == Some(balance), "{answer:?} was told for {balance}");
        }
        self.check_ledger(moment, id)
    }

    /// Checks that balance, ledger, reserved and spent credits agree.
    pub fn check_ledger(&mut self, moment: &Moment<'_>, id: AccountId) -> Check {
        let own = self.accounts.get_mut(&id).ok_or_else(|| format!("no account {id}"))?;
        let kept = read(moment.books.account_get(id))?.ok_or_else(|| format!("{id} vanished"))?;
        let balance = amount(kept.balance.get());
        ensure!(balance == own.balance, "{id} has {balance} credits and must have {}", own.balance);
        ensure!(kept == own.as_shown(), "{kept:?} is kept for {:?}", own.as_shown());
        ensure!(own.balance >= 0, "{id} has {} credits", own.balance);
        ensure!(
            own.balance + own.reserved + own.spent + own.rented == own.granted,
            "{id}: balance {}, reserved {}, spent {} and rented {} do not make {}",
            own.balance,
            own.reserved,
            own.spent,
            own.rented,
            own.granted
        );
        let new = own.ledger.len() - own.compared;
        let limit = Limit::new(u32::try_from(new + 1).unwrap_or(u32::MAX)).unwrap_or(Limit::EXPORT);
        let page = read(moment.books.ledger_list(id, PageRequest { limit, after: None }))?;
        own.compare(page.items).map_err(|what| format!("{id}: {what}"))
    }
}
