//! Claims: which messages a worker may claim, which must fail at once, and the lease.

use std::collections::{BTreeMap, BTreeSet};

use sms_core::account::AccountStatus;
use sms_core::dispatch::{Claimed, LeaseToken, Turns, Wanted};
use sms_core::ids::{Ids, MessageId};
use sms_core::message::{ErrorCode, MessageStatus, TimelineEntry};
use sms_core::route::{Look, OutboundMessage};
use sms_core::time::Timestamp;

use super::text::MessageStep;
use super::{Check, Claim, Commit, Model, Moment, read};

/// What a message's history says when a worker takes it over.
const TAKEN_OVER: &str =
    "the server that held the message stopped before it recorded an outcome; it may be sent twice";

/// A worker's request to claim messages.
#[derive(Debug, Clone)]
pub struct ClaimSeen {
    /// The time of the claim.
    pub at: Timestamp,
    /// The most messages to claim.
    pub limit: usize,
    /// Which of the due messages.
    pub wanted: Wanted,
    /// Whose turn it is.
    pub turns: Turns,
    /// The lease token.
    pub token: LeaseToken,
    /// The end of the lease.
    pub until: Timestamp,
    /// Ids for what the claim creates.
    pub ids: Ids,
}

impl Model {
    /// A worker claimed messages.
    pub fn saw_claim(&mut self, moment: &Moment<'_>, seen: &ClaimSeen, answer: &Claimed) -> Check {
        let mut messages = BTreeMap::new();
        for text in &answer.messages {
            self.may_be_taken(text, seen.at)?;
            messages.insert(text.message, (text.clone(), 0));
        }
        ensure!(messages.len() == answer.messages.len(), "one claim took a text twice");
        let picks = self.picks(seen);
        let mut taken: BTreeSet<MessageId> = messages.keys().copied().collect();
        let mut commit = Commit::default();
        commit.plan(seen.ids.clone());
        let (mut failed, mut given_up, mut cancelled) = (0, 0, 0);
        for (_, id) in &picks.may {
            let step = if messages.contains_key(id) {
                self.taken(moment, &mut commit, *id, seen.at)?;
                self.requeue(*id, |text| {
                    if let Some((_, ran_out)) = text.lease {
                        text.ready_at = ran_out;
                    }
                    text.lease = Some((seen.token, seen.until));
                });
                continue;
            } else {
                self.text(*id)?
            };
            let account = step.last.account;
            let status = read(moment.books.message_get(account, *id))?.map(|(text, _)| text.status);
            let left_perhaps = step.unanswered > 0 || step.lease.is_some();
            if status == Some(MessageStatus::Failed) {
                let errors = self.obstacles(*id, seen.at)?;
                ensure!(!errors.is_empty(), "{id} failed for no reason");
                self.tally.senderless += u64::from(matches!(
                    errors[0],
                    ErrorCode::SenderNotApproved | ErrorCode::NoNumber
                ));
                ensure!(!left_perhaps, "{id} failed, and left perhaps");
                let path = [MessageStatus::Failed];
                let step = MessageStep { path: &path, at: seen.at, errors: &errors, detail: None };
                self.message_moved(moment, &mut commit, *id, step)?;
                taken.insert(*id);
                failed += 1;
            } else if status == Some(MessageStatus::Undelivered) {
                ensure!(left_perhaps, "{id} was given up and left nothing");
                let (error, why) = self.reason(*id, seen.at)?;
                let path = [MessageStatus::Sent, MessageStatus::Undelivered];
                let detail = format!("it may have been sent; {why}");
                let step = MessageStep {
                    path: &path,
                    at: seen.at,
                    errors: &[error],
                    detail: Some(detail.as_str()),
                };
                self.message_moved(moment, &mut commit, *id, step)?;
                taken.insert(*id);
                given_up += 1;
            } else if status == Some(MessageStatus::Cancelled) {
                ensure!(self.is_called_off(*id), "{id} was cancelled by a worker for no reason");
                ensure!(!left_perhaps, "{id} was cancelled, and left perhaps");
                let path = [MessageStatus::Cancelled];
                let step = MessageStep { path: &path, at: seen.at, errors: &[], detail: None };
                self.message_moved(moment, &mut commit, *id, step)?;
                taken.insert(*id);
                cancelled += 1;
            }
        }
        self.check_picks(seen, &picks, &taken)?;
        ensure!(
            failed == answer.failed,
            "{failed} messages failed and {} were told",
            answer.failed
        );
        ensure!(given_up == answer.given_up, "{given_up} were given up: {answer:?}");
        self.tally.doubtful += u64::from(given_up);
        ensure!(cancelled == answer.cancelled, "{cancelled} were cancelled: {answer:?}");
        let claim = Claim { task: moment.task, step: moment.step, since: None, messages };
        self.claims.insert(seen.token, claim);
        self.claim_of.insert(moment.task, seen.token);
        self.close(moment, commit)
    }

