//! The console's pages for the people of an account: what they say of prices, of things that are
//! gone, and of what does not fit on a page.

use serde_json::{Value, json};

use crate::browser::Browser;
use crate::rig::{Account, Client, Reply, Rig};

const KEY: (&str, &str) = ("key", "0123456789abcdef0123456789abcdef");

async fn browser(rig: &Rig, key: &Client) -> Browser {
    Browser::sign_in(rig, key.token.as_ref().unwrap()).await
}

/// The id of what the API makes of this.
async fn made(account: &Account, path: &str, input: Value) -> String {
    let made = account.live.post(path, input).await.created();
    made["id"].as_str().unwrap().to_owned()
}

async fn list(account: &Account, name: &str) -> String {
    made(account, "/lists", json!({ "name": name })).await
}

/// What each page shows as the price of one text to one person.
async fn prices(browser: &Browser, list: &str) -> Vec<(&'static str, Reply)> {
    let text = ("body", "Your table is ready");
    let to = ("to", "07700 900123");
    let thread = "/console/inbox/%2B447700900123";
    let mut shown = Vec::new();
    for (page, path, fields) in [
        ("compose", "/console/compose/preview", vec![to, text]),
        ("compose without script", "/console/compose", vec![("action", "preview"), to, text]),
        ("reply", &format!("{thread}/preview"), vec![text]),
        ("reply without script", thread, vec![("action", "preview"), text]),
        ("draft", "/console/campaigns/preview", vec![("list_id", list), text]),
        (
            "draft without script",
            "/console/campaigns/new",
            vec![("action", "preview"), KEY, ("list_id", list), text],
        ),
    ] {
        shown.push((page, browser.submit(path, &fields).await.assert(200)));
    }
    shown
}

#[tokio::test]
async fn every_price_for_a_test_key_says_that_it_is_free() {
    let rig = Rig::new().await;
    let account = rig.account(5).await;
    let list = list(&account, "Regulars").await;
    let input = json!({ "phones": ["07700 900123"] });
    account.live.post(&format!("/lists/{list}/contacts"), input).await.assert(200);
    account.send("07700 900123", "Hello").await;
    for (page, shown) in prices(&browser(&rig, &account.live).await, &list).await {
        let shown = shown.text();
        assert!(shown.contains("Costs 1 credit"), "{page}: {shown}");
        assert!(!shown.contains("Test mode: free"), "{page}: {shown}");
    }
    for (page, shown) in prices(&browser(&rig, &account.test).await, &list).await {
        let shown = shown.text();
        assert!(shown.contains("Test mode: free"), "{page}: {shown}");
        for price in ["Costs", "1 credit", "would be left", "The balance"] {
            assert!(!shown.contains(price), "{page} says {price}: {shown}");
        }
    }
}

#[tokio::test]
async fn a_test_key_is_not_asked_again_about_a_price() {
    let rig = Rig::new().await;
    let account = rig.account(5).await;
    let text = [("to", "07700 900123"), ("body", "Hello")];
    let sending = [("action", "send"), ("price", "7"), KEY, text[0], text[1]];
    let asked = browser(&rig, &account.live).await.submit("/console/compose", &sending).await;
    assert!(asked.assert(200).text().contains("The price has changed"));
    let tester = browser(&rig, &account.test).await;
    let sent = tester.submit("/console/compose", &sending).await.assert(303);
    let sent = tester.get(sent.header("location")).await.assert(200);
    assert!(sent.text().contains("1 message sent"));
}

