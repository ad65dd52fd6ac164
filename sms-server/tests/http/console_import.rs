//! `/console/contacts/import` without script: the whole file comes in one form.

use poem::http::Method;
use serde_json::{Value, json};

use crate::browser::Browser;
use crate::rig::{Reply, Rig};

const BOUNDARY: &str = "----boundary";

/// Sends a form with files, as browsers do.
async fn submit(browser: &Browser, path: &str, fields: &[(&str, &str)]) -> Reply {
    let fields: Vec<(&str, &[u8])> =
        fields.iter().map(|(name, value)| (*name, value.as_bytes())).collect();
    submit_bytes(browser, path, &fields).await
}

async fn submit_bytes(browser: &Browser, path: &str, fields: &[(&str, &[u8])]) -> Reply {
    let mut body = Vec::new();
    for (name, value) in [("csrf", browser.csrf().as_bytes())].iter().chain(fields) {
        let file = if *name == "file" { "; filename=\"people.csv\"" } else { "" };
        let head = format!("Content-Disposition: form-data; name=\"{name}\"{file}");
        body.extend(format!("--{BOUNDARY}\r\n{head}\r\n\r\n").into_bytes());
        body.extend(*value);
        body.extend(b"\r\n");
    }
    body.extend(format!("--{BOUNDARY}--\r\n").into_bytes());
    let kind = format!("multipart/form-data; boundary={BOUNDARY}");
    browser.ask(Method::POST, path).raw(body).header("Content-Type", &kind).send().await
}

async fn imported(browser: &Browser, file: &str) -> String {
    let fields = [("key", "0123456789abcdef0123456789abcdef"), ("file", file)];
    let reply = submit(browser, "/console/contacts/import", &fields).await.assert(200);
    reply.text()
}

/// What the page of a report has packed for its download.
fn packed(page: &str) -> &str {
    let (_, rest) = page.split_once("name=\"packed\" value=\"").unwrap();
    rest.split('"').next().unwrap()
}

/// The rows left out of a file with 20,000 mistakes, packed.
pub(crate) async fn packed_rows(browser: &Browser) -> String {
    let rows: Vec<String> = (0..20_000).map(|row| format!("0123,Number {row}\n")).collect();
    packed(&imported(browser, &format!("mobile,name\n{}", rows.concat())).await).to_owned()
}

/// What the button for the download of a report gives.
async fn downloaded(browser: &Browser, page: &str) -> Reply {
    let fields = [("packed", packed(page))];
    submit(browser, "/console/contacts/import/left-out", &fields).await.assert(200)
}

#[tokio::test]
async fn the_report_on_a_file_full_of_mistakes_is_a_page_of_reasonable_size() {
    let rig = Rig::new().await;
    let account = rig.account(0).await;
    let browser = Browser::sign_in(&rig, account.live.token.as_ref().unwrap()).await;
    let rows: Vec<String> = (0..20_000).map(|row| format!("0123,Number {row}\n")).collect();
    let page = imported(&browser, &format!("mobile,name\n{}", rows.concat())).await;
    assert!(page.contains("20,000 rows left out"));
    assert!(page.contains("0123, Number 199<") && !page.contains("0123, Number 200<"));
    assert!(page.contains("The first 200 are shown. The download has all."));
    assert!(page.len() < 400_000, "{} bytes", page.len());
    let file = downloaded(&browser, &page).await;
    assert_eq!(file.text().lines().count(), 20_001);
    assert!(file.text().contains("0123,Number 19999,20001,"));
}

#[tokio::test]
async fn the_rows_that_a_file_leaves_out_can_be_downloaded_to_be_mended() {
    let rig = Rig::new().await;
    let account = rig.account(0).await;
    let browser = Browser::sign_in(&rig, account.live.token.as_ref().unwrap()).await;
    let page =
        imported(&browser, "mobile,name\n0123,\"<b>, & \"\"x\"\"\"\n07700900123,Front desk\n")
            .await;
    assert!(page.contains("1 row left out") && !page.contains("are shown."), "{page}");
    let got = downloaded(&browser, &page).await;
    assert_eq!(got.header("content-disposition"), "attachment; filename=\"failed-rows.csv\"");
    let lines: Vec<String> = got.text().lines().map(str::to_owned).collect();
    assert_eq!(lines[0], "\u{feff}mobile,name,line,problem");
    assert!(lines[1].starts_with("0123,\"<b>, & \"\"x\"\"\",2,"), "{}", lines[1]);
    assert_eq!(lines.len(), 2);
}

