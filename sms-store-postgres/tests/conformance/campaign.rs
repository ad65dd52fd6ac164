//! Promises about campaigns beyond the conformance suite: a long list is launched page by page
//! while others send, and cancelled in portions.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use sms_conformance::Rig;
use sms_conformance::rig::person;
use sms_core::Sms;
use sms_core::account::{Account, Mode};
use sms_core::campaign::launch::LaunchOptions;
use sms_core::campaign::{Campaign, CampaignStatus, Counts};
use sms_core::clock::ManualClock;
use sms_core::ids::CampaignId;
use sms_core::list::ContactList;
use sms_core::message::MessageStatus;
use sms_core::sending::SendRequest;
use sms_core::service::operator::NumberInput;
use sqlx::{AssertSqlSafe, Connection, Executor, PgConnection};

use crate::postgres::Act;

/// The tests by name.
pub(crate) const TESTS: &[(&str, Act)] = &[
    ("campaign::a_long_list_is_launched_while_others_send_and_cancelled", |rig, url| {
        Box::pin(long_list(rig, url))
    }),
    ("campaign::a_launch_without_enough_credits_writes_no_message", |rig, url| {
        Box::pin(refused_without_writing(rig, url))
    }),
];

/// The size of the long list. `SMS_LAUNCH_CONTACTS` overrides it.
const CONTACTS: u64 = 20_000;

/// Puts this many contacts on a list. One in a hundred has opted out.
async fn fill(url: &str, account: &Account, list: &ContactList, contacts: u64) {
    let uuid = |id: u128| uuid::Uuid::from_u128(id);
    let (account, list) = (uuid(account.id.as_u128()), uuid(list.id.as_u128()));
    let sql = format!(
        "INSERT INTO contact (account_id, id, phone, first_name, custom, searched, created_at,
             updated_at)
         SELECT '{account}', ('00000000-0000-0000-0001-' || lpad(n::text, 12, '0'))::uuid,
             447700e6::bigint + n, 'First' || n, '{{}}', '', now(), now()
         FROM generate_series(1, {contacts}) AS n;
         INSERT INTO contact_list_member SELECT account_id, '{list}', id FROM contact;
         UPDATE contact_list SET contact_count = {contacts} WHERE id = '{list}';
         INSERT INTO opt_out (account_id, phone, source, created_at)
         SELECT '{account}', 447700e6::bigint + n, 'api', now()
         FROM generate_series(100, {contacts}, 100) AS n;
         ANALYZE contact, contact_list_member, opt_out"
    );
    let mut connection = PgConnection::connect(url).await.expect("the server answers");
    connection.execute(AssertSqlSafe(sql)).await.expect("the tables are filled");
    connection.close().await.expect("the connection ends");
}

/// A service over the store, with a number to send from.
async fn service(rig: &Rig) -> Sms {
    let clock = Arc::new(ManualClock::at(rig.now()));
    let sms = Sms::builder(Arc::clone(rig.store())).clock(clock).build();
    let number = NumberInput::shared(person(900).to_string());
    sms.operator().number_create(number).await.expect("made");
    sms
}

/// Launches now, whatever the hour.
fn now() -> LaunchOptions {
    LaunchOptions::default().ignore_quiet_hours()
}

async fn counts(sms: &Sms, account: &Account, id: CampaignId) -> Counts {
    let campaign = sms.account(account.id, Mode::Live).campaign_get(id).await.expect("read");
    campaign.launch.expect("launched").counts
}

async fn long_list(rig: &Rig, url: &str) {
    let asked = std::env::var("SMS_LAUNCH_CONTACTS").ok().and_then(|text| text.parse().ok());
    let contacts: u64 = asked.unwrap_or(CONTACTS);
    let messages = contacts - contacts / 100;
    let account = rig.account(messages + 1_000_000).await;
    let list = rig.list(&account).await;
    fill(url, &account, &list, contacts).await;
    let sms = service(rig).await;
    let handle = sms.account(account.id, Mode::Live);
    let mut input = sms_core::campaign::CampaignInput::new("Spring", "Hi {first_name}", list.id);
    input.append_opt_out = true;
    let draft = handle.campaign_create(input).await.expect("drafted");
    let launched = AtomicBool::new(false);
    let launch = async {
        let answer = handle.campaign_launch(draft.id, now()).await;
        launched.store(true, Ordering::SeqCst);
        answer.expect("launched").campaign
    };
    let others = async {
        let mut sent = 0;
        while !launched.load(Ordering::SeqCst) {
            let request = SendRequest::new("x").to(person(1).to_string());
            handle.send(request).await.expect("the other account is not delayed");
            sent += 1;
        }
        sent
    };
    let (campaign, sent): (Campaign, u64) = futures_util::future::join(launch, others).await;
    let launch = campaign.launch.clone().expect("launched");
    assert_eq!((launch.recipients, launch.rejected), (messages, contacts / 100));
    assert_eq!(launch.credits.get(), messages);
    let balance = handle.get().await.expect("read").balance.get();
    assert_eq!(balance, 1_000_000 - sent);
    let known = queue_as_planned_for(url).await;
    assert!(known >= messages / 10 * 9, "the planner expects {known} rows in the queue");
    // Some are handed over; the others are cancelled.
    let done = sms.dispatch_due(500).await.expect("dispatched");
    assert!(done.sent <= 500 && done.sent > 0);
    let left = counts(&sms, &account, campaign.id).await.of(MessageStatus::Sent);
    let cancelled = handle.campaign_cancel(campaign.id).await.expect("cancelled");
    assert_eq!(cancelled.messages, messages - left);
    assert_eq!(cancelled.campaign.status(rig.now()), CampaignStatus::Cancelled);
    let after = counts(&sms, &account, campaign.id).await;
    assert_eq!((after.of(MessageStatus::Cancelled), after.total()), (messages - left, messages));
    let balance = handle.get().await.expect("read").balance.get();
    assert_eq!(balance, 1_000_000 + messages - sent - left);
    while sms.tidy(1_000).await.expect("tidied") > 0 {}
    assert_eq!(counts(&sms, &account, campaign.id).await, after);
}

/// How many rows the planner expects in the queue.
async fn queue_as_planned_for(url: &str) -> u64 {
    let mut connection = PgConnection::connect(url).await.expect("the server answers");
    let sql = "SELECT reltuples::bigint FROM pg_class WHERE oid = 'queue'::regclass";
    let rows: i64 = sqlx::query_scalar(sql).fetch_one(&mut connection).await.expect("told");
    connection.close().await.expect("the connection ends");
    u64::try_from(rows).unwrap_or_default()
}

async fn refused_without_writing(rig: &Rig, url: &str) {
    let account = rig.account(19_799).await;
    let list = rig.list(&account).await;
    fill(url, &account, &list, CONTACTS).await;
    let sms = service(rig).await;
    let handle = sms.account(account.id, Mode::Live);
    let input = sms_core::campaign::CampaignInput::new("Spring", "Hi {first_name}", list.id);
    let draft = handle.campaign_create(input).await.expect("drafted");
    let refused = handle.campaign_launch(draft.id, now()).await.expect_err("too poor");
    let details = refused.details();
    assert_eq!((&details["needed"], &details["balance"]), (&19_800.into(), &19_799.into()));
    let mut connection = PgConnection::connect(url).await.expect("the server answers");
    let bytes: i64 = sqlx::query_scalar("SELECT pg_relation_size('message')::bigint")
        .fetch_one(&mut connection)
        .await
        .expect("measured");
    connection.close().await.expect("the connection ends");
    assert_eq!(bytes, 0, "not even rows that were deleted again");
}