#[tokio::test]
async fn a_conversation_that_is_too_long_for_a_page_leads_to_its_older_messages() {
    let rig = Rig::new().await;
    let account = rig.account(500).await;
    account.send("07700 900123", "The first").await;
    rig.clock.advance(std::time::Duration::from_hours(48));
    let browser = browser(&rig, &account.live).await;
    let thread = "/console/inbox/%2B447700900123";
    for _ in 0..199 {
        account.send("07700 900123", "Hello").await;
    }
    account.send("07700 900456", "Somebody else").await;
    let older = "/console/messages?q=%2B447700900123&amp;until=2026-11-23";
    let whole = browser.get(thread).await.assert(200);
    assert!(whole.text().contains("The first"));
    account.send("07700 900123", "One more").await;
    let cut = browser.get(thread).await.assert(200);
    assert!(!cut.text().contains("The first"));
    assert!(cut.text().contains(&format!("href=\"{older}\"")), "{}", cut.text());
    let messages = browser.get(&older.replace("&amp;", "&")).await.assert(200);
    assert!(!messages.text().contains("Somebody else"));
    assert!(messages.text().contains("until=2026-11-23&amp;cursor="), "{}", messages.text());
}

#[tokio::test]
async fn deleting_what_is_gone_shows_a_notice_on_the_list() {
    let rig = Rig::new().await;
    let account = rig.account(5).await;
    let browser = browser(&rig, &account.live).await;
    let list = list(&account, "Regulars").await;
    let contact = made(&account, "/contacts", json!({ "phone": "07700 900123" })).await;
    let draft = json!({ "name": "Roast", "body": "Hello", "list_id": list });
    let draft = made(&account, "/campaigns", draft).await;
    let template = json!({ "name": "Ready", "body": "Your table is ready" });
    let template = made(&account, "/templates", template).await;
    let keyword = made(&account, "/keywords", json!({ "keyword": "MENU", "reply": "Soup" })).await;
    let input = json!({ "url": "https://example.com/hook", "events": ["message.sent"] });
    let endpoint = made(&account, "/webhooks", input).await;
    account.live.post("/opt-outs", json!({ "phone": "07700 900124" })).await.created();
    let at = |of: &str, id: String| format!("/console/{of}/{id}/delete");
    for (path, fields, page) in [
        (at("campaigns", draft), vec![], "/console/campaigns"),
        (at("contacts", contact), vec![], "/console/contacts"),
        (at("lists", list), vec![], "/console/lists"),
        (at("templates", template), vec![], "/console/templates"),
        (at("keywords", keyword), vec![], "/console/keywords"),
        (at("developers/webhooks", endpoint), vec![], "/console/developers"),
        (
            "/console/opt-outs/delete".to_owned(),
            vec![("phone", "+447700900124")],
            "/console/opt-outs",
        ),
    ] {
        let first = browser.submit(&path, &fields).await.assert(303);
        assert!(!first.header("location").contains("already"), "{path}");
        let second = browser.submit(&path, &fields).await.assert(303);
        let (led, said) = second.header("location").split_once("?said=").unwrap();
        assert_eq!(led, page);
        assert!(said.ends_with("already"), "{path}: {said}");
        let shown = browser.get(second.header("location")).await.assert(200);
        assert!(shown.text().contains("already."), "{path}: {}", shown.text());
    }
    let operator = Browser::sign_in(&rig, crate::rig::TOKEN).await;
    let numbers = rig.operator().get("/numbers").await.ok();
    let number = numbers[0]["id"].as_str().unwrap();
    let release = format!("/console/operator/numbers/{number}/release");
    operator.submit(&release, &[]).await.assert(303);
    let again = operator.submit(&release, &[]).await.assert(303);
    assert_eq!(again.header("location"), "/console/operator/numbers?said=number-released-already");
}

#[tokio::test]
async fn the_description_of_an_endpoint_is_checked_by_the_server() {
    let rig = Rig::new().await;
    let account = rig.account(5).await;
    let browser = browser(&rig, &account.live).await;
    let input = json!({ "url": "https://example.com/hook", "events": ["message.sent"] });
    let endpoint = made(&account, "/webhooks", input).await;
    let long = "d".repeat(501);
    for path in
        ["/console/developers/webhooks", &format!("/console/developers/webhooks/{endpoint}")]
    {
        let fields = [
            KEY,
            ("url", "https://example.com/hook"),
            ("events", "message.sent"),
            ("description", &*long),
        ];
        let refused = browser.submit(path, &fields).await.assert(422).text();
        assert!(refused.contains("Description must have at most 500 characters"), "{refused}");
    }
}