#[tokio::test]
async fn a_file_with_more_mistakes_than_a_page_can_carry_says_how_many_are_missing() {
    let rig = Rig::new().await;
    let account = rig.account(0).await;
    let browser = Browser::sign_in(&rig, account.live.token.as_ref().unwrap()).await;
    let row = format!("0123,{}\n", "x".repeat(4_000));
    let page = imported(&browser, &format!("mobile,name\n{}", row.repeat(1_500))).await;
    assert!(page.contains("1,500 rows left out"));
    let file = downloaded(&browser, &page).await;
    let listed = file.text().lines().count() - 1;
    assert!((500..1_500).contains(&listed), "{listed}");
    let missing = 1_500 - listed;
    assert!(
        page.contains(&format!("{missing} more rows did not fit in this report.")),
        "{missing}"
    );
    assert!(page.contains(&format!("The download has the first {listed}.")), "{listed}");
}

#[tokio::test]
async fn the_chosen_list_stays_chosen_when_a_file_is_refused() {
    let rig = Rig::new().await;
    let account = rig.account(0).await;
    let browser = Browser::sign_in(&rig, account.live.token.as_ref().unwrap()).await;
    let list = account.live.post("/lists", json!({ "name": "Regulars" })).await.created();
    let list = list["id"].as_str().unwrap();
    imported(&browser, "mobile\n07700900123\n").await;
    // A file without rows, one without a number, and one that the key of the first does not allow.
    for file in ["", "name\nFront desk\n", "mobile\n07700900124\n"] {
        let fields = [("key", "0123456789abcdef0123456789abcdef"), ("list", list), ("file", file)];
        let refused = submit(&browser, "/console/contacts/import", &fields).await.assert(422);
        let page = refused.text();
        assert!(page.contains(&format!("value=\"{list}\" selected>Regulars")), "{file}: {page}");
        assert!(page.contains(&format!("data-list=\"{list}\"")), "{file}: {page}");
    }
}

#[tokio::test]
async fn a_download_of_what_no_report_has_packed_is_refused() {
    let rig = Rig::new().await;
    let account = rig.account(0).await;
    let browser = Browser::sign_in(&rig, account.live.token.as_ref().unwrap()).await;
    let fields = [("packed", "no file")];
    let refused = submit(&browser, "/console/contacts/import/left-out", &fields).await;
    assert!(refused.assert(400).text().contains("The form lacks the rows."));
}

/// What a place of the module answers.
async fn told(browser: &Browser, path: &str, fields: &[(&str, &[u8])]) -> Value {
    let reply = submit_bytes(browser, path, fields).await.assert(200);
    assert_eq!(reply.header("content-type"), "application/json");
    reply.json
}

