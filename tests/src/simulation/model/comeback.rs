//! What networks bring back: receipts and inbound texts; and cancelling.

use std::time::Duration;

use sms_core::account::Mode;
use sms_core::event::EventType;
use sms_core::ids::{AccountId, FollowUpId, Ids, MessageId};
use sms_core::inbound::{InboundPlan, Origin, TakenIn};
use sms_core::message::cancel::CancelRefused;
use sms_core::message::{Direction, Message, MessageStatus};
use sms_core::number::Holder;
use sms_core::receipt::{ReceiptPlan, ReceiptStatus, Recorded};
use sms_core::time::Timestamp;

use super::commit::Owed;
use super::text::{TextModel, TextStep};
use super::{Check, Commit, Model, Moment};
use crate::simulation::wish::Answer;

/// How long a text from a shared number leads the answer to its account.
const SHARED_REACH: Duration = Duration::from_hours(30 * 24);

/// A user's wish to cancel a text.
#[derive(Debug, Clone)]
pub struct CancelSeen {
    /// Whose text.
    pub account: AccountId,
    /// Which text.
    pub message: MessageId,
    /// When.
    pub at: Timestamp,
    /// Ids for what cancelling makes.
    pub ids: Ids,
}

impl Model {
    /// Receipts were recorded.
    pub fn saw_receipts(
        &mut self,
        moment: &Moment<'_>,
        plans: Vec<ReceiptPlan>,
        answers: &[Recorded],
    ) -> Check {
        ensure!(
            plans.len() == answers.len(),
            "{} receipts, {} answers",
            plans.len(),
            answers.len()
        );
        let mut commit = Commit::default();
        for (plan, answer) in plans.into_iter().zip(answers) {
            commit.plan(plan.ids.clone());
            self.receipt(moment, &mut commit, &plan, answer)?;
        }
        self.close(moment, commit)
    }

    fn receipt(
        &mut self,
        moment: &Moment<'_>,
        commit: &mut Commit,
        plan: &ReceiptPlan,
        answer: &Recorded,
    ) -> Check {
        use MessageStatus::{Delivered, Sending, Sent, Undelivered};
        let id = plan.receipt.message;
        if let Some(follow_up) = plan.follow_up
            && !self.fulfil(id, follow_up)?
        {
            ensure!(*answer == Recorded::AlreadyDone, "{follow_up} was fulfilled twice");
            return self.text_stayed(moment, id);
        }
        let Some(text) = self.texts.get_mut(&id) else {
            ensure!(*answer == Recorded::NoSuchMessage, "a receipt found {id}, which nobody made");
            return Ok(());
        };
        if !matches!(text.last.status, MessageStatus::Scheduled | MessageStatus::Queued) {
            text.receipts += 1;
        }
        let (end, errors) = match plan.receipt.status {
            ReceiptStatus::Delivered => (Delivered, Vec::new()),
            ReceiptStatus::Undelivered(error) => (Undelivered, vec![error]),
        };
        let path: &[MessageStatus] = match (text.last.status, end) {
            (Sending, _) => &[Sent, end],
            (Sent, _) | (Undelivered, Delivered) => &[end],
            _ => &[],
        };
        if path.is_empty() {
            self.text_stayed(moment, id)?;
            let kept = Recorded::Unchanged(self.text(id)?.last.clone());
            ensure!(*answer == kept, "a receipt for {id} answers {answer:?}");
            return Ok(());
        }
        self.tally.receipts += 1;
        self.text_moved(moment, commit, id, TextStep { path, at: plan.at, errors: &errors })?;
        let kept = Recorded::Changed(self.text(id)?.last.clone());
        ensure!(*answer == kept, "a receipt for {id} answers {answer:?}");
        Ok(())
    }

    /// Notes that a simulated comeback was fulfilled; false when it was before.
    fn fulfil(&mut self, message: MessageId, id: FollowUpId) -> Result<bool, String> {
        if !self.fulfilled.insert(id) {
            return Ok(false);
        }
        let owed = self.comebacks.get_mut(&message).filter(|owed| **owed > 0);
        let owed = owed.ok_or_else(|| format!("{message} owes no comeback {id}"))?;
        *owed -= 1;
        Ok(true)
    }

