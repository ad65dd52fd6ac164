//! The hot queries, and the index meant for each.

use sms_conformance::rig::{key, person, request, request_with_key, taken};
use sms_core::account::api_key::KeyHash;
use sms_core::contact::filter::ContactSearch;
use sms_core::conversation::{ConversationFilter, ReadState};
use sms_core::dispatch::VALIDITY;
use sms_core::ids::{AccountId, BatchId, CampaignId, EndpointId, MessageId};
use sms_core::inbound::segment::GiveUpPlan;
use sms_core::keyword::reply_limit::ReplyLimits;
use sms_core::message::filter::Search;
use sms_core::message::{Direction, MessageFilter, MessageStatus};
use sms_core::number::store::NumbersWanted;
use sms_core::page::{Cursor, PageRequest};
use sms_core::store::Store;
use sms_core::time::Timestamp;
use sms_core::upkeep::{Chore, Due};
use sms_core::webhook::store::EndpointsWanted;
use sqlx::postgres::PgConnectOptions;
use sqlx::{AssertSqlSafe, ConnectOptions, Connection, Executor, PgConnection};

use super::{Plans, none_is_wrong};
use crate::Own;

/// A page has 25 items. One more is read to see whether there are more.
pub(super) const A_PAGE: f64 = 26.0;

pub(super) fn nth(kind: u128, n: u128) -> u128 {
    kind << 80 | 0x7000_8000 << 48 | n
}

pub(super) fn text_id(n: u128) -> MessageId {
    MessageId::from_u128(nth(1_795_239_000_000 + n * 5, n))
}

/// Runs a query eight times, so that both its custom plans and its generic plan appear, and judges
/// them.
macro_rules! judge {
    ($store:expr, $what:expr, [$($index:expr),*], $most:expr, $command:expr) => {{
        let _ = Plans::told();
        for _ in 0..8 {
            let _ = $command;
            // The plan of a statement may arrive with the next answer.
            $store.health_check().await.expect("the server answers");
        }
        Plans::told().judge($what, &[$($index),*], $most);
    }};
}
pub(super) use judge;

pub(super) async fn connect(url: &str) -> PgConnection {
    let options: PgConnectOptions = url.parse().expect("an address");
    // The data is made up, but looks like phone numbers and secrets.
    let options = options.disable_statement_logging();
    PgConnection::connect_with(&options).await.expect("the server answers")
}

/// Makes the database report the statements of connections opened from now on.
pub(super) async fn explain(url: &str) {
    let mut connection = connect(url).await;
    let database = url.rsplit_once('/').expect("a database's address").1;
    for setting in [
        "session_preload_libraries = 'auto_explain'",
        "auto_explain.log_min_duration = 0",
        "auto_explain.log_analyze = on",
        "auto_explain.log_timing = off",
        "auto_explain.log_buffers = on",
        "auto_explain.log_format = 'json'",
        "auto_explain.log_level = 'notice'",
    ] {
        let sql = format!("ALTER DATABASE {database} SET {setting}");
        connection.execute(AssertSqlSafe(sql)).await.expect("the setting is known");
    }
    connection.execute("LOAD 'auto_explain'").await.expect("PostgreSQL's own modules are there");
}

/// Keeps autovacuum away from the tables. While it analyzes a table, it holds a snapshot, and no
/// row that is updated meanwhile can be pruned: each look-up then follows the old versions too.
pub(super) async fn stop_autovacuum(connection: &mut PgConnection) {
    let stop = "DO $$ DECLARE one text; BEGIN
        FOR one IN SELECT oid::regclass::text FROM pg_class
            WHERE relkind = 'r' AND relnamespace = 'public'::regnamespace
        LOOP EXECUTE 'ALTER TABLE ' || one || ' SET (autovacuum_enabled = off)'; END LOOP;
    END $$";
    connection.execute(stop).await.expect("set");
}

fn words(text: &str) -> MessageFilter {
    MessageFilter { search: Search::parse(text), ..MessageFilter::default() }
}

/// The page after a message in the middle.
fn deep() -> PageRequest {
    PageRequest { after: Some(Cursor::after(text_id(300_000))), ..PageRequest::default() }
}

