//! Launching: the whole list at once, or nothing.

use sms_core::account::status::MayNotSend;
use sms_core::account::{Account, AccountStatus, Mode};
use sms_core::campaign::launch::LaunchRefused;
use sms_core::campaign::{Campaign, CampaignChange, CampaignStatus, Counts};
use sms_core::credits::ledger::{Cause, Kind};
use sms_core::inbound::Origin;
use sms_core::list::ContactList;
use sms_core::message::{Body, MessageFilter, MessageStatus};
use sms_core::store::CommitError;
use sms_core::version::IfVersion::Any;

use crate::Rig;
use crate::rig::{credits, days, done, minutes, named, person, refusal_of, request, seconds};

/// A person sends STOP.
async fn stop(rig: &Rig, account: &Account, who: u16) {
    let number = rig.dedicated_number(person(900 + who), account).await;
    let plan = rig.inbound_plan(who, number.phone, "STOP", Origin::Network);
    done(rig.store().inbound_take(plan, None).await).expect("taken in");
}

/// Launching is refused with `reason`, and changes nothing.
async fn refuses(
    rig: &Rig,
    account: &Account,
    draft: &Campaign,
    mode: Mode,
    reason: LaunchRefused,
) {
    let before = (rig.campaign_now(draft).await, rig.ledger(account.id).await.len());
    let messages = rig.messages(account.id, &MessageFilter::default()).await.len();
    let next = rig.next_dispatch().await;
    assert_eq!(refusal_of(rig.try_launch(account, draft, mode).await), reason);
    let after = (rig.campaign_now(draft).await, rig.ledger(account.id).await.len());
    assert_eq!(after, before);
    assert_eq!(rig.messages(account.id, &MessageFilter::default()).await.len(), messages);
    assert_eq!(rig.next_dispatch().await, next);
}

async fn remove(rig: &Rig, list: &ContactList) {
    assert!(rig.store().list_delete(list.account, list.id, Any).await.expect("removed"));
}

