//! What a claim would look at again, for messages that a worker holds from the start: who has opted
//! out, and whether their number and sender name are still their account's.

use std::collections::{BTreeMap, BTreeSet};

use sms_core::dispatch::NameStanding;
use sms_core::ids::{AccountId, BatchId};
use sms_core::number::Number;
use sms_core::phone::E164;
use sms_core::sending::plan::SendPlan;
use sms_core::sending::settle::DepartureFacts;
use sqlx::{PgConnection, Row};

use crate::error::PgResult;
use crate::number::numbers_by_phone;
use crate::row::{Read, digits, uuid};
use crate::rows_query::rows_query;

/// The facts about plans whose messages are held from the start, read after their accounts are
/// locked.
#[derive(Default)]
pub(super) struct Departures {
    numbers: BTreeMap<E164, Number>,
    names: BTreeMap<BatchId, NameStanding>,
}

impl Departures {
    /// Reads them, and adds who has opted out meanwhile to `opted_out`.
    pub(super) async fn read(
        connection: &mut PgConnection,
        plans: &[&SendPlan],
        opted_out: &mut BTreeSet<(AccountId, E164)>,
    ) -> PgResult<Self> {
        let held = || plans.iter().filter(|plan| plan.held.is_some());
        let first: Vec<_> =
            held().filter_map(|plan| Some((plan, plan.messages.first()?))).collect();
        if first.is_empty() {
            return Ok(Self::default());
        }
        let phones = first.iter().map(|(_, message)| message.from).collect();
        let numbers = numbers_by_phone(connection, &phones).await?;
        let messages = held().flat_map(|plan| &plan.messages);
        let gone = rows_query!(
            "SELECT o.account_id, o.phone FROM " rows(text in messages.clone()) as want {
                account_id: uuid = uuid(text.account),
                phone: bigint = digits(text.to),
             } " CROSS JOIN LATERAL (
                 SELECT account_id, phone FROM opt_out
                 WHERE account_id = want.account_id AND phone = want.phone LIMIT 1) o"
        );
        for row in gone.fetch_all(&mut *connection).await? {
            opted_out.insert((row.id("account_id")?, row.number("phone")?));
        }
        let named = first.iter().filter_map(|(plan, message)| {
            Some((plan.batch, plan.account, message.sender.as_deref()?))
        });
        let named: Vec<_> = named.collect();
        let mut names = BTreeMap::new();
        if !named.is_empty() {
            // Names are compared in ASCII lower case.
            let approved = rows_query!(
                "SELECT want.batch_id,
                     COALESCE((SELECT true FROM sender_name s
                               WHERE s.account_id = want.account_id
                                 AND s.folded = lower(want.name COLLATE \"C\")
                                 AND s.status <> 'rejected' AND s.status = 'approved'),
                              false) AS approved
                 FROM " rows((batch, account, name) in &named) as want {
                    batch_id: uuid = uuid(*batch),
                    account_id: uuid = uuid(*account),
                    name: text = *name,
                 } ""
            );
            for row in approved.fetch_all(&mut *connection).await? {
                let standing = if row.try_get("approved")? {
                    NameStanding::Approved
                } else {
                    NameStanding::NotApproved
                };
                names.insert(row.id("batch_id")?, standing);
            }
        }
        Ok(Self { numbers, names })
    }

    /// Those of one plan; `None` if its messages are not held.
    pub(super) fn of(&self, plan: &SendPlan) -> Option<DepartureFacts> {
        let message = plan.held.and(plan.messages.first())?;
        Some(DepartureFacts {
            name: self.names.get(&plan.batch).copied().unwrap_or(NameStanding::NotUsed),
            number: self.numbers.get(&message.from).cloned(),
        })
    }
}
