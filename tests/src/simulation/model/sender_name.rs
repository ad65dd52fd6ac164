//! Sender names: which an account may request, and which it may use.

use sms_core::ids::AccountId;
use sms_core::sender_name::review::{Decision, ReviewPlan, ReviewRefused};
use sms_core::sender_name::{ReviewStatus, SenderName};
use sms_core::store::CommitError;

use super::{Check, Model, Moment};

impl Model {
    /// Whether another name of the account with the same letters is approved or waits.
    fn is_taken(&self, name: &SenderName) -> bool {
        self.sender_names.values().any(|other| {
            other.id != name.id
                && other.account == name.account
                && other.value.as_str().eq_ignore_ascii_case(name.value.as_str())
                && other.status != ReviewStatus::Rejected
        })
    }

    /// A name was requested, or refused.
    pub fn saw_sender_name(&mut self, name: SenderName, made: bool) -> Check {
        let taken = self.is_taken(&name);
        ensure!(made != taken, "{name:?} was made: {made}, and taken: {taken}");
        if made {
            self.sender_names.insert(name.id, name);
        }
        Ok(())
    }

    /// The operator decided on a name; the last decision counts.
    pub fn saw_review(
        &mut self,
        plan: &ReviewPlan,
        answer: &Result<SenderName, CommitError<ReviewRefused>>,
    ) -> Check {
        let own = self.sender_names.get(&plan.id);
        let refusal = match own {
            None => Some(ReviewRefused::NoSuchSenderName),
            Some(own) if plan.decision == Decision::Approve && self.is_taken(own) => {
                Some(ReviewRefused::AskedForAgain)
            }
            Some(_) => None,
        };
        let name = match answer {
            Ok(name) => name,
            Err(CommitError::Refused(reason)) => {
                ensure!(refusal == Some(*reason), "a review of {own:?} is refused: {reason}");
                return Ok(());
            }
            Err(error) => return Err(format!("a review failed: {error}")),
        };
        ensure!(refusal.is_none(), "a review of {own:?} made {name:?} in spite of {refusal:?}");
        let own = own.ok_or("a name came from nowhere")?;
        let status = match plan.decision {
            Decision::Approve => ReviewStatus::Approved,
            Decision::Reject => ReviewStatus::Rejected,
        };
        let must = SenderName {
            status,
            reason: plan.reason.clone(),
            reviewed_at: Some(plan.at),
            ..own.clone()
        };
        ensure!(*name == must, "a review made {name:?} and must make {must:?}");
        self.sender_names.insert(plan.id, must);
        Ok(())
    }

    /// The names that an account may use were read.
    pub fn saw_approved(
        &mut self,
        moment: &Moment<'_>,
        account: AccountId,
        answer: &[SenderName],
    ) -> Check {
        let own = self.sender_names.values().filter(|name| name.account == account);
        let own = own.filter(|name| name.status == ReviewStatus::Approved);
        let mut own: Vec<&SenderName> = own.collect();
        let mut told: Vec<&SenderName> = answer.iter().collect();
        own.sort_by_key(|name| name.id);
        told.sort_by_key(|name| name.id);
        ensure!(told == own, "{account} may use {told:?}, and must be able to use {own:?}");
        let names = own.into_iter().map(|name| name.value.as_str().to_owned()).collect();
        self.readings.entry(moment.task).or_default().names = names;
        Ok(())
    }
}
