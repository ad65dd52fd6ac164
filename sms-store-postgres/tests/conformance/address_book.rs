//! Promises about contacts and lists beyond the conformance suite: large imports and lists stay
//! within the statement timeout, and lookups use the indexes meant for them.

use std::sync::Arc;

use sms_conformance::Rig;
use sms_conformance::rig::person;
use sms_core::Sms;
use sms_core::account::Mode;
use sms_core::clock::ManualClock;
use sms_core::contact::import::{MAX_ROWS, RowOutcome};
use sms_core::contact::{ContactInput, CustomValue};
use sms_core::sending::SendRequest;
use sms_core::service::operator::NumberInput;
use sms_core::version::IfVersion;
use sqlx::{AssertSqlSafe, Connection, PgConnection};

use crate::postgres::Act;

/// The tests by name.
pub(crate) const TESTS: &[(&str, Act)] = &[
    ("contact::the_largest_import_passes_and_its_list_is_texted", |rig, _| {
        Box::pin(largest_import(rig))
    }),
    ("contact::look_ups_go_by_the_indexes_meant_for_them", |rig, url| {
        Box::pin(look_ups_use_indexes(rig, url))
    }),
];

/// A row with every column that a customer's export has.
fn row(n: usize, note: &str) -> ContactInput {
    let text = |text: String| Some(CustomValue::Text(text));
    let custom = [
        ("town".to_owned(), text(format!("Town {}", n % 97))),
        ("points".to_owned(), Some(CustomValue::Number(n.into()))),
        ("vip".to_owned(), Some(CustomValue::Boolean(n.is_multiple_of(7)))),
    ];
    ContactInput::new(format!("+4477{n:08}"))
        .first_name(format!("First{n}"))
        .last_name("Of-The-Family")
        .email(format!("person{n}@example.com"))
        .notes(note)
        .custom(custom)
}

async fn largest_import(rig: &Rig) {
    let account = rig.account(100_000).await;
    let list = rig.list(&account).await;
    for (note, outcome, added) in [
        ("as first imported", RowOutcome::Created, MAX_ROWS),
        ("as imported again", RowOutcome::Updated, 0),
    ] {
        let rows = (0..MAX_ROWS).map(|n| row(n, note)).collect();
        let imported = rig.import(&account, rows, Some(list.id)).await;
        assert_eq!((imported.count(outcome), imported.added_to_list), (MAX_ROWS, added));
    }
    assert_eq!(rig.custom_names(&account).await, ["points", "town", "vip"]);
    let clock = Arc::new(ManualClock::at(rig.now()));
    let sms = Sms::builder(Arc::clone(rig.store())).clock(clock).build();
    let number = NumberInput::shared(person(900).to_string());
    sms.operator().number_create(number).await.expect("made");
    let mut request = SendRequest::new("{first_name} of {town}: {points}");
    request.list_id = Some(list.id);
    let handle = sms.account(account.id, Mode::Live);
    let quote = handle.quote(request.clone()).await.expect("quoted");
    let sent = handle.send(request).await.expect("sent");
    assert_eq!((quote.recipients, quote.credits), (MAX_ROWS, sent.credits));
    let last = sent.messages.last().expect("messages");
    assert_eq!(last.body.as_str(), format!("First19999 of Town {}: 19999", 19_999 % 97));
    assert!(rig.store().list_delete(account.id, list.id, IfVersion::Any).await.expect("removed"));
}

/// The query plan of a statement about one account among many.
async fn indexes_of(connection: &mut PgConnection, sql: &str) -> String {
    let explain = AssertSqlSafe(format!("EXPLAIN {sql}"));
    let lines: Vec<String> =
        sqlx::query_scalar(explain).fetch_all(connection).await.expect("explained");
    lines.join("\n")
}

async fn look_ups_use_indexes(rig: &Rig, url: &str) {
    let account = rig.account(0).await;
    let mut connection = PgConnection::connect(url).await.expect("the server answers");
    // A hundred accounts of a thousand contacts, all of them on one list.
    sqlx::query(
        "INSERT INTO contact (account_id, id, phone, custom, searched, created_at, updated_at)
         SELECT ('00000000-0000-0000-0000-' || lpad(a::text, 12, '0'))::uuid,
             ('00000000-0000-0000-0001-' || lpad(n::text, 12, '0'))::uuid,
             447700e6::bigint + n, '{}', '', now(), now()
         FROM generate_series(1, 100) AS a, generate_series(1, 1000) AS n",
    )
    .execute(&mut connection)
    .await
    .expect("written");
    sqlx::query("INSERT INTO contact_list_member SELECT account_id, account_id, id FROM contact")
        .execute(&mut connection)
        .await
        .expect("written");
    sqlx::query("ANALYZE contact, contact_list_member, opt_out")
        .execute(&mut connection)
        .await
        .expect("counted");
    let own = "'00000000-0000-0000-0000-000000000042'::uuid";
    let id = "'00000000-0000-0000-0001-000000000500'::uuid";
    for (sql, index) in [
        (
            format!(
                "SELECT c.* FROM UNNEST(ARRAY[447700e6::bigint + 7]) AS wanted (phone)
                 CROSS JOIN LATERAL (
                     SELECT * FROM contact
                     WHERE account_id = {own} AND phone = wanted.phone LIMIT 1) AS c"
            ),
            "contact_by_phone",
        ),
        (
            format!(
                "SELECT * FROM contact c WHERE c.account_id = {own} AND c.id < {id}
                 ORDER BY c.id DESC LIMIT 26"
            ),
            "contact_pkey",
        ),
        (
            format!(
                "SELECT c.* FROM contact c JOIN contact_list_member m
                     ON m.account_id = c.account_id AND m.contact_id = c.id
                 WHERE c.account_id = {own} AND m.account_id = {own} AND m.list_id = {own}
                     AND m.contact_id < {id}
                 ORDER BY m.contact_id DESC LIMIT 26"
            ),
            "contact_list_member_pkey",
        ),
        (format!("SELECT NOT EXISTS (SELECT FROM contact WHERE account_id = {own})"), "contact_"),
        (
            format!(
                "SELECT m.list_id FROM contact_list_member m
                 WHERE m.account_id = {own} AND m.contact_id = {id}
                     AND m.contact_id <> m.list_id ORDER BY m.list_id DESC"
            ),
            "contact_list_member_by_contact",
        ),
    ] {
        let plan = indexes_of(&mut connection, &sql).await;
        assert!(plan.contains(index) && !plan.contains("Seq Scan"), "{sql}\n{plan}");
        let is_ordered = sql.contains("ORDER BY");
        assert!(!is_ordered || !plan.contains("Sort"), "{sql}\n{plan}");
    }
    connection.close().await.expect("the connection ends");
    assert!(rig.store().address_book_is_empty(account.id).await.expect("read"));
}
