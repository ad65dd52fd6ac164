//! Merge fields that cannot be filled in: every page on which somebody writes names them, and
//! nothing is sent before somebody agrees.

use serde_json::json;

use crate::browser::Browser;
use crate::rig::{Account, Reply, Rig};

const KEY: (&str, &str) = ("key", "0123456789abcdef0123456789abcdef");
const BODY: (&str, &str) = ("body", "Hi {first_name}, your {nosuch} is ready");
/// What the box says that somebody ticks.
const AGREED: (&str, &str) = ("fields_agreed", "nosuch, first_name 1");
const PHONE: &str = "07700 900123";
const THREAD: &str = "/console/inbox/%2B447700900123";

/// An account with a list of two: one has a first name.
struct Stage {
    rig: Rig,
    account: Account,
    browser: Browser,
    list: String,
}

async fn stage() -> Stage {
    let rig = Rig::new().await;
    let account = rig.account(100).await;
    let list = account.live.post("/lists", json!({ "name": "Guests" })).await.created();
    let list = list["id"].as_str().unwrap().to_owned();
    for contact in
        [json!({ "phone": PHONE }), json!({ "phone": "07700 900124", "first_name": "Ann" })]
    {
        let contact = account.live.post("/contacts", contact).await.created();
        let ids = json!({ "contact_ids": [contact["id"]] });
        account.live.post(&format!("/lists/{list}/contacts"), ids).await.assert(200);
    }
    account.send(PHONE, "Hello").await;
    let browser = Browser::sign_in(&rig, account.live.token.as_ref().unwrap()).await;
    Stage { rig, account, browser, list }
}

impl Stage {
    async fn sent(&self) -> usize {
        self.rig.work().await;
        self.account.live.get("/messages").await.ok().as_array().unwrap().len() - 1
    }

    async fn draft(&self) -> String {
        let draft = json!({ "name": "Roast", "body": BODY.1, "list_id": self.list });
        let draft = self.account.live.post("/campaigns", draft).await.created();
        draft["id"].as_str().unwrap().to_owned()
    }
}

fn names_the_gaps(shown: &Reply, page: &str) {
    let shown = shown.text();
    for words in [
        "No contact has a field <code>{nosuch}</code>.",
        "1 person has no value for <code>{first_name}</code>.",
    ] {
        assert!(shown.contains(words), "{page}: {words}: {shown}");
    }
}

#[tokio::test]
async fn gaps_are_named_wherever_somebody_writes() {
    let stage = stage().await;
    let list = ("list_id", &*stage.list);
    for (page, path, fields) in [
        ("compose", "/console/compose/preview", vec![("to", PHONE), BODY]),
        ("compose to a list", "/console/compose/preview", vec![list, BODY]),
        (
            "compose without script",
            "/console/compose",
            vec![("action", "preview"), ("to", PHONE), BODY],
        ),
        ("reply", &format!("{THREAD}/preview"), vec![BODY]),
        ("reply without script", THREAD, vec![("action", "preview"), BODY]),
        ("draft", "/console/campaigns/preview", vec![list, BODY]),
    ] {
        names_the_gaps(&stage.browser.submit(path, &fields).await.assert(200), page);
        let whole = ("body", "Hi {first_name|there}, {phone}");
        let fields: Vec<_> =
            fields.into_iter().map(|one| if one == BODY { whole } else { one }).collect();
        let shown = stage.browser.submit(path, &fields).await.assert(200).text();
        assert!(!shown.contains("No contact has") && !shown.contains("no value"), "{page}");
    }
}

#[tokio::test]
async fn a_message_with_gaps_is_sent_only_once_somebody_agreed() {
    let stage = stage().await;
    let check = [("action", "check"), KEY, ("to", PHONE), BODY];
    let asked = stage.browser.submit("/console/compose", &check).await.assert(200);
    names_the_gaps(&asked, "the question");
    assert!(asked.text().contains("name=\"fields_agreed\" value=\"nosuch, first_name 1\""));
    let send = [("action", "send"), ("price", "1"), KEY, ("to", PHONE), BODY];
    let refused = stage.browser.submit("/console/compose", &send).await;
    assert!(refused.text().contains("Nothing was sent"), "{}", refused.text());
    let other = [&send[..], &[("fields_agreed", "first_name 1")]].concat();
    stage.browser.submit("/console/compose", &other).await;
    assert_eq!(stage.sent().await, 0);
    stage.browser.submit("/console/compose", &[&send[..], &[AGREED]].concat()).await;
    assert_eq!(stage.sent().await, 1);
}

