//! The sender of a message is looked at again at the claim.

use super::*;
use crate::credits::Credits;
use crate::ids::{AccountId, NumberId};
use crate::number::Holder;
use crate::number::rent::GRACE;
use crate::samples::mobile;

/// 07700 900000 plus `n`, for this holder.
fn number(n: u64, holder: Holder) -> Number {
    Number { id: NumberId::from_u128(n.into()), phone: mobile(n), holder, ..shared_number() }
}

fn stopped(number: Number) -> Number {
    let rental_credits = Credits::new(5).unwrap();
    Number { rental_credits, assigned_at: now().minus(GRACE), ..number }
}

#[test]
fn a_message_leaves_from_the_accounts_sending_number_if_its_own_is_no_longer_the_accounts() {
    let mine = Holder::Dedicated(account_id());
    let others = Holder::Dedicated(AccountId::from_u128(2));
    let backup = |number| Number { route: Some(RouteName::new("backup")), ..number };
    for (numbers, expected) in [
        (vec![number(1, mine)], Ok(None)),
        (vec![number(1, Holder::Shared)], Ok(None)),
        (vec![number(1, mine), number(2, mine)], Ok(None)),
        (vec![], Err("no_number")),
        (vec![number(1, others)], Err("no_number")),
        (vec![number(2, others)], Err("no_number")),
        (vec![number(2, mine)], Ok(Some((2, "default")))),
        (vec![backup(number(2, mine))], Ok(Some((2, "backup")))),
        (vec![number(1, others), number(3, Holder::Shared)], Ok(Some((3, "default")))),
        (vec![stopped(number(1, mine))], Err("no_number")),
        (vec![stopped(number(1, mine)), number(3, Holder::Shared)], Ok(Some((3, "default")))),
        (vec![stopped(number(1, mine)), stopped(number(2, mine))], Err("no_number")),
    ] {
        for status in [Scheduled, Queued, Sending] {
            let (message, entry) = (message(status), entry());
            let verdict = claim(ClaimFacts { numbers: &numbers, ..facts(&message, &entry) });
            let ClaimVerdict::Take { changed, text, new_sender, note, .. } = verdict else {
                let expected = expected.expect_err("taken");
                assert_eq!(in_a_word(verdict), expected, "{status} {numbers:?}");
                continue;
            };
            let sender = expected.expect("failed");
            let moved = sender.map(|(n, route)| (mobile(n), RouteName::new(route)));
            let written = new_sender.map(|new| (new.from, new.route));
            assert_eq!(written, moved, "{status} {numbers:?}");
            let (from, route) = moved.clone().unwrap_or((our_number(), message.route.clone()));
            assert_eq!((text.from, &text.route), (from, &route));
            if let Some(changed) = &changed {
                assert_eq!((changed.message.from, &changed.message.route), (from, &route));
            }
            let lines = changed.into_iter().flat_map(|changed| changed.timeline);
            let mut lines = lines.chain(note).filter_map(|line| line.detail);
            let told = sender.map(|(n, _)| {
                format!("{} can no longer be used; sent from {}", our_number(), mobile(n))
            });
            assert_eq!(lines.next(), told, "{status}");
        }
    }
}

#[test]
fn a_test_message_stays_on_the_test_route() {
    let (message, entry) = (test_message(Queued), entry());
    let numbers = [number(2, Holder::Shared)];
    let verdict = claim(ClaimFacts { numbers: &numbers, ..facts(&message, &entry) });
    let ClaimVerdict::Take { text, .. } = verdict else { panic!("not claimed") };
    assert_eq!((text.from, text.route), (mobile(2), RouteName::test()));
}

#[test]
fn a_sender_name_that_is_no_longer_approved_carries_nothing() {
    let entry = entry();
    for status in [Scheduled, Queued, Sending] {
        let message = Message { sender: Some("BISTRO".to_owned()), ..message(status) };
        for (name, expected) in
            [(NameStanding::Approved, "take"), (NameStanding::NotApproved, "sender_not_approved")]
        {
            let facts = ClaimFacts { name, numbers: &NUMBERS, ..facts(&message, &entry) };
            assert_eq!(in_a_word(claim(facts)), expected, "{status}");
        }
        let rejected = ClaimFacts { name: NameStanding::NotApproved, ..facts(&message, &entry) };
        let ClaimVerdict::Fail(changed) = claim(rejected) else { panic!("taken") };
        assert!(changed.refund.is_some());
        let told = changed.timeline[0].detail.as_deref();
        assert_eq!(told, Some("The sender name was rejected before the message was sent."));
    }
}
