//! Sends: which may be accepted, what they cost, and the answer to a repeated request.

use std::time::Duration;

use sms_core::account::Mode;
use sms_core::credits::Credits;
use sms_core::credits::ledger::Cause;
use sms_core::dispatch::{Lane, Lease};
use sms_core::ids::{AccountId, BatchId, MessageId};
use sms_core::message::{Message, MessageStatus};
use sms_core::phone::E164;
use sms_core::route::{Look, OutboundMessage, RouteName};
use sms_core::sending::idempotency::EarlierSend;
use sms_core::sending::recipients::Rejection;
use sms_core::sending::settle::{Replay, SendRefused, Sent};
use sms_core::sending::{IdempotencyKey, SendPlan};
use sms_core::store::CommitError;
use sms_core::time::Timestamp;

use super::message::Draft;
use super::record::FirstSend;
use super::record::amount;
use super::turns::lane_of;
use super::{Check, Claim, MessageModel, Model, Moment, Reading};
use crate::simulation::wish::Meaning;

const KEPT_FOR: Duration = Duration::from_hours(7 * 24);
const VALIDITY: Duration = Duration::from_hours(24);
const TEST_DELAY: Duration = Duration::from_secs(1);

/// What a send asked the store to commit.
#[derive(Debug, Clone)]
pub struct SendSeen {
    account: AccountId,
    mode: Mode,
    batch: BatchId,
    key: Option<IdempotencyKey>,
    messages: Vec<(MessageId, E164)>,
    at: Timestamp,
    held: Option<Lease>,
    outbound: Vec<OutboundMessage>,
}

impl SendSeen {
    /// The relevant parts of a plan.
    pub fn of(plan: &SendPlan) -> Self {
        let look = Look::at(plan.at);
        Self {
            account: plan.account,
            mode: plan.mode,
            batch: plan.batch,
            key: plan.idempotency.as_ref().map(|claim| claim.key.clone()),
            messages: plan.messages.iter().map(|text| (text.id, text.to)).collect(),
            at: plan.at,
            held: plan.held,
            outbound: plan.held_messages().iter().map(|held| held.outbound(look.clone())).collect(),
        }
    }
}

impl Model {
    /// A key was looked up.
    pub fn saw_earlier(
        &self,
        account: AccountId,
        key: &IdempotencyKey,
        at: Timestamp,
        answer: Option<&EarlierSend>,
    ) -> Check {
        let known = self.accounts.get(&account).and_then(|account| account.sends.get(key));
        let kept = known.filter(|first| at.since(first.at) < KEPT_FOR);
        let right = match (kept, answer) {
            (Some(first), Some(earlier)) => first.sent.batch == earlier.batch,
            (Some(first), None) => first.fading,
            (None, answer) => answer.is_none(),
        };
        ensure!(right, "a key of {account} leads to {answer:?} and must to {kept:?}");
        Ok(())
    }

    /// An earlier answer was repeated; its key may have been used again since it was looked up.
    pub fn saw_replay(
        &mut self,
        moment: &Moment<'_>,
        account: AccountId,
        batch: BatchId,
        answer: &Sent,
    ) -> Check {
        self.tally.replays += 1;
        let account = self.accounts.get(&account);
        let sends = account
            .into_iter()
            .flat_map(|account| account.sends.values().chain(&account.replaced_sends));
        let first = sends.into_iter().find(|first| first.sent.batch == batch);
        let first = first.ok_or_else(|| format!("{batch}, which nobody sent, is repeated"))?;
        first.check_replay(self.meanings.get(&moment.task), &self.messages, answer)
    }

    /// The batch that a request with this key must be answered with, if it was made before.
    pub fn remembered(
        &self,
        account: AccountId,
        key: &IdempotencyKey,
        meaning: &Meaning,
        now: Timestamp,
    ) -> Option<BatchId> {
        let first = self.accounts.get(&account)?.sends.get(key)?;
        let kept = !first.fading && now.since(first.at) < KEPT_FOR;
        (kept && first.meaning.as_ref() == Some(meaning)).then_some(first.sent.batch)
    }