#[tokio::test]
async fn a_file_is_read_for_the_module_and_its_rows_are_imported_in_portions() {
    let rig = Rig::new().await;
    let account = rig.account(0).await;
    let browser = Browser::sign_in(&rig, account.live.token.as_ref().unwrap()).await;
    let file = b"Mobile;First name;Email\n'07700900123;Zo\xEB;nobody\n4.47701E+11;Ann;\n1;2;3;4\n";
    let fields = [("file", &file[..])];
    let read = told(&browser, "/console/contacts/import/read", &fields).await;
    assert_eq!(read["encoding"], "windows-1252");
    assert_eq!(read["rows"][0], json!({ "line": 2, "cells": ["07700900123", "Zoë", "nobody"] }));
    let other = [("encoding", &b"macintosh"[..]), ("file", &file[..])];
    let other = told(&browser, "/console/contacts/import/read", &other).await;
    assert_eq!(other["rows"][0]["cells"][1], "ZoÎ");

    let portion = json!({ "rows": read["rows"] }).to_string();
    let fields = [
        ("key", &b"0123456789abcdef0123456789abcdef-0"[..]),
        ("column", b"phone"),
        ("column", b"first_name"),
        ("column", b"email"),
        ("portion", portion.as_bytes()),
    ];
    let report = told(&browser, "/console/contacts/import/rows", &fields).await;
    assert_eq!(
        (&report["created"], &report["invalid"], &report["values"]),
        (&1.into(), &2.into(), &1.into())
    );
    let causes: Vec<_> = report["left_out"].as_array().unwrap().iter().collect();
    let cause = |at: usize| causes[at]["problems"][0]["cause"].as_str().unwrap();
    assert!(cause(0).starts_with("email: ") && causes[0]["imported"] == true, "{report}");
    assert!(cause(1).starts_with("phone: Excel rounded this number"), "{report}");
    assert_eq!(cause(2), "it has 4 columns instead of 3");
    let kept = account.live.get("/contacts?q=07700900123").await.assert(200).json;
    assert_eq!(
        (&kept["data"][0]["first_name"], &kept["data"][0]["email"]),
        (&"Zoë".into(), &Value::Null)
    );
    let again = told(&browser, "/console/contacts/import/rows", &fields).await;
    assert_eq!(again, report, "a portion that is sent again has the same answer");

    let empty = [("file", &b"phone\n"[..])];
    let refused = told(&browser, "/console/contacts/import/read", &empty).await;
    assert_eq!(refused["refused"], "This file has no rows below its first one.");
}

#[tokio::test]
async fn people_can_be_added_to_a_list_that_the_form_makes() {
    let rig = Rig::new().await;
    let account = rig.account(0).await;
    let browser = Browser::sign_in(&rig, account.live.token.as_ref().unwrap()).await;
    let file = "mobile\n07700900123\n";
    let fields = |name| {
        [
            ("key", "0123456789abcdef0123456789abcdef"),
            ("list", "new"),
            ("list_name", name),
            ("file", file),
        ]
    };
    let path = "/console/contacts/import";
    let refused = submit(&browser, path, &fields("")).await.assert(422).text();
    assert!(refused.contains("value=\"new\" selected>New list"), "{refused}");
    assert!(refused.contains("The new list needs a name."), "{refused}");
    for _ in 0..2 {
        submit(&browser, path, &fields("Regulars")).await.assert(200);
    }
    let lists = account.live.get("/lists").await.assert(200).json;
    assert_eq!(lists["data"].as_array().unwrap().len(), 1);
    assert_eq!(
        (&lists["data"][0]["name"], &lists["data"][0]["contact_count"]),
        (&"Regulars".into(), &1.into())
    );
}

#[tokio::test]
async fn a_workbook_is_read_for_the_module_with_its_sheets() {
    let rig = Rig::new().await;
    let account = rig.account(0).await;
    let browser = Browser::sign_in(&rig, account.live.token.as_ref().unwrap()).await;
    let file = include_bytes!("../../../sms-files/tests/files/people.xlsx");
    let path = "/console/contacts/import/read";
    let read = told(&browser, path, &[("file", &file[..])]).await;
    assert_eq!((&read["worksheet"], &read["encoding"]), (&"People".into(), &Value::Null));
    assert_eq!(read["worksheets"], json!(["People", "Other"]));
    let cells = json!(["447700900461", "Zoë", "zoe@example.com", "2026-11-27"]);
    assert_eq!(read["rows"][0], json!({ "line": 2, "cells": cells }));
    let other = [("worksheet", &b"Other"[..]), ("file", &file[..])];
    let other = told(&browser, path, &other).await;
    assert_eq!(other["rows"], json!([{ "line": 2, "cells": ["447700900463"] }]));
    let missing = [("worksheet", &b"None"[..]), ("file", &file[..])];
    let missing = told(&browser, path, &missing).await;
    assert_eq!(missing["refused"], "This file has no such sheet. Choose it again.");
}