/// Every hot query uses the index meant for it, and reads little more than it returns.
pub(crate) async fn hot_queries_use_the_indexes_meant_for_them(own: Own) {
    let _alone = super::ALONE.lock().await;
    own.store.close().await;
    explain(&own.url).await;
    let connected = async || {
        let settings = sms_store_postgres::PgSettings { connections: 1 };
        sms_store_postgres::PgStore::connect(&own.url, settings).await.expect("it answers")
    };
    let store = connected().await;
    let mut connection = connect(&own.url).await;
    stop_autovacuum(&mut connection).await;
    let rig = own.rig(&store);
    super::grown::messages_that_were_not_analyzed_are_looked_up_by_id(
        &store,
        &rig,
        &mut connection,
    )
    .await;
    store.close().await;
    connection.execute("TRUNCATE account CASCADE").await.expect("the tables are emptied");
    connection.execute(include_str!("fill.sql")).await.expect("the tables are filled");
    connection.close().await.expect("closed");
    let store = connected().await;
    let rig = own.rig(&store);
    let account = AccountId::from_u128(nth(1, 1));

    pages_of_messages(&store, account).await;
    searches(&store, account).await;
    other_lists(&store, account).await;
    super::counted::statistics(&store, account).await;
    look_ups(&store, account).await;
    threads(&store, &rig, account).await;
    super::counted::rents(&store, &rig).await;
    workers(&store, &rig, account).await;
    super::waiting::portions_of_a_cancelled_campaign(&store, &rig, account).await;
    super::reports::parts(&store, &rig).await;
    super::book::contacts_and_lists(&store, account).await;
    store.close().await;
    super::waiting::fill(&own.url).await;
    let store = connected().await;
    super::waiting::claims(&store, &own.rig(&store)).await;
    store.close().await;
    none_is_wrong();
}

async fn pages_of_messages(store: &dyn Store, account: AccountId) {
    let all = MessageFilter::default();
    let with_status = |status| MessageFilter { status: Some(status), ..all.clone() };
    let toward = |direction| MessageFilter { direction: Some(direction), ..all.clone() };
    let batch_id = Some(BatchId::from_u128(nth(4, 250 * 3)));
    let campaign_id = Some(CampaignId::from_u128(nth(5, 3)));
    let at = |n: u128| Some(text_id(n).timestamp());
    let status = Some(MessageStatus::Delivered);
    let lists = [
        ("all", "message_pkey", all.clone()),
        // One in a hundred, one in fifty, and fifty in all.
        ("failed", "message_resting", with_status(MessageStatus::Failed)),
        ("undelivered", "message_resting", with_status(MessageStatus::Undelivered)),
        ("cancelled", "message_resting", with_status(MessageStatus::Cancelled)),
        ("scheduled", "queue_by_account", with_status(MessageStatus::Scheduled)),
        ("queued", "queue_by_account", with_status(MessageStatus::Queued)),
        ("sending", "queue_by_account", with_status(MessageStatus::Sending)),
        ("received", "message_inbound", with_status(MessageStatus::Received)),
        ("inbound", "message_inbound", toward(Direction::Inbound)),
        ("a number", "message_by_contact", words("07700 900123")),
        ("a batch", "message_by_batch", MessageFilter { batch_id, ..all.clone() }),
        ("a campaign", "message_by_campaign", MessageFilter { campaign_id, ..all.clone() }),
        (
            "a batch and a status",
            "message_by_batch",
            MessageFilter { batch_id, status, ..all.clone() },
        ),
        (
            "a stretch of time",
            "message_pkey",
            MessageFilter { since: at(200_000), until: at(200_500), ..all.clone() },
        ),
    ];
    for (what, index, filter) in &lists {
        for (which, page) in [("first", PageRequest::default()), ("deep", deep())] {
            let _ = Plans::told();
            for _ in 0..8 {
                store.message_list(account, filter, page).await.expect("listed");
                store.health_check().await.expect("the server answers");
            }
            // The second condition filters the rows that the first one's index finds.
            let most = if what.contains("and") { 2.0 * A_PAGE } else { A_PAGE };
            Plans::told().judge(&format!("{which} page of {what}"), &[*index], most);
        }
    }
    for (what, filter) in [
        ("outbound", toward(Direction::Outbound)),
        ("delivered", with_status(MessageStatus::Delivered)),
    ] {
        judge!(
            store,
            what,
            ["message_pkey"],
            2.0 * A_PAGE,
            store.message_list(account, &filter, deep()).await.expect("listed")
        );
    }
    rare_among_many(store, &with_status(MessageStatus::Sent)).await;
    let client_ref = Some("order-30000".to_owned());
    let referred = MessageFilter { client_ref, ..all.clone() };
    judge!(
        store,
        "a reference",
        ["message_by_client_ref"],
        A_PAGE,
        store.message_list(account, &referred, PageRequest::default()).await.expect("listed")
    );
    judge!(
        store,
        "one text",
        [],
        1.0,
        store.message_get(account, text_id(400_000)).await.expect("read")
    );
}