    /// A send was accepted, repeated or refused.
    pub fn saw_send(
        &mut self,
        moment: &Moment<'_>,
        seen: &SendSeen,
        answer: &Result<Sent, CommitError<SendRefused>>,
    ) -> Check {
        let meaning = self.meanings.get(&moment.task).cloned();
        let reading = self.readings.remove(&moment.task).unwrap_or_default();
        let account = self.accounts.get(&seen.account);
        let account = account.ok_or_else(|| format!("no account {}", seen.account))?;
        let earlier = seen.key.as_ref().and_then(|key| account.sends.get(key));
        let kept = earlier.filter(|first| seen.at.since(first.at) < KEPT_FOR);
        let same = kept.map(|first| first.meaning == meaning);
        match answer {
            Ok(sent) if sent.replay == Replay::Repeated => {
                self.tally.replays += 1;
                let first = kept.ok_or("a request was taken for a repeated one")?;
                first.check_replay(meaning.as_ref(), &self.messages, sent)?;
                return Ok(());
            }
            Err(CommitError::Refused(SendRefused::IdempotencyConflict)) => {
                ensure!(same == Some(false), "a conflict of keys where there is none");
                return Ok(());
            }
            Ok(_) | Err(_) => {}
        }
        let fading = kept.is_none_or(|first| first.fading);
        ensure!(fading, "a key was used again, and the answer is {answer:?}");
        let meaning = meaning.ok_or("a send that nobody asked for")?;
        let wanted = Wanted::of(&meaning, &reading, seen)?;
        let told = match answer {
            Ok(_) => None,
            Err(CommitError::Refused(reason)) => Some(Obstacle::Refused(*reason)),
            Err(CommitError::Stale) => Some(Obstacle::Stale),
            Err(CommitError::Store(error)) => return Err(format!("a send failed: {error}")),
        };
        let must = self.send_obstacle(moment, seen, &wanted, told.as_ref());
        let wants = wanted.people.len();
        ensure!(told == must, "a send of {wants} messages meets {told:?} and must meet {must:?}");
        let is_used_up =
            matches!(told, Some(Obstacle::Refused(SendRefused::TestMessagesUsedUp { .. })));
        self.tally.used_up += u64::from(is_used_up);
        let made = answer.as_ref();
        made.map_or(Ok(()), |sent| self.accepted(moment, seen, (meaning, wanted), sent))
    }

    /// Whether no claim is needed to find that the sender of the messages can no longer be used.
    fn may_depart(&self, seen: &SendSeen, wanted: &Wanted) -> bool {
        let Some((id, to)) = seen.messages.first().copied() else { return true };
        let (account, mode) = (seen.account, seen.mode);
        let (from, route) = (wanted.from, &wanted.route);
        let draft = Draft { id, account, mode, from, to, words: "", route };
        let message = Message { sender: wanted.sender.clone(), ..draft.outbound() };
        matches!(self.sender_at(&message, seen.at), Ok(None))
    }

