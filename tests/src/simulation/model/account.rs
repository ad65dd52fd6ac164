//! Accounts: what each may spend, what it spent, and which numbers have opted out.

use std::collections::{BTreeMap, BTreeSet, VecDeque};

use sms_core::account::{Account, AccountChange, AccountStatus};
use sms_core::credits::Credits;
use sms_core::credits::ledger::{Cause, Entry};
use sms_core::ids::{AccountId, EndpointId, KeywordId, LedgerEntryId, MessageId};
use sms_core::keyword::{Keyword, Listening};
use sms_core::page::{Limit, PageRequest};
use sms_core::phone::E164;
use sms_core::sending::IdempotencyKey;
use sms_core::time::Timestamp;

use super::book::BookModel;
use super::conversation::InboxModel;
use super::sending::FirstSend;
use super::{Check, Model, Moment, read};

/// The expected state of an account.
#[derive(Debug)]
pub struct AccountModel {
    /// The account as last changed. Its status and balance are in separate fields.
    shown: Account,
    /// Whether it may send.
    pub status: AccountStatus,
    /// What it can spend.
    pub balance: i64,
    /// What the operator gave, less what the operator took.
    pub granted: i64,
    /// Credits taken for messages that are not sent yet.
    pub reserved: i64,
    /// Credits taken for messages that were sent.
    pub spent: i64,
    /// Credits taken for rent.
    pub rented: i64,
    /// The numbers that opted out, and since which step.
    pub opt_outs: BTreeMap<E164, u64>,
    /// How often the opt-outs changed.
    pub opt_out_changes: u64,
    /// Its address book.
    pub book: BookModel,
    /// Its conversations.
    pub inbox: InboxModel,
    /// Its keywords.
    pub keywords: BTreeMap<KeywordId, Keyword>,
    /// Its endpoints.
    pub endpoints: BTreeSet<EndpointId>,
    /// Its texts.
    pub texts: BTreeSet<MessageId>,
    /// The first answers to requests with a key.
    pub sends: BTreeMap<IdempotencyKey, FirstSend>,
    /// Answers whose key was used again after it expired.
    pub replaced_sends: Vec<FirstSend>,
    /// When test messages were made, and how many.
    pub test_texts: VecDeque<(Timestamp, usize)>,
    /// Every entry of its ledger, in order.
    ledger: Vec<(Cause, i64)>,
    /// How many ledger entries were compared with the store's.
    compared: usize,
    /// The last entry compared.
    last_entry: Option<LedgerEntryId>,
}

impl AccountModel {
    /// A new account.
    pub fn new(account: &Account) -> Self {
        let balance = amount(account.balance.get());
        let mut ledger = Vec::new();
        if balance > 0 {
            ledger.push((Cause::TopUp, balance));
        }
        Self {
            shown: account.clone(),
            status: account.status,
            balance,
            granted: balance,
            reserved: 0,
            spent: 0,
            rented: 0,
            opt_outs: BTreeMap::new(),
            opt_out_changes: 0,
            book: BookModel::default(),
            inbox: InboxModel::default(),
            keywords: BTreeMap::new(),
            endpoints: BTreeSet::new(),
            texts: BTreeSet::new(),
            sends: BTreeMap::new(),
            replaced_sends: Vec::new(),
            test_texts: VecDeque::new(),
            ledger,
            compared: 0,
            last_entry: None,
        }
    }

    /// Whether it has an enabled keyword of this word.
    pub fn answers_to(&self, word: &str) -> bool {
        let listens = |keyword: &Keyword| keyword.listening == Listening::On;
        self.keywords.values().any(|keyword| keyword.word.as_str() == word && listens(keyword))
    }

    /// The account as the API must show it.
    fn as_shown(&self) -> Account {
        let balance = Credits::new(self.balance.unsigned_abs()).unwrap_or(Credits::MAX);
        Account { status: self.status, balance, ..self.shown.clone() }
    }

    /// Books an entry.
    pub fn book_entry(&mut self, cause: Cause, amount: i64) {
        self.balance += amount;
        self.ledger.push((cause, amount));
    }

    /// Compares entries, newest first, with those booked last, and fixes their order.
    fn compare(&mut self, mut entries: Vec<Entry>) -> Check {
        let new = self.ledger.len() - self.compared;
        let before = entries.get(new).map(|entry| entry.id);
        ensure!(
            entries.len() >= new && before == self.last_entry,
            "the ledger has entries that nothing explains, or lacks some"
        );
        check_chain(&entries)?;
        if let Some(newest) = entries.first() {
            let left = amount(newest.balance_after.get());
            ensure!(left == self.balance, "the ledger leaves {left}, not {}", self.balance);
            self.last_entry = Some(newest.id);
        }
        entries.truncate(new);
        entries.reverse();
        let mut owed = self.ledger.split_off(self.compared);
        for entry in entries {
            let booked = (entry.cause, entry.amount.get());
            let position = owed.iter().position(|own| *own == booked);
            let position = position.ok_or_else(|| format!("nothing explains {entry:?}"))?;
            self.ledger.push(owed.remove(position));
        }
        self.compared = self.ledger.len();
        Ok(())
    }

    /// Compares the whole ledger, newest first, with all that was ever booked.
    pub fn compare_all(&self, entries: &[Entry]) -> Check {
        check_chain(entries)?;
        let shown = entries.iter().rev().map(|entry| (entry.cause, entry.amount.get()));
        ensure!(shown.eq(self.ledger.iter().copied()), "the ledger is not what was booked");
        let sum: i64 = self.ledger.iter().map(|(_, amount)| amount).sum();
        ensure!(sum == self.balance, "the ledger's sum is {sum} and must be {}", self.balance);
        let mut taken = BTreeSet::new();
        for (cause, _) in &self.ledger {
            let key = match cause {
                Cause::Send { batch, campaign: _ } => (batch.as_u128(), None),
                Cause::Refund { message, .. } => (message.as_u128(), None),
                Cause::Rent { number, due_at } => (number.as_u128(), Some(*due_at)),
                Cause::TopUp | Cause::Adjustment => continue,
            };
            ensure!(taken.insert(key), "booked twice: {cause:?}");
        }
        Ok(())
    }
}

/// Checks that each entry's balance follows from the one before. `entries` is newest first.
fn check_chain(entries: &[Entry]) -> Check {
    for pair in entries.windows(2) {
        let follows = pair[1].balance_after.checked_apply(pair[0].amount);
        ensure!(
            follows == Some(pair[0].balance_after),
            "the balance after {:?} does not follow from {:?}",
            pair[0],
            pair[1]
        );
    }
    Ok(())
}

/// Credits as a number that may be negative.
pub(super) fn amount(credits: u64) -> i64 {
    i64::try_from(credits).unwrap_or(i64::MAX)
}

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
