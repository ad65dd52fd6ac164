//! Sends: what may be accepted, what it takes, and what a repeated request answers.

use std::time::Duration;

use sms_core::account::{AccountStatus, Mode};
use sms_core::credits::ledger::Cause;
use sms_core::ids::{AccountId, BatchId, MessageId};
use sms_core::message::{Message, MessageStatus};
use sms_core::phone::E164;
use sms_core::sending::idempotency::EarlierSend;
use sms_core::sending::settle::{Replay, SendRefused, Sent};
use sms_core::sending::{IdempotencyKey, SendPlan};
use sms_core::store::CommitError;
use sms_core::time::Timestamp;

use super::account::amount;
use super::text::TextModel;
use super::{Check, Model, Moment};
use crate::simulation::wish::Meaning;

const KEPT_FOR: Duration = Duration::from_hours(7 * 24);
const VALIDITY: Duration = Duration::from_hours(24);
const TEST_DELAY: Duration = Duration::from_secs(1);
pub(super) const TEST_WINDOW: Duration = Duration::from_hours(1);
pub(super) const TEST_TEXTS: usize = 300;

/// What a send asked the store to commit.
#[derive(Debug, Clone)]
pub struct SendSeen {
    account: AccountId,
    mode: Mode,
    batch: BatchId,
    key: Option<IdempotencyKey>,
    texts: Vec<(MessageId, E164)>,
    charge: i64,
    at: Timestamp,
}

impl SendSeen {
    /// What matters of a plan.
    pub fn of(plan: &SendPlan) -> Self {
        Self {
            account: plan.account,
            mode: plan.mode,
            batch: plan.batch,
            key: plan.idempotency.as_ref().map(|claim| claim.key.clone()),
            texts: plan.messages.iter().map(|text| (text.id, text.to)).collect(),
            charge: amount(plan.charge.get()),
            at: plan.at,
        }
    }
}

/// The first answer to a request with a key.
#[derive(Debug)]
pub struct FirstSend {
    meaning: Option<Meaning>,
    sent: Sent,
    at: Timestamp,
    /// Its time is over, so that it may be forgotten.
    fading: bool,
}