    /// Why a send must be refused: the first of all reasons.
    fn send_obstacle(
        &mut self,
        moment: &Moment<'_>,
        seen: &SendSeen,
        wanted: &Wanted,
        told: Option<&Obstacle>,
    ) -> Option<Obstacle> {
        let account = &self.accounts[&seen.account];
        if let Some(reason) = account.forbids(seen.mode) {
            return Some(Obstacle::Refused(SendRefused::MayNotSend(reason)));
        }
        if wanted.people.iter().any(|to| account.opt_outs.contains_key(to)) {
            return Some(Obstacle::Stale);
        }
        if seen.held.is_some() && !self.may_depart(seen, wanted) {
            self.tally.overtaken += 1;
            return Some(Obstacle::Stale);
        }
        let told = match told {
            Some(Obstacle::Refused(SendRefused::TestMessagesUsedUp { retry_after })) => {
                Some(*retry_after)
            }
            _ => None,
        };
        let account = &self.accounts[&seen.account];
        let asked = (seen.mode, wanted.people.len());
        if let Some(retry_after) = account.test_wait_at(moment, asked, seen.at, told) {
            return Some(Obstacle::Refused(SendRefused::TestMessagesUsedUp { retry_after }));
        }
        let balance = Credits::new(account.balance.unsigned_abs()).unwrap_or(Credits::MAX);
        let needed = wanted.charge;
        (needed > balance)
            .then_some(Obstacle::Refused(SendRefused::InsufficientCredit { needed, balance }))
    }

    fn accepted(
        &mut self,
        moment: &Moment<'_>,
        seen: &SendSeen,
        (meaning, wanted): (Meaning, Wanted),
        sent: &Sent,
    ) -> Check {
        let told = sent.messages.iter().map(|text| (text.id, text.to));
        ensure!(told.eq(seen.messages.iter().copied()), "a send answers with other messages");
        for text in &sent.messages {
            let words = meaning.wish.words(text.to, wanted.from);
            let words = self.links_made(moment, text, words, meaning.wish.tracked())?;
            let must = wanted.text(&meaning, seen, text, &words);
            let encoding = meaning.wish.parts() == Ok(text.segments.get());
            ensure!(*text == must && encoding, "{text:?} was made, and must be {must:?}");
        }
        let taken = amount(wanted.charge.get());
        self.write_send(moment, seen, sent, taken)?;
        let account = self.accounts.get_mut(&seen.account).ok_or("an account vanished")?;
        let balance = Credits::new(account.balance.unsigned_abs()).unwrap_or(Credits::MAX);
        let answered = (sent.batch, &sent.rejected, sent.credits, sent.balance, sent.replay);
        let must = (seen.batch, &wanted.rejected, wanted.charge, balance, Replay::First);
        ensure!(answered == must, "a send answers {answered:?} and must answer {must:?}");
        if let Some(key) = &seen.key {
            let meaning = Some(meaning);
            let first = FirstSend { meaning, sent: sent.clone(), at: seen.at, fading: false };
            account.replaced_sends.extend(account.sends.insert(key.clone(), first));
        }
        self.check_ledger(moment, seen.account)?;
        self.check_heads(moment)
    }

    fn write_send(
        &mut self,
        moment: &Moment<'_>,
        seen: &SendSeen,
        sent: &Sent,
        taken: i64,
    ) -> Check {
        self.tally.sends += 1;
        self.tally.messages += sent.messages.len() as u64;
        let account = self.accounts.get_mut(&seen.account).ok_or("an account vanished")?;
        if taken > 0 {
            account.book_entry(Cause::Send { batch: seen.batch, campaign: None }, -taken);
            account.reserved += taken;
        }
        if seen.mode.is_test() && !sent.messages.is_empty() {
            account.tested(seen.at, sent.messages.len());
        }
        for message in &sent.messages {
            let lane = lane_of(message, sent.messages.len());
            self.write_held_text(moment, message, lane, (seen.at, seen.held))?;
        }
        if let Some(lease) = seen.held {
            let held = seen.outbound.iter().map(|text| (text.message, (text.clone(), 0)));
            let (task, step, since) = (moment.task, moment.step, Some(seen.at));
            self.claims.insert(lease.token, Claim { task, step, since, messages: held.collect() });
        }
        Ok(())
    }

    /// Adds a message that was accepted at `at`.
    pub(super) fn write_text(
        &mut self,
        moment: &Moment<'_>,
        message: &Message,
        lane: Lane,
        at: Timestamp,
    ) -> Check {
        self.write_held_text(moment, message, lane, (at, None))
    }