/// None of an account's 250,000 messages is `sent`: no turn looks at more than it may, and their
/// cursors lead to the end.
async fn rare_among_many(store: &dyn Store, filter: &MessageFilter) {
    let account = AccountId::from_u128(nth(1, 2));
    let mut page = PageRequest::default();
    let mut turns = 0;
    let _ = Plans::told();
    loop {
        let listed = store.message_list(account, filter, page).await.expect("listed");
        assert_eq!(listed.items, []);
        turns += 1;
        let Some(next) = listed.next else { break };
        page.after = Some(next);
    }
    store.health_check().await.expect("the server answers");
    // Where the range ends, the planner may sort what is left of it.
    Plans::told().judge("pages without a message", &["message_pkey"], 100_000.0);
    assert_eq!(turns, 26, "10,000 messages a turn, and the end");
}

async fn searches(store: &dyn Store, account: AccountId) {
    let settled = Timestamp::from_millis(1_795_244_000_000);
    judge!(
        store,
        "preparing searches",
        ["message_pkey", "message_span_pkey"],
        5_000.0,
        store.tidy(Chore::Search { before: settled }, 1_500).await.expect("prepared")
    );
    // Of the 700,000 messages, a search reads the newest, the spans, and the messages of the spans
    // that may match.
    let most = 6_000.0;
    for query in ["table", "walrus", "giraffe", "zebra crossing", "q", "583920"] {
        let filter = words(query);
        let indexes: &[&str] = if query == "table" {
            &["message_pkey"]
        } else {
            &["message_pkey", "message_span_pkey"]
        };
        let _ = Plans::told();
        for _ in 0..8 {
            store.message_list(account, &filter, deep()).await.expect("listed");
            store.health_check().await.expect("the server answers");
        }
        Plans::told().judge(&format!("a search for {query}"), indexes, most);
    }
}

async fn other_lists(store: &dyn Store, account: AccountId) {
    let first = PageRequest::default();
    let after = |id: u128| {
        let cursor = Cursor::after(MessageId::from_u128(id));
        PageRequest { after: Some(cursor), ..first }
    };
    judge!(
        store,
        "the ledger",
        ["ledger_entry_pkey"],
        A_PAGE,
        store.ledger_list(account, first).await.expect("listed")
    );
    let deep_ledger = PageRequest { after: Some(Cursor::after_position(25_000)), ..first };
    judge!(
        store,
        "the ledger, deep",
        ["ledger_entry_pkey"],
        A_PAGE,
        store.ledger_list(account, deep_ledger).await.expect("listed")
    );
    let (owner, endpoint) = (account, EndpointId::from_u128(nth(8, 1)));
    for page in [first, after(nth(9, 50_000))] {
        judge!(
            store,
            "deliveries",
            ["delivery_pkey"],
            A_PAGE,
            store.delivery_list(owner, endpoint, page).await.expect("listed")
        );
    }
    for page in [first, after(nth(1, 2_500))] {
        judge!(
            store,
            "accounts",
            ["account_pkey"],
            A_PAGE,
            store.account_list(page).await.expect("listed")
        );
    }
    for page in [first, deep()] {
        judge!(
            store,
            "unrouted messages",
            ["unrouted_pkey"],
            A_PAGE,
            store.unrouted_list(page).await.expect("listed")
        );
    }
    super::counted::links(store, owner).await;
    judge!(
        store,
        "endpoints",
        ["endpoint_pkey"],
        20.0,
        store.endpoint_list(EndpointsWanted::Of(owner)).await.expect("listed")
    );
    judge!(
        store,
        "keys",
        ["api_key_by_account"],
        20.0,
        store.api_key_list(owner).await.expect("listed")
    );
}

async fn look_ups(store: &dyn Store, account: AccountId) {
    let hash = KeyHash::from_bytes([7; 32]);
    judge!(store, "a key", ["api_key_pkey"], 1.0, store.api_key_find(hash).await.expect("read"));
    judge!(
        store,
        "numbers for an account",
        ["number_by_account"],
        4.0,
        store.number_list(NumbersWanted::UsableBy(account)).await.expect("read")
    );
    let people = [person(1), person(2), person(3)];
    judge!(
        store,
        "opt-outs among three",
        ["opt_out_pkey"],
        3.0,
        store.opt_outs_among(account, &people).await.expect("read")
    );
    let at = Timestamp::from_millis(1_795_244_830_123);
    judge!(
        store,
        "an earlier send",
        ["idempotency_key_pkey"],
        1.0,
        store.send_earlier(account, &key("key-500"), at).await.expect("read")
    );
}

