//! An account and its ledger.

use std::collections::{BTreeMap, BTreeSet, VecDeque};

use sms_core::account::{Account, AccountStatus};
use sms_core::credits::Credits;
use sms_core::credits::ledger::{Cause, Entry};
use sms_core::ids::{EndpointId, KeywordId, LedgerEntryId, MessageId};
use sms_core::keyword::{Keyword, Listening};
use sms_core::phone::E164;
use sms_core::sending::IdempotencyKey;
use sms_core::time::Timestamp;

use super::book::BookModel;
use super::first_send::FirstSend;
use super::inbox::InboxModel;
use super::log::LogModel;
use super::replies::RepliesModel;
use crate::simulation::model::check::Check;

/// The expected state of an account.
#[derive(Debug)]
pub struct AccountModel {
    /// The account as last changed. Its status and balance are in separate fields.
    pub(crate) shown: Account,
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
    /// Their replies.
    pub replies: RepliesModel,
    /// Its endpoints.
    pub endpoints: BTreeSet<EndpointId>,
    /// Its event log.
    pub log: LogModel,
    /// Its messages.
    pub messages: BTreeSet<MessageId>,
    /// The first answers to requests with a key.
    pub sends: BTreeMap<IdempotencyKey, FirstSend>,
    /// Answers whose key was used again after it expired.
    pub replaced_sends: Vec<FirstSend>,
    /// When test messages were made, and how many.
    pub test_messages: VecDeque<(Timestamp, usize)>,
    /// Every entry of its ledger, in order.
    pub(crate) ledger: Vec<(Cause, i64)>,
    /// How many ledger entries were compared with the store's.
    pub(crate) compared: usize,
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
            replies: RepliesModel::default(),
            endpoints: BTreeSet::new(),
            log: LogModel::default(),
            messages: BTreeSet::new(),
            sends: BTreeMap::new(),
            replaced_sends: Vec::new(),
            test_messages: VecDeque::new(),
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
    pub(crate) fn as_shown(&self) -> Account {
        let balance = Credits::new(self.balance.unsigned_abs()).unwrap_or(Credits::MAX);
        Account { status: self.status, balance, ..self.shown.clone() }
    }

    /// Books an entry.
    pub fn book_entry(&mut self, cause: Cause, amount: i64) {
        self.balance += amount;
        self.ledger.push((cause, amount));
    }

    /// Compares entries, newest first, with those booked last, and fixes their order.
    pub(crate) fn compare(&mut self, mut entries: Vec<Entry>) -> Check {
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
pub(crate) fn amount(credits: u64) -> i64 {
    i64::try_from(credits).unwrap_or(i64::MAX)
}
