//! The messages, compared with what clients were told and networks recorded.

use std::collections::{BTreeMap, BTreeSet};

use serde_json::Value;
use sms_core::ids::{BatchId, MessageId};
use sms_core::message::MessageStatus;
use sqlx::{PgConnection, Row};
use uuid::Uuid;

use crate::rig::RigFailed;
use crate::rig::hand_overs::HandOvers;
use crate::rig::records::{All, Told};
use crate::rig::report::{Report, Violation};
use crate::rig::world::World;

/// A message as stored in the database.
#[derive(Debug)]
pub(in crate::rig) struct Text {
    pub(in crate::rig) id: MessageId,
    pub(in crate::rig) account: Uuid,
    pub(in crate::rig) status: MessageStatus,
    pub(super) batch: BatchId,
    pub(super) words: String,
    pub(super) to: u64,
    pub(super) scheduled_at: Option<i64>,
    /// Its statuses in order with their times, without consecutive repeats.
    pub(in crate::rig) history: Vec<(MessageStatus, i64)>,
    /// Whether its history says that it may have been sent.
    pub(super) left_perhaps: bool,
}

impl Text {
    fn came_to(&self, status: MessageStatus) -> Option<i64> {
        self.history.iter().find(|(came, _)| *came == status).map(|(_, at)| *at)
    }
}

/// All outbound messages.
pub(in crate::rig) async fn read(db: &mut PgConnection) -> Result<Vec<Text>, RigFailed> {
    let rows = sqlx::query(
        "SELECT id, account_id, status, batch_id, body, to_number, timeline,
                floor(extract(epoch FROM scheduled_at) * 1000)::bigint AS scheduled_at,
                floor(extract(epoch FROM sending_at) * 1000)::bigint AS sending_at,
                floor(extract(epoch FROM sent_at) * 1000)::bigint AS sent_at,
                floor(extract(epoch FROM delivered_at) * 1000)::bigint AS delivered_at,
                floor(extract(epoch FROM cancelled_at) * 1000)::bigint AS cancelled_at
         FROM message WHERE direction = 'outbound' ORDER BY id",
    )
    .fetch_all(db)
    .await?;
    let mut messages = Vec::with_capacity(rows.len());
    for row in rows {
        let unknown = || sqlx::Error::Decode("a status has no meaning".into());
        let mut told: Vec<(MessageStatus, i64)> = Vec::new();
        let mut left_perhaps = false;
        for line in row.try_get::<Value, _>("timeline")?.as_array().into_iter().flatten() {
            let status = line["status"].as_str().and_then(|status| status.parse().ok());
            let status = status.ok_or_else(unknown)?;
            let words = line["detail"].as_str().unwrap_or_default();
            left_perhaps |= says_perhaps(words);
            told.push((status, line["at"].as_i64().unwrap_or_default()));
        }
        let id = MessageId::from_u128(row.try_get::<Uuid, _>("id")?.as_u128());
        let scheduled_at: Option<i64> = row.try_get("scheduled_at")?;
        let plain = [
            (MessageStatus::on_acceptance(None), Some(id.timestamp().as_millis())),
            (MessageStatus::Sending, row.try_get("sending_at")?),
            (MessageStatus::Sent, row.try_get("sent_at")?),
            (MessageStatus::Cancelled, row.try_get("cancelled_at")?),
            (MessageStatus::Delivered, row.try_get("delivered_at")?),
        ];
        let history = history(&plain, &told, scheduled_at.is_some());
        messages.push(Text {
            id,
            account: row.try_get("account_id")?,
            status: row.try_get::<&str, _>("status")?.parse().map_err(|_| unknown())?,
            batch: BatchId::from_u128(row.try_get::<Uuid, _>("batch_id")?.as_u128()),
            words: row.try_get("body")?,
            to: row.try_get::<i64, _>("to_number")?.cast_unsigned(),
            scheduled_at,
            history,
            left_perhaps,
        });
    }
    Ok(messages)
}

/// The statuses of a message in order: those that have a column, and those that its timeline tells.
pub(super) fn history(
    plain: &[(MessageStatus, Option<i64>)],
    told: &[(MessageStatus, i64)],
    is_scheduled: bool,
) -> Vec<(MessageStatus, i64)> {
    use MessageStatus as S;
    let order = [S::Queued, S::Sending, S::Sent, S::Undelivered, S::Failed, S::Cancelled];
    let mut history = Vec::new();
    for status in order.into_iter().chain([S::Delivered]) {
        let column = plain.iter().find(|(of, _)| *of == status).and_then(|(_, at)| *at);
        let line = told.iter().find(|(of, _)| *of == status).map(|(_, at)| *at);
        let shown = if status == S::Queued && is_scheduled { S::Scheduled } else { status };
        history.extend(column.or(line).map(|at| (shown, at)));
    }
    history
}

/// Whether a detail of a history says that the message may have been sent.
pub(super) fn says_perhaps(detail: &str) -> bool {
    detail.contains("may be sent twice") || detail.contains("may have")
}

/// The messages that failed, and so were refunded.
pub(in crate::rig) fn failed(messages: &[Text]) -> BTreeSet<MessageId> {
    let failed = messages.iter().filter(|text| text.status == MessageStatus::Failed);
    failed.map(|text| text.id).collect()
}