#[tokio::test]
async fn a_day_that_does_not_exist_is_named_and_nothing_else_is_exported() {
    let rig = Rig::new().await;
    let account = rig.account(5).await;
    account.send("07700 900123", "Hello").await;
    let browser = browser(&rig, &account.live).await;
    let exported = "/console/api/v1/messages/export";
    let fine = browser.get("/console/messages?since=2026-02-28").await.assert(200);
    assert!(fine.text().contains(exported));
    for (query, words) in [
        ("since=2026-02-30", "From day: “2026-02-30” is not a date."),
        ("until=tomorrow", "To day: “tomorrow” is not a date."),
        ("status=lost", "State: “lost” is not a known value."),
        ("campaign_id=7", "Campaign: “7” is not a valid id."),
    ] {
        let wrong = browser.get(&format!("/console/messages?{query}")).await.assert(200);
        assert!(wrong.text().contains(words), "{query}: {}", wrong.text());
        assert!(!wrong.text().contains(exported), "{query}: {}", wrong.text());
    }
}

#[tokio::test]
async fn a_list_that_was_chosen_stays_chosen_however_many_there_are() {
    let rig = Rig::new().await;
    let account = rig.account(5).await;
    let oldest = list(&account, "The oldest").await;
    let keyword = json!({ "keyword": "MENU", "reply": "Soup", "add_to_list_id": oldest });
    let keyword = made(&account, "/keywords", keyword).await;
    let draft = json!({ "name": "Roast", "body": "Hello", "list_id": oldest });
    let draft = made(&account, "/campaigns", draft).await;
    for place in 0..600 {
        rig.clock.advance(std::time::Duration::from_millis(1));
        list(&account, &format!("List {place}")).await;
    }
    let browser = browser(&rig, &account.live).await;
    let chosen = format!("<option value=\"{oldest}\" selected>The oldest");
    for path in [
        format!("/console/keywords/{keyword}"),
        format!("/console/campaigns/{draft}/edit"),
        format!("/console/campaigns/new?list={oldest}"),
        format!("/console/compose?list={oldest}"),
        format!("/console/contacts/import?list={oldest}"),
    ] {
        let shown = browser.get(&path).await.assert(200);
        assert!(shown.text().contains(&chosen), "{path}");
    }
    let keywords = browser.get("/console/keywords").await.assert(200);
    assert!(keywords.text().contains("The oldest"), "{}", keywords.text());
}

#[tokio::test]
async fn the_answer_to_a_form_leads_to_older_deliveries_and_stays_on_its_page_in_other_colours() {
    let rig = Rig::new().await;
    let account = rig.account(5).await;
    let input = json!({ "url": "https://example.com/hook", "events": ["message.sent"] });
    let endpoint = made(&account, "/webhooks", input).await;
    let browser = browser(&rig, &account.live).await;
    let page = format!("/console/developers/webhooks/{endpoint}");
    let test = format!("{page}/test");
    for _ in 0..25 {
        browser.submit(&test, &[]).await.assert(200);
    }
    let shown = browser.submit(&test, &[]).await.assert(200).text();
    let (before, _) = shown.split_once("\">Older</a>").unwrap();
    let (_, older) = before.rsplit_once("href=\"").unwrap();
    assert!(older.starts_with(&format!("{page}?cursor=")), "{older}");
    let oldest = browser.get(older).await.assert(200).text();
    assert_eq!(oldest.matches("Details of webhook.test").count(), 1, "{oldest}");
    assert!(shown.contains(&format!("name=\"next\" value=\"{page}\"")), "{shown}");
}

