//! Lists as streams.

use futures_util::TryStreamExt as _;
use serde_json::json;
use sms_client::opt_out::OptOutFilter;
use sms_client::template::TemplateFilter;
use sms_client::{ApiKey, Client};

use crate::script::{Asked, Script, Turn};

fn template(n: u32) -> serde_json::Value {
    let at = "2026-11-21T07:07:10.123Z";
    let id = format!("tpl_{n}");
    json!({ "id": id, "name": "x", "body": "y", "created_at": at, "updated_at": at })
}

fn page(items: &[serde_json::Value], meta: &serde_json::Value) -> Turn {
    Turn::Answer(200, "", json!({ "data": items, "meta": meta }).to_string())
}

fn client(script: &Script) -> Client {
    Client::new(&script.url, &ApiKey::from("cc_test_1")).unwrap()
}

#[tokio::test]
async fn a_stream_reads_every_page_and_keeps_the_filter() {
    let script = Script::start(vec![
        page(&[template(1), template(2)], &json!({ "next_cursor": "a b" })),
        page(&[], &json!({ "next_cursor": "c" })),
        page(&[template(3)], &json!({ "next_cursor": null })),
    ])
    .await;
    let filter = TemplateFilter { q: Some("a&b".to_owned()) };
    let list = client(&script).template_list(&filter).limit(2);
    let read: Vec<_> = list.stream().try_collect().await.unwrap();
    let ids: Vec<&str> = read.iter().map(|template| template.id.as_str()).collect();
    assert_eq!(ids, ["tpl_1", "tpl_2", "tpl_3"]);
    let asked = script.asked();
    let lines: Vec<&str> = asked.iter().map(Asked::line).collect();
    assert_eq!(
        lines,
        [
            "GET /api/v1/templates?q=a%26b&limit=2 HTTP/1.1",
            "GET /api/v1/templates?q=a%26b&limit=2&cursor=a+b HTTP/1.1",
            "GET /api/v1/templates?q=a%26b&limit=2&cursor=c HTTP/1.1",
        ]
    );
}

#[tokio::test]
async fn a_page_is_not_read_before_it_is_needed() {
    let script = Script::start(vec![page(&[template(1)], &json!({ "next_cursor": "a" }))]).await;
    let mut list = client(&script).template_list(&TemplateFilter::default()).stream();
    assert!(list.try_next().await.unwrap().is_some());
    assert_eq!(script.asked().len(), 1);
    // The script is over: the second page fails, and the stream says so.
    assert!(list.try_next().await.is_err());
}

#[tokio::test]
async fn opt_outs_are_read_by_their_offset() {
    let at = "2026-11-21T07:07:10.123Z";
    let one = json!({ "phone": "+447700900123", "source": "sms", "note": null, "created_at": at });
    let meta = json!({ "total": 3 });
    let script = Script::start(vec![
        page(&[one.clone(), one.clone()], &meta),
        page(std::slice::from_ref(&one), &meta),
    ])
    .await;
    let list = client(&script).opt_out_list(&OptOutFilter::default()).stream();
    assert_eq!(list.try_collect::<Vec<_>>().await.unwrap().len(), 3);
    let asked = script.asked();
    assert_eq!(asked[1].line(), "GET /api/v1/opt-outs?limit=100&offset=2 HTTP/1.1");
}

#[tokio::test]
async fn a_conversation_with_a_name_is_read_by_the_name() {
    let name = "A/C & Co";
    let thread =
        json!({ "contact_number": name, "contact": null, "opted_out": false, "messages": [] });
    let answer = json!({ "data": thread, "meta": null }).to_string();
    let script = Script::start(vec![Turn::Answer(200, "", answer)]).await;
    let thread = client(&script).conversation_get(&name.into()).await.unwrap();
    assert_eq!(thread.contact_number.as_str(), name);
    let asked = script.asked();
    assert_eq!(asked[0].line(), "GET /api/v1/conversations/A%2FC%20&%20Co HTTP/1.1");
}
