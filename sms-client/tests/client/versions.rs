//! Changes that are made on a version only.

use std::time::Duration;

use serde_json::json;
use sms_client::ids::TemplateId;
use sms_client::template::TemplatePatch;
use sms_client::{ApiKey, Client, ErrorCode, Retries};

use crate::script::{Script, Turn};

fn client(script: &Script) -> Client {
    let wait = Duration::from_millis(1);
    let retries = Retries { attempts: 3, first_wait: wait, longest_wait: wait };
    Client::with_retries(&script.url, &ApiKey::from("cc_test_x"), retries).unwrap()
}

fn template(headers: &'static str) -> Turn {
    let at = "2026-11-21T07:07:10.123Z";
    let data = json!({
        "id": "tpl_1", "name": "Table", "body": "x", "created_at": at, "updated_at": at,
    });
    Turn::Answer(200, headers, json!({ "data": data, "meta": null }).to_string())
}

#[tokio::test]
async fn a_change_names_the_version_that_was_read() {
    let error = json!({ "error": {
        "code": "precondition_failed", "message": "x", "details": { "resource": "template" },
    } });
    let script = Script::start(vec![
        template("ETag: \"abc\"\r\n"),
        template("ETag: \"def\"\r\n"),
        Turn::Answer(412, "", error.to_string()),
        template(""),
    ])
    .await;
    let client = client(&script);
    let id: TemplateId = "tpl_1".parse().unwrap();
    let read = client.template_get(&id).with_etag().await.unwrap();
    let tag = read.etag.unwrap();
    assert_eq!((tag.as_str(), &*read.value.name), ("\"abc\"", "Table"));
    let patch = TemplatePatch::default();
    let changed = client.template_update(&id, &patch).if_match(&tag).with_etag().await.unwrap();
    assert_eq!(changed.etag.unwrap().to_string(), "\"def\"");
    let refused = client.template_delete(&id).if_match(&tag).await.unwrap_err();
    assert_eq!(refused.code(), Some(&ErrorCode::PreconditionFailed));
    assert_eq!(client.template_get(&id).with_etag().await.unwrap().etag, None);
    let asked = script.asked();
    let tags: Vec<_> = asked.iter().map(|asked| asked.header("if-match")).collect();
    assert_eq!(tags, [None, Some("\"abc\""), Some("\"abc\""), None]);
}

#[tokio::test]
async fn a_change_on_a_version_is_not_made_again_after_its_answer_was_lost() {
    let script = Script::start(vec![template("ETag: \"abc\"\r\n"), Turn::Break]).await;
    let client = client(&script);
    let id: TemplateId = "tpl_1".parse().unwrap();
    let tag = client.template_get(&id).with_etag().await.unwrap().etag.unwrap();
    let change = client.template_update(&id, &TemplatePatch::default()).if_match(&tag);
    assert!(change.await.is_err());
    assert_eq!(script.asked().len(), 2);
}
