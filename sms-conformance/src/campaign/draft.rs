//! Drafts: made, read, listed, edited, removed.

use sms_core::campaign::{Campaign, CampaignChange, EditRefused};
use sms_core::message::Body;
use sms_core::page::{Cursor, Page};
use sms_core::store::CommitError;
use sms_core::version::IfVersion::Any;

use crate::Rig;
use crate::rig::{millis, page, read_all, refusal_of};

async fn update(
    rig: &Rig,
    campaign: &Campaign,
    change: CampaignChange,
) -> Result<Campaign, CommitError<EditRefused>> {
    rig.store().campaign_update(campaign.account, campaign.id, change, rig.now()).await
}

async fn delete(rig: &Rig, campaign: &Campaign) -> Result<(), CommitError<EditRefused>> {
    rig.store().campaign_delete(campaign.account, campaign.id, Any).await
}

scenarios! { Campaign;
    /// Campaigns are kept as they were made and listed newest first, in pages, and only the
    /// account's own.
    async fn campaigns_are_listed_newest_first_in_pages(rig: &Rig) {
        let (account, other) = (rig.account(0).await, rig.account(0).await);
        let (list, others) = (rig.list(&account).await, rig.list(&other).await);
        let mut made = Vec::new();
        for _ in 0..5 {
            made.insert(0, rig.draft(&account, &list).await);
            rig.draft(&other, &others).await;
        }
        assert_eq!(rig.campaign_now(&made[0]).await.as_ref(), Some(&made[0]));
        for limit in 1..=6 {
            let read =
                async |wanted| rig.store().campaign_list(account.id, wanted).await.expect("read");
            assert_eq!(read_all(limit, read).await, made, "by {limit}");
        }
        let more = async |wanted| {
            let page = rig.store().campaign_list(account.id, wanted).await.expect("read");
            rig.draft(&account, &list).await;
            page
        };
        assert_eq!(read_all(2, more).await, made, "while campaigns are made");
        let end = page(5, Some(Cursor::after(made[4].id)));
        let nothing = rig.store().campaign_list(account.id, end).await.expect("read");
        assert_eq!(nothing, Page { items: vec![], next: None });
    }

    /// A change of a draft changes what it names and leaves the rest alone.
    async fn a_change_of_a_draft_leaves_the_rest_alone(rig: &Rig) {
        let account = rig.account(0).await;
        let (list, another) = (rig.list(&account).await, rig.list(&account).await);
        let mut expected = rig.draft(&account, &list).await;
        let nothing = CampaignChange::default;
        for change in [
            CampaignChange { name: Some("Été 🌞".to_owned()), ..nothing() },
            CampaignChange { body: Some(Body::new("Hello {first_name}")), ..nothing() },
            CampaignChange { list: Some(another.id), ..nothing() },
            CampaignChange { sender: Some(Some("Bistro".to_owned())), ..nothing() },
            CampaignChange { append_opt_out: Some(true), ..nothing() },
            CampaignChange { track_links: Some(true), ..nothing() },
            CampaignChange { ignore_quiet_hours: Some(true), ..nothing() },
            CampaignChange { sender: Some(None), ..nothing() },
            nothing(),
        ] {
            let now = rig.advance(millis(5));
            let settled = change.clone().settle(Some(expected), now);
            expected = settled.expect("it is a draft");
            assert_eq!(update(rig, &expected, change).await.expect("changed"), expected);
            assert_eq!(rig.campaign_now(&expected).await.as_ref(), Some(&expected));
        }
    }

    /// Only a draft is edited or removed; one that was launched stays as it is, cancelled or not.
    async fn only_a_draft_is_edited_or_removed(rig: &Rig) {
        let account = rig.account(10).await;
        let campaign = rig.launched(&account, [1, 2]).await;
        for cancelled in [false, true] {
            if cancelled {
                rig.cancel_campaign(&campaign).await;
            }
            let before = rig.campaign_now(&campaign).await;
            let change = CampaignChange { name: Some("x".to_owned()), ..Default::default() };
            let edited = refusal_of(update(rig, &campaign, change).await);
            let removed = refusal_of(delete(rig, &campaign).await);
            assert_eq!((edited, removed), (EditRefused::NotDraft, EditRefused::NotDraft));
            assert_eq!(rig.campaign_now(&campaign).await, before);
        }
        let draft = rig.draft(&account, &rig.list(&account).await).await;
        delete(rig, &draft).await.expect("removed");
        assert_eq!(rig.campaign_now(&draft).await, None);
        assert_eq!(refusal_of(delete(rig, &draft).await), EditRefused::NoSuchCampaign);
    }

    /// A campaign is seen, edited, removed, launched and cancelled by its own account only.
    async fn another_accounts_campaign_is_out_of_reach(rig: &Rig) {
        let (account, other) = (rig.account(10).await, rig.account(10).await);
        let list = rig.list_of(&account, [1]).await;
        let draft = rig.draft(&account, &list).await;
        let foreign = Campaign { account: other.id, ..draft.clone() };
        assert_eq!(rig.campaign_now(&foreign).await, None);
        let gone = EditRefused::NoSuchCampaign;
        let change = CampaignChange { name: Some("x".to_owned()), ..Default::default() };
        assert_eq!(refusal_of(update(rig, &foreign, change).await), gone);
        assert_eq!(refusal_of(delete(rig, &foreign).await), gone);
        let launched = rig.try_launch(&other, &foreign, sms_core::account::Mode::Live).await;
        assert_eq!(refusal_of(launched), sms_core::campaign::launch::LaunchRefused::NoSuchCampaign);
        let campaign = rig.launch(&account, &draft).await;
        let foreign = Campaign { account: other.id, ..campaign.clone() };
        let cancelled = refusal_of(rig.mark_cancelled(&foreign).await);
        assert_eq!(cancelled, sms_core::campaign::cancel::CancelRefused::NoSuchCampaign);
        assert_eq!(rig.campaign_now(&campaign).await, Some(campaign));
        assert_eq!((rig.balance(&account).await, rig.balance(&other).await), (9, 10));
    }
}
