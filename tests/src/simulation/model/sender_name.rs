//! Sender names: which an account may ask for, and which of them may be used.

use sms_core::ids::AccountId;
use sms_core::sender_name::{Decision, ReviewPlan, ReviewRefused, ReviewStatus, SenderName};
use sms_core::store::CommitError;

use super::{Check, Model};

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

    /// A name was asked for, or refused.
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
        let Ok(name) = answer else {
            let approved = plan.decision == Decision::Approve;
            let refused = own.is_none_or(|own| approved && self.is_taken(own));
            ensure!(refused, "a review of {own:?} answers {answer:?}");
            return Ok(());
        };
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
        let taken = status == ReviewStatus::Approved && self.is_taken(&must);
        ensure!(!taken, "{name:?} was approved beside another");
        self.sender_names.insert(plan.id, must);
        Ok(())
    }

    /// The names that an account may use were read.
    pub fn saw_approved(&self, account: AccountId, answer: &[SenderName]) -> Check {
        let own = self.sender_names.values().filter(|name| name.account == account);
        let own = own.filter(|name| name.status == ReviewStatus::Approved);
        let mut own: Vec<&SenderName> = own.collect();
        let mut told: Vec<&SenderName> = answer.iter().collect();
        own.sort_by_key(|name| name.id);
        told.sort_by_key(|name| name.id);
        ensure!(told == own, "{account} may use {told:?}, and must be able to use {own:?}");
        Ok(())
    }
}