#[tokio::test]
async fn a_replay_that_leaves_something_out_says_when_its_last_event_happened() {
    let rig = Rig::new().await;
    let account = rig.account(5).await;
    account.send("07700 900123", "Hello").await;
    rig.pass(5).await;
    let input = json!({ "url": "https://example.com/hook", "events": ["message.sent"] });
    let endpoint = made(&account, "/webhooks", input).await;
    let browser = browser(&rig, &account.live).await;
    let path = format!("/console/developers/webhooks/{endpoint}/replay");
    let asked = [KEY, ("from", "2026-11-20T00:00"), ("types", "message.sent")];
    let begun = browser.submit(&path, &asked).await.assert(200);
    assert!(begun.text().contains("1 event will be sent again"), "{}", begun.text());
    assert!(begun.text().contains("The last of them happened on"), "{}", begun.text());
    assert!(begun.text().contains("Saturday 21 November 2026 at 07:07:"), "{}", begun.text());
}

#[tokio::test]
async fn pages_say_how_a_program_asks_for_the_same() {
    let rig = Rig::new().await;
    let account = rig.account(5).await;
    let contact = made(&account, "/contacts", json!({ "phone": "07700 900123" })).await;
    let list = list(&account, "Regulars").await;
    account.send("07700 900123", "Hello").await;
    let browser = browser(&rig, &account.live).await;
    for (page, request) in [
        ("contacts?q=chef%27s", "'https://sms.example.com/api/v1/contacts?q=chef%27s'".to_owned()),
        (&format!("contacts/{contact}"), format!("/api/v1/contacts/{contact}'")),
        ("lists", "/api/v1/lists'".to_owned()),
        (&format!("lists/{list}"), format!("/api/v1/lists/{list}/contacts'")),
        ("templates?q=a", "/api/v1/templates?q=a'".to_owned()),
        ("keywords", "/api/v1/keywords'".to_owned()),
        ("opt-outs", "/api/v1/opt-outs'".to_owned()),
        ("senders", "/api/v1/sender-ids'".to_owned()),
        ("links", "/api/v1/links'".to_owned()),
        ("inbox/%2B447700900123", "-X POST 'https://sms.example.com/api/v1/messages'".to_owned()),
        ("messages?status=sent", "/api/v1/messages?status=sent'".to_owned()),
        ("campaigns", "/api/v1/campaigns'".to_owned()),
    ] {
        let shown = browser.get(&format!("/console/{page}")).await.assert(200);
        let text = shown.text().replace("&#39;", "'");
        assert!(text.contains("<summary>The same with the API</summary>"), "{page}");
        assert!(text.contains(&request), "{page}: {text}");
    }
}

#[tokio::test]
async fn the_reply_is_there_as_soon_as_somebody_may_be_texted_again() {
    let rig = Rig::new().await;
    let account = rig.account(5).await;
    account.send("07700 900123", "Hello").await;
    account.live.post("/opt-outs", json!({ "phone": "07700 900123" })).await.created();
    let browser = browser(&rig, &account.live).await;
    // The style sheet hides the form while the notice above it says why.
    let thread = browser.get("/console/inbox/%2B447700900123").await.assert(200);
    assert!(thread.text().contains("has opted out and cannot be texted"));
    assert!(thread.text().contains("aria-label=\"Reply\""), "{}", thread.text());
}

#[tokio::test]
async fn home_leads_to_the_failures_that_it_counts() {
    let rig = Rig::new().await;
    let account = rig.account(5).await;
    account.send("07700 900901", "Hello").await;
    rig.pass(30).await;
    let browser = browser(&rig, &account.live).await;
    let home = browser.get("/console").await.assert(200).text();
    let link = "/console/messages?status=failed&amp;since=2026-11-20";
    let words = format!("href=\"{link}\">1 message created in the last day failed</a>. It was");
    assert!(home.contains(&words), "{home}");
    let failed = browser.get(&link.replace("&amp;", "&")).await.assert(200).text();
    assert!(failed.contains("07700 900901"), "{failed}");
}