#[tokio::test]
async fn opt_outs_are_imported_from_a_file_with_names_or_from_a_list_of_numbers() {
    let rig = Rig::new().await;
    let account = rig.account(5).await;
    let browser = Browser::sign_in(&rig, account.live.token.as_ref().unwrap()).await;
    let path = "/console/opt-outs/import";
    let file = "Mobile;Comment\n'07700900123;STOP in 2024\n4.47701E+11;x\n12;y\n07700900124;\n";
    let page = submit(&browser, path, &[("file", file)]).await.assert(200).text();
    assert!(page.contains("2 rows left out") && page.contains("Excel rounded"), "{page}");
    let failed = downloaded(&browser, &page).await.text();
    assert!(
        failed.starts_with("\u{feff}Mobile;Comment;line;problem\r\n4.47701E+11;x;3;"),
        "{failed}"
    );
    let numbers = "07700900124\n07700900125\n";
    let page = submit(&browser, path, &[("file", numbers)]).await.assert(200).text();
    assert!(!page.contains("left out"), "{page}");
    let kept = account.live.get("/opt-outs").await.assert(200).json;
    let mut phones: Vec<_> = kept["data"].as_array().unwrap().iter().collect();
    phones.sort_by_key(|it| it["phone"].as_str().unwrap().to_owned());
    let phones: Vec<_> =
        phones.iter().map(|it| (&it["phone"], &it["note"], &it["source"])).collect();
    let (dashboard, none) = (json!("dashboard"), Value::Null);
    let numbers = ["123", "124", "125"].map(|end| json!(format!("+447700900{end}")));
    let note = json!("STOP in 2024");
    let expected = [
        (&numbers[0], &note, &dashboard),
        (&numbers[1], &none, &dashboard),
        (&numbers[2], &none, &dashboard),
    ];
    assert_eq!(phones, expected);
    let refused = submit(&browser, path, &[("file", "name\nAnn\n")]).await.assert(422).text();
    assert!(refused.contains("No column of this file is called mobile"), "{refused}");
}

#[tokio::test]
async fn a_file_with_two_columns_of_numbers_is_a_question_and_its_answer_decides() {
    let rig = Rig::new().await;
    let account = rig.account(0).await;
    let browser = Browser::sign_in(&rig, account.live.token.as_ref().unwrap()).await;
    let file = "Phone,Mobile\n02079460001,07700900181\n";
    for (path, field) in
        [("/console/opt-outs/import", "phone"), ("/console/contacts/import", "key")]
    {
        let key = (field, "0123456789abcdef0123456789abcdef");
        let asked = submit(&browser, path, &[key, ("file", file)]).await.assert(422).text();
        assert!(asked.contains("“Phone” (column 1), “Mobile” (column 2)"), "{asked}");
        assert!(asked.contains("name=\"phone_column\""), "{asked}");
        let answered = [key, ("phone_column", "Mobile"), ("file", file)];
        let page = submit(&browser, path, &answered).await.assert(200).text();
        assert!(!page.contains("left out"), "{page}");
    }
    let kept = account.live.get("/opt-outs").await.assert(200).json;
    assert_eq!(kept["data"][0]["phone"], "+447700900181");
    // A longer name is no question.
    let file = "Phone,Mobile consent\n07700900182,yes\n";
    submit(&browser, "/console/opt-outs/import", &[("file", file)]).await.assert(200);
}

#[tokio::test]
async fn notes_of_opt_outs_that_are_left_out_are_reported() {
    let rig = Rig::new().await;
    let account = rig.account(0).await;
    let browser = Browser::sign_in(&rig, account.live.token.as_ref().unwrap()).await;
    // More than an opt-out may have, and more than a contact may. Emails are no part of opt-outs.
    let (long, longer) = ("x".repeat(501), "x".repeat(2_001));
    let file = format!(
        "Mobile,Email,Notes\n07700900191,nobody,{long}\n07700900192,,{longer}\n07700900193,,ok\n"
    );
    let path = "/console/opt-outs/import";
    let page = submit(&browser, path, &[("file", &file)]).await.assert(200).text();
    assert!(page.contains("2 values left out"), "{page}");
    assert!(page.contains("Notes left out") && !page.contains("email address"), "{page}");
    let failed = downloaded(&browser, &page).await.text();
    assert!(failed.contains(&format!("07700900191,nobody,{long},2,note: ")), "{failed}");
    assert!(failed.contains(&format!("{longer},3,notes: ")), "{failed}");
    assert_eq!(failed.lines().count(), 3, "{failed}");
    let kept = account.live.get("/opt-outs").await.assert(200).json;
    assert_eq!(kept["data"].as_array().unwrap().len(), 3);
}
