//! Automatic replies are bounded, whatever numbers the messages come from.

use std::num::NonZeroU32;

use sms_core::account::Account;
use sms_core::event::{EventData, EventType};
use sms_core::inbound::{InboundPlan, Origin, TakenIn};
use sms_core::keyword::reply_limit::{PauseReason, RepliesPaused, ReplyLimits, ReplyRate};
use sms_core::phone::E164;
use sms_core::version::IfVersion::Any;

use crate::Rig;
use crate::rig::{done, event_of, person, seconds};

/// How many different numbers send messages.
const SENDERS: u16 = 900;

/// A person texts one of our numbers, under these limits on replies.
fn text(rig: &Rig, from: u16, ours: E164, body: &str, limits: ReplyLimits) -> InboundPlan {
    let plan = rig.inbound_plan(1 + from % SENDERS, ours, body, Origin::Network);
    InboundPlan { reply_limits: limits, ..plan }
}

async fn is_answered(rig: &Rig, plan: InboundPlan) -> bool {
    matches!(rig.take_in(plan).await, TakenIn::Answered(..))
}

/// The pauses in the account's log.
async fn pauses(rig: &Rig, account: &Account) -> Vec<RepliesPaused> {
    let events = rig.events(account.id).await.into_iter();
    events
        .filter_map(|logged| match logged.event.data {
            EventData::RepliesPaused(pause) => Some(pause),
            _ => None,
        })
        .collect()
}

scenarios! { Keyword;
    /// Messages from made-up numbers, many at once through several programs, spend no more than the
    /// bound of a minute. The pause is reported once, and opting out works meanwhile.
    async fn made_up_senders_get_no_more_answers_than_the_bound(rig: &Rig) {
        let account = rig.account(100_000).await;
        let ours = rig.dedicated_number(person(990), &account).await.phone;
        let endpoint = rig.endpoint(&account, &[EventType::RepliesPaused]).await;
        let keyword = rig.keyword(&account, "pizza", Some("Yum"), None).await;
        let limits = ReplyLimits::default();
        let mut answered = 0;
        for round in 0..25 {
            let plans: Vec<_> =
                (0..12).map(|n| text(rig, 12 * round + n, ours, "pizza", limits)).collect();
            let taken = rig.race_each(plans, |store, plan| async move {
                done(store.inbound_take(plan, None).await).expect("taken in")
            });
            answered += taken.iter().filter(|one| matches!(one, TakenIn::Answered(..))).count();
        }
        assert_eq!((answered, rig.balance(&account).await), (100, 99_900));
        let now = rig.keyword_now(account.id, keyword.id).await.expect("there");
        assert_eq!(now.match_count, 300, "every match counts");
        let told = pauses(rig, &account).await;
        assert_eq!(told.len(), 1);
        let RepliesPaused { keyword_id, keyword: word, reason, limit, paused_until } = &told[0];
        assert_eq!((keyword_id, word), (&None, &None));
        assert_eq!((*reason, *limit), (PauseReason::PerMinute, 100));
        let deliveries = rig.deliveries(&endpoint).await;
        assert_eq!(deliveries.len(), 1);
        let body = event_of(&deliveries[0].body);
        assert_eq!(body["type"], "replies.paused");
        assert_eq!(body["data"]["limit"], 100);
        assert!(!is_answered(rig, text(rig, 1, ours, "STOP", limits)).await);
        assert!(rig.has_opted_out(&account, 2).await, "opting out never waits");
        rig.advance_to(*paused_until);
        assert!(is_answered(rig, text(rig, 5, ours, "pizza", limits)).await);
        assert_eq!(pauses(rig, &account).await.len(), 1);
    }

    /// Answers spend no more than a fifth of the balance in an hour, and go on when it grows.
    async fn answers_spend_no_more_than_a_share_of_the_balance(rig: &Rig) {
        let account = rig.account(50).await;
        let ours = rig.dedicated_number(person(990), &account).await.phone;
        rig.keyword(&account, "pizza", Some("Yum"), None).await;
        let limits = ReplyLimits::default();
        let plans: Vec<_> = (0..60).map(|n| text(rig, n, ours, "pizza", limits)).collect();
        rig.race_each(plans, |store, plan| async move {
            done(store.inbound_take(plan, None).await).expect("taken in")
        });
        assert_eq!(rig.balance(&account).await, 40);
        let told = pauses(rig, &account).await;
        assert_eq!((told.len(), told[0].reason, told[0].limit), (1, PauseReason::Balance, 10));
        rig.adjust(&account, 10).await.expect("topped up");
        assert!(is_answered(rig, text(rig, 70, ours, "pizza", limits)).await);
        assert!(is_answered(rig, text(rig, 71, ours, "pizza", limits)).await);
        assert!(!is_answered(rig, text(rig, 72, ours, "pizza", limits)).await);
        assert_eq!((rig.balance(&account).await, pauses(rig, &account).await.len()), (48, 1));
        rig.advance_to(told[0].paused_until.plus(seconds(60)));
        assert!(is_answered(rig, text(rig, 73, ours, "pizza", limits)).await);
    }

    /// A keyword that reached its bound leaves the others theirs, and one that is made again begins
    /// anew.
    async fn a_keyword_that_pauses_leaves_the_others_their_answers(rig: &Rig) {
        let account = rig.account(100).await;
        let ours = rig.dedicated_number(person(990), &account).await.phone;
        let pizza = rig.keyword(&account, "pizza", Some("Yum"), None).await;
        rig.keyword(&account, "pasta", Some("Mmh"), None).await;
        let two = NonZeroU32::new(2).expect("two");
        let keyword = ReplyRate { per_minute: two, ..ReplyRate::default() };
        let limits = ReplyLimits { keyword, ..ReplyLimits::default() };
        for (n, word, answered) in [
            (1, "pizza", true),
            (2, "pizza", true),
            (3, "pizza", false),
            (4, "pasta", true),
            (5, "pizza", false),
            (6, "pasta", true),
            (7, "pasta", false),
        ] {
            let plan = text(rig, n, ours, word, limits);
            assert_eq!(is_answered(rig, plan).await, answered, "{n}");
        }
        let told = pauses(rig, &account).await;
        let words: Vec<_> = told.iter().map(|one| one.keyword.as_deref()).collect();
        assert_eq!(words, [Some("PIZZA"), Some("PASTA")]);
        assert_eq!(told[0].keyword_id, Some(pizza.id));
        assert!(rig.store().keyword_delete(account.id, pizza.id, Any).await.expect("removed"));
        rig.keyword(&account, "pizza", Some("Yum"), None).await;
        assert!(is_answered(rig, text(rig, 8, ours, "pizza", limits)).await);
    }
}
