//! Claims of due messages, and what becomes of them.

use async_trait::async_trait;
use rusqlite::params;
use sms_core::commit::{Claim, ClaimWrites, OutcomeWrites, Outcomes};
use sms_core::dispatch::store::DispatchStore;
use sms_core::dispatch::{
    ClaimFacts, ClaimPlan, Claimed, FollowUp, HeldMessage, LeaseToken, NameStanding, NewSender,
    OutcomePlan, OutcomeRecorded, QueueEntry, keeps_number,
};
use sms_core::ids::{AccountId, CampaignId, FollowUpId};
use sms_core::message::{Body, Message};
use sms_core::number::Number;
use sms_core::route::{Comeback, RouteName};
use sms_core::sender_name::folded;
use sms_core::store::StoreError;
use sms_core::time::Timestamp;

use crate::SqliteStore;
use crate::command::Size;
use crate::db::Db;
use crate::error::SqlResult;
use crate::receipt::Former;
use crate::row::{Cols, digits, id, receipt, size, time};

#[async_trait]
impl DispatchStore for SqliteStore {
    async fn dispatch_claim(&self, plan: ClaimPlan) -> Result<Claimed, StoreError> {
        let size = Size::Small(plan.limit.min(500));
        self.write_sized("claiming messages", size, move |db| claim(db, plan.clone())).await
    }

    async fn dispatch_record(
        &self,
        plans: Vec<OutcomePlan>,
    ) -> Result<Vec<OutcomeRecorded>, StoreError> {
        let size = Size::Small(plans.len());
        self.write_sized("recording outcomes", size, move |db| record(db, plans.clone())).await
    }

    async fn dispatch_renew(
        &self,
        token: LeaseToken,
        until: Timestamp,
    ) -> Result<usize, StoreError> {
        self.write("extending a lease", move |db| db.renew(token, until)).await
    }

    async fn follow_ups_due(
        &self,
        at: Timestamp,
        limit: usize,
    ) -> Result<Vec<FollowUp>, StoreError> {
        self.read("looking for follow-ups", move |db| {
            db.all(
                "SELECT id, message_id, number, person, route, due_at, receipt, reply
                 FROM follow_up INDEXED BY follow_up_by_time
                 WHERE due_at <= ?1 ORDER BY due_at, id LIMIT ?2",
                [time(at), size(limit)],
                follow_up,
            )
        })
        .await
    }
}

impl SqliteStore {
    pub(crate) async fn dispatch_next(&self) -> Result<Option<Timestamp>, StoreError> {
        self.look("looking for the next message", Db::queue_next).await
    }

    pub(crate) async fn follow_ups_next(&self) -> Result<Option<Timestamp>, StoreError> {
        self.look("looking for the next follow-up", |db| {
            db.one("SELECT due_at FROM follow_up ORDER BY due_at LIMIT 1", [], |c| c.at())
        })
        .await
    }
}

fn claim(db: &Db, plan: ClaimPlan) -> SqlResult<Claimed> {
    let at = plan.at;
    let due = db.claimable(&plan)?;
    let mut claim = Claim::new(plan);
    for entry in &due {
        let Some(message) = db.message(entry.message)? else { continue };
        let Some(standing) = db.standing(entry.account)? else { continue };
        let no = standing.no;
        let numbers = numbers_to_send(db, &message, at)?;
        let campaign_cancelled = match message.campaign_id {
            Some(campaign) => is_cancelled(db, no, campaign)?,
            None => false,
        };
        claim.settle(ClaimFacts {
            message: &message,
            entry,
            account_status: standing.status,
            opted_out: standing.has_opt_outs && db.is_opted_out(no, message.to)?,
            campaign_cancelled,
            name: standing_of_name(db, no, message.sender.as_deref())?,
            numbers: &numbers,
        });
    }
    let (ClaimWrites { queue, senders, changes }, claimed) = claim.finish();
    for entry in &queue {
        db.replace_entry(entry)?;
    }
    for NewSender { account: _, message, from, route } in senders {
        db.run("UPDATE queue SET route = ?2 WHERE id = ?1", params![id(message), route.as_str()])?;
        db.run(
            "UPDATE message SET from_number = ?2, route = ?3 WHERE id = ?1",
            params![id(message), digits(from), route.as_str()],
        )?;
    }
    db.write_changes(changes)?;
    Ok(claimed)
}

