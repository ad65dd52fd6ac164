//! Every form of the console: what it changes is done behind a redirect, so that nobody who goes
//! back or reloads sends it again. The few answers that are pages themselves tell the browser an
//! address of their own.

use std::collections::BTreeSet;

use poem::http::Method;
use serde_json::{Value, json};

use crate::browser::Browser;
use crate::rig::{Account, Rig, TOKEN};

const KEY: &str = "0123456789abcdef0123456789abcdef";

/// How a valid form is answered.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Answer {
    /// The browser is led to a page.
    Redirect,
    /// Nothing is changed: a question before the change, or the form again.
    Nothing,
    /// The only page that shows a secret, or an answer that is kept nowhere.
    Once,
    /// A part of a page, for a module.
    Part,
}

use Answer::{Nothing, Once, Part, Redirect};

/// Things that forms change.
struct Stage {
    account: Account,
    people: Browser,
    operator: Browser,
    contact: String,
    list: String,
    template: String,
    keyword: String,
    draft: String,
    launched: String,
    endpoint: String,
    message: String,
    delivery: String,
}

async fn made(account: &Account, path: &str, input: Value) -> String {
    let made = account.live.post(path, input).await.created();
    made["id"].as_str().unwrap().to_owned()
}

async fn stage(rig: &Rig) -> Stage {
    let account = rig.account(1_000).await;
    let contact = made(&account, "/contacts", json!({ "phone": "07700 900123" })).await;
    let list = made(&account, "/lists", json!({ "name": "Guests" })).await;
    let ids = json!({ "contact_ids": [contact] });
    account.live.post(&format!("/lists/{list}/contacts"), ids).await.assert(200);
    let draft = json!({ "name": "Roast", "body": "Hello", "list_id": list });
    let launched = made(&account, "/campaigns", draft.clone()).await;
    let later = json!({ "schedule_at": "2026-11-23T12:00:00Z" });
    account.live.post(&format!("/campaigns/{launched}/send"), later.clone()).await.assert(200);
    let hook = json!({ "url": "https://example.com/hook", "events": ["message.sent"] });
    let endpoint = made(&account, "/webhooks", hook).await;
    let text = json!({ "to": "07700 900123", "body": "Hello" });
    account.live.post("/messages", text.clone()).await.created();
    rig.work().await;
    let path = format!("/webhooks/{endpoint}/deliveries");
    let deliveries = account.live.get(&path).await.ok();
    let text = json!({
        "to": "07700 900124", "body": "Hello", "schedule_at": later["schedule_at"],
    });
    let message = account.live.post("/messages", text).await.created();
    Stage {
        people: Browser::sign_in(rig, account.live.token.as_ref().unwrap()).await,
        operator: Browser::sign_in(rig, TOKEN).await,
        template: made(&account, "/templates", json!({ "name": "Ready", "body": "Now" })).await,
        keyword: made(&account, "/keywords", json!({ "keyword": "MENU", "reply": "Soup" })).await,
        draft: made(&account, "/campaigns", draft).await,
        launched,
        endpoint,
        message: message["messages"][0]["id"].as_str().unwrap().to_owned(),
        delivery: deliveries[0]["id"].as_str().unwrap().to_owned(),
        contact,
        list,
        account,
    }
}

type Fields<'a> = Vec<(&'a str, &'a str)>;

