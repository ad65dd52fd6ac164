//! Accepts sends.

use std::sync::Arc;

use async_trait::async_trait;
use rusqlite::params;
use sms_core::commit::{LedgerWrites, SendWrites};
use sms_core::credits::Credits;
use sms_core::idempotency::Owner;
use sms_core::ids::{AccountId, MessageId};
use sms_core::link::Link;
use sms_core::phone::E164;
use sms_core::sending::idempotency::{EarlierSend, IdempotencyKey};
use sms_core::sending::plan::{SendPlan, new_messages};
use sms_core::sending::settle::{
    DepartureFacts, SendFacts, SendRefused, SendVerdict, Sent, TEST_MESSAGES_KEPT, TEST_WINDOW,
    TestMessages,
};
use sms_core::sending::store::SendingStore;
use sms_core::store::{CommitError, StoreError};
use sms_core::time::Timestamp;

use crate::SqliteStore;
use crate::command::Size;
use crate::db::Db;
use crate::dispatch::standing_of_name;
use crate::error::{SqlResult, all_failed};
use crate::idempotency::Remembered;
use crate::known::Standing;
use crate::row::{digits, id, size, time};

const DOING: &str = "accepting sends";

/// The outcome of one plan.
enum Settled {
    Accepted { balance: Credits },
    Replayed(Box<Sent>),
    Refused(CommitError<SendRefused>),
}

#[async_trait]
impl SendingStore for SqliteStore {
    async fn send_accept(
        &self,
        plans: Vec<SendPlan>,
    ) -> Vec<Result<Sent, CommitError<SendRefused>>> {
        let work = plans.iter().map(|plan| plan.messages.len().max(1)).sum();
        let plans = Arc::new(plans);
        let own = Arc::clone(&plans);
        let settled = self.write_sized(DOING, Size::Small(work), move |db| {
            own.iter().map(|plan| settle(db, plan)).collect::<SqlResult<Vec<_>>>()
        });
        let settled = settled.await;
        // The writer has dropped its share before it answered.
        let plans = Arc::unwrap_or_clone(plans);
        let settled = match settled {
            Ok(settled) => settled,
            Err(error) => return all_failed(plans.len(), &error),
        };
        let sent = |(plan, settled): (SendPlan, Settled)| match settled {
            Settled::Accepted { balance } => Ok(plan.sent(balance)),
            Settled::Replayed(sent) => Ok(*sent),
            Settled::Refused(reason) => Err(reason),
        };
        plans.into_iter().zip(settled).map(sent).collect()
    }

    async fn send_earlier(
        &self,
        account: AccountId,
        key: &IdempotencyKey,
        at: Timestamp,
    ) -> Result<Option<EarlierSend>, StoreError> {
        let (owner, key) = (Owner::Account(account), key.clone());
        let doing = "looking up an earlier send";
        let found = self.look(doing, move |db| db.remembered(owner, &key)).await?;
        Ok(match found {
            Some(Remembered::Send(earlier)) if earlier.is_kept(at) => Some(earlier),
            _ => None,
        })
    }

    async fn send_replay(
        &self,
        _account: AccountId,
        earlier: EarlierSend,
    ) -> Result<Sent, StoreError> {
        self.read("repeating the answer to a send", move |db| {
            let messages = db.batch(earlier.batch)?;
            Ok(earlier.sent(messages))
        })
        .await
    }
}

impl SqliteStore {
    pub(crate) async fn test_sends_tidy(
        &self,
        before: Timestamp,
        limit: usize,
    ) -> Result<usize, StoreError> {
        self.write("tidying test sends", move |db| {
            let removed = db.run(
                "DELETE FROM test_send WHERE no IN (
                     SELECT no FROM test_send WHERE at < ?1 ORDER BY at LIMIT ?2)",
                params![time(before), size(limit)],
            )?;
            Ok(db.note_tidied(removed))
        })
        .await
    }
}

fn settle(db: &Db, plan: &SendPlan) -> SqlResult<Settled> {
    let Some((no, facts)) = send_facts(db, plan)? else {
        return Ok(Settled::Refused(CommitError::Refused(SendRefused::NoSuchAccount)));
    };
    match plan.settle(&facts) {
        Err(reason) => Ok(Settled::Refused(reason)),
        Ok(SendVerdict::Replay(earlier)) => {
            let messages = db.batch(earlier.batch)?;
            Ok(Settled::Replayed(Box::new(earlier.sent(messages))))
        }
        Ok(SendVerdict::Accept(writes)) => {
            let balance = writes.balance;
            db.insert_new(new_messages([plan]))?;
            write(db, no, plan.account, writes)?;
            Ok(Settled::Accepted { balance })
        }
    }
}