/// Whether a campaign was cancelled.
fn is_cancelled(db: &Db, account: i64, campaign: CampaignId) -> SqlResult<bool> {
    db.has(
        "SELECT 1 FROM campaign WHERE account = ?1 AND id = ?2 AND cancelled_at IS NOT NULL",
        params![account, id(campaign)],
    )
}

/// Whether the sender name of a message is still approved.
pub(crate) fn standing_of_name(
    db: &Db,
    account: i64,
    name: Option<&str>,
) -> SqlResult<NameStanding> {
    let Some(name) = name else { return Ok(NameStanding::NotUsed) };
    let is_approved = db.is_name_approved(account, &folded(name))?;
    Ok(if is_approved { NameStanding::Approved } else { NameStanding::NotApproved })
}

/// The number of a message, and the others of its account if it does not keep it.
fn numbers_to_send(db: &Db, message: &Message, at: Timestamp) -> SqlResult<Vec<Number>> {
    let own = db.number_of(message.from)?;
    if keeps_number(message, own.as_ref(), at) {
        return Ok(own.into_iter().collect());
    }
    db.numbers_for(of_account(message))
}

fn of_account(message: &Message) -> AccountId {
    message.account
}

fn record(db: &Db, plans: Vec<OutcomePlan>) -> SqlResult<Vec<OutcomeRecorded>> {
    let mut all = Vec::with_capacity(plans.len());
    let mut raised = Vec::new();
    for mut plan in plans {
        let entry = db.queued(plan.message)?;
        let message = match &entry {
            Some(entry) => queued_message(db, &plan, entry)?,
            None => None,
        };
        let former = match &message {
            Some(message) => db.former(plan.parts(), message)?,
            None => Former::default(),
        };
        let mut outcomes = Outcomes::new(former.early);
        outcomes.settle(&mut plan, message.as_ref().zip(entry.as_ref()));
        let (writes, recorded) = outcomes.finish();
        let OutcomeWrites { queue, follow_ups, parts, beside, changes } = writes;
        for entry in &queue {
            db.replace_entry(entry)?;
        }
        for follow_up in &follow_ups {
            insert_follow_up(db, follow_up)?;
        }
        if !parts.is_empty() {
            for part in former.segments.iter().chain(&parts) {
                db.keep_part(part)?;
            }
            db.keep_beside(&beside)?;
        }
        db.write_but_events(changes, &mut raised)?;
        all.extend(recorded);
    }
    db.raise(raised)?;
    Ok(all)
}

/// The message of an entry. A worker that still has the lease knows it: nobody else changes it, and
/// a receipt that came before the outcome has removed the entry.
fn queued_message(db: &Db, plan: &OutcomePlan, entry: &QueueEntry) -> SqlResult<Option<Message>> {
    match plan.held.as_deref() {
        Some(HeldMessage { message, .. }) if entry.lease == Some(plan.token) => {
            Ok(Some(message.clone()))
        }
        _ => db.message(plan.message),
    }
}

fn insert_follow_up(db: &Db, follow_up: &FollowUp) -> SqlResult<()> {
    let FollowUp { id: of, message, number, person, route, due_at, what } = follow_up;
    let (news, reply) = match what {
        Comeback::Receipt(status) => (Some(receipt(*status)), None),
        Comeback::Reply(body) => (None, Some(body.as_str())),
    };
    db.run(
        "INSERT INTO follow_up (id, message_id, number, person, route, due_at, receipt, reply)
         VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8)",
        params![
            id(*of),
            id(*message),
            digits(*number),
            digits(*person),
            route.as_str(),
            time(*due_at),
            news,
            reply
        ],
    )?;
    Ok(())
}

fn follow_up(c: &mut Cols<'_>) -> SqlResult<FollowUp> {
    Ok(FollowUp {
        id: c.id()?,
        message: c.id()?,
        number: c.number()?,
        person: c.number()?,
        route: RouteName::new(c.get::<String>()?),
        due_at: c.at()?,
        what: match c.maybe_receipt()? {
            Some(status) => Comeback::Receipt(status),
            None => Comeback::Reply(Body::new(c.get::<String>()?)),
        },
    })
}

impl Db {
    /// Removes a follow-up. Returns whether it existed.
    pub(crate) fn remove_follow_up(&self, of: FollowUpId) -> SqlResult<bool> {
        Ok(self.run("DELETE FROM follow_up WHERE id = ?1", [id(of)])? == 1)
    }
}
