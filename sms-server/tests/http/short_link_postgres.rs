//! Following short URLs on PostgreSQL: what people meet while the database is in trouble, and what
//! two servers count.

use serde_json::{Value, json};
use sqlx::{AssertSqlSafe, Connection, Executor, PgConnection};

use crate::process::{Process, ask};
use crate::server_postgres::{account, cluster, data, start_unlimited};
use crate::socket::bounded;

/// Sends a message with a tracked link; returns the link.
async fn link(server: &Process, key: &str) -> Value {
    let request =
        json!({ "to": "07700 900904", "body": "https://example.com/menu", "track_links": true });
    let sent = server.call("POST", "/api/v1/messages", key, &request).await;
    assert_eq!(sent.status, 201, "{}", sent.body);
    data(&server.call("GET", "/api/v1/links", key, &Value::Null).await)[0].take()
}

fn path(link: &Value) -> String {
    format!("/l/{}", link["code"].as_str().unwrap())
}

async fn follow(server: &Process, link: &Value) {
    let answer = bounded(ask(server.addr(), "GET", &path(link), None, "")).await;
    assert_eq!(answer.status, 302, "{}", answer.body);
    assert_eq!(answer.header("location"), Some("https://example.com/menu"));
}

async fn clicks(server: &Process, key: &str, link: &Value) -> u64 {
    let path = format!("/api/v1/links/{}", link["id"].as_str().unwrap());
    data(&server.call("GET", &path, key, &Value::Null).await)["clicks"].as_u64().unwrap()
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn people_are_redirected_while_their_clicks_cannot_be_counted() {
    let database = cluster().create(None).await;
    let url = cluster().url(&database);
    let server = start_unlimited(&url);
    let key = account(&server, 100).await;
    let link = link(&server, &key).await;
    let mut connection = PgConnection::connect(&url).await.unwrap();
    // What goes wrong is not counted.
    connection
        .execute(
            "CREATE FUNCTION fails() RETURNS trigger LANGUAGE plpgsql AS
             $$ BEGIN RAISE 'on purpose'; END $$;
             CREATE TRIGGER fails BEFORE UPDATE ON link FOR EACH ROW EXECUTE FUNCTION fails()",
        )
        .await
        .unwrap();
    follow(&server, &link).await;
    server.wait_for_log("could not be counted");
    connection.execute("DROP TRIGGER fails ON link").await.unwrap();
    assert_eq!(clicks(&server, &key, &link).await, 0);
    follow(&server, &link).await;
    assert_eq!(clicks(&server, &key, &link).await, 1);
    // What takes long is counted later.
    let lock = format!("BEGIN; SELECT FROM link WHERE code = '{}' FOR UPDATE", &path(&link)[3..]);
    connection.execute(AssertSqlSafe(lock)).await.unwrap();
    follow(&server, &link).await;
    server.wait_for_log("redirected before it was done");
    assert_eq!(clicks(&server, &key, &link).await, 1);
    connection.execute("ROLLBACK").await.unwrap();
    let counted = async {
        while clicks(&server, &key, &link).await < 2 {
            tokio::time::sleep(std::time::Duration::from_millis(50)).await;
        }
    };
    bounded(counted).await;
    connection.close().await.unwrap();
    drop(server);
    cluster().drop(&database).await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn clicks_at_two_servers_at_once_are_counted_if_they_are_answered() {
    let database = cluster().create(None).await;
    let url = cluster().url(&database);
    let servers = [start_unlimited(&url), start_unlimited(&url)];
    let key = account(&servers[0], 100).await;
    let link = link(&servers[1], &key).await;
    let hits: Vec<_> = (0..200)
        .map(|n| {
            let (addr, path) = (servers[n % 2].addr(), path(&link));
            tokio::spawn(async move { ask(addr, "GET", &path, None, "").await.status })
        })
        .collect();
    let mut answered = 0;
    for hit in hits {
        let status = bounded(hit).await.unwrap();
        assert!(matches!(status, 302 | 429), "{status}");
        answered += u64::from(status == 302);
    }
    // Each server counts a code's requests by itself.
    assert!((40..200).contains(&answered), "{answered}");
    assert_eq!(clicks(&servers[0], &key, &link).await, answered);
    drop(servers);
    cluster().drop(&database).await;
}