    /// Why a message that may have been sent is given up.
    fn reason(&self, id: MessageId, at: Timestamp) -> Result<(ErrorCode, &'static str), String> {
        if self.is_called_off(id) {
            return Ok((ErrorCode::NetworkError, "its campaign has since been cancelled"));
        }
        let errors = self.obstacles(id, at)?;
        let first = errors.first().ok_or_else(|| format!("{id} was given up for no reason"))?;
        Ok(match *first {
            ErrorCode::OptedOut => (ErrorCode::NetworkError, "the number has since opted out"),
            ErrorCode::AccountSuspended => {
                (ErrorCode::NetworkError, "the account has since been suspended")
            }
            ErrorCode::SenderNotApproved => {
                (ErrorCode::NetworkError, "the sender name has since been rejected")
            }
            ErrorCode::NoNumber => {
                (ErrorCode::NetworkError, "the account has no number to send from any more")
            }
            other => (other, "the message is no longer valid"),
        })
    }

    /// Why a due message must not be sent, the first reason that applies.
    fn obstacles(&self, id: MessageId, at: Timestamp) -> Result<Vec<ErrorCode>, String> {
        let text = self.text(id)?;
        let account = self.accounts.get(&text.last.account);
        let account = account.ok_or_else(|| format!("{id} belongs to nobody"))?;
        let mut errors = Vec::new();
        if account.opt_outs.contains_key(&text.last.to) {
            errors.push(ErrorCode::OptedOut);
        }
        if account.status == AccountStatus::Suspended {
            errors.push(ErrorCode::AccountSuspended);
        }
        if at >= text.expires_at {
            errors.push(ErrorCode::Expired);
        }
        errors.extend(self.sender_at(&text.last, at).err());
        Ok(errors)
    }

    fn may_be_taken(&self, given: &OutboundMessage, at: Timestamp) -> Check {
        let id = given.message;
        let text = self.text(id)?;
        let due = text.last.due_at();
        ensure!(at >= due, "{id} was taken at {at}, before its time {due}");
        ensure!(!self.is_called_off(id), "{id} was taken after its campaign was cancelled");
        let obstacles = self.obstacles(id, at)?;
        ensure!(obstacles.is_empty(), "{id} was taken in spite of {obstacles:?}");
        let claimable_at = text.claimable_at();
        ensure!(
            claimable_at.is_some_and(|claimable_at| at >= claimable_at),
            "{id} was taken at {at}, and can be at {claimable_at:?} (lease {:?})",
            text.lease
        );
        let last = &text.last;
        let moved = self.sender_at(last, at).map_err(|error| format!("{id} was taken: {error}"))?;
        let (from, route) = match moved {
            Some(moved) => (moved.from, moved.route),
            None => (last.from, last.route.clone()),
        };
        let expected = OutboundMessage {
            message: id,
            to: last.to,
            from,
            sender: last.sender.clone(),
            body: last.body.clone(),
            encoding: last.encoding,
            segments: last.segments,
            route,
            mode: last.mode,
            lane: text.lane,
            attempt: text.attempt,
            expires_at: text.expires_at,
            look: Look::at(at),
        };
        ensure!(*given == expected, "{given:?} was given out for {expected:?}");
        Ok(())
    }

    fn taken(
        &mut self,
        moment: &Moment<'_>,
        commit: &mut Commit,
        id: MessageId,
        at: Timestamp,
    ) -> Check {
        self.tally.claims += 1;
        let text = self.text(id)?;
        let (status, is_held) = (text.last.status, text.lease.is_some());
        let moved = self.sender_at(&text.last, at).map_err(|error| format!("{id}: {error}"))?;
        let told = moved.as_ref().map(|moved| moved.told.clone());
        if let Some((moved, text)) = moved.zip(self.messages.get_mut(&id)) {
            self.tally.moved += 1;
            text.last.from = moved.from;
            text.last.route = moved.route;
        }
        if is_held {
            self.tally.takeovers += 1;
            self.requeue(id, |text| text.unanswered += 1);
            let detail = std::iter::once(TAKEN_OVER).chain(told.as_deref());
            let detail = Some(detail.collect::<Vec<_>>().join("; "));
            return self.message_told(moment, id, &[TimelineEntry { status, detail, at }]);
        }
        if status == MessageStatus::Sending {
            let line = told.map(|told| TimelineEntry { status, detail: Some(told), at });
            return self.message_told(moment, id, line.as_slice());
        }
        let detail = told.as_deref();
        let step = MessageStep { path: &[MessageStatus::Sending], at, errors: &[], detail };
        self.message_moved(moment, commit, id, step)
    }

    /// A worker renewed its lease.
    pub fn saw_renewal(
        &mut self,
        moment: &Moment<'_>,
        token: LeaseToken,
        until: Timestamp,
        answer: usize,
    ) -> Check {
        let messages =
            self.claims.get(&token).map(|claim| claim.messages.keys().copied().collect());
        let messages: Vec<MessageId> = messages.unwrap_or_default();
        let mut held = 0;
        for id in messages {
            if self.text(id)?.lease.is_some_and(|(own, _)| own == token) {
                self.requeue(id, |text| text.lease = Some((token, until)));
                held += 1;
            }
        }
        ensure!(held == answer, "{answer} messages were renewed and {held} were held");
        self.check_heads(moment)
    }
}