scenarios! { Campaign;
    /// A launch makes a message for each contact that can be sent messages, the oldest contact
    /// first, and takes what they cost with one entry.
    async fn a_launch_messages_everybody_on_the_list_once(rig: &Rig) {
        let account = rig.account(10).await;
        let list = rig.list_of(&account, [5, 3, 4, 1, 2]).await;
        stop(rig, &account, 4).await;
        let draft = rig.draft(&account, &list).await;
        let now = rig.advance(seconds(5));
        let campaign = rig.launch(&account, &draft).await;
        let launch = campaign.launch.clone().expect("launched");
        assert_eq!((launch.recipients, launch.rejected, launch.credits), (4, 1, credits(4)));
        assert_eq!((launch.at, launch.scheduled_at, launch.last_settled_at), (now, None, None));
        assert_eq!(launch.counts, Counts::only(MessageStatus::Queued, 4));
        let expected =
            Campaign { launch: Some(launch.clone()), updated_at: now, ..draft.clone() };
        assert_eq!(campaign, expected);
        assert_eq!(rig.campaign_now(&draft).await, Some(expected));
        assert_eq!(campaign.status(now), CampaignStatus::Sending);
        let messages = rig.messages_of(&campaign).await;
        let mut members = rig.members(&list).await;
        members.reverse();
        members.retain(|contact| !contact.opted_out);
        let wanted: Vec<_> =
            members.iter().map(|contact| (contact.phone, Some(contact.id))).collect();
        let made: Vec<_> = messages.iter().map(|text| (text.to, text.contact_id)).collect();
        assert_eq!(made, wanted);
        for text in &messages {
            assert_eq!((text.campaign_id, text.batch_id), (Some(draft.id), Some(launch.batch)));
            assert_eq!((text.status, text.credits), (MessageStatus::Queued, credits(1)));
        }
        let entry = rig.ledger(account.id).await.remove(0);
        let cause = Cause::Send { batch: launch.batch, campaign: Some(draft.id) };
        assert_eq!((entry.cause, entry.amount.get(), rig.balance(&account).await), (cause, -4, 6));
        assert_eq!(rig.claim_all().await.messages.len(), 4);
    }

    /// Each contact gets a separate message, which costs what it takes.
    async fn a_launch_fills_the_fields_of_each_contact(rig: &Rig) {
        let account = rig.account(10).await;
        let list = rig.list(&account).await;
        let ann = rig.contact(&account, &named(1, "Ann")).await;
        let bea = rig.contact(&account, &named(2, &"B".repeat(100))).await;
        rig.join(&list, &[ann.id, bea.id], &[]).await;
        let draft = rig.draft(&account, &list).await;
        let body = Body::new(format!("{{first_name}}{}", "x".repeat(90)));
        let change = CampaignChange { body: Some(body), ..CampaignChange::default() };
        let updated = rig.store().campaign_update(account.id, draft.id, change, rig.now()).await;
        let draft = updated.expect("changed");
        let campaign = rig.launch(&account, &draft).await;
        let messages = rig.messages_of(&campaign).await;
        assert!(messages[0].body.as_str().starts_with("Annx"));
        assert!(messages[1].body.as_str().starts_with("BB"));
        assert_eq!([messages[0].credits, messages[1].credits], [credits(1), credits(2)]);
        assert_eq!(rig.balance(&account).await, 7);
    }

    /// A scheduled launch takes its credits at once; its messages leave at their time.
    async fn a_scheduled_launch_waits_for_its_time(rig: &Rig) {
        let account = rig.account(10).await;
        let draft = rig.draft(&account, &rig.list_of(&account, [1, 2, 3]).await).await;
        let due = rig.now().plus(days(2));
        let plan = rig.launch_plan(&account, &draft, Mode::Live, Some(due));
        let campaign = done(rig.store().campaign_launch(plan, None).await).expect("launched");
        assert_eq!(rig.balance(&account).await, 7);
        assert_eq!(rig.counts(&campaign).await, Counts::only(MessageStatus::Scheduled, 3));
        assert_eq!(campaign.status(rig.now()), CampaignStatus::Scheduled);
        let claimed = rig.claim_all().await.messages.len();
        assert_eq!((claimed, rig.next_dispatch().await), (0, Some(due)));
        for text in rig.messages_of(&campaign).await {
            assert_eq!((text.status, text.scheduled_at), (MessageStatus::Scheduled, Some(due)));
        }
        rig.advance_to(due);
        assert_eq!(campaign.status(rig.now()), CampaignStatus::Sending);
        rig.leave_all().await;
        let done = rig.campaign_now(&campaign).await.expect("there");
        assert_eq!(done.status(rig.now()), CampaignStatus::Sent);
        assert_eq!(done.completed_at(), Some(due));
    }

    /// Without the credits for all of its messages a campaign stays a draft, and nothing is taken.
    async fn a_launch_takes_all_credits_or_none(rig: &Rig) {
        let account = rig.account(4).await;
        let list = rig.list_of(&account, 1..=5).await;
        let draft = rig.draft(&account, &list).await;
        let (needed, balance) = (credits(5), credits(4));
        let poor = LaunchRefused::InsufficientCredit { needed, balance };
        refuses(rig, &account, &draft, Mode::Live, poor).await;
        // The price is the one of those who can be sent messages.
        stop(rig, &account, 3).await;
        rig.launch(&account, &draft).await;
        assert_eq!(rig.balance(&account).await, 0);
    }

    /// A campaign is launched once.
    async fn a_second_launch_is_refused(rig: &Rig) {
        let account = rig.account(10).await;
        let list = rig.list_of(&account, [1, 2]).await;
        let draft = rig.draft(&account, &list).await;
        let campaign = rig.launch(&account, &draft).await;
        for known in [&draft, &campaign] {
            refuses(rig, &account, known, Mode::Live, LaunchRefused::AlreadyLaunched).await;
        }
        remove(rig, &list).await;
        refuses(rig, &account, &draft, Mode::Live, LaunchRefused::AlreadyLaunched).await;
        rig.cancel_campaign(&campaign).await;
        refuses(rig, &account, &draft, Mode::Live, LaunchRefused::AlreadyLaunched).await;
    }

    /// A launch whose answer was lost answers the same when it is repeated, and launches once.
    async fn the_same_launch_again_answers_the_same(rig: &Rig) {
        let account = rig.account(10).await;
        let draft = rig.draft(&account, &rig.list_of(&account, [1, 2]).await).await;
        let plan = rig.launch_plan(&account, &draft, Mode::Live, None);
        let first = done(rig.store().campaign_launch(plan.clone(), None).await).expect("launched");
        let again = done(rig.store().campaign_launch(plan, None).await).expect("repeated");
        assert_eq!((&again, rig.balance(&account).await), (&first, 8));
    }

    /// A plan of a draft that was edited since is out of date.
    async fn a_launch_of_an_edited_draft_is_out_of_date(rig: &Rig) {
        let account = rig.account(10).await;
        let draft = rig.draft(&account, &rig.list_of(&account, [1]).await).await;
        let change = CampaignChange { body: Some(Body::new("Other words")), ..Default::default() };
        let now = rig.advance(seconds(1));
        let edited = rig.store().campaign_update(account.id, draft.id, change, now).await;
        let stale = rig.try_launch(&account, &draft, Mode::Live).await;
        assert!(matches!(stale, Err(CommitError::Stale)), "{stale:?}");
        let campaign = rig.launch(&account, &edited.expect("edited")).await;
        assert_eq!(rig.messages_of(&campaign).await[0].body.as_str(), "Other words");
    }

    /// A list that is gone, empty, or of people who have all opted out launches nothing.
    async fn a_launch_to_nobody_is_refused(rig: &Rig) {
        let account = rig.account(10).await;
        let list = rig.list(&account).await;
        let draft = rig.draft(&account, &list).await;
        refuses(rig, &account, &draft, Mode::Live, LaunchRefused::NoRecipients).await;
        rig.join(&list, &[], &[1]).await;
        stop(rig, &account, 1).await;
        refuses(rig, &account, &draft, Mode::Live, LaunchRefused::NoRecipients).await;
        refuses(rig, &account, &draft, Mode::Test, LaunchRefused::NoRecipients).await;
        remove(rig, &list).await;
        refuses(rig, &account, &draft, Mode::Live, LaunchRefused::NoSuchList(list.id)).await;
    }

    /// A pending account launches with a test key only, a suspended one with neither.
    async fn the_state_of_the_account_decides(rig: &Rig) {
        let account = rig.account_of(AccountStatus::Pending, 10).await;
        let list = rig.list_of(&account, [1]).await;
        let draft = rig.draft(&account, &list).await;
        let pending = LaunchRefused::MayNotSend(MayNotSend::Pending);
        refuses(rig, &account, &draft, Mode::Live, pending).await;
        rig.set_status(&account, AccountStatus::Suspended).await;
        let suspended = LaunchRefused::MayNotSend(MayNotSend::Suspended);
        for mode in [Mode::Live, Mode::Test] {
            refuses(rig, &account, &draft, mode, suspended).await;
        }
        rig.set_status(&account, AccountStatus::Pending).await;
        rig.try_launch(&account, &draft, Mode::Test).await.expect("a test is launched");
    }

    /// With a test key messages are test messages, which cost nothing.
    async fn a_test_launch_makes_test_messages(rig: &Rig) {
        let account = rig.account(1).await;
        let draft = rig.draft(&account, &rig.list_of(&account, 1..=3).await).await;
        let campaign = rig.try_launch(&account, &draft, Mode::Test).await.expect("launched");
        let launch = campaign.launch.clone().expect("launched");
        assert_eq!((launch.recipients, launch.credits), (3, credits(0)));
        for text in rig.messages_of(&campaign).await {
            assert!(text.mode.is_test() && text.route.as_str() == "test");
            assert_eq!(text.credits, credits(0));
        }
        assert_eq!(rig.ledger_lines(&account).await, [(Kind::TopUp, 1, 1)]);
        rig.cancel_campaign(&campaign).await;
        assert_eq!(rig.ledger_lines(&account).await, [(Kind::TopUp, 1, 1)]);
    }

    /// A test goes to a list of up to 50 contacts, those included who get no message.
    async fn a_test_launch_has_at_most_fifty_contacts(rig: &Rig) {
        let account = rig.account(0).await;
        let list = rig.list_of(&account, 1..=51).await;
        stop(rig, &account, 51).await;
        let draft = rig.draft(&account, &list).await;
        refuses(rig, &account, &draft, Mode::Test, LaunchRefused::TestLimitExceeded).await;
        let member = rig.members(&list).await.remove(0);
        rig.remove_contact(&member).await;
        let campaign = rig.try_launch(&account, &draft, Mode::Test).await.expect("launched");
        assert_eq!(campaign.launch.expect("launched").recipients, 50);
    }

    /// Test messages of sends and of campaigns count for one limit of 300 an hour.
    async fn test_launches_count_for_the_limit_of_the_hour(rig: &Rig) {
        let account = rig.account(0).await;
        for _ in 0..5 {
            rig.send_test(&account, &request(100..150)).await;
        }
        rig.advance(minutes(20));
        let list = rig.list_of(&account, 1..=50).await;
        let (first, second) = (rig.draft(&account, &list).await, rig.draft(&account, &list).await);
        rig.try_launch(&account, &first, Mode::Test).await.expect("300 are allowed");
        let retry_after = minutes(40);
        let used_up = LaunchRefused::TestMessagesUsedUp { retry_after };
        refuses(rig, &account, &second, Mode::Test, used_up).await;
        let one_more = rig.accept(rig.test_plan(&account, &request([1]))).await;
        refusal_of(one_more);
        rig.advance(retry_after);
        rig.try_launch(&account, &second, Mode::Test).await.expect("an hour has passed");
    }
}