impl FirstSend {
    fn check_replay(&self, meaning: Option<&Meaning>, sent: &Sent) -> Check {
        let same = self.meaning.as_ref() == meaning;
        ensure!(same, "another request was taken for a repeated one");
        let expected = Sent { replay: Replay::Repeated, ..self.sent.clone() };
        ensure!(*sent == expected, "a repeated request answers {sent:?} for {expected:?}");
        Ok(())
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

    /// An earlier answer was repeated.
    pub fn saw_replay(
        &mut self,
        moment: &Moment<'_>,
        account: AccountId,
        batch: BatchId,
        answer: &Sent,
    ) -> Check {
        self.tally.replays += 1;
        let account = self.accounts.get(&account);
        let mut sends = account.into_iter().flat_map(|account| account.sends.values());
        // One that was replaced since cannot be compared any more.
        let Some(first) = sends.find(|first| first.sent.batch == batch) else { return Ok(()) };
        first.check_replay(self.meanings.get(&moment.task), answer)
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
        let account = self.accounts.get(&seen.account);
        let account = account.ok_or_else(|| format!("no account {}", seen.account))?;
        let earlier = seen.key.as_ref().and_then(|key| account.sends.get(key));
        let kept = earlier.filter(|first| seen.at.since(first.at) < KEPT_FOR);
        let same = kept.map(|first| first.meaning == meaning);
        match answer {
            Ok(sent) if sent.replay == Replay::Repeated => {
                self.tally.replays += 1;
                let first = kept.ok_or("a request was taken for a repeated one")?;
                first.check_replay(meaning.as_ref(), sent)?;
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
        match answer {
            Ok(sent) => self.accepted(moment, seen, meaning, sent),
            Err(error) => self.refused(seen, error),
        }
    }

    /// A refusal has to be true.
    fn refused(&self, seen: &SendSeen, error: &CommitError<SendRefused>) -> Check {
        let account = &self.accounts[&seen.account];
        let holds = match error {
            CommitError::Refused(SendRefused::MayNotSend(_)) => {
                !may_send(account.status, seen.mode)
            }
            CommitError::Refused(SendRefused::InsufficientCredit { needed, balance }) => {
                amount(needed.get()) == seen.charge
                    && amount(balance.get()) == account.balance
                    && seen.charge > account.balance
            }
            CommitError::Refused(SendRefused::TestTextsUsedUp { .. }) => {
                seen.mode.is_test() && self.test_texts(seen, seen.at) > TEST_TEXTS
            }
            CommitError::Stale => {
                seen.texts.iter().any(|(_, to)| account.opt_outs.contains_key(to))
            }
            CommitError::Refused(SendRefused::NoSuchAccount | SendRefused::IdempotencyConflict)
            | CommitError::Store(_) => false,
        };
        ensure!(holds, "a send of {} credits was refused with {error:?}", seen.charge);
        Ok(())
    }

    /// Test texts of the hour before `now`, with those of this send.
    fn test_texts(&self, seen: &SendSeen, now: Timestamp) -> usize {
        let made = &self.accounts[&seen.account].test_texts;
        let recent = made.iter().filter(|(at, _)| now.since(*at) < TEST_WINDOW);
        recent.map(|(_, count)| count).sum::<usize>() + seen.texts.len()
    }

    fn accepted(
        &mut self,
        moment: &Moment<'_>,
        seen: &SendSeen,
        meaning: Option<Meaning>,
        sent: &Sent,
    ) -> Check {
        let account = &self.accounts[&seen.account];
        ensure!(may_send(account.status, seen.mode), "an account that is {} sends", account.status);
        for (_, to) in &seen.texts {
            let opted_out = account.opt_outs.contains_key(to);
            ensure!(!opted_out, "a send was accepted for a number that had opted out");
        }
        // A plan made an hour ago is measured by its own hour; nobody gets more by waiting.
        let texts = self.test_texts(seen, seen.at).min(self.test_texts(seen, moment.now));
        ensure!(!seen.mode.is_test() || texts <= TEST_TEXTS, "{texts} test texts in one hour");
        ensure!(sent.batch == seen.batch, "a send has the batch of another");
        let told = sent.messages.iter().map(|text| (text.id, text.to));
        ensure!(told.eq(seen.texts.iter().copied()), "a send answers with other texts");
        if let Some(meaning) = &meaning {
            check_meaning(meaning, sent, seen.at)?;
        }
        let taken = sent.messages.iter().map(|text| amount(text.credits.get())).sum::<i64>();
        ensure!(taken == seen.charge, "{} credits were taken for {taken}", seen.charge);
        ensure!(amount(sent.credits.get()) == taken, "{} credits were told", sent.credits);
        self.write_send(moment, seen, sent, taken)?;
        if let Some(tracked) = meaning.as_ref().and_then(|meaning| meaning.wish.links()) {
            for message in &sent.messages {
                self.links_made(moment, message, tracked)?;
            }
        }
        let account = self.accounts.get_mut(&seen.account).ok_or("an account vanished")?;
        ensure!(
            amount(sent.balance.get()) == account.balance,
            "a send tells a balance of {} and leaves {}",
            sent.balance,
            account.balance
        );
        if let Some(key) = &seen.key {
            let first = FirstSend { meaning, sent: sent.clone(), at: seen.at, fading: false };
            account.sends.insert(key.clone(), first);
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
        self.tally.texts += sent.messages.len() as u64;
        let account = self.accounts.get_mut(&seen.account).ok_or("an account vanished")?;
        if taken > 0 {
            account.book_entry(Cause::Send { batch: seen.batch, campaign: None }, -taken);
            account.reserved += taken;
        }
        if seen.mode.is_test() && !sent.messages.is_empty() {
            account.test_texts.push_back((seen.at, sent.messages.len()));
        }
        for message in &sent.messages {
            self.write_text(moment, message, seen.at)?;
        }
        Ok(())
    }

    /// Takes in a text that was accepted at `at`.
    pub(super) fn write_text(
        &mut self,
        moment: &Moment<'_>,
        message: &Message,
        at: Timestamp,
    ) -> Check {
        self.check_sender(message, at)?;
        let due = message.scheduled_at.unwrap_or(at);
        let text = TextModel {
            last: message.clone(),
            lines: 1,
            ready_at: if message.mode.is_test() { due.plus(TEST_DELAY) } else { due },
            expires_at: due.plus(VALIDITY),
            attempt: 0,
            unanswered: 0,
            lease: None,
            receipts: 0,
        };
        self.text_made(moment, text)
    }

    /// A text comes from a number that the account could use when the text was planned.
    fn check_sender(&self, message: &Message, planned_at: Timestamp) -> Check {
        let mut numbers = self.numbers.values();
        let number = numbers.find(|own| own.phone == message.from && own.since < planned_at);
        if let Some(account) = number.and_then(|own| own.holder.account()) {
            ensure!(account == message.account, "{} comes from another's number", message.id);
        }
        let test = message.route.as_str() == "test";
        ensure!(test == message.mode.is_test(), "{} takes route {}", message.id, message.route);
        Ok(())
    }

    /// Keys older than a week may be forgotten from now on.
    pub fn saw_keys_tidied(&mut self, before: Timestamp) {
        for account in self.accounts.values_mut() {
            for first in account.sends.values_mut().filter(|first| first.at < before) {
                first.fading = true;
            }
        }
    }
}

pub(super) fn may_send(status: AccountStatus, mode: Mode) -> bool {
    match status {
        AccountStatus::Active => true,
        AccountStatus::Pending => mode.is_test(),
        AccountStatus::Suspended => false,
    }
}

/// The answer is what the wish asks for, by the simulation's own knowledge of it.
fn check_meaning(meaning: &Meaning, sent: &Sent, at: Timestamp) -> Check {
    let Meaning { wish, mode } = meaning;
    ensure!(
        sent.messages.len() + sent.rejected.len() == wish.entries(),
        "{} entries became {} texts and {} rejections",
        wish.entries(),
        sent.messages.len(),
        sent.rejected.len()
    );
    let mut people = wish.people().into_iter();
    let scheduled_at = wish.schedule_at().filter(|scheduled| *scheduled > at);
    let status =
        if scheduled_at.is_some() { MessageStatus::Scheduled } else { MessageStatus::Queued };
    for text in &sent.messages {
        ensure!(people.any(|person| person == text.to), "{} is for nobody asked for", text.id);
        let parts = u64::from(text.segments.get());
        ensure!(wish.parts() == Some(parts), "{} takes {parts} parts", text.id);
        let credits = if mode.is_test() { 0 } else { parts };
        ensure!(text.credits.get() == credits, "{} takes {} credits", text.id, text.credits);
        ensure!(
            (text.status, text.scheduled_at, text.mode) == (status, scheduled_at, *mode),
            "{text:?} was made of {meaning:?}"
        );
        let sender = text.sender.as_ref().map(|sender| sender.to_lowercase());
        let wanted = wish.sender().map(str::to_lowercase);
        ensure!(sender == wanted, "{} shows {sender:?} for {wanted:?}", text.id);
    }
    Ok(())
}
