//! What a verdict on a send depends on about its account: one text for the guarded path and for the
//! locked one.

use std::collections::{BTreeMap, BTreeSet};

use sms_core::account::AccountStatus;
use sms_core::credits::Credits;
use sms_core::ids::AccountId;
use sms_core::phone::E164;
use sms_core::sending::plan::SendPlan;
use sqlx::postgres::PgRow;
use sqlx::{PgConnection, Row};

use crate::error::PgResult;
use crate::row::{Read, digits, uuid, uuids};
use crate::rows_query::rows_query;

/// The facts about an account.
#[derive(Clone)]
pub(super) struct AccountFacts {
    /// Changes with whatever else the guarded path remembers.
    pub(super) version: i64,
    pub(super) status: AccountStatus,
    pub(super) balance: Credits,
    /// The seq of its newest ledger entry.
    pub(super) seq: i64,
    pub(super) has_conversations: bool,
    /// Whether the numbers that it sends to have to be looked up among its opt-outs.
    pub(super) has_opt_outs: bool,
}

impl AccountFacts {
    fn of(row: &PgRow) -> PgResult<Self> {
        Ok(Self {
            version: row.try_get("version")?,
            status: row.name("status")?,
            balance: row.credits("balance")?,
            seq: row.try_get("ledger_seq")?,
            has_conversations: row.try_get("has_conversations")?,
            has_opt_outs: row.try_get("has_opt_outs")?,
        })
    }
}

/// Whether the accounts stay locked until the transaction ends.
#[derive(Clone, Copy)]
pub(super) enum Lock {
    Free,
    Held,
}

/// The facts about the accounts of some plans, and which of their recipients have opted out.
pub(super) struct Accounts {
    pub(super) facts: BTreeMap<AccountId, AccountFacts>,
    pub(super) opted_out: BTreeSet<(AccountId, E164)>,
}

impl Accounts {
    /// Reads them; locks in the order of the ids.
    pub(super) async fn read(
        connection: &mut PgConnection,
        plans: &[&SendPlan],
        lock: Lock,
    ) -> PgResult<Self> {
        let ids: BTreeSet<AccountId> = plans.iter().map(|plan| plan.account).collect();
        let messages = plans.iter().flat_map(|plan| &plan.messages);
        let messages: Vec<_> = messages.map(|text| (text.account, text.to)).collect();
        macro_rules! accounts {
            ($lock:literal) => {
                rows_query!(
                    [uuids(ids)]
                    "SELECT id, status, balance, version, ledger_seq, has_conversations,
                         COALESCE((SELECT true FROM opt_out o WHERE o.account_id = account.id
                                   LIMIT 1), false) AS has_opt_outs,
                         ARRAY(SELECT want.place
                               FROM " rows((account, to) in &messages)
                               with_ordinality(place) as want {
                                  account_id: uuid = uuid(*account),
                                  phone: bigint = digits(*to),
                               } "
                               -- Not EXISTS, which the planner may answer by reading all opt-outs.
                               WHERE (SELECT true FROM opt_out o
                                      WHERE o.account_id = want.account_id
                                        AND o.phone = want.phone)) AS opted_out
                     FROM account WHERE id = ANY($1)" $lock
                )
            };
        }
        let query = match lock {
            Lock::Free => accounts!(""),
            Lock::Held => accounts!(" ORDER BY id FOR NO KEY UPDATE OF account"),
        };
        let mut accounts = Self { facts: BTreeMap::new(), opted_out: BTreeSet::new() };
        for row in query.fetch_all(connection).await? {
            // The same in every row: the positions of the messages to opted-out numbers, from 1.
            let places: Vec<i64> = row.try_get("opted_out")?;
            let places = places.iter().filter_map(|place| usize::try_from(place - 1).ok());
            accounts.opted_out.extend(places.filter_map(|place| messages.get(place)));
            accounts.facts.insert(row.id("id")?, AccountFacts::of(&row)?);
        }
        Ok(accounts)
    }
}
