//! Commits plain sends with one statement and no lock: settles them on remembered facts, and writes
//! only if those still hold ([`sms_core::sending::guard`]).
//!
//! This is what a verdict depends on, and what sees to it that a change counts for the next send.
//! `tests/conformance/plans/accepted.rs` has the same table as a test.
//!
//! | What changes | What sees it |
//! |---|---|
//! | the status of the account | `account.version`, by a trigger |
//! | somebody opts out: by the API, or by STOP | `account.version`, by a trigger on `opt_out` |
//! | somebody opts in again | nothing: who is remembered as opted out is looked up again |
//! | a conversation begins | `account.version`, by a trigger on `conversation` |
//! | the balance | the guard compares it, and changes it by what it finds |
//! | the number that held messages are sent from | the guard compares the version of its row |
//! | the sender name that held messages show | such sends are settled with the account locked |
//! | an idempotency key is used | the statement inserts the key, and fails if it exists |
//! | test messages, link codes | such sends are settled with the account locked |
//! | numbers and names of messages that are not held | the claim, as ever |
//! | API keys, contacts, templates, settings | no verdict: they were read for the plan, as ever |
//!
//! What is remembered belongs to one connection. Another one may reach a server that lost commits
//! when it took over, and counts the same versions a second time.

use std::collections::{BTreeMap, BTreeSet, HashMap};

use sms_core::credits::Credits;
use sms_core::credits::ledger::Entry;
use sms_core::dispatch::NameStanding;
use sms_core::ids::{AccountId, BatchId};
use sms_core::message::Message;
use sms_core::number::Number;
use sms_core::phone::E164;
use sms_core::sending::guard::Guarded;
use sms_core::sending::plan::SendPlan;
use sms_core::sending::settle::{DepartureFacts, SendFacts};
use sms_core::statistics::Tally;
use sqlx::{PgConnection, Row};
use tokio::time::Instant;

use super::account::{AccountFacts, Accounts, Lock};
use super::waiting::{Order, Waiting};
use super::write::{Charge, Keyed, Write, write};
use crate::conversation::Moved;
use crate::error::PgResult;
use crate::number::{number, number_columns};
use crate::row::digits;
use crate::rows_query::rows_query;

/// The most accounts and numbers to remember. When there are more, all are forgotten.
const MOST_REMEMBERED: usize = 10_000;

/// What is remembered of accounts that have lately sent, and of the numbers that they sent from.
#[derive(Default)]
pub(super) struct Remembered {
    /// When the connection was opened over which this was read.
    since: Option<Instant>,
    accounts: HashMap<AccountId, AccountFacts>,
    numbers: HashMap<E164, SeenNumber>,
}

#[derive(Clone)]
struct SeenNumber {
    number: Number,
    /// The transaction that wrote the row.
    written_by: String,
}

/// What plans write together under their guards.
#[derive(Default)]
struct Together<'a> {
    plans: Vec<&'a SendPlan>,
    charges: BTreeMap<AccountId, Charge>,
    entries: Vec<(AccountId, Entry)>,
    keys: Vec<Keyed>,
    moved: Moved,
    tally: Tally,
}

impl Remembered {
    /// Forgets what the plans were settled on.
    pub(super) fn forget(&mut self, plans: &[&SendPlan]) {
        for plan in plans {
            self.accounts.remove(&plan.account);
            if let Some(message) = plan.messages.first() {
                self.numbers.remove(&message.from);
            }
        }
    }

    /// Commits the plans with one statement, but for those that remembered facts do not settle.
    /// Returns the balance that each of the others leaves; `None` if nothing was written, because
    /// what was remembered no longer holds.
    pub(super) async fn commit(
        &mut self,
        (connection, opened): (&mut PgConnection, Instant),
        waiting: &[&Waiting],
    ) -> PgResult<Option<Vec<(BatchId, Credits)>>> {
        if self.since != Some(opened) {
            *self = Self { since: Some(opened), ..Self::default() };
        }
        let plain = waiting.iter().map(|one| &one.plan).filter(|plan| plan.is_plain());
        let opted_out = self.read(connection, &plain.collect::<Vec<_>>()).await?;
        let (together, unsettled) = self.settle(waiting, &opted_out);
        // They are settled on what is there, so what is remembered of them may be old.
        self.forget(&unsettled);
        let Together { plans, charges, entries, keys, moved, tally } = together;
        if plans.is_empty() {
            return Ok(Some(Vec::new()));
        }
        let numbers = plans.iter().filter(|plan| plan.held.is_some());
        let numbers: BTreeSet<E164> =
            numbers.filter_map(|plan| Some(plan.messages.first()?.from)).collect();
        let seen = numbers
            .iter()
            .filter_map(|phone| Some((*phone, self.numbers.get(phone)?.written_by.as_str())));
        let seen = seen.collect();
        let (plans, charges) = (plans.as_slice(), &charges);
        let what = Write { plans, charges, entries, keys: &keys, moved: &moved, tally, seen };
        let balances = match write(connection, what).await {
            Ok(balances) => balances,
            // A guard failed, or another transaction was in the way. Nothing was written.
            Err(error) if error.is_conflict() => return Ok(None),
            Err(error) => return Err(error),
        };
        Ok(Some(self.balances(plans, balances)))
    }

