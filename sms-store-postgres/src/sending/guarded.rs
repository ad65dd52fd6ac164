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
//! | the account's first conversation begins | `account.version`, by the trigger |
//! | the balance | the guard compares it, and changes it by what it finds |
//! | the number that held messages are sent from | the guard compares the version of its row |
//! | the sender name that held messages show | such sends are settled with the account locked |
//! | keys of requests, test messages, link codes | such sends are settled with the account locked |
//! | numbers and names of messages that are not held | the claim, as ever |
//! | API keys, contacts, templates, settings | no verdict: they were read for the plan, as ever |
//!
//! What is remembered belongs to one connection. Another one may reach a server that lost commits
//! when it took over, and counts the same versions a second time.

use std::collections::{BTreeMap, BTreeSet, HashMap};

use sms_core::account::AccountStatus;
use sms_core::credits::Credits;
use sms_core::credits::ledger::Entry;
use sms_core::dispatch::NameStanding;
use sms_core::ids::AccountId;
use sms_core::number::Number;
use sms_core::phone::E164;
use sms_core::sending::guard::Guarded;
use sms_core::sending::plan::SendPlan;
use sms_core::sending::settle::{DepartureFacts, SendFacts};
use sms_core::statistics::Tally;
use sqlx::{PgConnection, Row};
use tokio::time::Instant;

use super::write::{Charge, Write, write};
use crate::error::PgResult;
use crate::number::number;
use crate::row::{Read, digits, uuid, uuids};
use crate::rows_query::rows_query;

/// The most accounts and numbers to remember. When there are more, all are forgotten.
const MOST_REMEMBERED: usize = 10_000;

/// What is remembered of accounts that have lately sent, and of the numbers that they sent from.
#[derive(Default)]
pub(super) struct Remembered {
    /// When the connection was opened over which this was read.
    since: Option<Instant>,
    accounts: HashMap<AccountId, Account>,
    numbers: HashMap<E164, SeenNumber>,
}

#[derive(Clone)]
struct Account {
    version: i64,
    status: AccountStatus,
    balance: Credits,
    has_conversations: bool,
    /// Whether the numbers that it sends to have to be looked up among its opt-outs.
    has_opt_outs: bool,
}

#[derive(Clone)]
struct SeenNumber {
    number: Number,
    /// The transaction that wrote the row.
    written_by: String,
}

/// What plans write together under their guards.
#[derive(Default)]
struct Together {
    charges: BTreeMap<AccountId, Charge>,
    entries: Vec<(AccountId, Entry)>,
    tally: Tally,
}

impl Remembered {
    /// Forgets what the plans were settled on.
    pub(super) fn forget(&mut self, plans: &[SendPlan]) {
        for plan in plans {
            self.accounts.remove(&plan.account);
            if let Some(message) = plan.messages.first() {
                self.numbers.remove(&message.from);
            }
        }
    }

    /// Commits the plans, all of them plain, with one statement. Returns the balance that each
    /// leaves; `None` if nothing was written, because a verdict needs the account locked or what
    /// was remembered no longer holds.
    pub(super) async fn commit(
        &mut self,
        (connection, opened): (&mut PgConnection, Instant),
        plans: &[SendPlan],
    ) -> PgResult<Option<Vec<Credits>>> {
        if self.since != Some(opened) {
            *self = Self { since: Some(opened), ..Self::default() };
        }
        let opted_out = self.read(connection, plans).await?;
        let Some(together) = self.settle(plans, &opted_out) else { return Ok(None) };
        let numbers = plans.iter().filter(|plan| plan.held.is_some());
        let numbers: BTreeSet<E164> =
            numbers.filter_map(|plan| Some(plan.messages.first()?.from)).collect();
        let seen = numbers
            .iter()
            .filter_map(|phone| Some((*phone, self.numbers.get(phone)?.written_by.as_str())));
        let Together { charges, entries, tally } = together;
        let what = Write { plans, charges: &charges, entries, tally, seen: seen.collect() };
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
        plans: &[SendPlan],
        mut balances: BTreeMap<AccountId, Credits>,
    ) -> Vec<Credits> {
        for (account, balance) in &balances {
            if let Some(known) = self.accounts.get_mut(account) {
                known.balance = *balance;
            }
        }
        let mut after: Vec<Credits> = Vec::with_capacity(plans.len());
        for plan in plans.iter().rev() {
            let balance = balances.entry(plan.account).or_insert(Credits::ZERO);
            after.push(*balance);
            *balance = balance.checked_add(plan.charge).unwrap_or(Credits::MAX);
        }
        after.reverse();
        after
    }

