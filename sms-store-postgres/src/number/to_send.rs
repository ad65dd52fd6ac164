//! The numbers that claimed messages may be sent from, as they are now.

use std::collections::{BTreeMap, BTreeSet};

use sms_core::dispatch::keeps_number;
use sms_core::ids::AccountId;
use sms_core::message::Message;
use sms_core::number::{Holder, Number};
use sms_core::phone::E164;
use sms_core::time::Timestamp;
use sqlx::PgConnection;

use super::row::{number, number_columns};
use crate::error::PgResult;
use crate::row::{digits, uuid};
use crate::rows_query::rows_query;

/// The numbers of the messages of one claim, and where a message does not keep its number, all
/// numbers of its account and the shared ones.
#[derive(Default)]
pub(crate) struct NumbersToSend {
    kept: BTreeMap<E164, Number>,
    accounts: BTreeMap<AccountId, Vec<Number>>,
    shared: Vec<Number>,
}

/// The operator's numbers among these.
pub(crate) async fn numbers_by_phone(
    connection: &mut PgConnection,
    phones: &BTreeSet<E164>,
) -> PgResult<BTreeMap<E164, Number>> {
    // Each by the index on phone numbers, which a join might not use.
    let query = rows_query!(
        "SELECT " number_columns!() " FROM " rows(phone in phones) as want {
            phone: bigint = digits(*phone),
         } " CROSS JOIN LATERAL (SELECT * FROM number n WHERE n.phone = want.phone LIMIT 1) n"
    );
    let rows = query.fetch_all(connection).await?;
    let numbers = rows.iter().map(number);
    numbers.map(|number| number.map(|number| (number.phone, number))).collect()
}

impl NumbersToSend {
    /// Reads them: few rows, and with a second statement only if a message has lost its number.
    pub(crate) async fn read<'a>(
        connection: &mut PgConnection,
        messages: impl Iterator<Item = &'a Message> + Clone,
        at: Timestamp,
    ) -> PgResult<Self> {
        let mut numbers = Self::default();
        let phones: BTreeSet<E164> = messages.clone().map(|message| message.from).collect();
        numbers.kept = numbers_by_phone(connection, &phones).await?;
        let lost = messages.filter(|message| !numbers.keeps(message, at));
        let lost: BTreeSet<AccountId> = lost.map(|message| message.account).collect();
        if !lost.is_empty() {
            numbers.read_all(connection, &lost).await?;
        }
        Ok(numbers)
    }

    async fn read_all(
        &mut self,
        connection: &mut PgConnection,
        accounts: &BTreeSet<AccountId>,
    ) -> PgResult<()> {
        let query = rows_query!(
            "SELECT " number_columns!() " FROM " rows(account in accounts) as want {
                id: uuid = uuid(*account),
             } " JOIN number n ON n.account_id = want.id
             UNION ALL SELECT " number_columns!() " FROM number n WHERE n.account_id IS NULL"
        );
        for row in query.fetch_all(connection).await? {
            let number = number(&row)?;
            match number.holder {
                Holder::Shared => self.shared.push(number),
                Holder::Dedicated(account) => {
                    self.accounts.entry(account).or_default().push(number);
                }
            }
        }
        Ok(())
    }

    fn keeps(&self, message: &Message, at: Timestamp) -> bool {
        keeps_number(message, self.kept.get(&message.from), at)
    }

    /// Those of one message.
    pub(crate) fn of(&self, message: &Message, at: Timestamp) -> Vec<Number> {
        if self.keeps(message, at) {
            return self.kept.get(&message.from).cloned().into_iter().collect();
        }
        let own = self.accounts.get(&message.account).into_iter().flatten();
        own.chain(&self.shared).cloned().collect()
    }
}
