//! Counts, whatever happens to messages.

use sms_core::campaign::CampaignStatus;
use sms_core::change::cancel::CancelPlan;
use sms_core::message::{MessageFilter, MessageStatus};
use sms_core::opt_out::{OptOut, OptOutSource};
use sms_core::random::Random;

use crate::Rig;
use crate::rig::{done, refused, seconds, taken, try_later};

scenarios! { Campaign;
    /// Counts follow every step of every message, and the campaign is complete when the last one
    /// has left, failed or been cancelled.
    async fn counts_follow_every_step(rig: &Rig) {
        let account = rig.account(10).await;
        let campaign = rig.launched(&account, 1..=5).await;
        let messages = rig.messages_of(&campaign).await;
        let opt_out = OptOut {
            phone: messages[4].to,
            source: OptOutSource::Api,
            note: None,
            created_at: rig.now(),
        };
        done(rig.store().opt_out_create(account.id, opt_out, None).await).expect("opted out");
        let plan = CancelPlan {
            account: account.id, message: messages[3].id, at: rig.now(), ids: rig.ids(),
        };
        rig.store().message_cancel(plan).await.expect("cancelled");
        let counts = async || rig.counts(&campaign).await.to_array();
        assert_eq!(counts().await, [0, 4, 0, 0, 0, 0, 0, 1]);
        rig.advance(seconds(1));
        let hand = rig.claim_all().await;
        assert_eq!((hand.messages.len(), hand.failed), (3, 1));
        assert_eq!(counts().await, [0, 0, 3, 0, 0, 0, 1, 1]);
        rig.record(hand.ids()[0], hand.token, taken()).await;
        rig.record(hand.ids()[1], hand.token, try_later()).await;
        assert_eq!(counts().await, [0, 0, 2, 1, 0, 0, 1, 1]);
        rig.advance(seconds(1));
        // A receipt that comes before the hand-over was recorded.
        rig.deliver(hand.ids()[2]).await;
        assert_eq!(counts().await, [0, 0, 1, 1, 1, 0, 1, 1]);
        let now = rig.campaign_now(&campaign).await.expect("there");
        assert_eq!((now.status(rig.now()), now.completed_at()), (CampaignStatus::Sending, None));
        let done_at = rig.advance(seconds(10));
        let again = rig.claim_all().await;
        rig.finish(&again, &refused()).await;
        rig.advance(seconds(1));
        rig.undeliver(hand.ids()[0]).await;
        rig.deliver(hand.ids()[0]).await;
        assert_eq!(counts().await, [0, 0, 0, 0, 2, 0, 2, 1]);
        let now = rig.campaign_now(&campaign).await.expect("there");
        assert_eq!(now.status(rig.now()), CampaignStatus::Sent);
        assert_eq!(now.completed_at(), Some(done_at), "receipts do not count");
    }

    /// Folding changes no answer, however often and however much at a time.
    async fn folding_changes_no_answer(rig: &Rig) {
        let account = rig.account(20).await;
        let (one, two) = (rig.launched(&account, 1..=4).await, rig.launched(&account, 1..=4).await);
        for _ in 0..3 {
            rig.advance(seconds(1));
            let hand = rig.claim(3).await;
            rig.finish(&hand, &taken()).await;
            let before = rig.campaigns(account.id).await;
            while rig.fold_counts(1).await > 0 {
                assert_eq!(rig.campaigns(account.id).await, before);
            }
            assert_eq!(rig.campaigns(account.id).await, before);
        }
        let sent = |counts: sms_core::campaign::Counts| counts.of(MessageStatus::Sent);
        assert_eq!(sent(rig.counts(&one).await) + sent(rig.counts(&two).await), 8);
    }

    /// After any history of claims, outcomes, receipts, cancels and folds, counts are a recount.
    async fn counts_are_a_recount_after_any_history(rig: &Rig) {
        let account = rig.account(1_000).await;
        let dice = |below: u64| rig.random().next_u64() % below;
        let mut campaigns = Vec::new();
        let mut hands = Vec::new();
        for n in 0..60u16 {
            rig.advance(seconds(dice(20)));
            match dice(8) {
                0 => campaigns.push(rig.launched(&account, n..n + 4).await),
                1 | 2 => hands.push(rig.claim(usize::try_from(dice(5)).expect("few")).await),
                3 | 4 => {
                    for hand in hands.drain(..) {
                        let result = [taken(), refused(), try_later()];
                        let result = &result[usize::try_from(dice(3)).expect("few")];
                        rig.finish(&hand, result).await;
                    }
                }
                5 => {
                    for campaign in &campaigns {
                        for text in rig.messages_of(campaign).await {
                            match dice(4) {
                                0 => drop(rig.deliver(text.id).await),
                                1 => drop(rig.undeliver(text.id).await),
                                _ => {}
                            }
                        }
                    }
                }
                6 if dice(2) == 0 => {
                    if let Some(campaign) = campaigns.last()
                        && rig.mark_cancelled(campaign).await.is_ok()
                    {
                        rig.sweep_one(campaign, 2).await;
                    }
                }
                _ => drop(rig.fold_counts(usize::try_from(dice(4)).expect("few")).await),
            }
            let messages = rig.messages(account.id, &MessageFilter::default()).await;
            rig.audit_campaigns(account.id, &messages).await;
        }
    }
}
