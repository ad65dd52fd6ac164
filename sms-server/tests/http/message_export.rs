//! `GET /messages/export`: messages as CSV.

use poem::http::Method;
use serde_json::json;
use sms_core::phone::parse_any;
use sms_core::sending::SendRequest;

use crate::message_send::numbers;
use crate::rig::{Account, Rig, SHARED_NUMBER};

const HEADER: &str = "id,direction,status,to,from,body,encoding,segments,credits,route,sender,\
                      client_ref,batch_id,campaign_id,contact_id,error_code,error_message,test,\
                      scheduled_at,sent_at,delivered_at,failed_at,cancelled_at,received_at,\
                      created_at,contact_name,scheduled_at_london,sent_at_london,\
                      delivered_at_london,failed_at_london,cancelled_at_london,\
                      received_at_london,created_at_london";

/// The rows of an export, the header first.
async fn rows(account: &Account, query: &str) -> Vec<Vec<String>> {
    let reply = account.live.get(&format!("/messages/export{query}")).await.assert(200);
    let text = reply.text();
    read(text.strip_prefix('\u{feff}').expect("a mark"))
}

fn read(text: &str) -> Vec<Vec<String>> {
    let mut reader = csv::ReaderBuilder::new().has_headers(false).from_reader(text.as_bytes());
    let records = reader.records();
    records.map(|record| record.unwrap().iter().map(str::to_owned).collect()).collect()
}

#[tokio::test]
async fn an_export_has_the_columns_of_the_specification() {
    let rig = Rig::new().await;
    let account = rig.account(10).await;
    let empty = account.live.get("/messages/export").await.assert(200);
    assert_eq!(empty.header("content-type"), "text/csv; charset=utf-8");
    assert_eq!(empty.header("content-disposition"), "attachment; filename=\"messages.csv\"");
    assert_eq!(empty.text(), format!("\u{feff}{HEADER}\r\n"));
    let request =
        json!({ "to": "07700 900123", "body": "Hi, \"you\"\r\nthere", "client_ref": "r" });
    let sent = account.live.post("/messages", request).await.created();
    rig.pass(4).await;
    let text = account.live.get("/messages/export?bom=false").await.assert(200).text();
    let (id, batch) = (&sent["messages"][0]["id"], &sent["batch_id"]);
    let expected = format!(
        "{HEADER}\r\n{},outbound,delivered,+447700900123,{SHARED_NUMBER},\"Hi, \"\"you\"\"\r\n\
         there\",gsm7,1,1,simulator,,r,{},,,,,false,,2026-11-21T07:07:11.123Z,\
         2026-11-21T07:07:13.123Z,,,,2026-11-21T07:07:10.123Z,,,2026-11-21 07:07:11,\
         2026-11-21 07:07:13,,,,2026-11-21 07:07:10\r\n",
        id.as_str().unwrap(),
        batch.as_str().unwrap(),
    );
    assert_eq!(text, expected);
}

#[tokio::test]
async fn an_export_begins_with_a_mark_unless_a_program_asks_for_none() {
    let rig = Rig::new().await;
    let account = rig.account(10).await;
    for (query, begins) in
        [("", "\u{feff}id,"), ("?bom=true", "\u{feff}id,"), ("?bom=false", "id,")]
    {
        let text = account.live.get(&format!("/messages/export{query}")).await.assert(200).text();
        assert!(text.starts_with(begins), "{query}: {text}");
    }
    let wrong = account.live.get("/messages/export?bom=no").await.mistakes();
    assert_eq!(wrong.len(), 1);
}

#[tokio::test]
async fn an_export_has_the_names_of_contacts_and_the_time_of_london() {
    let rig = Rig::new().await;
    let account = rig.account(10).await;
    let ann = json!({ "phone": "07700900123", "first_name": "=Ann", "last_name": "Lee" });
    account.live.post("/contacts", ann).await.assert(201);
    // Into summer time.
    rig.clock.advance(std::time::Duration::from_hours(4800));
    account.send(json!(["07700900123", "07700900124"]), "x").await;
    rig.pass(1).await;
    let person = parse_any("07700 900123").unwrap();
    let shared = parse_any(SHARED_NUMBER).unwrap();
    rig.sms.operator().inbound(person, shared, "yes".to_owned()).await.unwrap();
    let rows = rows(&account, "").await;
    let place = |name: &str| rows[0].iter().position(|column| column == name).unwrap();
    let names = rows[1..].iter().map(|row| row[place("contact_name")].as_str());
    let mut names: Vec<&str> = names.collect();
    names.sort_unstable();
    assert_eq!(names, ["", "'=Ann Lee", "'=Ann Lee"]);
    for row in &rows[1..] {
        let (utc, london) = (&row[place("created_at")], &row[place("created_at_london")]);
        assert!(utc.starts_with("2027-06-09T07:07:"), "{utc}");
        assert!(london.starts_with("2027-06-09 08:07:"), "{london}");
    }
}

