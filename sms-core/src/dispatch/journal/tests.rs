use super::*;
use crate::receipt::report::NetworkId;
use crate::route::RouteName;
use crate::samples::{ids, now, seconds};

const OURS: LeaseToken = LeaseToken(1);

fn id(number: u128) -> MessageId {
    MessageId::from_u128(number)
}

fn claimed(numbers: &[u128]) -> Entry {
    let messages = numbers.iter().copied().map(id).collect();
    Entry::Claimed { lease: OURS, at: now(), messages }
}

fn submitting(number: u128) -> Entry {
    Entry::Submitting { messages: vec![id(number)], unanswered: IfUnanswered::Again }
}

fn submitted(number: u128) -> HandOver {
    let parts = vec![NetworkId::new(RouteName::new("main"), format!("n{number}"))];
    HandOver::Submitted { parts }
}

fn answered(number: u128) -> Entry {
    Entry::Answered { message: id(number), result: submitted(number), at: seconds(1) }
}

fn settled(numbers: &[u128]) -> Entry {
    Entry::Settled { messages: numbers.iter().copied().map(id).collect() }
}

fn after(entries: &[Entry]) -> Unsettled {
    let mut unsettled = Unsettled::default();
    for entry in entries {
        unsettled.apply(entry.clone()).unwrap();
    }
    unsettled
}

#[test]
fn a_message_is_left_over_from_its_claim_until_it_is_settled() {
    let unsettled = after(&[
        claimed(&[1, 2, 3, 4]),
        submitting(2),
        submitting(3),
        answered(3),
        submitting(4),
        answered(4),
        settled(&[4]),
    ]);
    let stages: Vec<_> = unsettled.left_over().into_iter().map(|left| left.stage).collect();
    let again = IfUnanswered::Again;
    let expected =
        [Stage::Claimed, Stage::Submitting(again), Stage::Answered(submitted(3), seconds(1))];
    assert_eq!(stages, expected);
}

#[test]
fn what_is_left_over_becomes_an_outcome_under_its_own_lease() {
    let left = |stage| LeftOver { message: id(1), lease: OURS, claimed_at: now(), stage };
    let unanswered = |then| left(Stage::Submitting(then)).outcome(seconds(9), ids());
    let again = unanswered(IfUnanswered::Again);
    assert_eq!((again.message, again.token, again.claimed_at), (id(1), OURS, now()));
    let HandOver::Unanswered { detail } = again.result else { panic!("{again:?}") };
    assert!(detail.ends_with("may have been sent"));
    let HandOver::Abandoned { error, .. } = unanswered(IfUnanswered::Undelivered).result else {
        panic!("it is handed over again")
    };
    assert_eq!(error, ErrorCode::NetworkError);
    let claimed = left(Stage::Claimed).outcome(seconds(9), ids());
    assert!(matches!(claimed.result, HandOver::TryLater { .. }));
    let known = left(Stage::Answered(submitted(1), seconds(1))).outcome(seconds(9), ids());
    assert_eq!((known.result, known.at), (submitted(1), seconds(1)));
}

#[test]
fn only_what_changes_something_is_written() {
    let mut unsettled = after(&[claimed(&[1, 2])]);
    let mut writes = |entry| unsettled.apply(entry).unwrap();
    assert_eq!(writes(submitting(1)), Some(submitting(1)));
    assert_eq!(writes(submitting(1)), None, "another segment of the same message");
    assert_eq!(writes(submitting(9)), None, "it was not claimed");
    assert_eq!(writes(answered(1)), Some(answered(1)));
    assert_eq!(writes(answered(1)), None, "the route noted it before the service does");
    assert_eq!(writes(submitting(1)), None, "its outcome is known");
    assert_eq!(writes(settled(&[1, 9])), Some(settled(&[1])));
    assert_eq!(writes(settled(&[1])), None);
    assert_eq!(unsettled.len(), 1);
}

#[test]
fn an_answer_to_a_message_that_is_not_known_as_claimed_is_refused() {
    let mut unsettled = after(&[claimed(&[1])]);
    assert!(matches!(unsettled.apply(answered(2)), Err(NotKept::Unknown)));
}

#[test]
fn a_journal_in_doubt_keeps_answers_alone() {
    let mut unsettled = after(&[claimed(&[1, 2, 3]), submitting(2), answered(3)]);
    unsettled.keep_answered();
    let left: Vec<_> = unsettled.left_over().into_iter().map(|left| left.message).collect();
    assert_eq!(left, [id(3)]);
}

#[test]
fn a_journal_that_starts_anew_says_the_same() {
    let unsettled = after(&[claimed(&[1, 2, 3, 4]), submitting(2), answered(3), settled(&[4])]);
    let anew = after(&unsettled.entries());
    assert_eq!(anew.left_over(), unsettled.left_over());
}
