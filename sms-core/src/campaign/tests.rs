use super::*;
use crate::campaign::cancel::{CancelPlan, CancelRefused, SweepPlan};
use crate::ids::MessageId;
use crate::message::MessageStatus;
use crate::samples::{account_id, credits, ids, message, now, seconds};

fn input() -> CampaignInput {
    CampaignInput::new("Spring", "The menu is here", ListId::from_u128(5))
}

fn draft() -> Campaign {
    let settings = Settings::default();
    input().into_draft(CampaignId::from_u128(9), account_id(), &settings, seconds(-60))
}

fn launched(status: MessageStatus, count: u64, scheduled_at: Option<Timestamp>) -> Campaign {
    let launch = Launch {
        at: seconds(-30),
        scheduled_at,
        cancelled_at: None,
        batch: BatchId::from_u128(3),
        recipients: count,
        rejected: 0,
        credits: credits(count),
        counts: Counts::only(status, count),
        last_settled_at: Some(seconds(-10)),
    };
    Campaign { launch: Some(launch), ..draft() }
}

fn named(errors: Vec<FieldError>) -> Vec<(String, &'static str)> {
    errors.into_iter().map(|error| (error.field, error.code)).collect()
}

#[test]
fn name_and_body_hold_at_the_limit_and_not_one_past_it() {
    let of = |name: &str, body: &str| CampaignInput::new(name, body, ListId::from_u128(5)).check();
    assert_eq!(of(&"é".repeat(200), &"👋".repeat(1_600)), []);
    assert_eq!(of("x", " "), []);
    let long = named(of(&"é".repeat(201), &"👋".repeat(1_601)));
    assert_eq!(long, [("name".to_owned(), "too_long"), ("body".to_owned(), "too_long")]);
    let short = named(of("", ""));
    assert_eq!(short, [("name".to_owned(), "too_short"), ("body".to_owned(), "too_short")]);
    let change = CampaignChange { body: Some(Body::new("a\0b")), ..CampaignChange::default() };
    assert_eq!(named(change.check()), [("body".to_owned(), "invalid_character")]);
    assert_eq!(CampaignChange::default().check(), []);
}

#[test]
fn links_are_tracked_as_the_account_says_unless_the_draft_does() {
    for (setting, given, tracked) in [
        (true, None, true),
        (false, None, false),
        (true, Some(false), false),
        (false, Some(true), true),
    ] {
        let settings = Settings { track_links_default: setting, ..Settings::default() };
        let input = CampaignInput { track_links: given, ..input() };
        let draft = input.into_draft(CampaignId::from_u128(9), account_id(), &settings, now());
        assert_eq!(draft.track_links, tracked, "{setting} {given:?}");
    }
}

#[test]
fn a_change_leaves_alone_what_it_does_not_name() {
    let nothing = CampaignChange::default().settle(Some(draft()), now()).unwrap();
    assert_eq!(nothing, Campaign { updated_at: now(), ..draft() });
    let change = CampaignChange {
        name: Some("Summer".to_owned()),
        sender: Some(Some("Bistro".to_owned())),
        ignore_quiet_hours: Some(true),
        ..CampaignChange::default()
    };
    let changed = change.settle(Some(draft()), now()).unwrap();
    let expected = Campaign {
        name: "Summer".to_owned(),
        sender: Some("Bistro".to_owned()),
        ignore_quiet_hours: true,
        updated_at: now(),
        ..draft()
    };
    assert_eq!(changed, expected);
    let others = CampaignChange {
        body: Some(Body::new("The wine is here")),
        list: Some(ListId::from_u128(6)),
        append_opt_out: Some(!draft().append_opt_out),
        track_links: Some(!draft().track_links),
        ..CampaignChange::default()
    };
    let expected = Campaign {
        body: Body::new("The wine is here"),
        list: ListId::from_u128(6),
        append_opt_out: !draft().append_opt_out,
        track_links: !draft().track_links,
        updated_at: now(),
        ..draft()
    };
    assert_eq!(others.settle(Some(draft()), now()).unwrap(), expected);
    let clear = CampaignChange { sender: Some(None), ..CampaignChange::default() };
    assert_eq!(clear.settle(Some(changed), now()).unwrap().sender, None);
}

