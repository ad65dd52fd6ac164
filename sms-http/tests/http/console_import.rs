//! `/console/contacts/import` without script: the whole file comes in one form.

use poem::http::Method;
use serde_json::json;

use crate::browser::Browser;
use crate::rig::{Reply, Rig};

const BOUNDARY: &str = "----boundary";

/// Sends a form with files, as browsers do.
async fn submit(browser: &Browser, path: &str, fields: &[(&str, &str)]) -> Reply {
    let csrf = [("csrf", browser.csrf())];
    let parts = csrf.iter().chain(fields).map(|(name, value)| {
        let file = if *name == "file" { "; filename=\"people.csv\"" } else { "" };
        format!("Content-Disposition: form-data; name=\"{name}\"{file}\r\n\r\n{value}\r\n")
    });
    let begins = format!("--{BOUNDARY}\r\n");
    let body = parts.collect::<Vec<_>>().join(&begins);
    let body = format!("{begins}{body}--{BOUNDARY}--\r\n");
    let kind = format!("multipart/form-data; boundary={BOUNDARY}");
    browser.ask(Method::POST, path).raw(body).header("Content-Type", &kind).send().await
}

async fn imported(browser: &Browser, file: &str) -> String {
    let fields = [("key", "0123456789abcdef0123456789abcdef"), ("file", file)];
    let reply = submit(browser, "/console/contacts/import", &fields).await.assert(200);
    reply.text()
}

/// What the button for the download of a report gives.
async fn downloaded(browser: &Browser, page: &str) -> Reply {
    let (_, rest) = page.split_once("name=\"packed\" value=\"").unwrap();
    let packed = rest.split('"').next().unwrap();
    let fields = [("packed", packed)];
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
    assert_eq!(lines[0], "mobile,name,line,problem");
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