    /// Settles the plans in order on what is remembered.
    fn settle(
        &self,
        plans: &[SendPlan],
        opted_out: &BTreeSet<(AccountId, E164)>,
    ) -> Option<Together> {
        let mut together = Together::default();
        let mut left: BTreeMap<AccountId, Credits> = BTreeMap::new();
        for plan in plans {
            let account = self.accounts.get(&plan.account)?;
            let left = left.entry(plan.account).or_insert(account.balance);
            let facts = SendFacts {
                status: account.status,
                balance: *left,
                earlier: None,
                opted_out: plan
                    .messages
                    .iter()
                    .any(|text| opted_out.contains(&(plan.account, text.to))),
                codes_taken: false,
                test_messages: Vec::new(),
                has_conversations: account.has_conversations,
                departure: self.departure(plan),
            };
            let Guarded { at_least, entry } = plan.settle_guarded(&facts)?;
            *left = Credits::new(left.get().checked_sub(at_least.get())?).ok()?;
            let charge = together.charges.entry(plan.account).or_insert_with(|| Charge {
                version: account.version,
                at_least: Credits::ZERO,
                entries: 0,
            });
            charge.at_least = charge.at_least.checked_add(at_least)?;
            if let Some(entry) = entry {
                charge.entries += 1;
                together.tally.entry(plan.account, &entry);
                together.entries.push((plan.account, entry));
            }
        }
        Some(together)
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
        plans: &[SendPlan],
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
        let is_known = |plan: &&SendPlan| {
            self.accounts.get(&plan.account).is_some_and(|account| !account.has_opt_outs)
        };
        let unknown: Vec<&SendPlan> = plans.iter().filter(|plan| !is_known(plan)).collect();
        if unknown.is_empty() {
            return Ok(BTreeSet::new());
        }
        self.read_accounts(connection, &unknown).await
    }

    async fn read_numbers(
        &mut self,
        connection: &mut PgConnection,
        phones: &BTreeSet<E164>,
    ) -> PgResult<()> {
        let query = rows_query!(
            "SELECT n.*, n.written_by FROM " rows(phone in phones) as want {
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

    async fn read_accounts(
        &mut self,
        connection: &mut PgConnection,
        plans: &[&SendPlan],
    ) -> PgResult<BTreeSet<(AccountId, E164)>> {
        let ids: BTreeSet<AccountId> = plans.iter().map(|plan| plan.account).collect();
        let messages = || plans.iter().flat_map(|plan| &plan.messages);
        let query = rows_query!(
            [uuids(ids)]
            "SELECT id, status, balance, version, has_conversations,
                 COALESCE((SELECT true FROM opt_out o WHERE o.account_id = account.id LIMIT 1),
                          false) AS has_opt_outs,
                 ARRAY(SELECT want.place
                       FROM " rows(text in messages()) with_ordinality(place) as want {
                          account_id: uuid = uuid(text.account),
                          phone: bigint = digits(text.to),
                       } "
                       -- Not EXISTS, which the planner may answer by reading all opt-outs.
                       WHERE (SELECT true FROM opt_out o WHERE o.account_id = want.account_id
                              AND o.phone = want.phone)) AS opted_out
             FROM account WHERE id = ANY($1)"
        );
        let mut opted_out = BTreeSet::new();
        for row in query.fetch_all(connection).await? {
            // The same in every row: the positions of the messages to opted-out numbers, from 1.
            let places: Vec<i64> = row.try_get("opted_out")?;
            let places = places.iter().filter_map(|place| usize::try_from(place - 1).ok());
            let found = places.filter_map(|place| messages().nth(place));
            opted_out.extend(found.map(|text| (text.account, text.to)));
            let account = Account {
                version: row.try_get("version")?,
                status: row.name("status")?,
                balance: row.credits("balance")?,
                has_conversations: row.try_get("has_conversations")?,
                has_opt_outs: row.try_get("has_opt_outs")?,
            };
            self.accounts.insert(row.id("id")?, account);
        }
        Ok(opted_out)
    }
}
