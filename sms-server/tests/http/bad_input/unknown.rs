//! What an operation does not know: query parameters of lists are refused, fields of bodies are
//! ignored and named.

use poem::http::Method;
use serde_json::json;

use super::stage::Stage;

#[tokio::test]
async fn every_list_refuses_query_parameters_that_it_does_not_have() {
    let stage = Stage::new().await;
    let operations = stage.operations();
    let is_list = |path: &str| !path.ends_with('}');
    let lists: Vec<_> = operations
        .iter()
        .filter(|one| one.method == Method::GET && !one.id.starts_with("openapi"))
        .filter(|one| {
            let paths = one.document["paths"].as_object().unwrap();
            paths
                .iter()
                .any(|(path, item)| item["get"]["operationId"] == one.id.as_str() && is_list(path))
        })
        .collect();
    assert!(lists.len() >= 25, "{}", lists.len());
    for list in lists {
        let path = format!("{}?page=2&offse%74=9&page=3", list.path);
        let refused = list.client.get(&path).await.refused(422, "unknown_parameter");
        let named: Vec<&str> =
            refused.as_array().unwrap().iter().filter_map(|it| it["field"].as_str()).collect();
        let expected: &[&str] =
            if list.id == "opt_out_list" { &["page"] } else { &["page", "offset"] };
        assert_eq!(named, expected, "{}", list.id);
        assert_eq!(refused[0]["code"], "unknown_parameter");
    }
}

#[tokio::test]
async fn a_parameter_of_a_single_resource_is_ignored() {
    let stage = Stage::new().await;
    stage.live.get(&format!("/messages/{}?page=2", stage.message)).await.assert(200);
}

#[tokio::test]
async fn every_body_may_have_fields_that_are_unknown_and_the_answer_names_them() {
    let stage = Stage::new().await;
    for operation in stage.operations().iter().filter(|one| one.takes_body()) {
        let mut body = operation.good_body();
        let known = operation.send(serde_json::to_vec(&body).unwrap()).await;
        assert_eq!(known.header("x-unknown-fields"), "", "{}", operation.id);
        body.insert("sendr".to_owned(), json!("x"));
        body.insert("a b,\u{e9}".to_owned(), json!({ "c": 1 }));
        let reply = operation.send(serde_json::to_vec(&body).unwrap()).await;
        assert_eq!(reply.header("x-unknown-fields"), "a%20b%2C%C3%A9, sendr", "{}", operation.id);
    }
}

#[tokio::test]
async fn unknown_fields_are_named_by_their_path_beside_errors_too_and_at_most_20() {
    let stage = Stage::new().await;
    let rows = json!({ "rows": [{ "phone": "12" }, { "phone": "07700 900124", "phonee": 1 }] });
    let reply = stage.live.post("/contacts/import", rows).await.assert(200);
    assert_eq!(reply.header("x-unknown-fields"), "rows[1].phonee");
    let invalid = json!({ "phone": 5, "custm": {} });
    let reply = stage.live.post("/contacts", invalid).await.assert(422);
    assert_eq!(reply.header("x-unknown-fields"), "custm");
    let many: serde_json::Map<_, _> =
        (0..1_000).map(|number| (format!("f{number}"), json!(1))).collect();
    let reply = stage.live.post("/lists", many.into()).await.assert(422);
    assert_eq!(reply.header("x-unknown-fields").split(", ").count(), 20);
}

#[tokio::test]
async fn a_page_links_to_the_next_one_until_the_last() {
    let stage = Stage::new().await;
    for number in 0..5 {
        stage.live.post("/lists", json!({ "name": format!("List {number}") })).await.assert(201);
    }
    let mut next = "/lists?limit=2".to_owned();
    let mut names = Vec::new();
    loop {
        let reply = stage.live.get(&next).await.assert(200);
        let items = reply.json["data"].as_array().unwrap().iter();
        names.extend(items.map(|list| list["name"].as_str().unwrap().to_owned()));
        let link = reply.header("link");
        assert_eq!(link.is_empty(), reply.json["meta"]["next_cursor"].is_null());
        if link.is_empty() {
            break;
        }
        let (path, relation) = link.strip_prefix("</api/v1").unwrap().split_once('>').unwrap();
        assert_eq!(relation, "; rel=\"next\"");
        assert!(path.starts_with("/lists?limit=2&cursor="), "{path}");
        next = path.to_owned();
    }
    assert_eq!(names, ["List 4", "List 3", "List 2", "List 1", "List 0", "Regulars"]);
}