/// Compares the messages with `known`: what was accepted, cancelled and opted out.
pub(in crate::rig) fn audit(
    messages: &[Text],
    known: &All,
    world: &World,
    handed: &HandOvers,
    report: &mut Report,
) {
    let lost = lost(messages, known);
    report.figure("messages accepted", known.accepted());
    report.figure("messages in the database", messages.len());
    report.figure("lost or unasked for", lost.len());
    report.figure("handed over", handed.len());
    let mut found = lost;
    for wrong in &known.wrong {
        found.push(Violation::new("every answer is a documented one", wrong.clone()));
    }
    let opted_out = opted_out(known, world);
    for text in messages {
        let Text { id, status, .. } = text;
        let mut check = |rule, is_kept: bool| {
            if !is_kept {
                found.push(Violation::new(rule, format!("message {id} {status}")));
            }
        };
        let leavings = handed.get(id).map(Vec::as_slice).unwrap_or_default();
        check("a status moves along the allowed transitions", is_a_way(&text.history));
        check(
            "a message has the status that its history ends with",
            text.history.last().map(|l| l.0) == Some(*status),
        );
        let left = text.came_to(MessageStatus::Sent);
        let in_doubt = *status == MessageStatus::Undelivered && text.left_perhaps;
        let has_left = left.is_none() || !leavings.is_empty();
        check("a sent message was handed over, or is said to be in doubt", has_left || in_doubt);
        let is_early = |at: i64| text.scheduled_at.is_some_and(|due| at < due);
        check("no message is sent before its time", !leavings.iter().any(|one| is_early(one.at)));
        let is_cancelled = *status == MessageStatus::Cancelled;
        check("a cancelled message was never sent", !is_cancelled || leavings.is_empty());
        let out_at = opted_out.get(&(text.account, text.to));
        let taken_at = text.came_to(MessageStatus::Sending);
        let taken_late = taken_at.zip(out_at).is_some_and(|(taken, out)| taken > *out);
        check("no message is handed over to a number that opted out", !taken_late);
    }
    let by_id: BTreeMap<MessageId, &Text> = messages.iter().map(|text| (text.id, text)).collect();
    for id in handed.keys().filter(|id| !by_id.contains_key(id)) {
        found.push(Violation::new(
            "every message handed over was accepted",
            format!("message {id}"),
        ));
    }
    for id in &known.cancelled {
        if by_id.get(id).is_none_or(|text| text.status != MessageStatus::Cancelled) {
            found.push(Violation::new(
                "a cancelled message stays cancelled",
                format!("message {id}"),
            ));
        }
    }
    report.violations.append(&mut found);
}

/// Compares what callers were told with what is stored.
fn lost(messages: &[Text], known: &All) -> Vec<Violation> {
    let mut found = Vec::new();
    let mut by_words: BTreeMap<&str, (BTreeSet<BatchId>, BTreeSet<MessageId>)> = BTreeMap::new();
    for text in messages {
        let (batches, ids) = by_words.entry(&text.words).or_default();
        batches.insert(text.batch);
        ids.insert(text.id);
    }
    for (words, told) in &known.sends {
        let (batches, ids) = by_words.remove(words.as_str()).unwrap_or_default();
        match told {
            Told::Accepted { batch, messages } => {
                for id in messages.iter().filter(|id| !ids.contains(id)) {
                    let rule = "no accepted message is lost";
                    found.push(Violation::new(rule, format!("message {id} of {batch}")));
                }
                if ids.len() > messages.len() || batches.iter().any(|one| one != batch) {
                    let rule = "a send has the messages of its answer";
                    found.push(Violation::new(rule, format!("{batch}")));
                }
            }
            Told::Refused if !ids.is_empty() => {
                let rule = "a refused send has no messages";
                found.push(Violation::new(rule, format!("{batches:?}")));
            }
            Told::Refused | Told::Nothing => {}
        }
    }
    for (batches, _) in by_words.values() {
        let rule = "every stored message was asked for";
        found.push(Violation::new(rule, format!("{batches:?}")));
    }
    found
}

/// When each number opted out of each account.
fn opted_out(known: &All, world: &World) -> BTreeMap<(Uuid, u64), i64> {
    let mut when = BTreeMap::new();
    for (place, number, at) in &known.opted_out {
        let id = world.accounts[*place].id.parse::<sms_core::ids::AccountId>();
        let Ok(id) = id else { continue };
        let first = when.entry((Uuid::from_u128(id.as_u128()), *number)).or_insert(*at);
        *first = (*first).min(*at);
    }
    when
}

/// Whether this is a possible history of a message.
fn is_a_way(history: &[(MessageStatus, i64)]) -> bool {
    use MessageStatus as S;
    let can_begin = matches!(history.first(), Some((S::Queued | S::Scheduled, _)));
    let can_follow = |pair: &[(S, i64)]| {
        let (from, to) = (pair[0].0, pair[1].0);
        let leads = match from {
            S::Scheduled | S::Queued => matches!(to, S::Sending | S::Failed | S::Cancelled),
            S::Sending => matches!(to, S::Sent | S::Failed),
            S::Sent => matches!(to, S::Delivered | S::Undelivered),
            S::Undelivered => to == S::Delivered,
            S::Delivered | S::Failed | S::Cancelled | S::Received => false,
        };
        leads && pair[0].1 <= pair[1].1
    };
    can_begin && history.windows(2).all(can_follow)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_the_specifications_arrows_make_a_way() {
        use MessageStatus as S;
        let is_way = |way: &[S]| is_a_way(&way.iter().map(|s| (*s, 1)).collect::<Vec<_>>());
        assert!(is_way(&[S::Queued, S::Sending, S::Sent, S::Delivered]));
        assert!(is_way(&[S::Scheduled, S::Cancelled]));
        assert!(!is_way(&[S::Queued, S::Sending, S::Sent, S::Failed]));
        assert!(!is_way(&[S::Sending, S::Sent]));
        assert!(!is_a_way(&[(S::Queued, 2), (S::Sending, 1)]), "time goes on");
    }
}
