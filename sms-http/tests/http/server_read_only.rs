//! The server on a database that takes no writes: while it fails over, or because its operator
//! made it read-only.

use serde_json::{Value, json};
use sms_test_postgres::{Durability, Server};

use crate::process::TOKEN;
use crate::server_outage::{readiness, says_try_again, send, until_readiness};
use crate::server_postgres::{account, data, start_unlimited};
use crate::socket::bounded;

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn while_the_database_is_read_only_reads_go_on_and_writes_are_to_be_tried_again() {
    let postgres = Server::start(Durability::None);
    postgres.create_database("sms").await;
    let server = start_unlimited(&postgres.url("sms"));
    let key = account(&server, 100).await;
    assert_eq!(bounded(send(&server, &key, 1)).await.status, 201);
    let accounts = data(&server.call("GET", "/admin/v1/accounts", TOKEN, &Value::Null).await);
    let keys = format!("/admin/v1/accounts/{}/keys", accounts[0]["id"].as_str().unwrap());
    let unused = server.call("POST", &keys, TOKEN, &json!({ "kind": "live" })).await;
    let unused = data(&unused)["key"].as_str().unwrap().to_owned();
    assert_eq!(readiness(&server).await, 200);

    postgres.set("default_transaction_read_only", "on").await;
    until_readiness(&server, 503).await;
    // Several at a time, so that they share a commit.
    let sends = futures_util::future::join_all((2..20).map(|n| send(&server, &key, n)));
    for refused in bounded(sends).await {
        says_try_again(&refused);
    }
    let contact = json!({ "phone": "07700 900123" });
    says_try_again(&server.call("POST", "/api/v1/contacts", &key, &contact).await);
    for key in [&key, &unused] {
        // The use of a key that was never used cannot be noted.
        for path in ["/api/v1/balance", "/api/v1/messages", "/api/v1/contacts"] {
            let read = server.call("GET", path, key, &Value::Null).await;
            assert_eq!(read.status, 200, "{path}: {}", read.body);
        }
    }

    postgres.set("default_transaction_read_only", "off").await;
    until_readiness(&server, 200).await;
    for n in 2..20 {
        assert_eq!(bounded(send(&server, &key, n)).await.status, 201);
    }
    let credits = data(&server.call("GET", "/api/v1/balance", &key, &Value::Null).await);
    assert_eq!(credits["credits"], 100 - 19);
    let used = data(&server.call("GET", "/api/v1/balance", &unused, &Value::Null).await);
    assert_eq!(used["credits"], 100 - 19);
}