async fn threads(store: &dyn Store, rig: &sms_conformance::Rig, account: AccountId) {
    let all = ConversationFilter::default();
    let unread = ConversationFilter { state: Some(ReadState::Unread), ..all.clone() };
    let search = ContactSearch::parse("+447800000001");
    let one = ConversationFilter { search, ..all.clone() };
    for (what, index, filter) in [
        ("conversations", "conversation_by_activity", &all),
        ("unread conversations", "conversation_unread", &unread),
        ("one conversation", "conversation_pkey", &one),
    ] {
        for page in [PageRequest::default(), deep()] {
            let _ = Plans::told();
            for _ in 0..8 {
                store.conversation_list(account, filter, page).await.expect("listed");
                store.health_check().await.expect("the server answers");
            }
            Plans::told().judge(what, &[index], A_PAGE);
        }
    }
    judge!(
        store,
        "what is unread",
        ["inbox_pkey"],
        1.0,
        store.unread_total(account).await.expect("read")
    );
    let other = AccountId::from_u128(nth(1, 50));
    judge!(
        store,
        "an answer, read",
        ["conversation_pkey", "inbox_pkey", "message_unread", "message_by_contact"],
        30.0,
        {
            rig.inbound(7, rig_number(50), "Thank you").await;
            store.conversation_read(other, person(7), rig.now()).await.expect("marked")
        }
    );
    judge!(
        store,
        "a match",
        ["keyword_by_word", "reply_count_pkey"],
        30.0,
        rig.inbound(8, rig_number(50), "word3, please").await
    );
    judge!(store, "giving up parts", ["inbound_segment_by_age"], 30.0, {
        let (at, ids, reply_limits) = (rig.now(), rig.ids(), ReplyLimits::default());
        let plan = GiveUpPlan { before: at, validity: VALIDITY, reply_limits, at, ids };
        store.inbound_segment_give_up(plan).await.expect("given up")
    });
}

async fn workers(store: &dyn Store, rig: &sms_conformance::Rig, account: AccountId) {
    judge!(store, "the next text", ["queue_by_route"], 5.0, {
        store.next(Due::Messages).await.expect("read")
    });
    judge!(store, "the next comeback", ["follow_up_by_time"], 1.0, {
        store.next(Due::FollowUps).await.expect("read")
    });
    judge!(
        store,
        "the next delivery",
        ["delivery_next", "endpoint_by_id"],
        100.0,
        store.next(Due::Deliveries).await.expect("read")
    );
    judge!(
        store,
        "comebacks due",
        ["follow_up_by_time"],
        100.0,
        store.follow_ups_due(rig.now(), 100).await.expect("read")
    );
    judge!(
        store,
        "a claim of messages",
        ["queue_by_route", "queue_pkey", "queue_by_lease", "number_phone_key"],
        300.0,
        {
            let hand = rig.claim(100).await;
            assert_eq!(hand.messages.len(), 100);
            store.dispatch_renew(hand.token, rig.now()).await.expect("renewed");
            rig.finish(&hand, &taken()).await
        }
    );
    super::waiting::past_a_full_route(store, rig).await;
    judge!(
        store,
        "receipts",
        ["message_by_id", "queue_pkey"],
        30.0,
        rig.deliver(text_id(509)).await
    );
    judge!(store, "a claim of deliveries", ["delivery_next"], 1_000.0, rig.claim_any(10).await);
    let room = rig.account_now(account).await;
    let mut sends = 0_u16;
    judge!(store, "a send", ["account_pkey", "conversation_pkey"], 30.0, {
        sends += 1;
        rig.send(&room, &request([sends, 90])).await;
        rig.send(&room, &request_with_key(sends, &format!("new-{sends}"))).await
    });
    judge!(
        store,
        "a replay",
        ["message_by_batch", "idempotency_key_pkey"],
        30.0,
        rig.send(&room, &request_with_key(1, "new-1")).await
    );
    judge!(
        store,
        "an answer",
        ["number_phone_key", "opt_out_pkey"],
        30.0,
        rig.inbound(5, rig_number(50), "Thank you").await
    );
    let month = Timestamp::from_millis(1_795_244_830_123);
    judge!(
        store,
        "tidying keys",
        ["idempotency_key_by_age"],
        30.0,
        store.tidy(Chore::IdempotencyKeys { before: month }, 10).await.expect("tidied")
    );
    judge!(
        store,
        "tidying deliveries",
        ["delivery_by_age"],
        100.0,
        store.tidy(Chore::Deliveries { before: month }, 10).await.expect("tidied")
    );
}

/// The number of the n-th account.
fn rig_number(n: u64) -> sms_core::phone::E164 {
    sms_core::phone::E164::from_digits(447_700_000_000 + n).expect("a number")
}
