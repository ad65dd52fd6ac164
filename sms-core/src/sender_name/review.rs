//! The operator's review of a sender name.
//!
//! The operator may decide again; the last decision counts.

use super::SenderName;
pub use super::status::ReviewStatus;
use crate::ids::SenderNameId;
use crate::time::Timestamp;

/// The operator's decision on a requested name.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Decision {
    /// The account may send with the name.
    Approve,
    /// The account may not send with the name.
    Reject,
}

impl Decision {
    /// The status that the decision leads to.
    pub fn status(self) -> ReviewStatus {
        match self {
            Self::Approve => ReviewStatus::Approved,
            Self::Reject => ReviewStatus::Rejected,
        }
    }
}

/// A decision on a name.
#[derive(Debug, Clone, PartialEq, Eq)]
#[must_use = "a plan does nothing until a store commits it"]
pub struct ReviewPlan {
    /// The id of the name.
    pub id: SenderNameId,
    /// Whether the name is approved or rejected.
    pub decision: Decision,
    /// The reason, at most 500 characters; `None` if not given.
    pub reason: Option<String>,
    /// When the operator decided.
    pub at: Timestamp,
}

/// Why a decision was not recorded.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub enum ReviewRefused {
    /// There is no such name.
    #[error("no such sender name")]
    NoSuchSenderName,
    /// The name was rejected, and its account has requested it again since.
    #[error("the account has requested this sender name again; decide on the newer request")]
    AskedForAgain,
}

impl ReviewPlan {
    /// Decides from the name and the account's names with the same folded value, which may include
    /// the name. No other decision on these names and no request for the name may run in between.
    pub fn settle<'a>(
        &self,
        name: Option<&SenderName>,
        same: impl IntoIterator<Item = &'a SenderName>,
    ) -> Result<SenderName, ReviewRefused> {
        let name = name.ok_or(ReviewRefused::NoSuchSenderName)?;
        let live = |other: &SenderName| other.id != name.id && other.is_live();
        if self.decision == Decision::Approve && same.into_iter().any(live) {
            return Err(ReviewRefused::AskedForAgain);
        }
        Ok(SenderName {
            status: self.decision.status(),
            reason: self.reason.clone(),
            reviewed_at: Some(self.at),
            ..name.clone()
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::samples::{account_id, now, seconds};
    use crate::unknown_name::UnknownName;

    fn name(id: u128, status: ReviewStatus) -> SenderName {
        let value = "Bistro".parse().unwrap();
        let id = SenderNameId::from_u128(id);
        let requested = SenderName::requested(id, account_id(), value, None, seconds(-60));
        SenderName { status, reason: Some("before".to_owned()), ..requested }
    }

    fn plan(decision: Decision, reason: Option<&str>) -> ReviewPlan {
        let id = SenderNameId::from_u128(1);
        ReviewPlan { id, decision, reason: reason.map(str::to_owned), at: now() }
    }

    #[test]
    fn the_last_decision_counts_whatever_preceded_it() {
        for before in ReviewStatus::ALL.map(|status| name(1, status)) {
            for (decision, status) in [
                (Decision::Approve, ReviewStatus::Approved),
                (Decision::Reject, ReviewStatus::Rejected),
            ] {
                for reason in [None, Some("as told")] {
                    let plan = plan(decision, reason);
                    let after = plan.settle(Some(&before), [&before]).unwrap();
                    let expected = SenderName {
                        status,
                        reason: reason.map(str::to_owned),
                        reviewed_at: Some(now()),
                        ..before.clone()
                    };
                    assert_eq!(after, expected);
                }
            }
        }
    }

    #[test]
    fn a_rejected_name_that_was_requested_again_is_not_approved() {
        let rejected = name(1, ReviewStatus::Rejected);
        for (other, refused) in [
            (ReviewStatus::Pending, true),
            (ReviewStatus::Approved, true),
            (ReviewStatus::Rejected, false),
        ] {
            let both = [rejected.clone(), name(2, other)];
            let approved = plan(Decision::Approve, None).settle(Some(&rejected), &both);
            assert_eq!(approved.err(), refused.then_some(ReviewRefused::AskedForAgain), "{other}");
            assert!(plan(Decision::Reject, None).settle(Some(&rejected), &both).is_ok());
        }
    }

    #[test]
    fn a_decision_on_a_missing_name_is_refused() {
        for decision in [Decision::Approve, Decision::Reject] {
            let refused = plan(decision, None).settle(None, []).unwrap_err();
            assert_eq!(refused, ReviewRefused::NoSuchSenderName);
        }
    }

    #[test]
    fn a_status_parses_back_from_its_name() {
        for status in ReviewStatus::ALL {
            assert_eq!(status.to_string().parse(), Ok(status));
        }
        assert_eq!("live".parse::<ReviewStatus>(), Err(UnknownName::of("review status")));
    }
}