/// The forms of an account's people, each with valid fields, in an order in which all can be sent.
fn of_people<'a>(stage: &'a Stage, seen: &'a str) -> Vec<(&'static str, Fields<'a>, Answer)> {
    let (list, contact) = (&*stage.list, &*stage.contact);
    let text = vec![("to", "07700 900123"), ("body", "Hello")];
    let compose = |action| [&[("action", action), ("price", "1")], &text[..]].concat();
    let draft = vec![("name", "Pie"), ("list_id", list), ("body", "Hello")];
    let hook = vec![("url", "https://example.com/other"), ("events", "message.sent")];
    vec![
        ("/console/theme", vec![("theme", "dark")], Redirect),
        ("/console/compose/preview", text.clone(), Part),
        ("/console/compose", compose("check"), Nothing),
        ("/console/compose", compose("preview"), Nothing),
        ("/console/compose", compose("send"), Redirect),
        ("/console/inbox/{phone}", vec![("body", "Hello again")], Redirect),
        ("/console/inbox/{phone}", vec![("body", "x"), ("action", "preview")], Nothing),
        ("/console/inbox/{phone}/preview", vec![("body", "x")], Part),
        ("/console/inbox/{phone}/read", vec![], Redirect),
        ("/console/contacts/new", vec![("phone", "07700 900125")], Redirect),
        ("/console/contacts/{id}/edit", vec![("phone", "07700 900123")], Redirect),
        ("/console/contacts/{id}/leave", vec![("list", list)], Redirect),
        ("/console/contacts/{id}/join", vec![("list", list)], Redirect),
        ("/console/lists/new", vec![("name", "Staff")], Redirect),
        ("/console/lists/{id}/edit", vec![("name", "Visitors")], Redirect),
        ("/console/lists/{id}/people", vec![("phones", "07700 900126")], Redirect),
        ("/console/lists/{id}/remove", vec![("contact", contact)], Redirect),
        ("/console/templates/new", vec![("name", "A"), ("body", "B")], Redirect),
        ("/console/templates/{id}", vec![("name", "A"), ("body", "B")], Redirect),
        ("/console/keywords/new", vec![("keyword", "PIE"), ("reply", "Yes")], Redirect),
        ("/console/keywords/{id}", vec![("keyword", "MENU"), ("reply", "Yes")], Redirect),
        ("/console/opt-outs/new", vec![("phone", "07700 900127")], Redirect),
        ("/console/opt-outs/delete", vec![("phone", "07700 900127")], Redirect),
        ("/console/senders/new", vec![("value", "Bistro"), ("purpose", "Tables")], Redirect),
        ("/console/campaigns/preview", draft.clone(), Part),
        ("/console/campaigns/new", draft.clone(), Redirect),
        ("/console/campaigns/new", [&[("action", "preview")], &draft[..]].concat(), Nothing),
        ("/console/campaigns/{id}/edit", draft, Redirect),
        ("/console/campaigns/{id}/try", vec![("to", "07700 900123")], Redirect),
        ("/console/campaigns/{id}/launch/when", vec![], Part),
        ("/console/campaigns/{id}/launch", vec![("price", "1")], Redirect),
        ("/console/campaigns/{id}/cancel", vec![], Redirect),
        ("/console/campaigns/{id}/delete", vec![], Redirect),
        ("/console/messages/{id}/cancel", vec![], Redirect),
        ("/console/developers/webhooks", hook.clone(), Once),
        ("/console/developers/webhooks/{id}/test", vec![], Once),
        ("/console/developers/webhooks/{id}/on", vec![], Redirect),
        ("/console/developers/webhooks/{id}/secret", vec![("seen", seen)], Once),
        (
            "/console/developers/webhooks/{id}/replay",
            vec![("from", "2026-11-20T08:00"), ("types", "message.sent")],
            Once,
        ),
        ("/console/developers/webhooks/{id}/deliveries/{delivery}/retry", vec![], Redirect),
        ("/console/developers/webhooks/{id}", hook, Redirect),
        ("/console/developers/webhooks/{id}/delete", vec![], Redirect),
        ("/console/contacts/{id}/delete", vec![], Redirect),
        ("/console/lists/{id}/delete", vec![], Redirect),
        ("/console/templates/{id}/delete", vec![], Redirect),
        ("/console/keywords/{id}/delete", vec![], Redirect),
        ("/console/sign-out", vec![], Redirect),
    ]
}

/// The forms of the operator.
fn of_operator(account: &str) -> Vec<(&'static str, Fields<'_>, Answer)> {
    let settings = vec![
        ("name", "Bookings"),
        ("settings.quiet_hours_start", "21:00"),
        ("settings.quiet_hours_end", "09:00"),
        ("settings.opt_out_line", "Reply STOP to opt out"),
        ("settings.opt_out_line_sender", "Text STOP to {number} to opt out"),
    ];
    let number = vec![("phone_number", "07700 900555"), ("account_id", account)];
    let inbound = vec![("from", "07700 900123"), ("to", "07700 900000"), ("body", "Hello")];
    vec![
        ("/console/operator/accounts/new", vec![("name", "Bakery")], Redirect),
        ("/console/operator/accounts/{id}/status", vec![("status", "active")], Redirect),
        ("/console/operator/accounts/{id}/settings", settings, Redirect),
        ("/console/operator/accounts/{id}/credits", vec![("amount", "5")], Redirect),
        ("/console/operator/accounts/{id}/keys/new", vec![("kind", "test")], Once),
        ("/console/operator/accounts/{id}/keys/{key_id}/revoke", vec![], Redirect),
        ("/console/operator/senders/{id}/reject", vec![("reason", "No")], Redirect),
        ("/console/operator/senders/{id}/approve", vec![], Redirect),
        ("/console/operator/numbers/new", number, Redirect),
        ("/console/operator/numbers/{id}/check-in", vec![], Redirect),
        ("/console/operator/numbers/{id}/release", vec![], Redirect),
        ("/console/operator/sandbox/inbound", inbound, Redirect),
        ("/console/operator/sandbox/clock", vec![("seconds", "60")], Redirect),
    ]
}

/// Forms that bring a file, or a report of one: a file cannot be asked for again.
const OF_FILES: [&str; 7] = [
    "/console/contacts/import",
    "/console/contacts/import/columns",
    "/console/contacts/import/read",
    "/console/contacts/import/rows",
    "/console/contacts/import/report",
    "/console/contacts/import/left-out",
    "/console/opt-outs/import",
];

/// Served by the server itself, and not by a place.
const OF_SERVER: [&str; 2] = ["/console/theme", "/console/sign-out"];