#[tokio::test]
async fn failures_and_test_messages_are_told_apart() {
    let rig = Rig::new().await;
    let account = rig.account(10).await;
    account.send("07700 900901", "x").await;
    let request = json!({ "to": "07700 900123", "body": "x" });
    account.test.post("/messages", request).await.assert(201);
    rig.pass(1).await;
    let rows = rows(&account, "").await;
    assert_eq!((rows[1][17].as_str(), rows[1][9].as_str()), ("true", "test"));
    assert_eq!((rows[2][2].as_str(), rows[2][15].as_str()), ("failed", "rejected_by_network"));
    assert!(!rows[2][16].is_empty() && !rows[2][21].is_empty());
}

#[tokio::test]
async fn no_cell_is_one_that_a_spreadsheet_would_run() {
    let rig = Rig::new().await;
    let account = rig.account(1_000).await;
    let shared = parse_any(SHARED_NUMBER).unwrap();
    for start in ["=", "+", "-", "@", "\t", "\r"] {
        let nasty = format!("{start}cmd|' /C calc'!A0");
        let request = json!({ "to": "07700 900123", "body": nasty, "client_ref": nasty });
        account.live.post("/messages", request).await.assert(201);
        rig.pass(1).await;
        let person = parse_any("07700 900123").unwrap();
        rig.sms.operator().inbound(person, shared, nasty.clone()).await.unwrap();
    }
    let rows = rows(&account, "").await;
    assert_eq!(rows.len(), 13);
    for row in &rows {
        for (column, cell) in row.iter().enumerate() {
            let runs = cell.starts_with(['=', '+', '-', '@', '\t', '\r']);
            let is_phone = column == 3 || column == 4;
            assert!(!runs || is_phone, "{cell:?} in column {column}");
        }
        assert!(row[5] == "body" || row[5].starts_with('\''));
        assert!(row[11].is_empty() || row[11] == "client_ref" || row[11].starts_with('\''));
    }
}

#[tokio::test]
async fn an_export_is_the_filtered_list_newest_first() {
    let rig = Rig::new().await;
    let account = rig.account(1_000).await;
    account.send(json!(numbers(30)), "even").await;
    rig.pass(5).await;
    let last = account.send(json!(numbers(30)), "odd").await;
    let batch = format!("?batch_id={}", last["batch_id"].as_str().unwrap());
    let queries = [
        "",
        "?q=odd",
        "?q=07700900003",
        "?status=delivered",
        "?direction=inbound",
        "?client_ref=x",
        "?since=2026-11-21T07:07:15Z",
        "?until=2026-11-21T07:07:15Z",
        &batch,
        "?batch_id=nonsense",
        "?campaign_id=nonsense",
    ];
    for query in queries {
        let listed = account.live.pages(&format!("/messages{query}"), 100).await;
        let exported = rows(&account, query).await;
        let listed: Vec<&str> = listed.iter().map(|text| text["id"].as_str().unwrap()).collect();
        let exported: Vec<&str> = exported[1..].iter().map(|row| row[0].as_str()).collect();
        assert_eq!(listed, exported, "{query}");
    }
    let wrong = account.live.get("/messages/export?status=lost&since=x").await.mistakes();
    assert_eq!(wrong.len(), 2);
}

#[tokio::test]
async fn an_export_ends_at_50_000_rows() {
    let rig = Rig::new().await;
    let account = rig.account(60_000).await;
    let handle = rig.sms.account(account.id, sms_core::account::Mode::Live);
    for _ in 0..51 {
        let request = SendRequest::new("x").to(numbers(1_000).join(","));
        handle.send(request).await.unwrap();
        rig.clock.advance(std::time::Duration::from_millis(1));
    }
    let text = account.live.get("/messages/export").await.assert(200).text();
    let lines: Vec<&str> = text.lines().collect();
    assert_eq!(lines.len(), 50_001);
    let newest = account.live.get("/messages?limit=1").await.ok();
    assert!(lines[1].starts_with(newest[0]["id"].as_str().unwrap()));
    assert!(lines[1..].is_sorted_by(|newer, older| newer > older));
}

#[tokio::test]
async fn an_account_has_three_exports_at_once_and_a_fourth_waits() {
    let rig = Rig::new().await;
    let (account, other) = (rig.account(10).await, rig.account(10).await);
    let mut unread = Vec::new();
    for _ in 0..3 {
        let answer = account.live.ask(Method::GET, "/messages/export").unread().await;
        assert_eq!(answer.status(), 200);
        unread.push(answer);
    }
    let refused = account.live.get("/messages/export").await.assert(429);
    assert_eq!(refused.header("retry-after"), "10");
    other.live.get("/messages/export").await.assert(200);
    drop(unread);
    account.live.get("/messages/export").await.assert(200);
}
