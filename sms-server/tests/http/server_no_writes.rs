//! The server on a database that takes no writes: while it fails over, because its operator made
//! it read-only, or because its disk is full.

use futures_util::future::join_all;
use serde_json::{Value, json};
use sms_test_postgres::{Durability, Server};
use sqlx::{Connection, Executor, PgConnection};

use crate::process::{Process, TOKEN};
use crate::server_outage::{readiness, says_try_again, send, until_readiness};
use crate::server_postgres::{account, cluster, data, start_unlimited};
use crate::socket::bounded;

/// A server, a key that was used, and one that was not, so that its first use is to be noted.
struct Bistro {
    server: Process,
    used: String,
    unused: String,
}

/// The sends that are refused, several at a time, so that they share commits.
const SENDS: std::ops::Range<usize> = 2..20;

impl Bistro {
    async fn open(url: &str) -> Self {
        let server = start_unlimited(url);
        let used = account(&server, 100).await;
        assert_eq!(bounded(send(&server, &used, 1)).await.status, 201);
        let accounts = data(&server.call("GET", "/admin/v1/accounts", TOKEN, &Value::Null).await);
        let keys = format!("/admin/v1/accounts/{}/keys", accounts[0]["id"].as_str().unwrap());
        let unused = server.call("POST", &keys, TOKEN, &json!({ "kind": "live" })).await;
        let unused = data(&unused)["key"].as_str().unwrap().to_owned();
        assert_eq!(readiness(&server).await, 200);
        Self { server, used, unused }
    }

    async fn serves_reads_and_says_of_writes_to_try_again(&self) {
        let Self { server, used, unused } = self;
        let sends = join_all(SENDS.map(|n| send(server, used, n)));
        for refused in bounded(sends).await {
            says_try_again(&refused);
        }
        let contact = json!({ "phone": "07700 900123" });
        says_try_again(&server.call("POST", "/api/v1/contacts", used, &contact).await);
        for key in [used, unused] {
            for path in ["/api/v1/balance", "/api/v1/messages", "/api/v1/contacts"] {
                let read = server.call("GET", path, key, &Value::Null).await;
                assert_eq!(read.status, 200, "{path}: {}", read.body);
            }
        }
    }

    async fn goes_on_and_has_charged_nothing_in_between(&self) {
        let Self { server, used, unused } = self;
        let mut credits = 99;
        for n in SENDS {
            assert_eq!(bounded(send(server, used, n)).await.status, 201);
            credits -= 1;
        }
        for key in [used, unused] {
            let balance = server.call("GET", "/api/v1/balance", key, &Value::Null).await;
            assert_eq!(data(&balance)["credits"], credits);
        }
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn while_the_database_is_read_only_reads_go_on_and_writes_are_to_be_tried_again() {
    let postgres = Server::start(Durability::None);
    postgres.create_database("sms").await;
    let bistro = Bistro::open(&postgres.url("sms")).await;

    postgres.set("default_transaction_read_only", "on").await;
    until_readiness(&bistro.server, 503).await;
    bistro.serves_reads_and_says_of_writes_to_try_again().await;

    postgres.set("default_transaction_read_only", "off").await;
    until_readiness(&bistro.server, 200).await;
    bistro.goes_on_and_has_charged_nothing_in_between().await;
}

/// Makes every statement that writes a row fail as on a full disk.
const FILL: &str = "
    CREATE FUNCTION disk_is_full() RETURNS trigger LANGUAGE plpgsql AS $$
    BEGIN
        RAISE EXCEPTION 'could not extend file' USING ERRCODE = 'disk_full';
    END $$;
    DO $$
    DECLARE named text;
    BEGIN
        FOR named IN SELECT tablename FROM pg_tables WHERE schemaname = 'public' LOOP
            EXECUTE format('CREATE TRIGGER disk_is_full BEFORE INSERT OR UPDATE ON %I
                            FOR EACH ROW EXECUTE FUNCTION disk_is_full()', named);
        END LOOP;
    END $$";

async fn execute(url: &str, sql: &'static str) {
    let mut connection = PgConnection::connect(url).await.unwrap();
    connection.execute(sql).await.unwrap();
    connection.close().await.unwrap();
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn while_the_databases_disk_is_full_reads_go_on_and_writes_are_to_be_tried_again() {
    let database = cluster().create(None).await;
    let url = cluster().url(&database);
    let bistro = Bistro::open(&url).await;

    execute(&url, FILL).await;
    bistro.serves_reads_and_says_of_writes_to_try_again().await;
    assert_eq!(readiness(&bistro.server).await, 200, "it still serves reads");

    execute(&url, "DROP FUNCTION disk_is_full CASCADE").await;
    bistro.goes_on_and_has_charged_nothing_in_between().await;
    drop(bistro);
    cluster().drop(&database).await;
}