async fn sent(browser: &Browser, path: &str, fields: &[(&str, &str)], answer: Answer) {
    // Each form has a key of its own.
    let key = format!("{KEY}{path}");
    let fields = [&[("key", &*key)], fields].concat();
    let reply = browser.submit(path, &fields).await;
    match answer {
        Redirect => {
            let reply = reply.assert(303);
            assert!(reply.header("location").starts_with("/console"), "{path}");
        }
        Part => assert!(!reply.assert(200).text().contains("<!DOCTYPE"), "{path}"),
        Nothing | Once => {
            let text = reply.assert(200).text();
            assert!(text.contains(" data-address=\"/console"), "{path} has no address: {text}");
        }
    }
}

#[tokio::test]
async fn every_form_that_changes_something_leads_to_a_page() {
    let rig = Rig::new().await;
    let stage = stage(&rig).await;
    let seen = stage.account.live.get("/webhooks").await.ok()[0]["updated_at"].clone();
    let account = stage.account.id.to_string();
    let mut tried = BTreeSet::from(OF_FILES);
    for (pattern, fields, answer) in of_people(&stage, seen.as_str().unwrap()) {
        tried.insert(pattern);
        let id = match pattern.split('/').nth(2).unwrap() {
            "contacts" => &stage.contact,
            "lists" => &stage.list,
            "templates" => &stage.template,
            "keywords" => &stage.keyword,
            "messages" => &stage.message,
            "campaigns" if pattern.ends_with("/cancel") => &stage.launched,
            "campaigns" if pattern.ends_with("/delete") => {
                &made(
                    &stage.account,
                    "/campaigns",
                    json!({
                        "name": "Gone", "body": "Hello", "list_id": stage.list,
                    }),
                )
                .await
            }
            "campaigns" => &stage.draft,
            _ => &stage.endpoint,
        };
        let path = pattern.replace("{id}", id).replace("{phone}", "%2B447700900123");
        sent(&stage.people, &path.replace("{delivery}", &stage.delivery), &fields, answer).await;
    }
    let of = async |path: &str| {
        rig.operator().get(path).await.ok()[0]["id"].as_str().unwrap().to_owned()
    };
    for (pattern, fields, answer) in of_operator(&account) {
        tried.insert(pattern);
        let id = match pattern.split('/').nth(3).unwrap() {
            "senders" => of("/sender-ids").await,
            "numbers" => of("/numbers").await,
            _ => account.clone(),
        };
        let key = of(&format!("/accounts/{account}/keys")).await;
        let path = pattern.replace("{id}", &id).replace("{key_id}", &key);
        sent(&stage.operator, &path, &fields, answer).await;
    }
    let all = sms_console::places().into_iter();
    let all = all.filter(|place| *place.method() == Method::POST).map(|place| place.pattern());
    let all: BTreeSet<_> = all.chain(OF_SERVER).collect();
    assert_eq!(tried, all, "every form is tried");
}

#[tokio::test]
async fn the_page_after_a_send_is_there_for_whoever_reloads_it() {
    let rig = Rig::new().await;
    let account = rig.account(10).await;
    let people = Browser::sign_in(&rig, account.live.token.as_ref().unwrap()).await;
    let send = [
        ("action", "send"),
        ("price", "1"),
        ("key", KEY),
        ("body", "Hello"),
        ("to", "07700 900123, nonsense"),
    ];
    for _ in 0..2 {
        let sent = people.submit("/console/compose", &send).await.assert(303);
        for _ in 0..2 {
            let shown = people.get(sent.header("location")).await.assert(200).text();
            assert!(shown.contains("1 message sent") && shown.contains("1 credit taken"));
            assert!(shown.contains("nonsense"), "who was left out is named");
        }
    }
    assert_eq!(account.balance().await, 9);
    people.get("/console/compose/sent/ffffffffffffffffffffffffffffffff").await.assert(404);
    let other = rig.account(10).await;
    let other = Browser::sign_in(&rig, other.live.token.as_ref().unwrap()).await;
    other.get(&format!("/console/compose/sent/{KEY}")).await.assert(404);
}

#[tokio::test]
async fn only_a_sandbox_simulates_messages_and_moves_its_clock() {
    let rig = Rig::new().await;
    let account = rig.account(10).await;
    let page = "/console/operator/sandbox";
    let inbound =
        [("key", KEY), ("from", "07700 900123"), ("to", "07700 900000"), ("body", "Hello")];
    let (inbound_at, clock_at) = (format!("{page}/inbound"), format!("{page}/clock"));
    let real = rig.without_sandbox();
    let operator = Browser::sign_in(&real, TOKEN).await;
    let accounts = operator.get("/console/operator/accounts").await.assert(200).text();
    assert!(!accounts.contains(page), "the navigation leads there");
    operator.get(page).await.assert(404);
    operator.submit(&inbound_at, &inbound).await.assert(404);
    operator.submit(&clock_at, &[("seconds", "60")]).await.assert(404);
    assert_eq!(account.live.get("/messages").await.ok(), json!([]));
    assert_eq!(rig.operator().get("/unrouted").await.ok(), json!([]));
    let operator = Browser::sign_in(&rig, TOKEN).await;
    let accounts = operator.get("/console/operator/accounts").await.assert(200).text();
    assert!(accounts.contains(page));
    operator.submit(&inbound_at, &inbound).await.assert(303);
}
