//! `sms-server --demo`: a month of history in a new store.

use serde_json::{Value, json};
use sms_core::clock::{Clock, SystemClock};
use sms_core::time::london;

use crate::fresh::Folder;
use crate::process::{Process, TOKEN};
use crate::server_postgres::{cluster, data};

async fn get(server: &Process, path: &str) -> Value {
    let key = server.said("Live key");
    data(&server.call("GET", &format!("/api/v1{path}"), &key, &Value::Null).await)
}

async fn operator(server: &Process, path: &str) -> Value {
    data(&server.call("GET", &format!("/admin/v1{path}"), TOKEN, &Value::Null).await)
}

/// Direction, number, body and time of the newest 100 messages of yesterday and before.
async fn messages(server: &Process, until: &str) -> Vec<Value> {
    let page = get(server, &format!("/messages?limit=100&until={until}")).await;
    let page = page.as_array().unwrap().iter();
    page.map(|it| json!([it["direction"], it["contact_number"], it["status"], it["created_at"]]))
        .collect()
}

/// How many of a list have this value in a field.
fn count(list: &Value, field: &str, value: &str) -> usize {
    list.as_array().unwrap().iter().filter(|item| item[field] == value).count()
}

/// What a first look at each page shows.
async fn assert_lived_in(server: &Process) {
    assert_eq!(get(server, "/balance").await["credits"], 1_000);
    let summary = get(server, "/stats/summary?days=30").await;
    for (total, least) in [("sent", 250), ("delivered", 250), ("received", 60), ("failed", 10)] {
        assert!(summary[total].as_u64().unwrap() >= least, "{total} of {summary}");
    }
    let days = get(server, "/stats/timeseries?days=28").await;
    let quiet = days.as_array().unwrap().iter().filter(|day| day["sent"] == 0).count();
    assert!(quiet <= 1, "messages on every day but perhaps today: {days}");
    assert_eq!(get(server, "/contacts?limit=100").await.as_array().unwrap().len(), 44);
    assert_eq!(get(server, "/lists").await.as_array().unwrap().len(), 4);
    let unread = get(server, "/conversations?unread=true").await;
    assert!(!unread.as_array().unwrap().is_empty());
    let campaigns = get(server, "/campaigns").await;
    for (status, number) in [("sent", 2), ("scheduled", 1), ("draft", 1)] {
        assert_eq!(count(&campaigns, "status", status), number, "{status}");
    }
    for campaign in campaigns.as_array().unwrap().iter().filter(|it| it["status"] == "sent") {
        assert!(campaign["links"]["clicks"].as_u64().unwrap() > 5, "{campaign}");
    }
    let senders = get(server, "/sender-ids").await;
    for status in ["approved", "pending", "rejected"] {
        assert_eq!(count(&senders, "status", status), 1, "{status}");
    }
    let opt_outs = get(server, "/opt-outs").await;
    assert_eq!((count(&opt_outs, "source", "sms"), count(&opt_outs, "source", "api")), (2, 1));
    let endpoints = get(server, "/webhooks").await;
    let off = endpoints.as_array().unwrap().iter().find(|it| it["enabled"] == false).unwrap();
    let id = off["id"].as_str().unwrap();
    let deliveries = get(server, &format!("/webhooks/{id}/deliveries?limit=100")).await;
    assert!(count(&deliveries, "status", "given_up") > 20, "{deliveries}");
    assert!(!get(server, "/templates").await.as_array().unwrap().is_empty());
    assert_eq!(get(server, "/keywords").await.as_array().unwrap().len(), 2);
    let scheduled = get(server, "/messages?status=scheduled&limit=100").await;
    assert!(scheduled.as_array().unwrap().len() > 10);
    let accounts = operator(server, "/accounts").await;
    assert_eq!(
        (count(&accounts, "status", "active"), count(&accounts, "status", "pending")),
        (1, 1)
    );
    assert_eq!(operator(server, "/unrouted").await.as_array().unwrap().len(), 2);
}

/// Two demos of the same day in London: the month ends on the day on which a server starts.
fn two_of_one_day() -> [Process; 2] {
    let settings = [("SMS_DEMO", "true"), ("SMS_ADMIN_TOKEN", TOKEN)];
    let today = || london::shown(SystemClock.now()).date();
    loop {
        let day = today();
        let two = [Process::start(&settings), Process::start(&settings)];
        if day == today() {
            return two;
        }
    }
}