    /// Adds a message that was accepted at `at`, and that a worker may hold from the start.
    fn write_held_text(
        &mut self,
        moment: &Moment<'_>,
        message: &Message,
        lane: Lane,
        (at, held): (Timestamp, Option<Lease>),
    ) -> Check {
        let made_at = message.created_at();
        ensure!(made_at == at, "{} was made at {at} and says {made_at}", message.id);
        let due = message.scheduled_at.unwrap_or(at);
        let text = MessageModel {
            last: Message {
                status: held.map_or(message.status, |_| MessageStatus::Sending),
                ..message.clone()
            },
            lines: held.map_or(1, |_| 2),
            lane,
            ready_at: if message.mode.is_test() { due.plus(TEST_DELAY) } else { due },
            expires_at: due.plus(VALIDITY),
            attempt: 0,
            unanswered: 0,
            lease: held.map(|lease| (lease.token, lease.until)),
            receipts: 0,
        };
        self.message_made(moment, text)
    }

    /// Keys older than a week may be deleted from now on.
    pub fn saw_keys_tidied(&mut self, before: Timestamp) {
        for account in self.accounts.values_mut() {
            for first in account.sends.values_mut().filter(|first| first.at < before) {
                first.fading = true;
            }
        }
    }
}

/// Why a send must be refused.
#[derive(Debug, PartialEq, Eq)]
enum Obstacle {
    Refused(SendRefused),
    Stale,
}

/// What a send must create, computed from the wish and from what its task read.
#[derive(Debug)]
struct Wanted {
    people: Vec<E164>,
    rejected: Vec<Rejection>,
    charge: Credits,
    from: E164,
    route: RouteName,
    /// The approved sender name, if used.
    sender: Option<String>,
    reading: Reading,
}

impl Wanted {
    fn of(meaning: &Meaning, reading: &Reading, seen: &SendSeen) -> Result<Self, String> {
        let Meaning { wish, mode } = meaning;
        let known = reading.opted_out.as_ref();
        let mut opted_out = reading.shown_opted_out.clone();
        opted_out.extend(known.into_iter().flatten());
        let (people, rejected) = wish.people(&opted_out);
        // That somebody has opted out is told before anything about the words.
        let refused = wish.parts().err();
        let about_words = rejected.iter().any(|rejection| Some(rejection.reason) == refused);
        ensure!(!about_words || known.is_some(), "who has opted out was not asked");
        let (from, route) = reading.senders(seen.at).last().ok_or("a text comes from nowhere")?;
        let sender = wish.sender().map(|name| reading.approved(name).ok_or(name));
        let sender = sender.transpose().map_err(|name| format!("{name} is not approved"))?;
        let parts = if mode.is_test() { 0 } else { u64::from(wish.parts().unwrap_or_default()) };
        let charge = Credits::new(people.len() as u64 * parts).unwrap_or(Credits::MAX);
        let route = if mode.is_test() { RouteName::test() } else { route };
        let reading = reading.clone();
        Ok(Self { people, rejected, charge, from, route, sender, reading })
    }

    /// One of the messages. Only its id comes from the service.
    fn text(&self, meaning: &Meaning, seen: &SendSeen, text: &Message, words: &str) -> Message {
        let scheduled_at = meaning.wish.schedule_at().filter(|scheduled| *scheduled > seen.at);
        let draft = Draft {
            id: text.id,
            account: seen.account,
            mode: meaning.mode,
            from: self.from,
            to: text.to,
            words,
            route: &self.route,
        };
        Message {
            status: match scheduled_at {
                Some(_) => MessageStatus::Scheduled,
                None => MessageStatus::Queued,
            },
            sender: self.sender.clone(),
            client_ref: meaning.wish.client_ref(),
            batch_id: Some(seen.batch),
            contact_id: self.reading.contacts.get(&text.to).copied(),
            scheduled_at,
            ..draft.outbound()
        }
    }
}