    /// The balance after each plan, from the balances after all of them.
    fn balances(
        &mut self,
        plans: &[&SendPlan],
        mut balances: BTreeMap<AccountId, Credits>,
    ) -> Vec<(BatchId, Credits)> {
        for (account, balance) in &balances {
            if let Some(known) = self.accounts.get_mut(account) {
                known.balance = *balance;
            }
        }
        let mut after = Vec::with_capacity(plans.len());
        for plan in plans.iter().rev() {
            let balance = balances.entry(plan.account).or_insert(Credits::ZERO);
            after.push((plan.batch, *balance));
            *balance = balance.checked_add(plan.charge).unwrap_or(Credits::MAX);
        }
        after
    }

    /// Settles the plans in order on what is remembered. Returns what is written, and the plans
    /// that have to be settled with their accounts locked.
    fn settle<'a>(
        &self,
        waiting: &[&'a Waiting],
        opted_out: &BTreeSet<(AccountId, E164)>,
    ) -> (Together<'a>, Vec<&'a SendPlan>) {
        let (mut together, mut unsettled) = (Together::default(), Vec::new());
        let mut late = BTreeSet::new();
        for Waiting { plan, order } in waiting {
            let must_follow = *order == Order::InTurn && late.contains(&plan.account);
            if must_follow || self.settle_one(plan, opted_out, &mut together).is_none() {
                late.insert(plan.account);
                unsettled.push(plan);
            }
        }
        (together, unsettled)
    }

    fn settle_one<'a>(
        &self,
        plan: &'a SendPlan,
        opted_out: &BTreeSet<(AccountId, E164)>,
        together: &mut Together<'a>,
    ) -> Option<()> {
        let account = self.accounts.get(&plan.account)?;
        // Of two plans with the same key the second repeats the first.
        let claims = |keyed: &Keyed| {
            let claim = plan.idempotency.as_ref();
            keyed.account == plan.account && claim.is_some_and(|claim| claim.key == keyed.key)
        };
        if together.keys.iter().any(claims) {
            return None;
        }
        let taken = together.charges.get(&plan.account);
        let taken = taken.map_or(Credits::ZERO, |charge| charge.at_least);
        let is_gone = |text: &Message| opted_out.contains(&(plan.account, text.to));
        let facts = SendFacts {
            status: account.status,
            balance: Credits::new(account.balance.get().checked_sub(taken.get())?).ok()?,
            earlier: None,
            opted_out: plan.messages.iter().any(is_gone),
            codes_taken: false,
            test_messages: Vec::new(),
            has_conversations: account.has_conversations,
            departure: self.departure(plan),
        };
        let Guarded { at_least, entry, remembered, conversations } = plan.settle_guarded(&facts)?;
        let taken = taken.checked_add(at_least)?;
        let new = Charge { version: account.version, at_least: Credits::ZERO, entries: 0 };
        let charge = together.charges.entry(plan.account).or_insert(new);
        charge.at_least = taken;
        if let Some((key, earlier)) = remembered {
            together.keys.push(Keyed { account: plan.account, key, earlier, taken });
        }
        for (number, message) in conversations {
            let newest = together.moved.entry((plan.account, number)).or_insert(message);
            *newest = message.max(*newest);
        }
        if let Some(entry) = entry {
            charge.entries += 1;
            together.tally.entry(plan.account, &entry);
            together.entries.push((plan.account, entry));
        }
        together.plans.push(plan);
        Some(())
    }

    /// Names are looked up only with the account locked.
    fn departure(&self, plan: &SendPlan) -> Option<DepartureFacts> {
        let message = plan.held.and(plan.messages.first())?;
        let number = self.numbers.get(&message.from).map(|seen| seen.number.clone());
        let name = match message.sender {
            None => NameStanding::NotUsed,
            Some(_) => NameStanding::NotApproved,
        };
        Some(DepartureFacts { name, number })
    }

    /// Reads what is not remembered. Returns who has opted out.
    async fn read(
        &mut self,
        connection: &mut PgConnection,
        plans: &[&SendPlan],
    ) -> PgResult<BTreeSet<(AccountId, E164)>> {
        if self.accounts.len() + self.numbers.len() > MOST_REMEMBERED {
            *self = Self { since: self.since, ..Self::default() };
        }
        let held = plans.iter().filter(|plan| plan.held.is_some());
        let phones = held.filter_map(|plan| Some(plan.messages.first()?.from));
        let phones: BTreeSet<E164> =
            phones.filter(|phone| !self.numbers.contains_key(phone)).collect();
        if !phones.is_empty() {
            self.read_numbers(connection, &phones).await?;
        }
        let is_known = |plan: &SendPlan| {
            self.accounts.get(&plan.account).is_some_and(|account| !account.has_opt_outs)
        };
        let unknown: Vec<&SendPlan> =
            plans.iter().copied().filter(|plan| !is_known(plan)).collect();
        if unknown.is_empty() {
            return Ok(BTreeSet::new());
        }
        let Accounts { facts, opted_out } =
            Accounts::read(connection, &unknown, Lock::Free).await?;
        self.accounts.extend(facts);
        Ok(opted_out)
    }

    async fn read_numbers(
        &mut self,
        connection: &mut PgConnection,
        phones: &BTreeSet<E164>,
    ) -> PgResult<()> {
        let query = rows_query!(
            "SELECT " number_columns!() ", n.written_by FROM " rows(phone in phones) as want {
                phone: bigint = digits(*phone),
             } " CROSS JOIN LATERAL (
                 SELECT *, xmin::text AS written_by FROM number WHERE phone = want.phone LIMIT 1) n"
        );
        for row in query.fetch_all(connection).await? {
            let (number, written_by) = (number(&row)?, row.try_get("written_by")?);
            self.numbers.insert(number.phone, SeenNumber { number, written_by });
        }
        Ok(())
    }
}