    /// A text came in.
    pub fn saw_inbound(
        &mut self,
        moment: &Moment<'_>,
        plan: &InboundPlan,
        answer: &TakenIn,
    ) -> Check {
        let mut answered = None;
        if let Origin::Answer { to, follow_up } = plan.origin {
            if !self.fulfil(to, follow_up)? {
                ensure!(*answer == TakenIn::AlreadyDone, "{follow_up} was fulfilled twice");
                return Ok(());
            }
            let text = self.text(to)?;
            answered = Some((text.last.account, text.last.mode));
        }
        let owner = answered.or_else(|| self.owner(plan));
        match (answer, owner) {
            (TakenIn::Routed(message), Some((account, mode))) => {
                self.tally.inbound += 1;
                self.taken_in(moment, plan, message, account, mode)
            }
            (TakenIn::Unrouted(text), None) => {
                self.unrouted.insert(text.id);
                Ok(())
            }
            _ => Err(format!("{} belongs to {owner:?} and became {answer:?}", plan.id)),
        }
    }

    /// Whose a text from a network is.
    fn owner(&self, plan: &InboundPlan) -> Option<(AccountId, Mode)> {
        let to = plan.text.to;
        let number = self.numbers.values().find(|own| own.phone == to)?;
        match number.holder {
            Holder::Dedicated(account) => Some((account, Mode::Live)),
            Holder::Shared => {
                let (account, at) = self.last_texted.get(&(to, plan.text.from))?;
                (plan.at.since(*at) <= SHARED_REACH).then_some((*account, Mode::Live))
            }
        }
    }

    fn taken_in(
        &mut self,
        moment: &Moment<'_>,
        plan: &InboundPlan,
        message: &Message,
        account: AccountId,
        mode: Mode,
    ) -> Check {
        let told = (message.account, message.mode, message.direction, message.status);
        let expected = (account, mode, Direction::Inbound, MessageStatus::Received);
        ensure!(told == expected, "an inbound text became {message:?}");
        let text = &plan.text;
        ensure!(
            (message.from, message.to, &message.body) == (text.from, text.to, &text.body)
                && message.credits.get() == 0
                && message.times.received_at == Some(plan.at),
            "an inbound text became {message:?}"
        );
        let mut commit = Commit::default();
        commit.plan(plan.ids.clone());
        let made = TextModel {
            last: message.clone(),
            lines: 1,
            ready_at: plan.at,
            expires_at: plan.at,
            attempt: 0,
            lease: None,
            receipts: 0,
        };
        self.text_made(moment, made)?;
        let owe = |kind, subject| Owed { account, kind, subject, at: plan.at };
        commit.owe(owe(EventType::MessageReceived, message.id.to_string()));
        if self.opt(moment, account, text.from, Answer::of(text.body.as_str())) {
            commit.owe(owe(EventType::OptOutCreated, text.from.to_string()));
        }
        commit.touch(account);
        self.close(moment, commit)
    }

    /// Opts a person out or in; says whether the person is newly opted out.
    fn opt(
        &mut self,
        moment: &Moment<'_>,
        account: AccountId,
        person: sms_core::phone::E164,
        answer: Answer,
    ) -> bool {
        let Some(own) = self.accounts.get_mut(&account) else { return false };
        let before = own.opt_outs.contains_key(&person);
        match answer {
            Answer::Out if !before => {
                own.opt_outs.insert(person, moment.step);
            }
            Answer::In if before => {
                own.opt_outs.remove(&person);
            }
            _ => return false,
        }
        own.opt_out_changes += 1;
        !before
    }

    /// A user cancelled a text, or could not.
    pub fn saw_cancel(
        &mut self,
        moment: &Moment<'_>,
        seen: &CancelSeen,
        answer: Result<&Message, CancelRefused>,
    ) -> Check {
        let id = seen.message;
        let own = self.texts.get(&id).filter(|text| text.last.account == seen.account);
        let Some(text) = own else {
            let refused = answer == Err(CancelRefused::NoSuchMessage);
            ensure!(refused, "cancelling another's {id} answers {answer:?}");
            return self.text_stayed(moment, id);
        };
        let status = text.last.status;
        if !matches!(status, MessageStatus::Scheduled | MessageStatus::Queued) {
            let refused = answer == Err(CancelRefused::NotCancellable(status));
            ensure!(refused, "cancelling {id}, which is {status}, answers {answer:?}");
            return self.text_stayed(moment, id);
        }
        let mut commit = Commit::default();
        commit.plan(seen.ids.clone());
        let path = [MessageStatus::Cancelled];
        let step = TextStep { path: &path, at: seen.at, errors: &[] };
        self.text_moved(moment, &mut commit, id, step)?;
        let last = &self.text(id)?.last;
        ensure!(answer == Ok(last), "cancelling {id} answers {answer:?}");
        self.close(moment, commit)
    }

    /// Simulated comebacks that are still owed.
    pub fn comebacks_owed(&self) -> usize {
        self.comebacks.values().sum()
    }
}
