//! A server's settings and stops do what they say.

use sms_test_postgres::{Durability, Server, Stop};
use sqlx::{Connection, PgConnection};

async fn ask(url: &str, question: &'static str) -> sqlx::Result<String> {
    let mut connection = PgConnection::connect(url).await?;
    let answer = sqlx::query_scalar(question).fetch_one(&mut connection).await?;
    connection.close().await?;
    Ok(answer)
}

#[tokio::test]
async fn a_durable_server_keeps_what_was_committed_when_it_is_stopped_as_by_a_crash() {
    let server = Server::start(Durability::Full);
    server.create_database("kept").await;
    let url = server.url("kept");
    for setting in ["SHOW fsync", "SHOW synchronous_commit", "SHOW full_page_writes"] {
        assert_eq!(ask(&url, setting).await.unwrap(), "on", "{setting}");
    }
    let mut connection = PgConnection::connect(&url).await.unwrap();
    let make = sqlx::query("CREATE TABLE t AS SELECT 'here'::text AS word");
    make.execute(&mut connection).await.unwrap();
    connection.close().await.unwrap();
    for stop in [Stop::Immediate, Stop::Fast] {
        server.stop(stop);
        ask(&url, "SELECT word FROM t").await.unwrap_err();
        server.start_again();
        assert_eq!(ask(&url, "SELECT word FROM t").await.unwrap(), "here", "{stop:?}");
    }
    assert_eq!(ask(&server.socket_url("kept"), "SELECT word FROM t").await.unwrap(), "here");

    let mut connection = PgConnection::connect(&url).await.unwrap();
    assert_eq!(server.cut_connections().await, 1);
    sqlx::query("SELECT 1").execute(&mut connection).await.unwrap_err();
}