#[tokio::test]
async fn a_demo_in_memory_shows_a_month_and_the_same_one_each_time() {
    let [one, other] = two_of_one_day();
    assert_lived_in(&one).await;
    // Long enough ago that both have come to its end.
    let newest = get(&one, "/messages?limit=100").await;
    let until = newest[99]["created_at"].as_str().unwrap().to_owned();
    let [first, second] = [messages(&one, &until).await, messages(&other, &until).await];
    assert_eq!(first.len(), 100);
    assert_eq!(first, second);
    assert_ne!(one.said("Live key"), other.said("Live key"), "keys are no part of it");
}

#[tokio::test]
async fn a_demo_in_a_new_folder_has_its_month_and_a_second_one_does_not() {
    let folder = Folder::new("demo");
    let settings =
        [("SMS_DATA_DIR", folder.path()), ("SMS_DEMO", "true"), ("SMS_ADMIN_TOKEN", TOKEN)];
    let server = Process::start(&settings);
    assert_lived_in(&server).await;
    server.signal("-TERM");
    assert_eq!(server.ended().code(), Some(0));
    let again = Process::start_again(&settings);
    assert!(!again.banner.contains("cc_"), "{}", again.banner);
    let accounts = operator(&again, "/accounts").await;
    assert_eq!(
        count(&accounts, "name", "Demo"),
        1,
        "a store has one, however often it is asked for"
    );
}

#[tokio::test]
async fn a_customer_who_is_called_demo_is_not_the_demo_account() {
    let folder = Folder::new("called-demo");
    let settings = |demo: &'static str| {
        [("SMS_DATA_DIR", folder.path()), ("SMS_DEMO", demo), ("SMS_ADMIN_TOKEN", TOKEN)]
    };
    let stop = |server: Process| {
        server.signal("-TERM");
        assert_eq!(server.ended().code(), Some(0));
    };
    let server = Process::start_again(&settings("false"));
    let customer = json!({ "name": "Demo", "status": "active" });
    let made = data(&server.call("POST", "/admin/v1/accounts", TOKEN, &customer).await);
    stop(server);
    let server = Process::start(&settings("true"));
    assert!(server.banner.contains("cc_live_"), "{}", server.banner);
    let accounts = operator(&server, "/accounts").await;
    let demo = accounts.as_array().unwrap().iter().find(|one| one["id"] != made["id"]).unwrap();
    let path = format!("/admin/v1/accounts/{}", demo["id"].as_str().unwrap());
    data(&server.call("PATCH", &path, TOKEN, &json!({ "name": "Sandbox" })).await);
    stop(server);
    let server = Process::start_again(&settings("true"));
    assert!(!server.banner.contains("cc_"), "it was made, whatever it is called");
    assert_eq!(operator(&server, "/accounts").await.as_array().unwrap().len(), 2);
}

#[tokio::test]
async fn two_servers_that_start_at_once_make_one_demo_account() {
    let database = cluster().create(None).await;
    let url = cluster().url(&database);
    let start = || {
        let settings =
            [("DATABASE_URL", url.as_str()), ("SMS_DEMO", "true"), ("SMS_ADMIN_TOKEN", TOKEN)];
        Process::start_again(&settings)
    };
    let servers: Vec<Process> = std::thread::scope(|scope| {
        let starting: Vec<_> = (0..3).map(|_| scope.spawn(start)).collect();
        starting.into_iter().map(|starting| starting.join().unwrap()).collect()
    });
    let later = start();
    let accounts = operator(&later, "/accounts").await;
    assert_eq!(count(&accounts, "name", "Demo"), 1, "{accounts}");
    let id = accounts[0]["id"].as_str().unwrap();
    let keys = operator(&later, &format!("/accounts/{id}/keys")).await;
    assert_eq!(keys.as_array().unwrap().len(), 2, "{keys}");
    drop((servers, later));
    cluster().drop(&database).await;
}

#[tokio::test]
async fn there_is_no_demo_unasked_beside_a_real_route() {
    let settings = [
        ("SMS_ROUTES", "main,simulator"),
        ("SMS_ROUTE_MAIN_URL", "smpp://example@127.0.0.1:9"),
        ("SMS_ROUTE_MAIN_PASSWORD", "example"),
    ];
    for store in ["memory", "file"] {
        let folder = Folder::new("no-demo");
        let own =
            [("SMS_STORE", store), ("SMS_DATA_DIR", folder.path()), ("SMS_ADMIN_TOKEN", TOKEN)];
        let server = Process::start_again(&[&settings[..], &own].concat());
        assert!(!server.banner.contains("cc_"), "{}", server.banner);
        assert_eq!(operator(&server, "/accounts").await, json!([]), "{store}");
    }
}

#[tokio::test]
async fn a_server_without_the_demo_setting_has_no_history() {
    let server = Process::start(&[]);
    assert_eq!(get(&server, "/messages").await, json!([]));
    assert_eq!(get(&server, "/balance").await["credits"], 1_000);
}
