//! Receipts for sent messages, and cancelling.

use sms_core::change::cancel::CancelRefused;
use sms_core::ids::{AccountId, FollowUpId, Ids, MessageId};
use sms_core::message::{Message, MessageStatus};
use sms_core::receipt::{ReceiptPlan, ReceiptStatus, Recorded};
use sms_core::time::Timestamp;

use super::text::MessageStep;
use super::{Check, Commit, Model, Moment};

/// A user's request to cancel a message.
#[derive(Debug, Clone)]
pub struct CancelSeen {
    /// The account.
    pub account: AccountId,
    /// The message.
    pub message: MessageId,
    /// The time of the request.
    pub at: Timestamp,
    /// Ids for what cancelling creates.
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
            return self.message_stayed(moment, id);
        }
        let Some(text) = self.messages.get_mut(&id) else {
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
            self.message_stayed(moment, id)?;
            let kept = Recorded::Unchanged(self.text(id)?.last.clone());
            ensure!(*answer == kept, "a receipt for {id} answers {answer:?}");
            return Ok(());
        }
        self.tally.receipts += 1;
        self.message_moved(
            moment,
            commit,
            id,
            MessageStep { path, at: plan.at, errors: &errors, detail: None },
        )?;
        let kept = Recorded::Changed(self.text(id)?.last.clone());
        ensure!(*answer == kept, "a receipt for {id} answers {answer:?}");
        Ok(())
    }

    /// Records that a follow-up came. Returns false if it had come before.
    pub(super) fn fulfil(&mut self, message: MessageId, id: FollowUpId) -> Result<bool, String> {
        if !self.fulfilled.insert(id) {
            return Ok(false);
        }
        let owed = self.comebacks.get_mut(&message).filter(|owed| **owed > 0);
        let owed = owed.ok_or_else(|| format!("{message} owes no comeback {id}"))?;
        *owed -= 1;
        Ok(true)
    }

    /// A user cancelled a message, or was refused.
    pub fn saw_cancel(
        &mut self,
        moment: &Moment<'_>,
        seen: &CancelSeen,
        answer: Result<&Message, CancelRefused>,
    ) -> Check {
        let id = seen.message;
        let own = self.messages.get(&id).filter(|text| text.last.account == seen.account);
        let Some(text) = own else {
            let refused = answer == Err(CancelRefused::NoSuchMessage);
            ensure!(refused, "cancelling another's {id} answers {answer:?}");
            return self.message_stayed(moment, id);
        };
        let status = text.last.status;
        if !matches!(status, MessageStatus::Scheduled | MessageStatus::Queued) {
            let refused = answer == Err(CancelRefused::NotCancellable(status));
            ensure!(refused, "cancelling {id}, which is {status}, answers {answer:?}");
            return self.message_stayed(moment, id);
        }
        let mut commit = Commit::default();
        commit.plan(seen.ids.clone());
        let path = [MessageStatus::Cancelled];
        let step = MessageStep { path: &path, at: seen.at, errors: &[], detail: None };
        self.message_moved(moment, &mut commit, id, step)?;
        let last = &self.text(id)?.last;
        ensure!(answer == Ok(last), "cancelling {id} answers {answer:?}");
        self.close(moment, commit)
    }

    /// The number of follow-ups still to come.
    pub fn comebacks_owed(&self) -> usize {
        self.comebacks.values().sum()
    }
}
