//! What a worker gives back goes where it was.

use std::sync::Arc;

use super::*;

#[test]
fn a_message_that_is_given_back_keeps_its_place() {
    let (message, entry) = (message(Sending), held(OURS));
    let claimed_at = seconds(-20);
    let known = |due_at| Some(Arc::new(HeldMessage { message: message.clone(), entry, due_at }));
    let cases =
        [(known(seconds(-600)), seconds(-600)), (known(millis(1)), now()), (None, claimed_at)];
    for (held, expected) in cases {
        let mut plan = OutcomePlan { claimed_at, held, ..outcome(HandOver::GivenBack) };
        let verdict = plan.settle(Some((&message, &entry)), &EarlyReports::new());
        let entry = QueueEntry { claimable_at: expected, lease: None, ..entry };
        assert_eq!(verdict, OutcomeVerdict::Retry { entry, note: None });
    }
}