#[tokio::test]
async fn a_reply_with_gaps_is_sent_only_once_somebody_agreed() {
    let stage = stage().await;
    let refused = stage.browser.submit(THREAD, &[KEY, BODY]).await.assert(422);
    assert!(refused.text().contains("Nothing was sent"));
    assert!(refused.text().contains("name=\"fields_agreed\" value=\"nosuch, first_name 1\""));
    assert_eq!(stage.sent().await, 0);
    stage.browser.submit(THREAD, &[KEY, BODY, AGREED]).await.assert(303);
    assert_eq!(stage.sent().await, 1);
}

#[tokio::test]
async fn a_draft_is_tried_on_one_number_and_stays_a_draft() {
    let stage = stage().await;
    let draft = stage.draft().await;
    let page = format!("/console/campaigns/{draft}");
    let card = stage.browser.get(&page).await.assert(200).text();
    assert!(card.contains("Try it first") && card.contains("Send to me"));
    let path = format!("{page}/try");
    let to = |phone| [KEY, ("to", phone)];
    for _ in 0..2 {
        let sent = stage.browser.submit(&path, &to("07700 900124")).await.assert(303);
        assert_eq!(sent.header("location"), format!("{page}?said=tried-draft"));
    }
    assert_eq!(stage.sent().await, 1, "a form that is sent twice sends once");
    let newest = stage.account.live.get("/messages").await.ok()[0].clone();
    assert_eq!(newest["body"], "Hi Ann, your {nosuch} is ready");
    assert_eq!((&newest["to"], &newest["campaign_id"]), (&json!("+447700900124"), &json!(null)));
    assert_eq!(
        stage.account.live.get(&format!("/campaigns/{draft}")).await.ok()["status"],
        "draft"
    );
    for phone in ["", "nonsense", "07700 900127"] {
        let opted_out = json!({ "phone": "07700 900127" });
        stage.account.live.post("/opt-outs", opted_out).await;
        let key = ("key", "fedcba9876543210fedcba9876543210");
        let refused = stage.browser.submit(&path, &[key, ("to", phone)]).await.assert(422).text();
        assert!(refused.contains("class=\"problem\" id=\"to-problem\""), "{phone}: {refused}");
    }
    assert_eq!(stage.sent().await, 1);
}

#[tokio::test]
async fn a_campaign_that_was_launched_is_not_tried_any_more() {
    let stage = stage().await;
    let draft = stage.draft().await;
    stage.account.live.call(&format!("/campaigns/{draft}/send")).await.assert(200);
    let before = stage.sent().await;
    let path = format!("/console/campaigns/{draft}/try");
    let refused = stage.browser.submit(&path, &[KEY, ("to", "07700 900125")]).await.assert(422);
    assert!(refused.text().contains("Only a draft can be tried."), "{}", refused.text());
    assert_eq!(stage.sent().await, before);
}

#[tokio::test]
async fn a_campaign_without_a_price_says_why_and_is_not_launched() {
    let stage = stage().await;
    let draft = stage.draft().await;
    stage.account.live.delete(&format!("/lists/{}", stage.list)).await;
    let path = format!("/console/campaigns/{draft}/launch");
    let asked = stage.browser.get(&path).await.assert(200).text();
    assert!(asked.contains("The price is not known") && asked.contains("No such list"), "{asked}");
    let refused = stage.browser.submit(&path, &[KEY]).await.assert(422).text();
    assert!(refused.contains("Nothing was sent: no such list"), "{refused}");
}

#[tokio::test]
async fn a_campaign_with_gaps_is_launched_only_once_somebody_agreed() {
    let stage = stage().await;
    for browser in [
        stage.browser.clone(),
        Browser::sign_in(&stage.rig, stage.account.test.token.as_ref().unwrap()).await,
    ] {
        let draft = stage.draft().await;
        let path = format!("/console/campaigns/{draft}/launch");
        names_the_gaps(&browser.get(&path).await.assert(200), "the launch");
        let quote = json!({ "list_id": stage.list, "body": BODY.1 });
        let quote = stage.account.live.post("/messages/quote", quote).await.ok();
        let price = quote["credits"].to_string();
        let launch = [KEY, ("price", &*price)];
        let refused = browser.submit(&path, &launch).await.assert(422);
        assert!(refused.text().contains("Nothing was sent"));
        let status = async || {
            let path = format!("/campaigns/{draft}");
            stage.account.live.get(&path).await.ok()["status"].clone()
        };
        assert_eq!(status().await, "draft");
        let mine = [("key", &*draft), ("price", &*price), AGREED];
        browser.submit(&path, &mine).await.assert(303);
        assert_ne!(status().await, "draft");
    }
}