#[test]
fn a_launch_is_a_new_version_of_a_campaign_and_what_becomes_of_its_messages_is_none() {
    let [queued, sent] = [MessageStatus::Queued, MessageStatus::Sent]
        .map(|status| launched(status, 3, None).version());
    assert_ne!(queued, draft().version());
    assert_eq!(queued, sent);
}

#[test]
fn only_a_draft_is_editable() {
    assert_eq!(editable(Some(draft()), &IfVersion::Any), Ok(draft()));
    assert_eq!(editable(None, &IfVersion::Any), Err(EditRefused::NoSuchCampaign));
    let sent = launched(MessageStatus::Sent, 1, None);
    assert_eq!(editable(Some(sent), &IfVersion::Any), Err(EditRefused::NotDraft));
}

#[test]
fn the_status_follows_from_the_counts_and_the_time() {
    use CampaignStatus as C;
    use MessageStatus as S;
    assert_eq!((draft().status(now()), draft().completed_at()), (C::Draft, None));
    let later = Some(seconds(1));
    for (messages, scheduled_at, status) in [
        (S::Scheduled, later, C::Scheduled),
        (S::Scheduled, Some(now()), C::Sending),
        (S::Queued, None, C::Sending),
        (S::Sending, None, C::Sending),
        (S::Sent, None, C::Sent),
        (S::Delivered, None, C::Sent),
        (S::Undelivered, None, C::Sent),
        (S::Failed, None, C::Sent),
        (S::Cancelled, later, C::Sent),
    ] {
        let mut campaign = launched(messages, 2, scheduled_at);
        let completed = (status == C::Sent).then_some(seconds(-10));
        assert_eq!(campaign.status(now()), status, "{messages}");
        assert_eq!(campaign.completed_at(), completed, "{messages}");
        campaign.launch.as_mut().unwrap().cancelled_at = Some(now());
        assert_eq!((campaign.status(now()), campaign.completed_at()), (C::Cancelled, None));
    }
}

#[test]
fn only_scheduled_and_sending_campaigns_are_cancelled() {
    let plan = CancelPlan { account: account_id(), campaign: draft().id, at: now() };
    let refused = |status| Err(CancelRefused::NotCancellable(status));
    assert_eq!(plan.settle(None), Err(CancelRefused::NoSuchCampaign));
    assert_eq!(plan.settle(Some(draft())), refused(CampaignStatus::Draft));
    let sent = launched(MessageStatus::Failed, 2, None);
    assert_eq!(plan.settle(Some(sent)), refused(CampaignStatus::Sent));
    for campaign in [
        launched(MessageStatus::Scheduled, 2, Some(seconds(9))),
        launched(MessageStatus::Sending, 2, None),
    ] {
        let cancelled = plan.settle(Some(campaign.clone())).unwrap();
        let launch = Launch { cancelled_at: Some(now()), ..campaign.launch.clone().unwrap() };
        let expected = Campaign { launch: Some(launch), updated_at: now(), ..campaign };
        assert_eq!(cancelled, expected);
        assert_eq!(plan.settle(Some(cancelled)), refused(CampaignStatus::Cancelled));
    }
}

#[test]
fn a_sweep_cancels_messages_that_no_worker_has_claimed() {
    let mut plan = SweepPlan {
        account: account_id(),
        campaign: draft().id,
        after: None::<MessageId>,
        limit: 1,
        at: now(),
        ids: ids(),
    };
    for status in MessageStatus::ALL {
        let changed = plan.settle(&message(status));
        assert_eq!(changed.is_some(), status.is_cancellable(), "{status}");
        if let Some(changed) = changed {
            assert_eq!(changed.message.status, MessageStatus::Cancelled);
            assert!(changed.refund.is_some() && changed.events.is_empty());
        }
    }
}

#[test]
fn a_status_is_shown_by_the_name_that_the_api_uses() {
    use CampaignStatus as C;
    let all = [C::Draft, C::Scheduled, C::Sending, C::Sent, C::Cancelled];
    let names = ["draft", "scheduled", "sending", "sent", "cancelled"];
    assert_eq!(all.map(|status| status.to_string()), names);
}
