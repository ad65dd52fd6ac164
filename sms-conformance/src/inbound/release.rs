//! What arrives on a number that its holder no longer has.

use sms_core::account::{Account, Mode};
use sms_core::inbound::TakenIn;
use sms_core::number::Number;
use sms_core::number::release::QUARANTINE;

use crate::Rig;
use crate::rig::{days, millis, person, request};

/// Has a message to this person leave from a number.
async fn leave(rig: &Rig, account: &Account, number: &Number, to: u16) {
    let plan = rig.plan_from(number.phone, account, Mode::Live, &request([to]));
    rig.accept(plan).await.expect("accepted");
    let hand = rig.claim_as_it_is(10).await;
    assert_eq!(hand.messages[0].from, number.phone);
    rig.finish(&hand, &crate::rig::taken()).await;
}

async fn is_unrouted(rig: &Rig, from: u16, number: &Number) -> bool {
    matches!(rig.inbound(from, number.phone, "STOP").await, TakenIn::Unrouted(_))
}

scenarios! { Inbound;
    /// For 30 days after its release, what arrives on a number belongs to the account that last
    /// sent the person a message from it, and otherwise to no account.
    async fn late_answers_to_a_released_number_find_the_account_that_texted(rig: &Rig) {
        let account = rig.account(10).await;
        let number = rig.dedicated_number(person(900), &account).await;
        leave(rig, &account, &number, 1).await;
        rig.release(&number).await;
        rig.advance(days(10));
        let answer = rig.inbound_routed(1, number.phone, "STOP").await;
        assert_eq!((answer.account, answer.to), (account.id, number.phone));
        assert!(rig.has_opted_out(&account, 1).await);
        assert!(is_unrouted(rig, 2, &number).await, "nobody texted this person");
        rig.advance(QUARANTINE - days(10));
        assert!(is_unrouted(rig, 1, &number).await);
    }

    /// A late STOP to a number that another account was given at once opts nobody out of that
    /// account, until it has sent the person a message itself.
    async fn a_late_stop_does_not_reach_the_next_holder(rig: &Rig) {
        let (account, other) = (rig.account(10).await, rig.account(10).await);
        let number = rig.dedicated_number(person(900), &account).await;
        leave(rig, &account, &number, 1).await;
        leave(rig, &account, &number, 2).await;
        rig.release(&number).await;
        let others = rig.dedicated_number(person(900), &other).await;
        assert_eq!(rig.inbound_routed(1, number.phone, "STOP").await.account, account.id);
        assert!(rig.has_opted_out(&account, 1).await && !rig.has_opted_out(&other, 1).await);
        assert_eq!(rig.inbound_routed(3, number.phone, "Hi").await.account, other.id);
        rig.advance(millis(1));
        leave(rig, &other, &others, 2).await;
        assert_eq!(rig.inbound_routed(2, number.phone, "STOP").await.account, other.id);
        assert!(rig.has_opted_out(&other, 2).await && !rig.has_opted_out(&account, 2).await);
    }
}
