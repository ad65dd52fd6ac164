//! Searches for words among more messages than a search reads one by one.

use sms_core::change::store::ReadsMessages;
use sms_core::ids::{AccountId, MessageId};
use sms_core::message::filter::{Search, body_has};
use sms_core::message::{Direction, MessageFilter, MessageStatus};
use sms_core::page::{Limit, PageRequest};
use sms_core::time::Timestamp;
use sms_core::upkeep::Chore;
use sms_core::upkeep::store::Upkeep;
use sms_store_postgres::PgStore;
use sqlx::{Connection, PgConnection};
use uuid::Uuid;

use crate::Own;

const START: i64 = 1_795_244_830_123;
const WORDS: [&str; 8] =
    ["table", "Soirée", "СТОЛ", "o'clock", "100%", "back\\slash", "ÖZIL", "straße"];

/// A message: its time, its status and its body.
struct Text {
    id: MessageId,
    status: MessageStatus,
    body: String,
}

fn id_at(millis: i64) -> MessageId {
    MessageId::from_u128(MessageId::first_at(Timestamp::from_millis(millis)).as_u128() + 7)
}

fn messages(range: std::ops::Range<u32>, name: &str) -> Vec<Text> {
    let text = |n: u32| {
        let word = WORDS[(n as usize * 7 / 3) % WORDS.len()];
        let status =
            if n.is_multiple_of(11) { MessageStatus::Received } else { MessageStatus::Sent };
        let old = if n == 17 { "Walrus" } else { "and" };
        let code = n.wrapping_mul(2_654_435_761) % 1_000_000;
        let body = format!("{name} {n}: {word} {old} {code:06}");
        Text { id: id_at(START + i64::from(n)), status, body }
    };
    range.map(text).collect()
}

async fn write(connection: &mut PgConnection, account: AccountId, messages: &[Text]) {
    let direction =
        |text: &Text| if text.status == MessageStatus::Received { "inbound" } else { "outbound" };
    sqlx::query(
        "INSERT INTO message (account_id, id, direction, status, to_number, from_number,
             contact_number, body, encoding, segments, credits, route, mode, timeline)
         SELECT $1, id, direction, status, (447700e6::bigint + 900001),
             (447700e6::bigint + 900002), (447700e6::bigint + 900001), body, 'gsm7',
             1, 1, 'simulator', 'live', '[]'
         FROM UNNEST($2::uuid[], $3::text[], $4::text[], $5::text[])
              AS new (id, direction, status, body)",
    )
    .bind(Uuid::from_u128(account.as_u128()))
    .bind(messages.iter().map(|text| Uuid::from_u128(text.id.as_u128())).collect::<Vec<_>>())
    .bind(messages.iter().map(direction).collect::<Vec<_>>())
    .bind(messages.iter().map(|text| text.status.as_str()).collect::<Vec<_>>())
    .bind(messages.iter().map(|text| text.body.as_str()).collect::<Vec<_>>())
    .execute(connection)
    .await
    .expect("the messages are written");
}

/// All messages that pass a filter, read in pages.
async fn listed(
    store: &PgStore,
    account: AccountId,
    filter: &MessageFilter,
    size: u32,
) -> Vec<MessageId> {
    let limit = Limit::new(size).expect("1 to 100");
    let (mut found, mut after) = (Vec::new(), None);
    loop {
        let request = PageRequest { limit, after };
        let page = store.message_list(account, filter, request).await.expect("listed");
        // A search may end a page early, with a cursor to go on from.
        found.extend(page.items.iter().map(|text| text.id));
        after = page.next;
        if after.is_none() {
            return found;
        }
    }
}

/// Every search finds all matching messages, newest first: messages in spans, messages not yet in
/// one, and only those of this account.
pub(crate) async fn searches_among_many_messages_find_every_match(own: Own) {
    let rig = own.rig(&own.store);
    let Own { store, url, .. } = own;
    let mut connection = PgConnection::connect(&url).await.expect("the server answers");
    let (busy, quiet) = (rig.account(1).await.id, rig.account(1).await.id);
    let mut all = messages(0..4_000, "Busy");
    write(&mut connection, busy, &all).await;
    write(&mut connection, quiet, &messages(10_000..10_500, "Quiet")).await;
    // In portions, so that preparation of an account resumes.
    let settled = Timestamp::from_millis(START + 3_900);
    while store.tidy(Chore::Search { before: settled }, 1_700).await.expect("prepared") > 0 {}
    let covered: Vec<(Uuid, i64)> = sqlx::query_as(
        "SELECT s.account_id, count(*) FROM message_span s JOIN message m
         ON m.account_id = s.account_id AND m.id BETWEEN s.first_id AND s.last_id GROUP BY 1",
    )
    .fetch_all(&mut connection)
    .await
    .expect("counted");
    assert_eq!(
        covered,
        [(Uuid::from_u128(busy.as_u128()), 3_400)],
        "two portions are in spans; what is left is too little"
    );
    let newer = messages(4_000..5_500, "Busy");
    write(&mut connection, busy, &newer).await;
    all.extend(newer);

    let queries = [
        "table",
        "SOIRÉE",
        "стол",
        "O'CLOCK",
        "0%",
        "k\\s",
        "özil",
        "STRASSE",
        "straße",
        "walrus",
        "busy 17:",
        "b",
        "zz",
        "quiet",
        "Busy 3",
        "583920",
        "nowhere at all",
        "_",
        "5499",
        "3899:",
    ];
    let whole = MessageFilter::default();
    let filters = [
        whole.clone(),
        MessageFilter { status: Some(MessageStatus::Received), ..whole.clone() },
        MessageFilter { direction: Some(Direction::Outbound), ..whole.clone() },
        MessageFilter { until: Some(Timestamp::from_millis(START + 3_000)), ..whole.clone() },
        MessageFilter {
            since: Some(Timestamp::from_millis(START + 1_000)),
            until: Some(Timestamp::from_millis(START + 1_500)),
            ..whole
        },
    ];
    for query in queries {
        let Some(Search::Words(words)) = Search::parse(query) else { panic!("{query} is words") };
        for filter in &filters {
            let filter =
                MessageFilter { search: Some(Search::Words(words.clone())), ..filter.clone() };
            let plain = MessageFilter { search: None, ..filter.clone() };
            let is_wanted = |text: &&Text| {
                let created = text.id.timestamp();
                let is_received = text.status == MessageStatus::Received;
                body_has(&text.body, &words)
                    && plain.status.is_none_or(|status| status == text.status)
                    && plain.direction.is_none_or(|d| (d == Direction::Inbound) == is_received)
                    && plain.since.is_none_or(|since| created >= since)
                    && plain.until.is_none_or(|until| created < until)
            };
            let expected: Vec<MessageId> =
                all.iter().rev().filter(is_wanted).map(|text| text.id).collect();
            let found = listed(&store, busy, &filter, 100).await;
            assert_eq!(found, expected, "{query:?} {plain:?}");
            if expected.len() < 50 {
                assert_eq!(listed(&store, busy, &filter, 7).await, expected, "{query:?} {plain:?}");
            }
        }
    }
}
