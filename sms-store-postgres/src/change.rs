//! Writing what changes about texts: one statement for any number of them.

use std::collections::BTreeMap;

use sms_core::campaign::counts::CountChanges;
use sms_core::credits::ledger::{Draft, post};
use sms_core::event::Event;
use sms_core::ids::{AccountId, Ids, MessageId};
use sms_core::message::change::{Changed, Texted};
use sms_core::message::{ErrorCode, Message, MessageStatus, TimelineEntry};
use sms_core::phone::E164;
use sms_core::statistics::Tally;
use sqlx::PgConnection;
use sqlx::types::Json;

use crate::error::{PgError, PgResult};
use crate::row::{digits, stored_lines, time, uuid, uuids};
use crate::rows_query::rows_query;
use crate::{campaign, credits, event};

/// Changes gathered in order, to be written together. Later changes of a text build on earlier
/// ones.
#[derive(Default)]
pub(crate) struct Changes {
    texts: BTreeMap<MessageId, (Message, Vec<TimelineEntry>)>,
    refunds: Vec<(AccountId, Draft)>,
    texted: BTreeMap<(E164, E164), Texted>,
    events: Vec<(Vec<Event>, Ids)>,
    counts: CountChanges,
    tally: Tally,
}

impl Changes {
    /// Adds the one change that a plan makes. The ids that the plan has left name its deliveries.
    pub(crate) fn add(&mut self, changed: Changed, ids: &Ids) {
        self.events.push((Vec::new(), ids.clone()));
        self.add_more(changed, ids);
    }

    /// Adds another change of the plan whose change was added last. The ids that it has left in the
    /// end name the deliveries of all of them.
    pub(crate) fn add_more(&mut self, changed: Changed, ids: &Ids) {
        if let Some(texted) = changed.texted() {
            let last = self.texted.entry((texted.number, texted.person)).or_insert(texted);
            if texted.at >= last.at {
                *last = texted;
            }
        }
        self.counts.add(&changed);
        let Changed { was, message, timeline, refund, events } = changed;
        self.tally.text(&was.times, &message);
        self.refunds.extend(refund.map(|draft| (message.account, draft)));
        match self.events.last_mut() {
            Some((raised, left)) => {
                raised.extend(events);
                left.clone_from(ids);
            }
            None => self.events.push((events, ids.clone())),
        }
        let text = self.texts.entry(message.id).or_insert_with(|| (message.clone(), Vec::new()));
        text.0 = message;
        text.1.extend(timeline);
    }

    /// Adds a line to a text's timeline that changes nothing else.
    pub(crate) fn note(&mut self, message: &Message, line: TimelineEntry) {
        let text = self.texts.entry(message.id).or_insert_with(|| (message.clone(), Vec::new()));
        text.1.push(line);
    }

    /// Writes everything, in the order in which locks are taken.
    pub(crate) async fn write(self, connection: &mut PgConnection) -> PgResult<()> {
        let Self { texts, refunds, texted, events, counts, tally } = self;
        let done = texts
            .values()
            .filter(|(message, _)| !MessageStatus::CLAIMABLE.contains(&message.status))
            .map(|(message, _)| message.id);
        leave_queue(connection, uuids(done)).await?;
        update_texts(connection, texts.into_values().collect(), &tally).await?;
        remember_contacts(connection, texted.into_values().collect()).await?;
        book_refunds(connection, refunds).await?;
        campaign::counts::insert(connection, counts.into_deltas()).await?;
        event::raise_all(connection, events).await
    }
}

async fn leave_queue(connection: &mut PgConnection, done: Vec<uuid::Uuid>) -> PgResult<()> {
    if done.is_empty() {
        return Ok(());
    }
    let delete = sqlx::query("DELETE FROM queue WHERE message_id = ANY($1)").bind(done);
    delete.execute(connection).await?;
    Ok(())
}

/// Writes texts over what they were, and what that counts.
async fn update_texts(
    connection: &mut PgConnection,
    texts: Vec<(Message, Vec<TimelineEntry>)>,
    tally: &Tally,
) -> PgResult<()> {
    if texts.is_empty() {
        return Ok(());
    }
    let update = rows_query!(
        "WITH counted AS (INSERT INTO statistic_change " insert(count in tally.counts()) {
            account_id: uuid = uuid(count.account),
            at: timestamptz = time(count.at),
            counted: text = count.counted.as_str(),
            amount: bigint = count.amount,
         } ")
         UPDATE message m
         SET status = new.status, error_code = new.error_code, sent_at = new.sent_at,
             delivered_at = new.delivered_at, failed_at = new.failed_at,
             cancelled_at = new.cancelled_at, timeline = m.timeline || new.timeline
         FROM " rows((message, lines) in &texts) as new {
            account_id: uuid = uuid(message.account),
            id: uuid = uuid(message.id),
            status: text = message.status.as_str(),
            error_code: text = message.error.map(ErrorCode::as_str),
            sent_at: timestamptz = message.times.sent_at.map(time),
            delivered_at: timestamptz = message.times.delivered_at.map(time),
            failed_at: timestamptz = message.times.failed_at.map(time),
            cancelled_at: timestamptz = message.times.cancelled_at.map(time),
            timeline: jsonb = Json(stored_lines(lines.clone())),
         } "
         WHERE m.account_id = new.account_id AND m.id = new.id"
    );
    update.execute(connection).await?;
    Ok(())
}

/// Of two contacts the later counts, in whichever order they are written.
async fn remember_contacts(connection: &mut PgConnection, texted: Vec<Texted>) -> PgResult<()> {
    if texted.is_empty() {
        return Ok(());
    }
    let insert = rows_query!(
        "INSERT INTO last_texted " insert(one in &texted) {
            number: bigint = digits(one.number),
            person: bigint = digits(one.person),
            account_id: uuid = uuid(one.account),
            at: timestamptz = time(one.at),
        } "
        ON CONFLICT (number, person) DO UPDATE
        SET account_id = excluded.account_id, at = excluded.at
        WHERE last_texted.at <= excluded.at"
    );
    insert.execute(connection).await?;
    Ok(())
}

/// Books refunds, with one update of each account's balance.
async fn book_refunds(
    connection: &mut PgConnection,
    refunds: Vec<(AccountId, Draft)>,
) -> PgResult<()> {
    if refunds.is_empty() {
        return Ok(());
    }
    let mut by_account: BTreeMap<AccountId, Vec<Draft>> = BTreeMap::new();
    for (account, draft) in refunds {
        by_account.entry(account).or_default().push(draft);
    }
    let balances = credits::lock_balances(connection, by_account.keys().copied()).await?;
    let mut bookings = Vec::new();
    for (account, drafts) in by_account {
        let Some((balance, seq)) = balances.get(&account).copied() else { continue };
        // Top-ups leave room for refunds: see `Credits::MOST_TOPPED_UP`.
        let booked = post(balance, drafts);
        let (entries, balance) = booked.map_err(|error| PgError::Balance(Box::new(error)))?;
        bookings.push(credits::Booking { account, balance, seq, entries });
    }
    credits::book(connection, bookings).await
}
