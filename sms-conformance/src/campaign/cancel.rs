//! Cancelling campaigns: messages that were not submitted are refunded, once.

use sms_core::account::Mode;
use sms_core::campaign::cancel::{CancelRefused, SweepPlan, Swept};
use sms_core::campaign::{Campaign, CampaignStatus};
use sms_core::credits::ledger::Cause;
use sms_core::event::EventType;
use sms_core::message::MessageStatus;
use sms_core::route::HandOver;
use sms_core::time::Timestamp;

use crate::Rig;
use crate::rig::{credits, days, done, refusal_of, refused, seconds, taken, try_later, unanswered};

async fn status(rig: &Rig, campaign: &Campaign) -> CampaignStatus {
    rig.campaign_now(campaign).await.expect("there").status(rig.now())
}

async fn unswept(rig: &Rig, before: Timestamp) -> Vec<Campaign> {
    let found = rig.store().campaigns_unswept(before, 10).await.expect("looked for");
    let mut campaigns = Vec::new();
    for (account, id) in found {
        let found = rig.store().campaign_get(account, id).await.expect("read");
        campaigns.extend(found);
    }
    campaigns
}

scenarios! { Campaign;
    /// A scheduled campaign is cancelled: each message is refunded with a separate entry, and none
    /// is sent at its time.
    async fn a_scheduled_campaign_is_cancelled_and_refunded(rig: &Rig) {
        let account = rig.account(10).await;
        let endpoint = rig.endpoint(&account, &EventType::SUBSCRIBABLE).await;
        let draft = rig.draft(&account, &rig.list_of(&account, 1..=5).await).await;
        let due = rig.now().plus(days(1));
        let plan = rig.launch_plan(&account, &draft, Mode::Live, Some(due));
        let campaign = done(rig.store().campaign_launch(plan, None).await).expect("launched");
        let now = rig.advance(seconds(9));
        let marked = rig.mark_cancelled(&campaign).await.expect("cancelled");
        let launch = marked.launch.clone().expect("launched");
        assert_eq!((launch.cancelled_at, marked.updated_at), (Some(now), now));
        assert_eq!(rig.campaign_now(&campaign).await, Some(marked));
        rig.sweep(&campaign).await;
        let after = rig.campaign_now(&campaign).await.expect("there");
        assert_eq!((after.status(now), after.completed_at()), (CampaignStatus::Cancelled, None));
        assert_eq!(rig.counts(&campaign).await.of(MessageStatus::Cancelled), 5);
        assert_eq!((rig.balance(&account).await, rig.next_dispatch().await), (10, None));
        for text in rig.messages_of(&campaign).await {
            assert_eq!(text.times.cancelled_at, Some(now));
        }
        let entries = rig.ledger(account.id).await;
        let refunds = entries.iter().filter(|entry| {
            let id = Some(campaign.id);
            matches!(entry.cause, Cause::Refund { campaign, .. } if campaign == id)
        });
        assert_eq!(refunds.count(), 5);
        assert_eq!(rig.deliveries(&endpoint).await, [], "cancelling raises no event");
        rig.advance_to(due);
        assert_eq!(rig.claim_all().await.messages, []);
    }

    /// While messages are leaving, those that a worker has taken are on their way; the others are
    /// cancelled.
    async fn what_a_worker_has_taken_is_on_its_way(rig: &Rig) {
        let account = rig.account(10).await;
        let campaign = rig.launched(&account, 1..=7).await;
        let hand = rig.claim(3).await;
        rig.cancel_campaign(&campaign).await;
        assert_eq!(rig.balance(&account).await, 7);
        rig.record(hand.ids()[0], hand.token, taken()).await;
        rig.record(hand.ids()[1], hand.token, refused()).await;
        let counts = rig.counts(&campaign).await;
        assert_eq!(counts.to_array(), [0, 0, 1, 1, 0, 0, 1, 4]);
        assert_eq!(rig.balance(&account).await, 8);
        assert_eq!(status(rig, &campaign).await, CampaignStatus::Cancelled);
        // Its lease has expired: it may have been sent, and is not sent again.
        rig.advance(days(1).checked_div(1_000).expect("some time"));
        let again = rig.claim_all().await;
        assert_eq!((again.messages.len(), again.given_up), (0, 1));
        assert_eq!(rig.balance(&account).await, 8, "what may have been sent is not refunded");
        rig.deliver(hand.ids()[2]).await;
        assert_eq!(rig.counts(&campaign).await.to_array(), [0, 0, 0, 1, 1, 0, 1, 4]);
    }

    /// What a worker has taken and not submitted when the campaign is cancelled is cancelled and
    /// refunded once the worker gives it back, or once it is due again.
    async fn what_was_taken_and_not_submitted_is_cancelled(rig: &Rig) {
        let account = rig.account(10).await;
        let campaign = rig.launched(&account, 1..=3).await;
        let hand = rig.claim(3).await;
        rig.cancel_campaign(&campaign).await;
        rig.record(hand.ids()[0], hand.token, HandOver::GivenBack).await;
        rig.record(hand.ids()[1], hand.token, try_later()).await;
        rig.record(hand.ids()[2], hand.token, unanswered()).await;
        rig.advance(seconds(5));
        let found = rig.claim_all().await;
        assert_eq!((found.messages.len(), found.failed, found.given_up), (0, 0, 1));
        assert_eq!(rig.counts(&campaign).await.to_array(), [0, 0, 0, 0, 0, 1, 0, 2]);
        assert_eq!(rig.balance(&account).await, 9);
        let path = [MessageStatus::Queued, MessageStatus::Sending, MessageStatus::Cancelled];
        assert_eq!(rig.statuses(&account, hand.ids()[0]).await, path);
    }

    /// From the moment it is cancelled no message of it is taken, swept or not: a worker that finds
    /// one due cancels it, and refunds it.
    async fn no_message_of_a_cancelled_campaign_is_taken(rig: &Rig) {
        let account = rig.account(10).await;
        let campaign = rig.launched(&account, 1..=4).await;
        let other = rig.text(&account, 9).await;
        rig.mark_cancelled(&campaign).await.expect("cancelled");
        rig.provide_our_number().await;
        let plan = rig.claim_plan(10);
        let claimed = rig.store().dispatch_claim(plan).await.expect("claimed");
        assert_eq!((claimed.messages.len(), claimed.failed, claimed.cancelled), (1, 0, 4));
        assert_eq!(claimed.messages[0].message, other.id);
        assert_eq!(rig.counts(&campaign).await.of(MessageStatus::Cancelled), 4);
        assert_eq!(rig.balance(&account).await, 9);
        assert!(!rig.sweep_one(&campaign, 10).await);
    }

    /// A draft, one that has been sent, and one that was cancelled cannot be cancelled.
    async fn only_what_is_scheduled_or_sending_is_cancelled(rig: &Rig) {
        let account = rig.account(10).await;
        let refuses = async |campaign: &Campaign, status: CampaignStatus| {
            let before = rig.campaign_now(campaign).await;
            let reason = refusal_of(rig.mark_cancelled(campaign).await);
            assert_eq!(reason, CancelRefused::NotCancellable(status));
            assert_eq!(rig.campaign_now(campaign).await, before);
        };
        let draft = rig.draft(&account, &rig.list_of(&account, [1]).await).await;
        refuses(&draft, CampaignStatus::Draft).await;
        let sent = rig.launch(&account, &draft).await;
        rig.leave_all().await;
        refuses(&sent, CampaignStatus::Sent).await;
        let cancelled = rig.launched(&account, [2]).await;
        rig.cancel_campaign(&cancelled).await;
        refuses(&cancelled, CampaignStatus::Cancelled).await;
        let unknown = Campaign { id: rig.id(), ..draft };
        let reason = refusal_of(rig.mark_cancelled(&unknown).await);
        assert_eq!(reason, CancelRefused::NoSuchCampaign);
        assert_eq!(rig.balance(&account).await, 9);
    }

    /// Messages are swept in portions, the oldest first, other campaigns left alone; a campaign
    /// that is not swept to the end is found again.
    async fn a_sweep_goes_on_where_it_ended(rig: &Rig) {
        let account = rig.account(20).await;
        let (campaign, other) =
            (rig.launched(&account, 1..=5).await, rig.launched(&account, 1..=5).await);
        rig.mark_cancelled(&campaign).await.expect("cancelled");
        let later = rig.now().plus(seconds(1));
        assert_eq!(unswept(rig, rig.now()).await, []);
        assert_eq!(unswept(rig, later).await.len(), 1);
        let messages = rig.messages_of(&campaign).await;
        let mut after = None;
        for ends in [Some(1), Some(3), Some(4), None] {
            let plan = SweepPlan { after, ..rig.sweep_plan(&campaign, 2) };
            let swept = rig.store().campaign_sweep(plan).await.expect("swept");
            assert_eq!(swept, Swept { last: ends.map(|n: usize| messages[n].id) });
            after = swept.last;
        }
        assert_eq!(unswept(rig, later).await, []);
        assert_eq!(rig.counts(&campaign).await.of(MessageStatus::Cancelled), 5);
        assert_eq!(rig.counts(&other).await.of(MessageStatus::Queued), 5);
        assert_eq!(rig.balance(&account).await, 15);
    }

    /// A message that was cancelled individually is refunded once.
    async fn a_message_cancelled_before_is_refunded_once(rig: &Rig) {
        let account = rig.account(10).await;
        let campaign = rig.launched(&account, 1..=3).await;
        let text = rig.messages_of(&campaign).await.remove(1);
        let plan = sms_core::change::cancel::CancelPlan {
            account: account.id,
            message: text.id,
            at: rig.now(),
            ids: rig.ids(),
        };
        rig.store().message_cancel(plan).await.expect("cancelled");
        assert_eq!(rig.counts(&campaign).await.to_array(), [0, 2, 0, 0, 0, 0, 0, 1]);
        rig.cancel_campaign(&campaign).await;
        assert_eq!((rig.balance(&account).await, rig.ledger(account.id).await.len()), (10, 5));
        assert_eq!(credits(10), rig.account_now(account.id).await.balance);
    }
}