fn send_facts(db: &Db, plan: &SendPlan) -> SqlResult<Option<(i64, SendFacts)>> {
    let Some(account) = db.standing(plan.account)? else { return Ok(None) };
    let Standing { no, status, balance, has_opt_outs, has_conversations, .. } = account;
    let earlier = match &plan.idempotency {
        Some(claim) => db.remembered(Owner::Account(plan.account), &claim.key)?,
        None => None,
    };
    let test_messages =
        if plan.mode.is_test() { db.recent_test_messages(no, plan.at)? } else { Vec::new() };
    let facts = SendFacts {
        status,
        balance,
        earlier: earlier.map(Remembered::key_use).filter(|used| used.is_kept(plan.at)),
        opted_out: has_opt_outs
            && db.any_opted_out(no, plan.messages.iter().map(|message| message.to))?,
        codes_taken: db.has_code_of(&plan.links)?,
        test_messages,
        has_conversations,
        departure: departure(db, no, plan)?,
    };
    Ok(Some((no, facts)))
}

/// What a claim would look at, of messages that a worker holds from the start.
fn departure(db: &Db, account: i64, plan: &SendPlan) -> SqlResult<Option<DepartureFacts>> {
    let Some(message) = plan.held.and(plan.messages.first()) else { return Ok(None) };
    Ok(Some(DepartureFacts {
        name: standing_of_name(db, account, message.sender.as_deref())?,
        number: db.number_of(message.from)?,
    }))
}

fn write(db: &Db, no: i64, account: AccountId, writes: SendWrites) -> SqlResult<()> {
    let SendWrites { entry, balance, remembered, test_messages, conversations } = writes;
    db.book(LedgerWrites::of(account, entry, balance))?;
    db.remember_test_messages(test_messages)?;
    if let Some((key, earlier)) = remembered {
        db.remember_send(no, &key, &earlier)?;
    }
    for (number, message) in conversations {
        db.shift(no, number, message)?;
    }
    Ok(())
}

impl Db {
    /// Accepts one send. A refusal writes nothing.
    pub(crate) fn accept(&self, plan: SendPlan) -> SqlResult<Option<Sent>> {
        Ok(match settle(self, &plan)? {
            Settled::Accepted { balance } => Some(plan.sent(balance)),
            Settled::Replayed(sent) => Some(*sent),
            Settled::Refused(_) => None,
        })
    }

    /// The test messages sent within the hour before `now`.
    pub(crate) fn recent_test_messages(
        &self,
        account: i64,
        now: Timestamp,
    ) -> SqlResult<Vec<(Timestamp, u32)>> {
        self.all(
            "SELECT at, count FROM test_send WHERE account = ?1 AND at > ?2",
            [account, time(now.minus(TEST_WINDOW))],
            |c| Ok((c.at()?, c.count()?)),
        )
    }

    /// Keeps more than the hour: a plan made before this one may be committed after it.
    pub(crate) fn remember_test_messages(&self, made: Option<TestMessages>) -> SqlResult<()> {
        let Some(TestMessages { account, batch: _, at, count }) = made else { return Ok(()) };
        let no = self.known_account(account)?;
        self.run(
            "DELETE FROM test_send WHERE account = ?1 AND at <= ?2",
            [no, time(at.minus(TEST_MESSAGES_KEPT))],
        )?;
        let insert = "INSERT INTO test_send (account, at, count) VALUES (?1, ?2, ?3)";
        self.run(insert, params![no, time(at), count])?;
        Ok(())
    }

    /// Whether any code is used twice among these links, or already belongs to another link.
    pub(crate) fn has_code_of(&self, links: &[Link]) -> SqlResult<bool> {
        let mut codes = std::collections::BTreeSet::new();
        for link in links {
            let code = link.code;
            if !codes.insert(code)
                || self.has("SELECT 1 FROM link WHERE code = ?1", [code.as_str()])?
            {
                return Ok(true);
            }
        }
        Ok(false)
    }

    fn any_opted_out(&self, account: i64, numbers: impl Iterator<Item = E164>) -> SqlResult<bool> {
        for number in numbers {
            if self.is_opted_out(account, number)? {
                return Ok(true);
            }
        }
        Ok(false)
    }

    /// Moves the conversation with a number, if there is one, unless it has a newer message.
    pub(crate) fn shift(&self, account: i64, number: E164, newest: MessageId) -> SqlResult<()> {
        self.run(
            "UPDATE conversation SET last_id = ?3
             WHERE account = ?1 AND number = ?2 AND last_id < ?3",
            params![account, digits(number), id(newest)],
        )?;
        Ok(())
    }
}
