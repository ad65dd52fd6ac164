//! Work that grows with what a stranger sends runs apart from the threads that serve everybody.

use poem::http::Method;
use serde_json::json;

use crate::browser::Browser;
use crate::rig::{Ask, Rig, TOKEN};

/// More than could be answered between two looks at a request that is admitted.
const OTHERS: usize = 100;

/// Texts that take long to read.
struct Texts {
    /// JSON: nearly as many objects as a body may have values.
    objects: String,
    /// A file with many mistakes.
    csv: String,
    /// What a page tells of a file with many columns.
    told: String,
    /// A report on many rows.
    report: String,
}

impl Texts {
    fn new() -> Self {
        let objects = vec!["{\"a\":0}"; 110_000].join(",");
        let csv = format!("mobile,name\n{}", "0123,Number\n".repeat(19_000));
        let row = format!("[{}]", vec!["\"\""; 100].join(","));
        let told = json!({ "file": "a", "delimiter": ",", "header": ["mobile"], "rows": 1 });
        let told = told.to_string();
        let sample = format!("\"rows\":1,\"sample\":[{}]", vec![row; 3_000].join(","));
        let told = told.replace("\"rows\":1", &sample);
        let cells = vec!["\"\""; 20].join(",");
        let left_out =
            format!("{{\"line\":1,\"cells\":[{cells}],\"imported\":false,\"problems\":[]}}");
        let counts = "\"created\":0,\"updated\":0,\"unchanged\":0,\"invalid\":0,\"values\":0";
        let report = format!(
            "{{\"file\":\"a\",\"delimiter\":\",\",{counts},\"added_to_list\":0,\"header\":[],\
             \"left_out\":[{}]}}",
            vec![left_out; 5_000].join(","),
        );
        Self { objects, csv, told, report }
    }

    /// Each entry, with the body that it takes longest to work on.
    fn requests(&self, rig: &Rig, key: &str, browser: &Browser) -> Vec<(&'static str, Ask)> {
        let api = |client: &crate::rig::Client, path: &str, field: &str| {
            let body = format!("{{\"{field}\":[{}]}}", self.objects);
            client.ask(Method::POST, path).bytes(body)
        };
        let form = |path: &str, field: &str, value: &str| {
            let body = format!("csrf={}&{field}={value}", browser.csrf());
            let path = format!("/console/contacts/import/{path}");
            let ask = browser.ask(Method::POST, &path).raw(body);
            ask.header("Content-Type", "application/x-www-form-urlencoded")
        };
        let file = format!(
            "--x\r\nContent-Disposition: form-data; name=\"csrf\"\r\n\r\n{}\r\n\
             --x\r\nContent-Disposition: form-data; name=\"key\"\r\n\r\n{}\r\n\
             --x\r\nContent-Disposition: form-data; name=\"file\"; filename=\"a.csv\"\r\n\r\n\
             {}\r\n--x--\r\n",
            browser.csrf(),
            "0".repeat(32),
            self.csv,
        );
        let file = browser.ask(Method::POST, "/console/contacts/import").raw(file);
        let client = rig.client(Some(key));
        vec![
            ("an import", api(&client, "/contacts/import", "rows")),
            ("a send", api(&client, "/messages", "to")),
            ("the operator's", api(&rig.operator(), "/accounts", "name")),
            ("a file", file.header("Content-Type", "multipart/form-data; boundary=x")),
            ("columns", form("columns", "sheet", &self.told)),
            ("a report", form("report", "report", &self.report)),
        ]
    }
}

/// On one thread: whoever worked on a body there would keep all others waiting.
#[tokio::test]
async fn others_are_answered_while_the_heaviest_request_of_each_entry_is_under_way() {
    let rig = Rig::new().await;
    let account = rig.account(10).await;
    let key = account.live.token.clone().unwrap();
    let browser = Browser::sign_in(&rig, &key).await;
    // From now on these callers are known, and admitted without a wait.
    account.live.get("/balance").await.assert(200);
    browser.get("/console/session").await.assert(200);
    rig.client(Some(TOKEN)).ask_at(Method::GET, "/healthz").send().await.assert(200);
    for (name, ask) in Texts::new().requests(&rig, &key, &browser) {
        let heavy = tokio::spawn(ask.unread());
        let running = rig.app.running_handlers();
        while running.count() == 0 && !heavy.is_finished() {
            tokio::task::yield_now().await;
        }
        for number in 0..OTHERS {
            tokio::task::yield_now().await;
            let alive = rig.client(None).ask_at(Method::GET, "/healthz").unread().await;
            assert_eq!(alive.status(), 200);
            assert!(!heavy.is_finished(), "{name}: only {number} others were answered meanwhile");
        }
        let status = heavy.await.unwrap().status();
        assert!([200, 422].contains(&status.as_u16()), "{name}: {status}");
    }
}
